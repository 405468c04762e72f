//! The work that a node does by itself.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::time::{MissedTickBehavior, sleep};

use super::Node;
use super::tasks::Tasks;
use crate::clock::{Clock, Tick};
use crate::http::NodeState;
use crate::peers::{COLLECT, PeerEurekaNodes};
use crate::registry::{
    Evicted, Evictor, Heartbeat, HeartbeatOutcome, Origin, RENEWAL_SLOT, SelfPreservationState,
};
use crate::settings::RenewalAccounting;

/// Between two looks at what was refused for want of room, and between two lines about one bound.
const BOUNDS_LOOK: Duration = Duration::from_millis(500);
const BOUNDS_LOGGED_EVERY: Duration = Duration::from_secs(10);

/// The most instances of one pass that are named in the log, and the most characters of a name.
const MOST_NAMED: usize = 20;
const LONGEST_NAME: usize = 200;

/// The call of an unknown node has the list of peers read, but not more often than this.
const STRANGERS_WAIT: Duration = Duration::from_millis(500);

/// How often is looked whether it is time for a comparison.
const COMPARE_LOOK: Duration = Duration::from_secs(1);

/// After a loss a comparison comes sooner, but not at once after another: a peer may refuse something each time.
const COMPARE_SOONER: Duration = Duration::from_secs(5);

impl Node {
    /// Reads the list of peers, and starts telling them what changes here.
    pub(super) async fn start_replication(&self) {
        let peers = &self.api.peers;
        if peers.is_empty() {
            return;
        }
        read_peers(peers, &self.tasks, &mut self.draw_chance()).await;
        let ran = self.timed("replication-feed", COLLECT);
        self.tasks.spawn("replication-feed", Arc::clone(peers).feed(ran));
        if peers.can_change() {
            self.tasks.spawn("peer-list", self.follow_peer_list(self.api.settings.peers.refresh_interval));
        }
    }

