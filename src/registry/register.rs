//! Registration, and what it leaves behind.

use std::sync::{Arc, OnceLock};

use eurekad_wire::{
    AMAZON_INSTANCE_ID, ActionType, DataCenterInfo, InstanceId, InstanceInfo, InstanceStatus, LeaseInfo,
};

use super::follow::LocalTouch;
use super::gone::{Covered, Floor, Gone};
use super::outcome::Registration;
use super::overrides::JAVA_TASK_LIFE;
use super::stamp::Stamp;
use super::state::Registered;
use super::status::{self, Existing, Override, OverrideValue};
use super::{Guarded, Key, Origin, Registry, Touched};

/// A `lastDirtyTimestamp` further ahead of our clock than this is a client's clock gone wrong.
pub(super) const DIRTY_FROM_THE_FUTURE_MS: i64 = 60_000;

impl Registry {
    /// Registers an instance, or registers it again.
    ///
    /// The caller has checked that it has an application and an id.
    ///
    /// **Compat:** a record with an older `lastDirtyTimestamp` than the existing one loses, an equal one wins; either
    /// way there is a new lease, which inherits only when the instance was first UP. An existing timestamp more than a
    /// minute in the future does not beat a client's own registration, or one wrong clock would lock it out.
    pub fn register(&self, info: InstanceInfo, origin: Origin) -> Registration {
        if let Err(oversize) = self.fits(&info) {
            return Registration::TooLarge(oversize);
        }
        let now = self.clock.epoch_millis();
        let key = Key { app: info.app.clone(), id: InstanceId::new(info.id()) };
        let mut guarded = self.write();
        let existing = guarded.instances.get(key.app.as_str(), key.id.as_str()).cloned();
        if existing.is_none()
            && !origin.is_local()
            && (self.is_old_news(&mut guarded, &key, info.last_dirty_timestamp, origin)
                || (origin == Origin::Sync && guarded.went.get(&key).is_some_and(Gone::went_while_copying)))
        {
            return Registration::Cancelled;
        }
        // What is copied from a server that cannot say how old it is never beats what happened here.
        if origin == Origin::Sync && existing.as_ref().is_some_and(|e| !e.lease.is_unproven()) {
            return Registration::KeptNewer;
        }
        if existing.is_none()
            && let Err(full) = self.has_room(&guarded, &key.app)
        {
            return Registration::Full(full);
        }
        self.metrics.registrations.inc();
        match existing {
            Some(existing) if keeps_existing(&existing, &info, now) => {
                let lease = self.lease_for(&existing.info, Some(&existing), now);
                if origin == Origin::Sync {
                    lease.set_unproven();
                }
                let entry = Registered { lease, ..existing };
                self.put(&mut guarded, key, entry, ActionType::Added, origin, Touched::Record, now);
                Registration::KeptNewer
            }
            existing => {
                let outcome = if existing.is_some() { Registration::Replaced } else { Registration::New };
                let ends_removal = existing.as_ref().is_some_and(Registered::is_cleared);
                let touched = if ends_removal { Touched::RecordAndOverride } else { Touched::Record };
                let floor = match &existing {
                    Some(existing) => existing.floor,
                    None => guarded.went.take(&key).and_then(|gone| gone.floor),
                };
                let brings_override = info.overridden_status != InstanceStatus::Unknown;
                let entry = self.record(info, existing.as_ref(), floor, origin, now);
                if origin == Origin::Replica
                    && !brings_override
                    && entry.over.is_some_and(|over| over.set_status().is_some())
                {
                    self.following.note(key.clone(), LocalTouch::OverrideMissed);
                }
                self.put(&mut guarded, key, entry, ActionType::Added, origin, touched, now);
                outcome
            }
        }
    }

