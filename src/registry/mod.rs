//! The registry: leases, overrides, what changed, and who is overdue. The only owner of instance state.
//!
//! It does no IO, spawns nothing and knows neither HTTP nor encodings. One lock guards its state, is held for
//! microseconds and never across an `.await`. A renewal takes it for reading only; what it changes is atomic.
//!
//! Every change has a version and stands in the change log; whoever follows the registry pulls it from there.

mod change_log;
mod content;
mod digest;
mod evict;
mod first_contact;
mod follow;
mod gone;
mod key_state;
mod lease;
mod leave;
mod merge;
mod merge_in;
mod outcome;
mod overrides;
mod put;
mod recent;
mod register;
mod renew;
mod renewals;
mod self_preservation;
mod stamp;
mod state;
mod status;
#[cfg(test)]
mod tests;

use std::sync::atomic::AtomicBool;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use eurekad_wire::{AppName, InstanceId};

pub use change_log::{Change, LocalVersions};
pub use content::{Content, Group, Revision, Scope};
pub use digest::{BUCKETS, Digests};
pub use evict::{Evicted, Eviction, Evictor};
pub use follow::LocalTouch;
pub use gone::{Floor, Mark};
pub use key_state::{Heard, KeyState, Record};
pub use lease::Lease;
pub use merge_in::{How, Merged};
pub use outcome::{Cancellation, Full, Heartbeat, HeartbeatOutcome, Oversize, Registration, StatusChange};
pub use recent::{Happened, RecentEvent};
pub use renewals::SLOT as RENEWAL_SLOT;
pub use self_preservation::{SelfPreservation, State as SelfPreservationState};
pub use stamp::{FARTHEST_AHEAD, FromTheFuture, NoStamp, NodeId, Stamp, StampClock};
pub use state::{App, OverrideView, Registered};
pub use status::{Override, OverrideValue};

use change_log::{ChangeLog, Touched};
use follow::Following;
use gone::WhatWent;
use recent::Ring;
use renewals::{Expectation, Renewals};
use state::Instances;

use crate::clock::Clock;
use crate::settings::{Doubling, RegistrySettings};
use crate::telemetry::RegistryMetrics;

/// What identifies an instance: its application and its id.
///
/// **Compat:** Java keys overrides by the id alone, so that two applications with one id share them. Not here.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The application.
    pub app: AppName,
    /// The id within it.
    pub id: InstanceId,
}

impl Key {
    /// The key of an instance.
    pub fn new(app: &str, id: &str) -> Self {
        Self { app: AppName::new(app), id: InstanceId::new(id) }
    }
}

/// Where a call comes from. It decides which of Eureka's rules apply and whether peers are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The instance's own client.
    Client,
    /// A person, or a tool of theirs.
    Operator,
    /// A Java server that did this already, or who says so.
    Replica,
    /// A node of this kind that knows of it.
    Ours,
    /// The copy that a node takes of a Java server at its start.
    Sync,
    /// This node's evictor.
    Evictor,
}

impl Origin {
    /// Whether the change was decided here, so that the peers have to be told.
    pub fn is_local(self) -> bool {
        match self {
            Self::Client | Self::Operator => true,
            Self::Replica | Self::Ours | Self::Sync | Self::Evictor => false,
        }
    }
}

/// The registry of one node.
#[derive(Debug)]
pub struct Registry {
    clock: Clock,
    stamps: StampClock,
    settings: RegistrySettings,
    metrics: RegistryMetrics,
    renewals: Renewals,
    following: Following,
    /// Whether a Java server is among the peers; see `eurekad.lease.duration-doubling`.
    java_peer: AtomicBool,
    guarded: RwLock<Guarded>,
}

/// What the lock guards.
#[derive(Debug)]
struct Guarded {
    instances: Instances,
    log: ChangeLog,
    went: WhatWent,
    expectation: Expectation,
    registered: Ring,
    cancelled: Ring,
}

impl Registry {
    /// An empty registry of the node `id`.
    pub fn new(clock: Clock, id: NodeId, settings: RegistrySettings, metrics: RegistryMetrics) -> Self {
        let stamps = StampClock::new(clock.clone(), id);
        let guarded = Guarded {
            instances: Instances::default(),
            log: ChangeLog::new(settings.delta_retention, settings.max_changes),
            went: WhatWent::default(),
            expectation: Expectation::new(
                settings.accounting,
                settings.expected_clients,
                settings.global_renewal_interval_secs,
            ),
            registered: Ring::new(Ring::CAPACITY),
            cancelled: Ring::new(Ring::CAPACITY),
        };
        let renewals = Renewals::new(settings.accounting);
        let (following, java_peer) = (Following::default(), AtomicBool::new(false));
        Self {
            clock,
            stamps,
            settings,
            metrics,
            renewals,
            following,
            java_peer,
            guarded: RwLock::new(guarded),
        }
    }

    /// One instance.
    ///
    /// **Compat:** an overdue one is hidden while leases may expire, and shown while self-preservation holds it.
    pub fn instance(&self, app: &AppName, id: &str) -> Option<Registered> {
        let found = self.read().instances.get(app.as_str(), id).cloned()?;
        self.unless_expired(found)
    }

    /// The first instance with this id over all applications.
    pub fn find(&self, id: &str) -> Option<Registered> {
        let found = self.read().instances.find(id).cloned()?;
        self.unless_expired(found)
    }