    /// Reads the list of peers again and again, and when told to.
    fn follow_peer_list(&self, interval: Duration) -> impl Future<Output = ()> + Send + 'static {
        let (peers, tasks, reload) =
            (Arc::clone(&self.api.peers), self.tasks.clone(), Arc::clone(&self.reload));
        let mut chance = self.draw_chance();
        let ran = self.timed("peer-list", interval);
        async move {
            loop {
                tokio::select! {
                    biased;
                    () = sleep(interval) => {}
                    () = reload.notified() => {}
                    () = peers.stranger_called() => sleep(STRANGERS_WAIT).await,
                }
                ran();
                read_peers(&peers, &tasks, &mut chance).await;
            }
        }
    }

    pub(super) fn start_background(&self, itself: bool) {
        let timers = &self.api.settings.timers;
        if itself {
            self.tasks.spawn("own-heartbeat", self.own_heartbeat());
        }
        let compare_interval = self.api.settings.peers.compare_interval;
        if !self.api.peers.is_empty() && !compare_interval.is_zero() {
            self.tasks.spawn("repair", self.repair(compare_interval));
        }
        self.tasks.spawn("eviction", self.eviction(timers.eviction, self.draw_chance()));
        let registry = Arc::clone(self.registry());
        self.every("delta-retention", timers.delta_retention, move || registry.forget_old_changes());
        let registry = Arc::clone(self.registry());
        self.every("renewal-accounting", RENEWAL_SLOT, move || registry.end_renewal_slot());
        self.every("bounds", BOUNDS_LOOK, self.watch_bounds());
        if self.api.settings.registry.accounting == RenewalAccounting::GlobalInterval {
            let registry = Arc::clone(self.registry());
            self.every("renewal-threshold", timers.renewal_threshold, move || {
                registry.update_renewal_threshold();
            });
        }
        if self.api.settings.cache.use_read_only {
            self.tasks.spawn("cache-refresh", self.cache_refresh(self.api.settings.cache.update_interval));
        }
    }

    /// Renews this node's own lease, as a client does.
    fn own_heartbeat(&self) -> impl Future<Output = ()> + Send + 'static {
        let api = Arc::clone(&self.api);
        let interval = api.own.lease_info.unwrap_or_default().renewal_interval_secs;
        let interval = Duration::from_secs(interval.unsigned_abs().into());
        let ran = self.timed("own-heartbeat", interval);
        async move {
            let mut ticks = ticks(interval);
            loop {
                ticks.tick().await;
                if api.gate.state() == NodeState::Draining {
                    return;
                }
                ran();
                match api.registry.heartbeat(&api.own.app, api.own.id(), Heartbeat::default(), Origin::Client)
                {
                    HeartbeatOutcome::Renewed => {}
                    HeartbeatOutcome::NotFound
                    | HeartbeatOutcome::Cancelled
                    | HeartbeatOutcome::MustRegister
                    | HeartbeatOutcome::SenderIsNewer
                    | HeartbeatOutcome::SenderIsOlder(_) => {
                        api.registry.register((*api.own).clone(), Origin::Client);
                    }
                }
            }
        }
    }

    /// Says when a bound was reached, and which setting moves it: the first time at once, and then how often since.
    fn watch_bounds(&self) -> impl FnMut() + Send + 'static {
        let (registry, metrics) = (Arc::clone(self.registry()), self.metrics.clone());
        let clock = self.api.clock.clone();
        let mut said: [(u64, Option<Tick>); 8] = [(0, None); 8];
        move || {
            let now = [
                (
                    metrics.registry.registrations_refused.get(),
                    "registrations refused: raise eurekad.limits.instances",
                ),
                (
                    metrics.registry.applications_refused.get(),
                    "registrations refused: raise eurekad.limits.applications",
                ),
                (
                    metrics.registry.registrations_refused_by_application.get(),
                    "registrations refused: raise eurekad.limits.instances-per-application",
                ),
                (registry.changes_dropped(), "deltas refused for a while: raise eurekad.limits.changes"),
                (
                    metrics.http.connections_refused.get(),
                    "connections refused: raise eurekad.limits.connections",
                ),
                (
                    metrics.http.connections_closed_for_room.get(),
                    "connections closed to make room for others: raise eurekad.limits.connections",
                ),
                (
                    metrics.http.connections_refused_by_address.get(),
                    "connections refused: raise eurekad.limits.connections-per-address",
                ),
                (
                    metrics.http.bodies_refused.get(),
                    "request bodies refused: raise eurekad.limits.bytes-in-flight",
                ),
            ];
            let tick = clock.tick();
            for ((count, words), (before, at)) in now.into_iter().zip(&mut said) {
                if count > *before && at.is_none_or(|at| tick.since(at) >= BOUNDS_LOGGED_EVERY) {
                    tracing::warn!(times = count - *before, "{words}");
                    (*before, *at) = (count, Some(tick));
                }
            }
        }
    }

    /// Compares with the other nodes of this kind, and at once when something may have been lost.
    fn repair(&self, interval: Duration) -> impl Future<Output = ()> + Send + 'static {
        let (peers, clock) = (Arc::clone(&self.api.peers), self.api.clock.clone());
        let ran = self.timed("repair", interval);
        async move {
            let mut last = clock.tick();
            loop {
                sleep(COMPARE_LOOK.min(interval)).await;
                if peers.compare_with_newcomers().await {
                    ran();
                }
                let waited = clock.tick().since(last);
                if waited >= interval || (waited >= COMPARE_SOONER.min(interval) && peers.should_compare()) {
                    ran();
                    peers.compare().await;
                    last = clock.tick();
                }
            }
        }
    }

    fn eviction(&self, interval: Duration, chance: SmallRng) -> impl Future<Output = ()> + Send + 'static {
        let (registry, peers) = (Arc::clone(self.registry()), Arc::clone(&self.api.peers));
        let mut evictor = Evictor::new(interval, chance);
        let ran = self.timed("eviction", interval);
        async move {
            let mut ticks = ticks(interval);
            let mut protected_before = false;
            let mut overdue_before = 0;
            loop {
                ticks.tick().await;
                ran();
                let due = registry.overdue(Duration::ZERO);
                if !due.is_empty() && registry.self_preservation().allows_eviction() {
                    peers.ask_before_evicting(&due).await;
                }
                let pass = evictor.run(&registry);
                if !pass.evicted.is_empty() {
                    // In quotes: a client chooses its names, and must not be able to write log lines.
                    let named: Vec<String> = pass.evicted.iter().take(MOST_NAMED).map(name).collect();
                    tracing::info!(
                        instances = pass.evicted.len(),
                        ?named,
                        left_out = pass.evicted.len() - named.len(),
                        "evicted: their leases expired without a heartbeat"
                    );
                }
                let decided = &pass.self_preservation;
                let protected = decided.state == SelfPreservationState::Protecting;
                if protected && (!protected_before || pass.overdue != overdue_before) {
                    tracing::warn!(
                        overdue = pass.overdue,
                        leases = decided.leases,
                        "self-preservation is {decided}"
                    );
                } else if protected_before && !protected {
                    tracing::info!("self-preservation is {decided}");
                }
                protected_before = protected;
                overdue_before = pass.overdue;
            }
        }
    }

    /// **Compat:** Java's read-only cache is renewed at whole multiples of the interval, so that all servers of a
    /// cluster change what they show at about the same moment.
    fn cache_refresh(&self, interval: Duration) -> impl Future<Output = ()> + Send + 'static {
        let api = Arc::clone(&self.api);
        let ran = self.timed("cache-refresh", interval);
        async move {
            loop {
                sleep(until_next_multiple(&api.clock, interval)).await;
                ran();
                api.cache.refresh().await;
            }
        }
    }

    fn every(&self, name: &'static str, interval: Duration, mut work: impl FnMut() + Send + 'static) {
        let ran = self.timed(name, interval);
        self.tasks.spawn(name, async move {
            let mut ticks = ticks(interval);
            loop {
                ticks.tick().await;
                ran();
                work();
            }
        });
    }

    /// What a task that runs every `interval` is to call at each run.
    fn timed(&self, name: &'static str, interval: Duration) -> impl Fn() + Send + 'static {
        let (figures, clock) = (self.metrics.tasks.of(name), self.api.clock.clone());
        figures.runs_every(interval, clock.tick());
        move || figures.ran(clock.tick())
    }
}

