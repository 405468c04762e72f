//! What is set on an instance from outside: status and metadata.

use std::sync::Arc;
use std::time::Duration;

use eurekad_wire::{ActionType, AppName, InstanceId, InstanceStatus, Metadata};

use super::follow::LocalTouch;
use super::outcome::StatusChange;
use super::stamp::Stamp;
use super::state::Registered;
use super::status::{Override, OverrideValue};
use super::{Key, Origin, Registry, Touched};

/// No replication task of a Java server is older when it is sent.
pub(super) const JAVA_TASK_LIFE: Duration = Duration::from_secs(30);

impl Registry {
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
        let unchanged = LocalTouch::StatusConfirmed;
        self.change_override(app, id, last_dirty, origin, unchanged, |entry| {
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
        let unchanged = LocalTouch::RemovalConfirmed;
        self.change_override(app, id, last_dirty, origin, unchanged, |entry| {
            match entry.over.map(|o| o.value) {
                Some(OverrideValue::Set(_)) => Some(OverrideValue::Cleared(value)),
                // Another node knows what came after the removal.
                Some(OverrideValue::Cleared(shown))
                    if origin == Origin::Replica && shown != value && entry.override_is_newer() =>
                {
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
        unchanged: LocalTouch,
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
            self.following.touch(|| entry.key(), &entry.lease, unchanged, origin);
            return StatusChange::Unchanged;
        };
        let stamp = self.override_stamp(&entry, last_dirty, origin);
        let key = Key { app: app.clone(), id: InstanceId::new(id) };
        let entry = Registered { over: Some(Override { value, stamp, last_dirty }), ..entry };
        self.put(&mut guarded, key, entry, ActionType::Modified, origin, Touched::Override, now);
        StatusChange::Changed
    }

    /// The stamp of an override that came some way other than from a node of this kind. What a Java server brings was
    /// said at most 30 seconds ago, since its tasks do not live longer; and after the record, if it knew that one.
    fn override_stamp(&self, entry: &Registered, last_dirty: Option<i64>, origin: Origin) -> Stamp {
        let now = self.stamps.now();
        if origin.is_local() {
            return now;
        }
        let known = last_dirty.is_some_and(|dirty| dirty >= entry.record_dirty).then_some(entry.record_stamp);
        let replaced = entry.over.map(|over| over.stamp).max(entry.floor.map(|floor| floor.stamp)).max(known);
        let above = replaced.map(|stamp| stamp.next(self.stamps.node()));
        now.before(JAVA_TASK_LIFE).max(above.unwrap_or(Stamp::ZERO))
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
        let key = Key { app: app.clone(), id: InstanceId::new(id) };
        let entry = Registered {
            lease: self.lease_for(&info, Some(&entry), now),
            bytes: info.text_bytes(),
            own_status: info.status,
            // What a status call brought becomes the record's: with less, peers that know it would refuse this.
            record_dirty: info.last_dirty_timestamp.unwrap_or(entry.record_dirty),
            info: Arc::new(info),
            record_stamp: self.stamps.now(),
            ..entry
        };
        self.put(&mut guarded, key, entry, ActionType::Added, origin, Touched::Record, now);
        StatusChange::Changed
    }
}
