//! What clients, operators and peers do to a registry.

use std::sync::Arc;

use eurekad_wire::{
    AMAZON_INSTANCE_ID, ActionType, AppName, DataCenterInfo, InstanceId, InstanceInfo, InstanceStatus,
    LeaseInfo, Metadata,
};

use super::floors::Covered;
use super::follow::LocalTouch;
use super::lease::Lease;
use super::outcome::{Cancellation, Heartbeat, HeartbeatOutcome, Oversize, Registration, StatusChange};
use super::recent::{Happened, RecentEvent};
use super::state::Registered;
use super::status::{self, Existing, Override, OverrideValue};
use super::{Guarded, Key, Origin, Registry, Touched};

/// A `lastDirtyTimestamp` further ahead of our clock than this is a client's clock gone wrong.
const DIRTY_FROM_THE_FUTURE_MS: i64 = 60_000;

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
        if origin.is_local() {
            guarded.floors.forget(&key);
        } else if existing.is_none()
            && self.is_old_news(&mut guarded, &key, info.last_dirty_timestamp, origin)
        {
            return Registration::Cancelled;
        }
        if existing.is_none() && guarded.instances.len >= self.settings.max_instances {
            self.metrics.registrations_refused.inc();
            return Registration::Full;
        }
        self.metrics.registrations.inc();
        match existing {
            Some(existing) if keeps_existing(&existing, &info, now) => {
                let entry =
                    Registered { lease: self.lease_for(&existing.info, Some(&existing), now), ..existing };
                self.put(&mut guarded, key, entry, ActionType::Added, origin, Touched::Record, now);
                Registration::KeptNewer
            }
            existing => {
                let outcome = if existing.is_some() { Registration::Replaced } else { Registration::New };
                let version = guarded.instances.next_version();
                let ends_removal = existing.as_ref().is_some_and(Registered::is_cleared);
                let touched = if ends_removal { Touched::RecordAndOverride } else { Touched::Record };
                let entry = self.record(info, existing.as_ref(), origin, version, now);
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
        origin: Origin,
        version: u64,
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
        // A removed override has done its work once the client speaks: here, or through a peer with a newer record. What
        // a peer says of the same record is older than the removal.
        if let Some(existing) = existing
            && existing.is_cleared()
            && !origin.is_local()
            && record_dirty <= existing.record_dirty
        {
            let (own_status, record_version, over) =
                (existing.own_status, existing.record_version, existing.over);
            let bytes = info.text_bytes();
            return Registered {
                info: Arc::new(info),
                lease,
                bytes,
                own_status,
                record_dirty,
                record_version,
                over,
            };
        }
        // A set override stays. A body that brings its own (a copy from another server) counts only where none is set.
        let over = existing.and_then(|e| e.over).filter(|o| o.set_status().is_some()).or_else(|| {
            (info.overridden_status != InstanceStatus::Unknown).then_some(Override {
                value: OverrideValue::Set(info.overridden_status),
                version,
                last_dirty: None,
            })
        });
        let bytes = info.text_bytes();
        Registered {
            info: Arc::new(info),
            lease,
            bytes,
            own_status,
            record_dirty,
            record_version: version,
            over,
        }
    }

    /// Renews a lease.
    ///
    /// **Compat:** the order of Java's checks. A heartbeat refused for its timestamp has renewed the lease all the same.
    pub fn heartbeat(&self, app: &AppName, id: &str, beat: Heartbeat, origin: Origin) -> HeartbeatOutcome {
        let guarded = self.read();
        let Some(entry) = guarded.instances.get(app.as_str(), id) else {
            drop(guarded);
            self.metrics.renewals_not_found.inc();
            let key = Key { app: app.clone(), id: InstanceId::new(id) };
            let old_news = origin == Origin::Replica
                && self.is_old_news(&mut self.write(), &key, beat.last_dirty, origin);
            return if old_news { HeartbeatOutcome::Cancelled } else { HeartbeatOutcome::NotFound };
        };
        if status::refuses_heartbeat(entry.info.status, entry.is_cleared()) {
            self.metrics.renewals_not_found.inc();
            return HeartbeatOutcome::MustRegister;
        }
        self.renewals.count(&entry.lease);
        entry.lease.renew(self.clock.tick(), self.clock.epoch_millis(), self.doubles_now());
        entry.lease.note_heard(origin.is_local());
        self.following.touch(|| entry.key(), &entry.lease, LocalTouch::Renewed, origin);
        self.metrics.renewals.inc();
        let Some(dirty) = beat.last_dirty.filter(|_| self.settings.sync_when_timestamp_differs) else {
            return HeartbeatOutcome::Renewed;
        };
        let (ours, now) = (entry.info.last_dirty_timestamp.unwrap_or(0), self.clock.epoch_millis());
        if dirty > ours {
            drop(guarded);
            if let Some(over) =
                beat.overridden.filter(|s| origin == Origin::Replica && *s != InstanceStatus::Unknown)
            {
                self.store_override(app, id, over, origin);
            }
            HeartbeatOutcome::SenderIsNewer
        } else if dirty < ours && origin == Origin::Replica && !is_from_the_future(ours, now) {
            HeartbeatOutcome::SenderIsOlder(entry.clone())
        } else {
            HeartbeatOutcome::Renewed
        }
    }

    /// Whether another node speaks of an instance that was cancelled here a moment ago. The first time, the peers are
    /// told of the cancellation again: one of them has missed it.
    fn is_old_news(&self, guarded: &mut Guarded, key: &Key, last_dirty: Option<i64>, origin: Origin) -> bool {
        let covered = guarded.floors.covers(key, last_dirty, self.clock.tick());
        if covered == Covered::First && origin == Origin::Replica {
            self.following.tell_again(key.clone());
        }
        covered != Covered::No
    }

    /// Takes over an override that another server told with a heartbeat.
    ///
    /// It counts as old as the record: a client that says STARTING or DOWN is still believed.
    fn store_override(&self, app: &AppName, id: &str, over: InstanceStatus, origin: Origin) {
        let now = self.clock.epoch_millis();
        let mut guarded = self.write();
        let Some(entry) = guarded.instances.get(app.as_str(), id).cloned() else { return };
        if entry.over.and_then(|o| o.set_status()) == Some(over) {
            return;
        }
        let version = entry.record_version;
        let over = Override { value: OverrideValue::Set(over), version, last_dirty: None };
        let key = Key { app: app.clone(), id: InstanceId::new(id) };
        let entry = Registered { over: Some(over), ..entry };
        self.put(&mut guarded, key, entry, ActionType::Modified, origin, Touched::Override, now);
    }

    /// Takes an instance out.
    ///
    /// **Compat:** a cancellation of an unknown instance is listed among the recent ones all the same.
    pub fn cancel(&self, app: &AppName, id: &str, origin: Origin) -> Cancellation {
        self.cancel_record(app, id, None, origin)
    }

    /// Takes an instance out, unless its record here is newer than `cancelled`, the `lastDirtyTimestamp` that was
    /// cancelled at another node: then it lives again, and the cancellation is old news.
    pub fn cancel_record(
        &self,
        app: &AppName,
        id: &str,
        cancelled: Option<i64>,
        origin: Origin,
    ) -> Cancellation {
        let now = self.clock.epoch_millis();
        let key = Key { app: app.clone(), id: InstanceId::new(id) };
        let mut guarded = self.write();
        let existing = guarded.instances.get(app.as_str(), id);
        if existing.zip(cancelled).is_some_and(|(entry, cancelled)| entry.record_dirty > cancelled) {
            return Cancellation::OldNews;
        }
        let found = self.take_out(&mut guarded, key.clone(), origin, now);
        let what = if found { Happened::Cancelled } else { Happened::Unknown };
        guarded.cancelled.push(RecentEvent { at: now, key, what });
        if found {
            self.metrics.cancellations.inc();
            Cancellation::Cancelled
        } else {
            self.metrics.cancellations_not_found.inc();
            Cancellation::NotFound
        }
    }

    /// Removes a lease, whatever the reason, and logs the change. False if there is none.
    pub(super) fn take_out(&self, guarded: &mut Guarded, key: Key, origin: Origin, now: i64) -> bool {
        let Some(entry) = guarded.instances.remove(&key) else { return false };
        guarded.expectation.remove(&entry.lease);
        // Without peers there is nobody who could bring it back.
        if origin.is_local() && self.following.has_followers() {
            guarded.floors.set(key.clone(), &entry, self.clock.tick());
        }
        entry.lease.end(now);
        let mut info = (*entry.info).clone();
        info.action_type = Some(ActionType::Deleted);
        info.last_updated_timestamp = now;
        let after = Registered { info: Arc::new(info), ..entry };
        let version = guarded.instances.version;
        guarded.log.append(version, key, origin, after, Touched::Cancel, self.clock.tick());
        self.following.changed(version);
        true
    }

    /// Sets an instance's status from outside.
    ///
    /// **Compat:** a status that is shown already is not stored as an override; the lease is renewed either way.
    pub fn override_status(
        &self,
        app: &AppName,
        id: &str,
        status: InstanceStatus,
        last_dirty: Option<i64>,
        origin: Origin,
    ) -> StatusChange {
        self.metrics.status_updates.inc();
        self.change_override(app, id, last_dirty, origin, |entry| {
            // Another node's override counts also where it shows nothing new, over an older one.
            let older = entry.over.and_then(|o| o.set_status()).is_some_and(|set| set != status);
            let tells = entry.info.status != status || (origin == Origin::Replica && older);
            tells.then_some(OverrideValue::Set(status))
        })
    }

    /// Removes a status that was set from outside; `value` is shown until the client speaks again.
    ///
    /// **Compat:** without an override nothing changes but the lease's renewal.
    pub fn clear_override(
        &self,
        app: &AppName,
        id: &str,
        value: InstanceStatus,
        last_dirty: Option<i64>,
        origin: Origin,
    ) -> StatusChange {
        self.metrics.override_removals.inc();
        self.change_override(app, id, last_dirty, origin, |entry| {
            match entry.over.map(|o| o.value) {
                Some(OverrideValue::Set(_)) => Some(OverrideValue::Cleared(value)),
                // Another node knows what came after the removal.
                Some(OverrideValue::Cleared(shown)) if origin == Origin::Replica && shown != value => {
                    Some(OverrideValue::Cleared(value))
                }
                Some(OverrideValue::Cleared(_)) | None => None,
            }
        })
    }

    fn change_override(
        &self,
        app: &AppName,
        id: &str,
        last_dirty: Option<i64>,
        origin: Origin,
        change: impl FnOnce(&Registered) -> Option<OverrideValue>,
    ) -> StatusChange {
        let now = self.clock.epoch_millis();
        let mut guarded = self.write();
        let Some(entry) = guarded.instances.get(app.as_str(), id).cloned() else {
            return StatusChange::NotFound;
        };
        entry.lease.renew(self.clock.tick(), now, self.doubles_now());
        let Some(value) = change(&entry) else {
            // **Compat:** Java tells its peers of a status call also when it changed nothing.
            self.following.touch(|| entry.key(), &entry.lease, LocalTouch::StatusConfirmed, origin);
            return StatusChange::Unchanged;
        };
        let version = guarded.instances.next_version();
        let key = Key { app: app.clone(), id: InstanceId::new(id) };
        let entry = Registered { over: Some(Override { value, version, last_dirty }), ..entry };
        self.put(&mut guarded, key, entry, ActionType::Modified, origin, Touched::Override, now);
        StatusChange::Changed
    }

    /// Adds to an instance's metadata, or replaces what is there under the same keys.
    ///
    /// **Compat:** works as a registration of what is there: a new lease, `ADDED`, the client's timestamp unchanged.
    pub fn update_metadata(
        &self,
        app: &AppName,
        id: &str,
        changes: Metadata,
        origin: Origin,
    ) -> StatusChange {
        let now = self.clock.epoch_millis();
        let mut guarded = self.write();
        let Some(entry) = guarded.instances.get(app.as_str(), id).cloned() else {
            return StatusChange::NotFound;
        };
        let mut info = (*entry.info).clone();
        info.metadata.extend(changes);
        if let Err(oversize) = self.fits(&info) {
            return StatusChange::TooLarge(oversize);
        }
        let version = guarded.instances.next_version();
        let key = Key { app: app.clone(), id: InstanceId::new(id) };
        let entry = Registered {
            lease: self.lease_for(&info, Some(&entry), now),
            bytes: info.text_bytes(),
            own_status: info.status,
            // What a status call brought becomes the record's: with less, peers that know it would refuse this.
            record_dirty: info.last_dirty_timestamp.unwrap_or(entry.record_dirty),
            info: Arc::new(info),
            record_version: version,
            over: entry.over.filter(|o| o.set_status().is_some()),
        };
        self.put(&mut guarded, key, entry, ActionType::Added, origin, Touched::Record, now);
        StatusChange::Changed
    }

    /// Whether an instance is small enough. Its VIP addresses count for themselves: each is work under the lock.
    fn fits(&self, info: &InstanceInfo) -> Result<(), Oversize> {
        let amazon = info.data_center_info.as_ref().and_then(DataCenterInfo::metadata);
        let pairs = info.metadata.iter().chain(amazon.into_iter().flatten());
        let metadata: usize = pairs.map(|(key, value)| key.len() + value.len()).sum();
        let (bytes, vips) = (info.text_bytes(), info.vips().chain(info.secure_vips()).count());
        let settings = &self.settings;
        if metadata > settings.max_metadata_bytes {
            Err(Oversize::Metadata { bytes: metadata, limit: settings.max_metadata_bytes })
        } else if bytes > settings.max_instance_bytes {
            Err(Oversize::Instance { bytes, limit: settings.max_instance_bytes })
        } else if vips > settings.max_vips {
            Err(Oversize::Vips { count: vips, limit: settings.max_vips })
        } else {
            Ok(())
        }
    }

    fn lease_for(&self, info: &InstanceInfo, existing: Option<&Registered>, now: i64) -> Arc<Lease> {
        let lease = Lease::new(info.lease_info, self.doubles_now(), self.clock.tick(), now);
        if let Some(existing) = existing {
            lease.inherit_service_up(&existing.lease);
        }
        Arc::new(lease)
    }

    /// Stores an entry: computes what it shows, puts it in its place, and logs the change.
    #[expect(clippy::too_many_arguments, reason = "one private call that every operation ends in")]
    fn put(
        &self,
        guarded: &mut Guarded,
        key: Key,
        entry: Registered,
        action: ActionType,
        origin: Origin,
        touched: Touched,
        now: i64,
    ) {
        let after = entry.shown(action, now);
        if after.info.status == InstanceStatus::Up {
            after.lease.service_up(now);
        }
        match guarded.instances.put(&key, after.clone()) {
            Some(before) => guarded.expectation.replace(&before.lease, &after.lease),
            None => guarded.expectation.add(&after.lease),
        }
        if touched != Touched::Override {
            after.lease.note_heard(origin.is_local());
            guarded.registered.push(RecentEvent { at: now, key: key.clone(), what: Happened::Registered });
        }
        let version = guarded.instances.version;
        guarded.log.append(version, key, origin, after, touched, self.clock.tick());
        self.following.changed(version);
    }
}

