//! The places that connections have, and who gives up theirs when all are taken.
//!
//! A connection that waits for its client costs the node nothing but its place. So when all are taken the one that has
//! waited longest gives its place up: a flood of connections that say nothing shuts nobody out.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::clock::{Clock, Tick};
use crate::settings::HttpSettings;
use crate::telemetry::HttpMetrics;

/// A connection keeps its place at least so long, however many others come.
const KEPT: Duration = Duration::from_secs(1);

/// One that has had no answer yet counts as waiting so many times as long as it does: it is nobody's client so far.
const UNPROVEN: u32 = 10;

/// Who is to give up a place is found for so many newcomers at once, since all are looked at for it.
const CHOSEN_AT_ONCE: usize = 64;

/// If nobody can give up a place, nobody is looked for again for so long.
const NOBODY_FOR: Duration = Duration::from_millis(20);

/// All places of a node.
#[derive(Debug)]
pub(super) struct Places {
    clock: Clock,
    most: usize,
    /// 0 for no bound.
    most_of_address: usize,
    metrics: HttpMetrics,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    taken: HashMap<u64, Arc<Place>>,
    by_address: HashMap<IpAddr, usize>,
    next: u64,
    /// Who gives up a place next, and since when it waited when it was chosen.
    chosen: VecDeque<(u64, Tick)>,
    nobody_until: Option<Tick>,
}

/// What a connection does, as far as its place is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// It waits for the first byte of a request.
    Quiet,
    /// It waits for the rest of a request's head.
    Head,
    /// It waits for more of a request's body.
    Body,
    /// A request is being handled.
    Handled,
    /// Its answer is made and is being sent.
    Answered,
    /// Its client takes nothing of the answer at the moment.
    Stalled,
}

/// The place of one connection.
#[derive(Debug)]
pub(super) struct Place {
    clock: Clock,
    state: Mutex<State>,
    given_up: Notify,
    abandoned: AtomicBool,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    since: Tick,
    /// Whether it has had an answer.
    proven: bool,
}

/// A place that is left when this is dropped.
#[derive(Debug)]
pub(super) struct Taken {
    places: Arc<Places>,
    id: u64,
    address: IpAddr,
    pub(super) place: Arc<Place>,
}

impl Places {
    pub(super) fn new(clock: Clock, settings: &HttpSettings, metrics: HttpMetrics) -> Self {
        let (most, most_of_address) = (settings.max_connections, settings.max_connections_per_address);
        Self { clock, most, most_of_address, metrics, table: Mutex::default() }
    }

    /// A place for a connection from `address`; `None` if there is none.
    pub(super) fn take(self: &Arc<Self>, address: IpAddr) -> Option<Taken> {
        let address = counted_as(address);
        let mut table = self.table();
        let of_address = table.by_address.get(&address).copied().unwrap_or(0);
        if self.most_of_address > 0 && of_address >= self.most_of_address {
            self.metrics.connections_refused_by_address.inc();
            return None;
        }
        if table.taken.len() >= self.most && !self.make_room(&mut table) {
            self.metrics.connections_refused.inc();
            return None;
        }
        let place = Arc::new(Place::new(self.clock.clone()));
        let id = table.next;
        table.next += 1;
        table.taken.insert(id, Arc::clone(&place));
        *table.by_address.entry(address).or_default() += 1;
        self.metrics.connections.inc();
        Some(Taken { places: Arc::clone(self), id, address, place })
    }

    fn make_room(&self, table: &mut Table) -> bool {
        if self.next_goes(table) {
            return true;
        }
        let now = self.clock.tick();
        if table.nobody_until.is_some_and(|until| now < until) {
            return false;
        }
        choose(table, now);
        let gone = self.next_goes(table);
        table.nobody_until = (!gone).then(|| now.after(NOBODY_FOR));
        gone
    }

    /// The first of those chosen that still waits gives its place up.
    fn next_goes(&self, table: &mut Table) -> bool {
        while let Some((id, since)) = table.chosen.pop_front() {
            let still = table.taken.get(&id).is_some_and(|place| place.waits_since() == Some(since));
            if still && let Some(place) = table.taken.remove(&id) {
                self.metrics.connections_closed_for_room.inc();
                place.given_up.notify_one();
                return true;
            }
        }
        false
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Those that have waited longest, the longest first.
fn choose(table: &mut Table, now: Tick) {
    let mut waiting: Vec<(Duration, u64, Tick)> = table
        .taken
        .iter()
        .filter_map(|(id, place)| {
            let (waited, since) = place.counts_as_waiting(now)?;
            (waited >= KEPT).then_some((waited, *id, since))
        })
        .collect();
    if waiting.len() > CHOSEN_AT_ONCE {
        waiting.select_nth_unstable_by(CHOSEN_AT_ONCE, |a, b| b.cmp(a));
        waiting.truncate(CHOSEN_AT_ONCE);
    }
    waiting.sort_unstable_by(|a, b| b.cmp(a));
    table.chosen = waiting.into_iter().map(|(_, id, since)| (id, since)).collect();
}

/// A host has one address of version four, and a whole network of version six.
fn counted_as(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX))),
        v4 @ IpAddr::V4(_) => v4,
    }
}

impl Place {
    fn new(clock: Clock) -> Self {
        let state = State { phase: Phase::Quiet, since: clock.tick(), proven: false };
        Self { clock, state: Mutex::new(state), given_up: Notify::new(), abandoned: AtomicBool::new(false) }
    }

