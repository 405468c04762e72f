//! How many renewals a registry expects, and how many it gets.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::lease::Lease;
use crate::settings::RenewalAccounting;

/// The length of one accounting window.
///
/// **Compat:** Eureka counts renewals per minute.
const WINDOW: Duration = Duration::from_secs(60);

/// A window is looked at again after each of these. By the time that the leases of clients which were cut off are over,
/// the last minute must show that they are silent: a minute that ended just after the cut would not.
pub const SLOT: Duration = Duration::from_secs(10);

/// Slots in a window.
const SLOTS: usize = 6;

/// Expectations are summed in millionths of a renewal, so that a sum of many fractions stays exact.
const MICRO: u64 = 1_000_000;

/// No client is expected to renew more often than this, whatever it says.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(5);

/// One side of the self-preservation decision: what came in the last minute.
///
/// Counting takes no lock: a renewal is two atomic additions.
///
/// **Compat:** Java looks at the last whole minute, and sees only after up to two that clients fell silent; so does
/// global-interval accounting.
#[derive(Debug)]
pub(super) struct Renewals {
    accounting: RenewalAccounting,
    /// Renewals of the slot that runs.
    current: AtomicU64,
    /// Renewals of the last slots.
    slots: Mutex<[u64; SLOTS]>,
    /// Renewals of the last window that counts.
    last: AtomicU64,
    /// Slots that are over.
    over: AtomicU32,
}

impl Renewals {
    pub(super) fn new(accounting: RenewalAccounting) -> Self {
        Self {
            accounting,
            current: AtomicU64::new(0),
            slots: Mutex::default(),
            last: AtomicU64::new(0),
            over: AtomicU32::new(0),
        }
    }