impl Registered {
    /// Whether it shows what the removal of an override left behind.
    fn is_cleared(&self) -> bool {
        self.over.is_some_and(|o| o.set_status().is_none())
    }

    /// This entry with its document brought up to date.
    fn shown(self, action: ActionType, now: i64) -> Self {
        let mut info = Arc::unwrap_or_clone(self.info);
        info.status = status::shown(self.own_status, self.record_version, self.over.as_ref());
        info.overridden_status = self.over.and_then(|o| o.set_status()).unwrap_or(InstanceStatus::Unknown);
        let brought = self.over.and_then(|o| o.last_dirty).unwrap_or(i64::MIN);
        info.last_dirty_timestamp = Some(self.record_dirty.max(brought));
        info.action_type = Some(action);
        info.last_updated_timestamp = now;
        Self { info: Arc::new(info), ..self }
    }
}

/// Whether the record that is there beats the one that comes. One from the future beats none that is not: a clock that
/// went wrong once would lock its client out, here or, brought back by a peer, everywhere.
fn keeps_existing(existing: &Registered, incoming: &InstanceInfo, now: i64) -> bool {
    let Some(dirty) = incoming.last_dirty_timestamp else { return false };
    existing.record_dirty > dirty
        && (!is_from_the_future(existing.record_dirty, now) || is_from_the_future(dirty, now))
}

fn is_from_the_future(dirty: i64, now: i64) -> bool {
    dirty > now.saturating_add(DIRTY_FROM_THE_FUTURE_MS)
}

/// **Compat:** an Amazon instance that names no `instance-id` gets its own id there; an empty one is left empty.
fn fill_amazon_instance_id(info: &mut InstanceInfo) {
    let id: Box<str> = info.id().into();
    if let Some(DataCenterInfo::Amazon(metadata)) = &mut info.data_center_info {
        metadata.entry(AMAZON_INSTANCE_ID.into()).or_insert(id);
    }
}
