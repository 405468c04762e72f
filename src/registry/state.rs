//! What a registry holds: applications, and the index by which VIP addresses find instances.
//!
//! Plain data under the registry's lock. Each change gives the touched application and VIPs a new version, by which
//! a cached document knows whether it still shows what is there.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use eurekad_wire::{AppName, AppsHashCode, InstanceId, InstanceInfo, InstanceStatus};
use indexmap::{IndexMap, IndexSet};

use super::Key;
use super::gone::Floor;
use super::lease::Lease;
use super::stamp::Stamp;
use super::status::{Override, OverrideValue};

/// One instance in the registry. Immutable but for its lease's atomics, so readers never see half a change.
#[derive(Debug, Clone)]
pub struct Registered {
    /// The instance as it is shown: its status, override and last action are the registry's.
    pub info: Arc<InstanceInfo>,
    /// Its lease.
    pub lease: Arc<Lease>,
    /// The bytes of its texts.
    pub(super) bytes: usize,
    /// The status its client last gave.
    pub(super) own_status: InstanceStatus,
    /// The `lastDirtyTimestamp` of the client's record, without what a status call brought.
    pub(super) record_dirty: i64,
    /// When its client said so.
    pub(super) record_stamp: Stamp,
    pub(super) over: Option<Override>,
    /// Its last cancellation; what was said before that is void.
    pub(super) floor: Option<Floor>,
    /// What nodes of this kind compare of it, once that was asked for.
    pub(super) digest: OnceLock<u64>,
}

/// What is set on an instance from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverrideView {
    /// Nothing.
    None,
    /// This status.
    Set(InstanceStatus),
    /// It was removed; this is shown until the client speaks.
    Cleared(InstanceStatus),
    /// It was removed, and the client has spoken since.
    Spent,
}

impl Registered {
    /// What is set on it from outside.
    pub fn override_view(&self) -> OverrideView {
        match self.over.map(|o| o.value) {
            None => OverrideView::None,
            Some(OverrideValue::Set(status)) => OverrideView::Set(status),
            Some(OverrideValue::Cleared(status)) if self.override_is_newer() => OverrideView::Cleared(status),
            Some(OverrideValue::Cleared(_)) => OverrideView::Spent,
        }
    }

    /// Whether what is set on it from outside is newer than what its client said.
    pub fn override_is_newer(&self) -> bool {
        self.over.is_some_and(|over| over.stamp > self.record_stamp)
    }

    /// The `lastDirtyTimestamp` of its client's record, without what a status call brought.
    pub fn record_dirty(&self) -> i64 {
        self.record_dirty
    }

    /// Its place in the registry.
    pub fn key(&self) -> Key {
        Key { app: self.info.app.clone(), id: InstanceId::new(self.info.id()) }
    }
}

/// One application: its instances in the order in which they came.
#[derive(Debug, Clone)]
pub struct App {
    /// Its name.
    pub name: AppName,
    pub(super) version: u64,
    pub(super) instances: IndexMap<InstanceId, Registered>,
}

impl App {
    /// Its instances.
    pub fn instances(&self) -> impl ExactSizeIterator<Item = &Registered> {
        self.instances.values()
    }
}

/// Which instances a VIP address has, and when that last changed.
#[derive(Debug, Default)]
pub(super) struct VipMembers {
    pub(super) version: u64,
    pub(super) keys: IndexSet<Key>,
}

type VipIndex = HashMap<Box<str>, VipMembers>;

/// Everything under the lock but the log, the rings and the expectation.
#[derive(Debug, Default)]
pub(super) struct Instances {
    pub(super) version: u64,
    pub(super) apps: IndexMap<AppName, Arc<App>>,
    pub(super) vips: VipIndex,
    pub(super) secure_vips: VipIndex,
    pub(super) hash_code: AppsHashCode,
    pub(super) len: usize,
}

impl Instances {
    pub(super) fn get(&self, app: &str, id: &str) -> Option<&Registered> {
        self.apps.get(app)?.instances.get(id)
    }

    /// **Compat:** the first match over all applications, for `instances/{id}`.
    pub(super) fn find(&self, id: &str) -> Option<&Registered> {
        self.apps.values().find_map(|app| app.instances.get(id))
    }

    /// The version the next change will have.
    pub(super) fn next_version(&self) -> u64 {
        self.version + 1
    }

    /// Puts `entry` in its place and returns what was there.
    pub(super) fn put(&mut self, key: &Key, entry: Registered) -> Option<Registered> {
        self.version += 1;
        let version = self.version;
        let app = self
            .apps
            .entry(key.app.clone())
            .or_insert_with(|| Arc::new(App { name: key.app.clone(), version, instances: IndexMap::new() }));
        let app = Arc::make_mut(app);
        app.version = version;
        let status = entry.info.status;
        let info = Arc::clone(&entry.info);
        let before = app.instances.insert(key.id.clone(), entry);
        match &before {
            Some(before) => {
                self.hash_code.remove(before.info.status);
                let before = Arc::clone(&before.info);
                self.unindex(key, &before, version);
            }
            None => self.len += 1,
        }
        self.hash_code.add(status);
        self.index(key, &info, version);
        before
    }

    /// Notes under later stamps what is there already. It shows nothing new, so the version stays.
    pub(super) fn restamp(&mut self, key: &Key, record: Stamp, over: Option<Override>, floor: Option<Floor>) {
        let app = self.apps.get_mut(&key.app).map(Arc::make_mut);
        if let Some(entry) = app.and_then(|app| app.instances.get_mut(&key.id)) {
            (entry.record_stamp, entry.over, entry.floor) = (record, over, floor);
            entry.digest = OnceLock::new();
        }
    }

    /// Takes an instance out.
    pub(super) fn remove(&mut self, key: &Key) -> Option<Registered> {
        let app = self.apps.get_mut(&key.app)?;
        if !app.instances.contains_key(&key.id) {
            return None;
        }
        self.version += 1;
        let version = self.version;
        let app = Arc::make_mut(app);
        app.version = version;
        let gone = app.instances.swap_remove(&key.id)?;
        if app.instances.is_empty() {
            self.apps.swap_remove(&key.app);
        }
        self.len -= 1;
        self.hash_code.remove(gone.info.status);
        let info = Arc::clone(&gone.info);
        self.unindex(key, &info, version);
        Some(gone)
    }

    fn index(&mut self, key: &Key, info: &InstanceInfo, version: u64) {
        info.vips().for_each(|vip| enter(&mut self.vips, vip, key, version));
        info.secure_vips().for_each(|vip| enter(&mut self.secure_vips, vip, key, version));
    }

    fn unindex(&mut self, key: &Key, info: &InstanceInfo, version: u64) {
        info.vips().for_each(|vip| leave(&mut self.vips, vip, key, version));
        info.secure_vips().for_each(|vip| leave(&mut self.secure_vips, vip, key, version));
    }
}

fn enter(index: &mut VipIndex, vip: &str, key: &Key, version: u64) {
    let members = match index.get_mut(vip) {
        Some(members) => members,
        None => index.entry(vip.into()).or_default(),
    };
    members.version = version;
    members.keys.insert(key.clone());
}

fn leave(index: &mut VipIndex, vip: &str, key: &Key, version: u64) {
    if let Some(members) = index.get_mut(vip) {
        members.version = version;
        members.keys.swap_remove(key);
        if members.keys.is_empty() {
            index.remove(vip);
        }
    }
}