    /// Counts one renewal of `lease`.
    ///
    /// A lease counts at most what is expected of it, rounded up: a client that beats ten times too often must not
    /// hide nine that fell silent. **Compat:** Java counts every renewal; so does global-interval accounting.
    pub(super) fn count(&self, lease: &Lease) {
        // From 1, so that a fresh lease's 0 is another window.
        let window = self.over.load(Ordering::Relaxed) / SLOTS as u32 + 1;
        let in_window = lease.count_in_window(window);
        let counts = match self.accounting {
            RenewalAccounting::PerLease => u64::from(in_window) <= expected_of(lease).div_ceil(MICRO),
            RenewalAccounting::GlobalInterval => true,
        };
        if counts {
            self.current.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A first-time registration counts as if the client had renewed its lease regularly until now: from now on a whole
    /// minute's renewals are expected of it, and the next one comes after its interval. Without that a registry that many
    /// clients join at once would take them for silent.
    ///
    /// **Compat:** Java takes them for silent; so does global-interval accounting.
    pub(super) fn count_new(&self, lease: &Lease) {
        // Before the first whole window nothing can be said, least of all by leases that were copied.
        if self.accounting == RenewalAccounting::GlobalInterval || !self.has_whole_window() {
            return;
        }
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let over = self.over.load(Ordering::Relaxed) as usize;
        let mut ago = Duration::ZERO;
        while ago < WINDOW {
            match (ago.as_millis() / SLOT.as_millis()) as usize {
                0 => {
                    self.current.fetch_add(1, Ordering::Relaxed);
                }
                before => slots[(over + 1 - before) % SLOTS] += 1,
            }
            self.last.fetch_add(1, Ordering::Relaxed);
            ago += interval_of(lease);
        }
    }

    /// Ends the running slot.
    pub(super) fn roll(&self) {
        let over = self.over.fetch_add(1, Ordering::Relaxed) as usize + 1;
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots[over % SLOTS] = self.current.swap(0, Ordering::Relaxed);
        let counts = match self.accounting {
            RenewalAccounting::PerLease => over >= SLOTS,
            RenewalAccounting::GlobalInterval => over.is_multiple_of(SLOTS),
        };
        if counts {
            self.last.store(slots.iter().sum(), Ordering::Relaxed);
        }
    }

    /// Renewals of the last minute.
    pub(super) fn last_window(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }

    /// Whether any window has passed yet.
    pub(super) fn has_whole_window(&self) -> bool {
        self.over.load(Ordering::Relaxed) as usize >= SLOTS
    }
}

/// How often a lease is expected to be renewed: its interval clamped to [5 s, its duration], since a client that announces
/// more than its lease's duration must still renew within it.
fn interval_of(lease: &Lease) -> Duration {
    lease.interval().min(lease.duration()).max(SHORTEST_INTERVAL)
}

/// What is expected of one lease per window, in millionths: window / interval.
fn expected_of(lease: &Lease) -> u64 {
    let interval = interval_of(lease);
    let window = u64::try_from(WINDOW.as_millis()).unwrap_or(u64::MAX);
    let interval = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
    window * MICRO / interval
}

/// The running expectation. Kept under the registry's lock, with the leases it is the sum of.
#[derive(Debug)]
pub(super) struct Expectation {
    accounting: RenewalAccounting,
    /// Sum over the leases, in millionths.
    sum: u64,
    /// Java's counter of expected clients, used by global-interval accounting alone.
    clients: u64,
    /// Java's one renewal interval for all.
    global_interval_secs: u32,
}

impl Expectation {
    pub(super) fn new(accounting: RenewalAccounting, clients: u64, global_interval_secs: u32) -> Self {
        Self { accounting, sum: 0, clients, global_interval_secs: global_interval_secs.max(1) }
    }

    /// A first-time registration.
    pub(super) fn add(&mut self, lease: &Lease) {
        self.sum += expected_of(lease);
        // **Compat:** Java counts nothing while it expects nobody.
        if self.clients > 0 {
            self.clients = self.clients.saturating_add(1);
        }
    }

    /// A lease that ended.
    pub(super) fn remove(&mut self, lease: &Lease) {
        self.sum = self.sum.saturating_sub(expected_of(lease));
        self.clients = self.clients.saturating_sub(1);
    }

    /// A registration anew, perhaps with other lengths.
    pub(super) fn replace(&mut self, before: &Lease, after: &Lease) {
        self.sum = self.sum.saturating_sub(expected_of(before)) + expected_of(after);
    }

    /// **Compat:** Java's threshold updater adopts a client count unless it has dropped by more than the threshold
    /// allows. Without effect on per-lease accounting, whose sum is always exact.
    pub(super) fn adopt_client_count(&mut self, count: u64, percent: f64, self_preservation: bool) {
        if count as f64 > percent * self.clients as f64 || !self_preservation {
            self.clients = count;
        }
    }

    /// Expected renewals per window.
    pub(super) fn per_window(&self) -> f64 {
        match self.accounting {
            RenewalAccounting::PerLease => self.sum as f64 / MICRO as f64,
            RenewalAccounting::GlobalInterval => {
                self.clients as f64 * (60.0 / f64::from(self.global_interval_secs))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Tick;
    use eurekad_wire::LeaseInfo;

    fn lease(interval: i32, duration: i32) -> Lease {
        let asked =
            LeaseInfo { renewal_interval_secs: interval, duration_secs: duration, ..LeaseInfo::default() };
        Lease::new(Some(asked), false, Tick(0), 0)
    }

    /// Case: P081
    #[test]
    fn the_expectation_is_the_sum_over_leases_of_their_own_intervals() {
        let mut expected = Expectation::new(RenewalAccounting::PerLease, 0, 30);
        (0..10).for_each(|_| expected.add(&lease(5, 15)));
        assert_eq!(expected.per_window(), 120.0);
        (0..10).for_each(|_| expected.add(&lease(30, 90)));
        assert_eq!(expected.per_window(), 140.0);
        (0..10).for_each(|_| expected.remove(&lease(5, 15)));
        assert_eq!(expected.per_window(), 20.0);
    }

    #[test]
    fn an_interval_is_clamped_to_five_seconds_and_to_the_duration() {
        assert_eq!(expected_of(&lease(1, 90)), 12 * MICRO);
        assert_eq!(expected_of(&lease(300, 60)), MICRO);
        assert_eq!(expected_of(&lease(30, 3)), 12 * MICRO);
    }

    #[test]
    fn a_chatty_client_counts_no_more_than_is_expected_of_it() {
        let renewals = Renewals::new(RenewalAccounting::PerLease);
        let chatty = lease(30, 90);
        for slot in 1..=30 {
            (0..50).for_each(|_| renewals.count(&chatty));
            renewals.roll();
            assert_eq!(renewals.last_window(), if slot < SLOTS { 0 } else { 2 });
        }
    }

    #[test]
    fn clients_that_join_a_registry_at_once_are_not_silent_before_their_first_heartbeats() {
        let renewals = Renewals::new(RenewalAccounting::PerLease);
        (0..SLOTS).for_each(|_| renewals.roll());
        let leases: Vec<Lease> = (0..60).map(|_| lease(30, 90)).collect();
        leases.iter().for_each(|lease| renewals.count_new(lease));
        let mut seen = vec![renewals.last_window()];
        for slot in 1..=12 {
            renewals.roll();
            seen.push(renewals.last_window());
            // All renew half a minute after they came, and again.
            if slot % 3 == 0 {
                leases.iter().for_each(|lease| renewals.count(lease));
            }
        }
        assert_eq!(seen, [120; 13]);
    }

    #[test]
    fn clients_that_join_and_fall_silent_at_once_are_seen_to() {
        let renewals = Renewals::new(RenewalAccounting::PerLease);
        (0..SLOTS).for_each(|_| renewals.roll());
        (0..60).for_each(|_| renewals.count_new(&lease(30, 90)));
        let seen = [(); 7].map(|()| {
            renewals.roll();
            renewals.last_window()
        });
        assert_eq!(seen, [120, 120, 120, 60, 60, 60, 0]);
    }

    #[test]
    fn what_is_copied_at_the_start_has_not_renewed_anything() {
        let renewals = Renewals::new(RenewalAccounting::PerLease);
        renewals.count_new(&lease(30, 90));
        assert_eq!(renewals.last_window(), 0);
    }

    #[test]
    fn that_clients_fell_silent_shows_ten_seconds_later_and_not_a_minute() {
        let renewals = Renewals::new(RenewalAccounting::PerLease);
        let leases: Vec<Lease> = (0..60).map(|_| lease(30, 90)).collect();
        let slot = |n: usize, of: &[Lease]| {
            let beats = of.iter().enumerate().filter(|(client, _)| client % 3 == n % 3);
            beats.for_each(|(_, lease)| renewals.count(lease));
            renewals.roll();
            renewals.last_window()
        };
        let loud: Vec<u64> = (0..12).map(|n| slot(n, &leases)).collect();
        assert_eq!(loud[11], 120);
        assert_eq!([12, 13, 14].map(|n| slot(n, &leases[..30])), [110, 100, 90]);
    }

    #[test]
    fn global_interval_accounting_counts_as_java_does() {
        let renewals = Renewals::new(RenewalAccounting::GlobalInterval);
        let chatty = lease(30, 90);
        for slot in 1..=12 {
            (0..5).for_each(|_| renewals.count(&chatty));
            renewals.roll();
            assert_eq!(renewals.last_window(), if slot < 6 { 0 } else { 30 });
        }
        renewals.count(&chatty);
        (0..5).for_each(|_| renewals.roll());
        assert_eq!(renewals.last_window(), 30, "until the minute is over");
        renewals.roll();
        assert_eq!(renewals.last_window(), 1);

        let mut expected = Expectation::new(RenewalAccounting::GlobalInterval, 0, 30);
        expected.add(&chatty);
        assert_eq!(expected.per_window(), 0.0, "nothing from 0");
        let mut expected = Expectation::new(RenewalAccounting::GlobalInterval, 1, 30);
        expected.add(&chatty);
        assert_eq!(expected.per_window(), 4.0);
        expected.adopt_client_count(1, 0.85, true);
        assert_eq!(expected.per_window(), 4.0, "a large drop is not adopted");
        expected.adopt_client_count(151, 0.85, true);
        assert_eq!(expected.per_window(), 302.0);
    }
}