    /// Comes back when another connection gets this place.
    pub(super) async fn given_up(&self) {
        self.given_up.notified().await;
    }

    /// Its client went while this node stood still: whatever it asked for, it has long given up on that.
    pub(super) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    pub(super) fn phase(&self) -> Phase {
        self.state().phase
    }

    /// Goes from any of these phases to another, and says whether it was in one. Quiet again, it has had an answer.
    pub(super) fn goes(&self, from: &[Phase], to: Phase) -> bool {
        let mut state = self.state();
        if !from.contains(&state.phase) {
            return false;
        }
        state.proven |= to == Phase::Quiet;
        state.phase = to;
        state.since = self.clock.tick();
        true
    }

    fn waits_since(&self) -> Option<Tick> {
        let state = self.state();
        state.phase.waits().then_some(state.since)
    }

    /// For how long it counts as waiting for its client, and since when it does.
    fn counts_as_waiting(&self, now: Tick) -> Option<(Duration, Tick)> {
        let state = self.state();
        let waited = now.since(state.since) * if state.proven { 1 } else { UNPROVEN };
        state.phase.waits().then_some((waited, state.since))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Phase {
    fn waits(self) -> bool {
        match self {
            Self::Quiet | Self::Head | Self::Body | Self::Stalled => true,
            Self::Handled | Self::Answered => false,
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut table = self.places.table();
        table.taken.remove(&self.id);
        if let Some(count) = table.by_address.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                table.by_address.remove(&self.address);
            }
        }
        self.places.metrics.connections.dec();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;
    use crate::settings::Settings;

    const A: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const B: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    fn places(most: usize, of_address: usize) -> Arc<Places> {
        let mut settings = Settings::default().http;
        (settings.max_connections, settings.max_connections_per_address) = (most, of_address);
        Arc::new(Places::new(Clock::simulated(0), &settings, HttpMetrics::default()))
    }

    async fn pass(millis: u64) {
        advance(Duration::from_millis(millis)).await;
    }

    /// Asks something, is answered, and waits.
    fn is_served(taken: &Taken) {
        for (from, to) in [
            (Phase::Quiet, Phase::Head),
            (Phase::Head, Phase::Handled),
            (Phase::Handled, Phase::Answered),
            (Phase::Answered, Phase::Quiet),
        ] {
            assert!(taken.place.goes(&[from], to));
        }
    }

    async fn has_given_up(taken: &Taken) -> bool {
        tokio::time::timeout(Duration::ZERO, taken.place.given_up()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn when_all_places_are_taken_the_one_that_waited_longest_gives_up_its_own() {
        let places = places(3, 0);
        let first = places.take(A).unwrap();
        is_served(&first);
        pass(2_000).await;
        let second = places.take(A).unwrap();
        is_served(&second);
        let busy = places.take(A).unwrap();
        assert!(busy.place.goes(&[Phase::Quiet], Phase::Handled));
        pass(2_000).await;
        let third = places.take(B).unwrap();
        assert!(has_given_up(&first).await);
        assert!(!has_given_up(&second).await && !has_given_up(&busy).await && !has_given_up(&third).await);
        assert_eq!(places.metrics.connections_closed_for_room.get(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_never_asked_goes_before_a_client_that_is_quiet_for_a_while() {
        let places = places(2, 0);
        let client = places.take(A).unwrap();
        is_served(&client);
        pass(5_000).await;
        let silent = places.take(B).unwrap();
        pass(1_000).await;
        let _other = places.take(B).unwrap();
        assert!(has_given_up(&silent).await && !has_given_up(&client).await);
    }

    #[tokio::test(start_paused = true)]
    async fn newcomers_and_those_that_are_busy_keep_their_places_and_others_are_refused() {
        let places = places(2, 0);
        let _new = places.take(A).unwrap();
        let busy = places.take(A).unwrap();
        assert!(busy.place.goes(&[Phase::Quiet], Phase::Handled));
        assert!(places.take(B).is_none());
        assert_eq!(places.metrics.connections_refused.get(), 1);
        drop(busy);
        assert!(places.take(B).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn who_speaks_after_it_was_chosen_keeps_its_place() {
        let places = places(3, 0);
        let taken: Vec<_> = (0..3).map(|_| places.take(A).unwrap()).collect();
        pass(5_000).await;
        let _a = places.take(B).unwrap();
        // Three were chosen at once; of the two that are left one speaks.
        let mut left: Vec<&Taken> = Vec::new();
        for one in &taken {
            if !has_given_up(one).await {
                left.push(one);
            }
        }
        assert!(left[0].place.goes(&[Phase::Quiet], Phase::Handled));
        let _b = places.take(B).unwrap();
        assert!(!has_given_up(left[0]).await && has_given_up(left[1]).await);
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_has_no_more_places_than_it_may() {
        let places = places(10, 2);
        let first = places.take(A).unwrap();
        let _second = places.take(A).unwrap();
        assert!(places.take(A).is_none());
        assert!(places.take(B).is_some());
        assert_eq!(places.metrics.connections_refused_by_address.get(), 1);
        drop(first);
        assert!(places.take(A).is_some());
    }

    #[test]
    fn a_network_of_version_six_counts_as_one_address() {
        let address = |text: &str| counted_as(text.parse().unwrap());
        assert_eq!(address("2001:db8::1"), address("2001:db8::ffff:1"));
        assert_ne!(address("2001:db8::1"), address("2001:db8:0:1::1"));
        assert_eq!(address("10.0.0.1"), A);
    }
}
