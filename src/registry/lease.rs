//! A lease: how long an instance may stay without a word from its client.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use eurekad_wire::LeaseInfo;

use crate::clock::Tick;

/// One lease. Every registration makes a new one; renewals change it in place, without any lock.
#[derive(Debug)]
pub struct Lease {
    interval_secs: i32,
    duration_secs: i32,
    /// Whether a renewed lease lives twice its duration; see [`Lease::expires_at`].
    doubled: AtomicBool,
    /// Whether its renewal waits to be told to the peers.
    touched: AtomicBool,
    /// Whether its client was last heard here, and not through another node.
    heard_here: AtomicBool,
    /// Whether nobody has seen its client: it was copied from a server that cannot say when it was renewed.
    unproven: AtomicBool,
    /// Until then it is not over, whatever its renewals say; 0 for none.
    grace_until: AtomicU64,
    registered: Tick,
    registered_epoch: i64,
    /// Tick of the last renewal plus one; 0 while it was never renewed.
    renewed: AtomicU64,
    renewed_epoch: AtomicI64,
    /// Epoch milliseconds at which the instance was first UP; 0 if never.
    service_up: AtomicI64,
    /// Epoch milliseconds at which the lease was cancelled or evicted; 0 while it lives.
    ended: AtomicI64,
    /// Renewals in the accounting window: the window's number above, their count below, 32 bits each.
    window: AtomicU64,
}

impl Lease {
    /// A lease that starts now, with the lengths its client asked for.
    pub(super) fn new(asked: Option<LeaseInfo>, doubled: bool, now: Tick, now_epoch: i64) -> Self {
        let asked = asked.unwrap_or_default();
        let positive = |secs: i32, default: i32| if secs > 0 { secs } else { default };
        Self {
            interval_secs: positive(asked.renewal_interval_secs, LeaseInfo::DEFAULT_RENEWAL_INTERVAL_SECS),
            duration_secs: positive(asked.duration_secs, LeaseInfo::DEFAULT_DURATION_SECS),
            doubled: AtomicBool::new(doubled),
            touched: AtomicBool::new(false),
            heard_here: AtomicBool::new(false),
            unproven: AtomicBool::new(false),
            grace_until: AtomicU64::new(0),
            registered: now,
            registered_epoch: now_epoch,
            renewed: AtomicU64::new(0),
            renewed_epoch: AtomicI64::new(now_epoch),
            service_up: AtomicI64::new(0),
            ended: AtomicI64::new(0),
            window: AtomicU64::new(0),
        }
    }

    /// How often its client means to renew it.
    pub fn interval(&self) -> Duration {
        Duration::from_secs(self.interval_secs.unsigned_abs().into())
    }

    /// How long it lives without a renewal.
    pub fn duration(&self) -> Duration {
        Duration::from_secs(self.duration_secs.unsigned_abs().into())
    }

    /// The client was heard. Whether the lease doubles is decided anew.
    pub(super) fn renew(&self, now: Tick, now_epoch: i64, doubled: bool) {
        self.doubled.store(doubled, Ordering::Relaxed);
        self.unproven.store(false, Ordering::Relaxed);
        // Two renewals may race here; the later one must stay.
        self.renewed.fetch_max(now.0.saturating_add(1), Ordering::Relaxed);
        self.renewed_epoch.fetch_max(now_epoch, Ordering::Relaxed);
    }

    /// Whether it was ever renewed since its registration.
    pub(super) fn was_renewed(&self) -> bool {
        self.renewed.load(Ordering::Relaxed) > 0
    }

    /// Nobody has seen its client yet.
    pub(super) fn set_unproven(&self) {
        self.unproven.store(true, Ordering::Relaxed);
    }

    /// Whether nobody has seen its client: it lives here, and is handed on to no other node.
    pub fn is_unproven(&self) -> bool {
        self.unproven.load(Ordering::Relaxed)
    }

    /// Keeps it from ending before `until`.
    pub(super) fn give_grace(&self, until: Tick) {
        self.grace_until.store(until.0, Ordering::Relaxed);
    }

    /// Whether it would be over if nobody doubled it: what nodes tell each other of, and compare.
    pub fn is_overdue_by_its_duration(&self, now: Tick) -> bool {
        now > self.last_heard().after(self.duration())
    }

    /// How long it lives after a renewal.
    pub(super) fn life(&self) -> Duration {
        let doubled = self.doubled.load(Ordering::Relaxed);
        if doubled { self.duration().saturating_mul(2) } else { self.duration() }
    }