/// One that was evicted, for the log.
fn name(evicted: &Evicted) -> String {
    let Evicted { key, overdue_by } = evicted;
    let name: String = format!("{}/{}", key.app, key.id).chars().take(LONGEST_NAME).collect();
    format!("{name} overdue by {} ms", overdue_by.as_millis())
}

/// Reads the list of peers and starts a sender for each that is new.
async fn read_peers(peers: &PeerEurekaNodes, tasks: &Tasks, chance: &mut SmallRng) {
    for node in peers.refresh().await {
        let (restarts, mut chance) = (peers.restarts(), SmallRng::seed_from_u64(chance.random()));
        tasks.spawn_restarted("replication-sender", restarts, move || {
            Arc::clone(&node).sender(SmallRng::seed_from_u64(chance.random()))
        });
    }
}

/// Ticks from one interval after now. After a stall the next tick comes a whole interval later, not in a burst.
fn ticks(interval: Duration) -> tokio::time::Interval {
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.reset();
    ticks
}

fn until_next_multiple(clock: &Clock, interval: Duration) -> Duration {
    let interval = i64::try_from(interval.as_millis()).unwrap_or(i64::MAX).max(1);
    let into = clock.epoch_millis().rem_euclid(interval);
    Duration::from_millis(u64::try_from(interval - into).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_cache_is_renewed_at_whole_multiples_of_the_interval() {
        let clock = Clock::simulated(1_700_000_000_250);
        assert_eq!(until_next_multiple(&clock, Duration::from_secs(1)), Duration::from_millis(750));
        let clock = Clock::simulated(1_700_000_001_000);
        assert_eq!(until_next_multiple(&clock, Duration::from_secs(1)), Duration::from_secs(1));
    }
}