    fn unless_expired(&self, found: Registered) -> Option<Registered> {
        let overdue = found.lease.is_expired(self.clock.tick(), Duration::ZERO);
        (!overdue || !self.self_preservation().allows_eviction()).then_some(found)
    }

    /// When what a scope shows last changed; `None` if there is no such application or VIP, or if the change log has
    /// lost entries, so that a delta would mislead.
    pub fn revision(&self, scope: &Scope) -> Option<Revision> {
        let guarded = self.read();
        content::revision(scope, &guarded.instances, &guarded.log, self.clock.tick())
    }

    /// What a scope shows; `None` as for [`revision`](Self::revision).
    pub fn content(&self, scope: &Scope) -> Option<Content> {
        let guarded = self.read();
        content::content(scope, &guarded.instances, &guarded.log, self.clock.tick())
    }

    /// What several scopes show, all at one version; each is handed in with the caller's own key for it. A scope whose
    /// stamp is still the one given is left out.
    pub fn contents<'a, K>(
        &self,
        scopes: impl IntoIterator<Item = (K, &'a Scope, Option<Revision>)>,
    ) -> Vec<(K, Option<Content>)> {
        let now = self.clock.tick();
        let guarded = self.read();
        let (instances, log) = (&guarded.instances, &guarded.log);
        scopes
            .into_iter()
            .filter(|(_, scope, known)| {
                known.is_none() || content::revision(scope, instances, log, now) != *known
            })
            .map(|(key, scope, _)| (key, content::content(scope, instances, log, now)))
            .collect()
    }

    /// The version of the newest change.
    pub fn version(&self) -> u64 {
        self.read().instances.version
    }

    /// The changes after `version` that are still in the log, oldest first.
    pub fn changes_since(&self, version: u64) -> Vec<Change> {
        self.read().log.since(version).cloned().collect()
    }

    /// How many instances there are.
    pub fn len(&self) -> usize {
        self.read().instances.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The last registrations, newest first.
    pub fn recent_registrations(&self) -> Vec<RecentEvent> {
        self.read().registered.newest_first().cloned().collect()
    }

    /// The last cancellations, newest first, those of unknown instances included.
    pub fn recent_cancellations(&self) -> Vec<RecentEvent> {
        self.read().cancelled.newest_first().cloned().collect()
    }

    /// All overrides that are set, by instance id.
    pub fn overrides(&self) -> Vec<(Key, eurekad_wire::InstanceStatus)> {
        let guarded = self.read();
        let entries = guarded.instances.apps.values().flat_map(|app| app.instances());
        entries.filter_map(|e| Some((e.key(), e.over?.set_status()?))).collect()
    }

    /// Whether overdue leases may be evicted, and why.
    pub fn self_preservation(&self) -> SelfPreservation {
        self.decide(&self.read())
    }

    fn decide(&self, guarded: &Guarded) -> SelfPreservation {
        SelfPreservation::decide(self_preservation::Evidence {
            enabled: self.settings.self_preservation,
            min_leases: self.settings.self_preservation_min_leases,
            leases: guarded.instances.len,
            expected: guarded.expectation.per_window(),
            percent: self.settings.renewal_percent_threshold,
            renewals: self.renewals.last_window(),
            has_whole_window: self.renewals.has_whole_window(),
            zero_threshold_protects: self.settings.accounting
                == crate::settings::RenewalAccounting::GlobalInterval,
        })
    }

    /// Ends a slot of renewal accounting; to be called every [`RENEWAL_SLOT`].
    pub fn end_renewal_slot(&self) {
        self.renewals.roll();
    }

    /// **Compat:** Java's threshold updater; see `eureka.server.renewal-threshold-update-interval-ms`.
    pub fn update_renewal_threshold(&self) {
        let mut guarded = self.write();
        let count = guarded.instances.len as u64;
        let (percent, enabled) = (self.settings.renewal_percent_threshold, self.settings.self_preservation);
        guarded.expectation.adopt_client_count(count, percent, enabled);
    }

    /// Forgets changes that are older than the delta's retention, and cancellations that are old enough.
    pub fn forget_old_changes(&self) {
        let now = self.clock.tick();
        let mut guarded = self.write();
        guarded.log.forget_old(now);
        guarded.went.forget_old(now);
    }

    /// The clock by which what happens here is put in order with what happens at other nodes.
    pub fn stamps(&self) -> &StampClock {
        &self.stamps
    }

    /// How many instances that are gone are remembered, and how many were forgotten for lack of room.
    pub fn remembered(&self) -> (usize, u64) {
        let guarded = self.read();
        (guarded.went.len(), guarded.went.dropped())
    }

    /// Changes that left the log for lack of room, since the start.
    pub fn changes_dropped(&self) -> u64 {
        self.read().log.dropped()
    }

    /// How many changes the log holds.
    pub fn changes_held(&self) -> usize {
        self.read().log.len()
    }

    // The state is consistent after any panic that could poison the lock: each operation validates first and then
    // only moves values. Going on beats taking the registry down.
    fn read(&self) -> RwLockReadGuard<'_, Guarded> {
        self.guarded.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Guarded> {
        self.guarded.write().unwrap_or_else(PoisonError::into_inner)
    }
}