    /// Counts a renewal in accounting window `window` and returns how many there are now.
    pub(super) fn count_in_window(&self, window: u32) -> u32 {
        let mut count = 0;
        // `fetch_update` cannot fail: the closure always returns a value.
        let _ = self.window.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |packed| {
            let same = (packed >> 32) as u32 == window;
            count = if same { (packed as u32).saturating_add(1) } else { 1 };
            Some((u64::from(window) << 32) | u64::from(count))
        });
        count
    }

    /// The moment after which the lease is overdue.
    ///
    /// **Compat:** the Java server adds the duration when a lease is renewed and again when it asks whether the
    /// lease has expired, so a renewed lease lives twice as long as its client asked. A mixed cluster must agree
    /// on that, hence `eurekad.lease.duration-doubling`. A lease that was never renewed lives its duration there too.
    pub fn expires_at(&self) -> Tick {
        let heard = self.last_heard();
        let end = heard.after(self.duration());
        let end = if self.is_doubled() { end.after(self.duration()) } else { end };
        end.max(Tick(self.grace_until.load(Ordering::Relaxed)))
    }

    /// Whether it is overdue by more than `grace`.
    pub fn is_expired(&self, now: Tick, grace: Duration) -> bool {
        now > self.expires_at().after(grace)
    }

    fn is_doubled(&self) -> bool {
        self.doubled.load(Ordering::Relaxed) && self.renewed.load(Ordering::Relaxed) > 0
    }

    /// Notes whether its client was heard here, or through another node.
    pub(super) fn note_heard(&self, here: bool) {
        self.heard_here.store(here, Ordering::Relaxed);
    }

    /// Whether its client was last heard here.
    pub(super) fn was_heard_here(&self) -> bool {
        self.heard_here.load(Ordering::Relaxed)
    }

    /// Notes that its renewal waits to be told; true if that was known.
    pub(super) fn note_touched(&self) -> bool {
        self.touched.swap(true, Ordering::Relaxed)
    }

    /// Its renewal is being told.
    pub(super) fn forget_touched(&self) {
        self.touched.store(false, Ordering::Relaxed);
    }

    /// When its client was last heard: its registration or its last renewal.
    pub fn last_heard(&self) -> Tick {
        match self.renewed.load(Ordering::Relaxed) {
            0 => self.registered,
            tick_plus_one => Tick(tick_plus_one - 1),
        }
    }

    /// The instance is UP; only the first time counts.
    pub(super) fn service_up(&self, now_epoch: i64) {
        let _ = self.service_up.compare_exchange(0, now_epoch, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Takes over when `earlier`'s instance was first UP: a registration anew does not reset it.
    pub(super) fn inherit_service_up(&self, earlier: &Lease) {
        self.service_up.store(earlier.service_up.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// The lease is over.
    pub(super) fn end(&self, now_epoch: i64) {
        self.ended.store(now_epoch, Ordering::Relaxed);
    }

    /// The lease as a document shows it at this moment.
    ///
    /// **Compat:** with doubling on, `lastRenewalTimestamp` is the renewal's time plus the duration, as Java shows it.
    pub fn to_info(&self) -> LeaseInfo {
        let ahead = if self.is_doubled() { i64::from(self.duration_secs) * 1000 } else { 0 };
        LeaseInfo {
            renewal_interval_secs: self.interval_secs,
            duration_secs: self.duration_secs,
            registration_timestamp: self.registered_epoch,
            last_renewal_timestamp: self.renewed_epoch.load(Ordering::Relaxed) + ahead,
            eviction_timestamp: self.ended.load(Ordering::Relaxed),
            service_up_timestamp: self.service_up.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(duration_secs: i32, doubled: bool) -> Lease {
        let asked = LeaseInfo { duration_secs, ..LeaseInfo::default() };
        Lease::new(Some(asked), doubled, Tick(1_000), 1_700_000_000_000)
    }

    /// Catalog: B24
    #[test]
    fn a_lease_that_was_never_renewed_expires_after_its_duration() {
        for doubled in [false, true] {
            let lease = lease(3, doubled);
            assert!(!lease.is_expired(Tick(4_000), Duration::ZERO));
            assert!(lease.is_expired(Tick(4_001), Duration::ZERO));
        }
    }

    /// Catalog: B24
    #[test]
    fn a_renewed_lease_lives_its_duration_or_twice_that_as_java_has_it() {
        let exact = lease(3, false);
        exact.renew(Tick(2_000), 1_700_000_001_000, false);
        assert!(!exact.is_expired(Tick(5_000), Duration::ZERO));
        assert!(exact.is_expired(Tick(5_001), Duration::ZERO));
        assert_eq!(exact.to_info().last_renewal_timestamp, 1_700_000_001_000);

        let doubled = lease(3, true);
        doubled.renew(Tick(2_000), 1_700_000_001_000, true);
        assert!(!doubled.is_expired(Tick(8_000), Duration::ZERO));
        assert!(doubled.is_expired(Tick(8_001), Duration::ZERO));
        assert_eq!(doubled.to_info().last_renewal_timestamp, 1_700_000_004_000);
    }

    #[test]
    fn a_lease_that_was_never_renewed_shows_its_registration_as_its_last_renewal() {
        assert_eq!(lease(3, true).to_info().last_renewal_timestamp, 1_700_000_000_000);
    }

    #[test]
    fn lengths_that_are_not_positive_fall_back_to_the_defaults() {
        let asked = LeaseInfo { renewal_interval_secs: 0, duration_secs: -1, ..LeaseInfo::default() };
        let lease = Lease::new(Some(asked), false, Tick(0), 0);
        assert_eq!((lease.interval().as_secs(), lease.duration().as_secs()), (30, 90));
    }

    #[test]
    fn only_the_first_time_up_is_kept() {
        let lease = lease(90, false);
        lease.service_up(5);
        lease.service_up(9);
        assert_eq!(lease.to_info().service_up_timestamp, 5);
    }

    #[test]
    fn renewals_are_counted_per_window() {
        let lease = lease(90, false);
        assert_eq!([1, 1, 2].map(|window| lease.count_in_window(window)), [1, 2, 1]);
    }
}
