//! What a document is to show: taken under one read lock, encoded outside it.

use std::sync::Arc;

use eurekad_wire::{AppName, AppsHashCode};
use indexmap::IndexMap;

use super::change_log::ChangeLog;
use super::state::{App, Instances, Registered, VipMembers};
use crate::clock::Tick;

/// What a document is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scope {
    /// All applications.
    All,
    /// What changed lately.
    Delta,
    /// One application.
    App(AppName),
    /// The instances behind a VIP address.
    Vip(Box<str>),
    /// The instances behind a secure VIP address.
    SecureVip(Box<str>),
}

/// When what a scope shows last changed. Two equal revisions of a scope mean equal content, but for lease times; of two
/// different ones the greater is the later. A delta changes with the registry and when the log forgets, hence two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision(u64, u64);

/// What a document of some scope shows, at one version: list, version and hash code always fit together.
#[derive(Debug, Clone)]
pub struct Content {
    /// When it last changed.
    pub revision: Revision,
    /// The registry's version.
    pub version: u64,
    /// The hash code that goes with it. **Compat:** for a delta that of the *whole* registry.
    pub hash_code: AppsHashCode,
    /// The applications.
    pub groups: Vec<Group>,
}

/// The instances of one application that a document shows.
#[derive(Debug, Clone)]
pub enum Group {
    /// All of them; shared with the registry until it changes them.
    Whole(Arc<App>),
    /// Some of them.
    Some(AppName, Vec<Registered>),
}

impl Content {
    /// About how many bytes a document of it takes.
    pub fn bytes(&self) -> usize {
        // Names of fields, numbers and punctuation of one instance come to about this.
        const REST: usize = 1024;
        self.groups.iter().flat_map(Group::instances).map(|entry| entry.bytes + REST).sum()
    }
}

impl Group {
    /// The application's name.
    pub fn name(&self) -> &AppName {
        match self {
            Self::Whole(app) => &app.name,
            Self::Some(name, _) => name,
        }
    }

    /// The instances.
    pub fn instances(&self) -> Box<dyn ExactSizeIterator<Item = &Registered> + '_> {
        match self {
            Self::Whole(app) => Box::new(app.instances()),
            Self::Some(_, instances) => Box::new(instances.iter()),
        }
    }
}

/// The revision of a scope; `None` if there is no such application or VIP, or no whole delta.
pub(super) fn revision(scope: &Scope, instances: &Instances, log: &ChangeLog, now: Tick) -> Option<Revision> {
    match scope {
        Scope::All => Some(Revision(instances.version, 0)),
        Scope::Delta => {
            let oldest = log.oldest_version().unwrap_or(instances.next_version());
            log.is_whole(now).then_some(Revision(instances.version, oldest))
        }
        Scope::App(name) => instances.apps.get(name).map(|app| Revision(app.version, 0)),
        Scope::Vip(vip) => instances.vips.get(vip).map(|members| Revision(members.version, 0)),
        Scope::SecureVip(vip) => instances.secure_vips.get(vip).map(|members| Revision(members.version, 0)),
    }
}

/// What a scope shows; `None` if there is no such application or VIP.
pub(super) fn content(scope: &Scope, instances: &Instances, log: &ChangeLog, now: Tick) -> Option<Content> {
    let revision = revision(scope, instances, log, now)?;
    let (groups, hash_code) = match scope {
        Scope::All => (instances.apps.values().cloned().map(Group::Whole).collect(), instances.hash_code),
        Scope::Delta => {
            let changed = log.iter().map(|change| (change.key.app.clone(), change.after.clone()));
            (grouped(changed), instances.hash_code)
        }
        Scope::App(name) => {
            let app = instances.apps.get(name)?;
            with_own_hash(vec![Group::Whole(Arc::clone(app))])
        }
        Scope::Vip(vip) => with_own_hash(members_of(instances, instances.vips.get(vip)?)),
        Scope::SecureVip(vip) => with_own_hash(members_of(instances, instances.secure_vips.get(vip)?)),
    };
    Some(Content { revision, version: instances.version, hash_code, groups })
}

fn members_of(instances: &Instances, members: &VipMembers) -> Vec<Group> {
    grouped(members.keys.iter().filter_map(|key| {
        let entry = instances.get(key.app.as_str(), key.id.as_str())?;
        Some((key.app.clone(), entry.clone()))
    }))
}

/// Instances grouped by application, in order of first appearance.
fn grouped(entries: impl Iterator<Item = (AppName, Registered)>) -> Vec<Group> {
    let mut groups: IndexMap<AppName, Vec<Registered>> = IndexMap::new();
    for (app, entry) in entries {
        groups.entry(app).or_default().push(entry);
    }
    groups.into_iter().map(|(app, entries)| Group::Some(app, entries)).collect()
}

fn with_own_hash(groups: Vec<Group>) -> (Vec<Group>, AppsHashCode) {
    let hash_code = groups.iter().flat_map(Group::instances).map(|e| e.info.status).collect();
    (groups, hash_code)
}
