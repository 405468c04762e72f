//! Cancellation, and how a lease ends.

use std::sync::Arc;
use std::time::Duration;

use eurekad_wire::{ActionType, AppName, InstanceId, LeaseInfo};

use super::gone::{Floor, Mark};
use super::outcome::Cancellation;
use super::recent::{Happened, RecentEvent};
use super::state::Registered;
use super::{Guarded, Key, Origin, Registry, Touched};

/// How an instance goes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Exit {
    /// Its client or an operator cancelled it.
    Cancelled(Floor),
    /// Its lease ended, or a Java server says that it was cancelled.
    Ended(Mark),
}

impl Registry {
    /// Takes an instance out.
    ///
    /// What a client or an operator cancels leaves a floor, what a Java server cancels a mark; so does the cancellation
    /// of an instance that is unknown here, for another node may know it.
    ///
    /// **Compat:** a cancellation of an unknown instance is listed among the recent ones all the same.
    pub fn cancel(&self, app: &AppName, id: &str, origin: Origin) -> Cancellation {
        let now = self.clock.epoch_millis();
        let key = Key { app: app.clone(), id: InstanceId::new(id) };
        let mut guarded = self.write();
        let existing = guarded.instances.get(app.as_str(), id).cloned();
        let exit = self.exit(existing.as_ref(), origin);
        let found = existing.is_some();
        if found {
            self.take_out(&mut guarded, key.clone(), exit, origin, now);
        } else if self.following.has_followers() {
            self.remember(&mut guarded, key.clone(), exit, None);
            if origin.is_local() {
                self.following.tell_again(key.clone());
            }
        }
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

    fn exit(&self, existing: Option<&Registered>, origin: Origin) -> Exit {
        let default = |secs: i32| Duration::from_secs(secs.unsigned_abs().into());
        let life = existing
            .map_or_else(|| default(LeaseInfo::DEFAULT_DURATION_SECS).saturating_mul(2), |e| e.lease.life());
        if origin.is_local() {
            let default = default(LeaseInfo::DEFAULT_RENEWAL_INTERVAL_SECS);
            Exit::Cancelled(Floor {
                stamp: self.stamps.now(),
                last_dirty: existing.and_then(|e| e.info.last_dirty_timestamp).unwrap_or(0),
                interval: existing.map_or(default, |e| e.lease.interval()),
                life,
                blind: existing.is_none(),
            })
        } else {
            let unknown = || Mark {
                stamp: self.stamps.now(),
                heard: self.clock.tick(),
                cancelled: true,
                life,
                blind: true,
            };
            Exit::Ended(existing.map_or_else(unknown, |entry| Mark::of(entry, true)))
        }
    }

    /// Removes a lease, whatever the reason, and logs the change. False if there is none.
    pub(super) fn take_out(
        &self,
        guarded: &mut Guarded,
        key: Key,
        exit: Exit,
        origin: Origin,
        now: i64,
    ) -> bool {
        let Some(entry) = guarded.instances.remove(&key) else { return false };
        guarded.expectation.remove(&entry.lease);
        // Without peers there is nobody who could bring it back.
        if self.following.has_followers() {
            self.remember(guarded, key.clone(), exit, entry.floor);
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

    /// Keeps how an instance went, with the floor that it had while it lived.
    pub(super) fn remember(&self, guarded: &mut Guarded, key: Key, exit: Exit, floor: Option<Floor>) {
        let at = self.clock.tick();
        match exit {
            Exit::Cancelled(floor) => guarded.went.cancelled(key, floor, at, !floor.blind),
            Exit::Ended(mark) => guarded.went.ended(key, mark, floor, at),
        }
    }
}