    /// The entry that a registration makes of an instance.
    fn record(
        &self,
        mut info: InstanceInfo,
        existing: Option<&Registered>,
        floor: Option<Floor>,
        origin: Origin,
        now: i64,
    ) -> Registered {
        let record_dirty = info
            .last_dirty_timestamp
            .unwrap_or_else(|| existing.map_or(now, |e| now.max(e.record_dirty.saturating_add(1))));
        fill_amazon_instance_id(&mut info);
        info.is_coordinating_discovery_server = info.id() == &*self.settings.own_instance_id;
        // Of a lease in a body only its lengths are wishes; the times are the server's to keep.
        info.lease_info = info.lease_info.map(|asked| LeaseInfo {
            renewal_interval_secs: asked.renewal_interval_secs,
            duration_secs: asked.duration_secs,
            ..LeaseInfo::default()
        });
        let lease = self.lease_for(&info, existing, now);
        if origin == Origin::Sync {
            lease.set_unproven();
        }
        let said = info.status;
        let own_status = status::own_on_register(
            said,
            existing.map(|e| Existing {
                shown: e.info.status,
                overridden: e.over.is_some_and(|o| o.set_status().is_some()),
                cleared: e.is_cleared(),
            }),
            origin == Origin::Client,
            self.settings.trust_client_status,
        );
        let bytes = info.text_bytes();
        let mut entry = Registered {
            info: Arc::new(info),
            lease,
            bytes,
            own_status,
            record_dirty,
            record_stamp: Stamp::ZERO,
            over: existing.and_then(|e| e.over),
            floor,
            digest: OnceLock::new(),
        };
        // A removed override has done its work once the client speaks: here, or through a Java server with a newer record.
        // What one says of the same record may be older than the removal, but not for longer than its messages live.
        let may_be_older = |over: Override| {
            over.stamp > self.stamps.now().before(entry.lease.interval().max(JAVA_TASK_LIFE))
        };
        if let Some(existing) = existing
            && existing.is_cleared()
            && !origin.is_local()
            && record_dirty <= existing.record_dirty
            && existing.over.is_some_and(may_be_older)
        {
            (entry.own_status, entry.record_stamp) = (existing.own_status, existing.record_stamp);
            if !entry.says_the_same(existing) {
                // Other nodes would never ask for what stands under a stamp that they have.
                entry.record_stamp = existing.record_stamp.next(self.stamps.node());
            }
            return entry;
        }
        entry.record_stamp = self.record_stamp(&entry, existing, origin);
        // An override stays, and what is left of a removed one. A body that brings its own (a copy from another server)
        // counts only where nothing is known; it is no newer than the record.
        if entry.over.is_none() && entry.info.overridden_status != InstanceStatus::Unknown {
            let value = OverrideValue::Set(entry.info.overridden_status);
            entry.over = Some(Override { value, stamp: entry.record_stamp, last_dirty: None });
        }
        entry
    }

    /// The stamp of a record that came some way other than from a node of this kind.
    ///
    /// A client's is stamped now. What a Java server brings was said at most one renewal interval ago, or its client
    /// would have been heard since; the same as before is no news. What is copied from a Java server at start may be of
    /// any age: whatever is known elsewhere beats it.
    fn record_stamp(&self, entry: &Registered, existing: Option<&Registered>, origin: Origin) -> Stamp {
        let replaced = existing.map(|e| e.record_stamp).max(entry.floor.map(|floor| floor.stamp));
        let above = replaced.map(|stamp| stamp.next(self.stamps.node()));
        match (origin, existing) {
            // The same word, unless it ends what the removal of an override had left.
            (Origin::Replica, Some(existing)) if entry.says_the_same(existing) && !existing.is_cleared() => {
                existing.record_stamp
            }
            (Origin::Replica, _) => {
                let said = self.stamps.now().before(entry.lease.interval());
                // A client that says something new has said it after what was set on what it said before.
                let set = existing
                    .filter(|existing| entry.record_dirty > existing.record_dirty)
                    .and_then(|existing| existing.over)
                    .map(|over| over.stamp.next(self.stamps.node()));
                said.max(above.unwrap_or(said)).max(set.unwrap_or(said))
            }
            (Origin::Sync, _) => above.unwrap_or(Stamp { node: self.stamps.node(), ..Stamp::ZERO }),
            (Origin::Client | Origin::Operator | Origin::Ours | Origin::Evictor, _) => self.stamps.now(),
        }
    }

    /// Whether a Java server speaks of an instance that was cancelled here a moment ago. The first time, the peers are
    /// told of the cancellation again: one of them has missed it.
    pub(super) fn is_old_news(
        &self,
        guarded: &mut Guarded,
        key: &Key,
        last_dirty: Option<i64>,
        origin: Origin,
    ) -> bool {
        let covered = guarded.went.covers(key, last_dirty, self.clock.tick());
        if covered == Covered::First && origin == Origin::Replica {
            self.following.tell_again(key.clone());
        }
        covered != Covered::No
    }
}

/// Whether the record that is there beats the one that comes. One from the future beats none that is not: a clock that
/// went wrong once would lock its client out, here or, brought back by a peer, everywhere.
fn keeps_existing(existing: &Registered, incoming: &InstanceInfo, now: i64) -> bool {
    let Some(dirty) = incoming.last_dirty_timestamp else { return false };
    existing.record_dirty > dirty
        && (!is_from_the_future(existing.record_dirty, now) || is_from_the_future(dirty, now))
}

pub(super) fn is_from_the_future(dirty: i64, now: i64) -> bool {
    dirty > now.saturating_add(DIRTY_FROM_THE_FUTURE_MS)
}

/// **Compat:** an Amazon instance that names no `instance-id` gets its own id there; an empty one is left empty.
pub(super) fn fill_amazon_instance_id(info: &mut InstanceInfo) {
    let id: Box<str> = info.id().into();
    if let Some(DataCenterInfo::Amazon(metadata)) = &mut info.data_center_info {
        metadata.entry(AMAZON_INSTANCE_ID.into()).or_insert(id);
    }
}
