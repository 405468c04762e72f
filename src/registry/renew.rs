//! Heartbeats.

use eurekad_wire::{ActionType, AppName, InstanceId, InstanceStatus};

use super::follow::LocalTouch;
use super::outcome::{Heartbeat, HeartbeatOutcome};
use super::register::is_from_the_future;
use super::state::Registered;
use super::status::{self, Override, OverrideValue};
use super::{Key, Origin, Registry, Touched};

impl Registry {
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

    /// Takes over an override that another server told with a heartbeat.
    ///
    /// It counts as old as the record: a client that says STARTING or DOWN is still believed.
    fn store_override(&self, app: &AppName, id: &str, over: InstanceStatus, origin: Origin) {
        let now = self.clock.epoch_millis();
        let mut guarded = self.write();
        let Some(entry) = guarded.instances.get(app.as_str(), id).cloned() else { return };
        // Nothing new; or it was removed here, and the other server has not heard of that yet.
        if entry.over.is_some_and(|o| o.set_status().is_none_or(|set| set == over)) {
            return;
        }
        let above = entry.over.map(|o| o.stamp.next(self.stamps.node()));
        let stamp = above.map_or(entry.record_stamp, |above| above.max(entry.record_stamp));
        let over = Override { value: OverrideValue::Set(over), stamp, last_dirty: None };
        let key = Key { app: app.clone(), id: InstanceId::new(id) };
        let entry = Registered { over: Some(over), ..entry };
        self.put(&mut guarded, key, entry, ActionType::Modified, origin, Touched::Override, now);
    }
}
