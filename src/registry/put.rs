//! Where every change ends: an entry is put in its place, shows what its parts say, and stands in the change log.

use std::sync::{Arc, OnceLock};

use eurekad_wire::{ActionType, AppName, DataCenterInfo, InstanceInfo, InstanceStatus};

use super::lease::Lease;
use super::outcome::{Full, Oversize};
use super::recent::{Happened, RecentEvent};
use super::state::Registered;
use super::status;
use super::{Guarded, Key, Origin, Registry, Touched};

impl Registry {
    /// Whether an instance is small enough. Its VIP addresses count for themselves: each is work under the lock.
    pub(super) fn fits(&self, info: &InstanceInfo) -> Result<(), Oversize> {
        self.measured(info).inspect_err(|oversize| match oversize {
            Oversize::Metadata { .. } => _ = self.metrics.metadata_too_large.inc(),
            Oversize::Instance { .. } => _ = self.metrics.instances_too_large.inc(),
            Oversize::Vips { .. } => _ = self.metrics.vips_too_many.inc(),
        })
    }

    fn measured(&self, info: &InstanceInfo) -> Result<(), Oversize> {
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

    /// Whether one more instance of this application may come. A refusal is counted.
    pub(super) fn has_room(&self, guarded: &Guarded, app: &AppName) -> Result<(), Full> {
        let (instances, settings, metrics) = (&guarded.instances, &self.settings, &self.metrics);
        let of_app = instances.apps.get(app).map(|app| app.instances.len());
        let (full, refused) = if instances.len >= settings.max_instances {
            (Full::Instances, &metrics.registrations_refused)
        } else if of_app.is_none() && instances.apps.len() >= settings.max_applications {
            (Full::Applications, &metrics.applications_refused)
        } else if of_app.is_some_and(|instances| instances >= settings.max_instances_per_application) {
            (Full::InstancesPerApplication, &metrics.registrations_refused_by_application)
        } else {
            return Ok(());
        };
        refused.inc();
        Err(full)
    }

    pub(super) fn lease_for(
        &self,
        info: &InstanceInfo,
        existing: Option<&Registered>,
        now: i64,
    ) -> Arc<Lease> {
        let lease = Lease::new(info.lease_info, self.doubles_now(), self.clock.tick(), now);
        if let Some(existing) = existing {
            lease.inherit_service_up(&existing.lease);
        }
        Arc::new(lease)
    }

    /// Stores an entry: computes what it shows, puts it in its place, and logs the change.
    #[expect(clippy::too_many_arguments, reason = "one private call that every operation ends in")]
    pub(super) fn put(
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
            None => {
                guarded.expectation.add(&after.lease);
                self.renewals.count_new(&after.lease);
            }
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
    pub(super) fn is_cleared(&self) -> bool {
        self.override_is_newer() && self.over.is_some_and(|o| o.set_status().is_none())
    }

    /// This entry with its document brought up to date.
    pub(super) fn shown(self, action: ActionType, now: i64) -> Self {
        let mut info = Arc::unwrap_or_clone(self.info);
        info.status = status::shown(self.own_status, self.record_stamp, self.over.as_ref());
        info.overridden_status = self.over.and_then(|o| o.set_status()).unwrap_or(InstanceStatus::Unknown);
        let counts = self.over.filter(|o| o.set_status().is_some() || o.stamp > self.record_stamp);
        let brought = counts.and_then(|o| o.last_dirty).unwrap_or(i64::MIN);
        info.last_dirty_timestamp = Some(self.record_dirty.max(brought));
        info.action_type = Some(action);
        info.last_updated_timestamp = now;
        Self { info: Arc::new(info), digest: OnceLock::new(), ..self }
    }
}
