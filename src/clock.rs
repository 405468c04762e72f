//! Time, as something that is handed in.
//!
//! Two kinds that do not mix: epoch milliseconds (`i64`) are what the wire carries and people read; a [`Tick`] is
//! monotonic and is what leases, caches and timers decide by. A stepped wall clock therefore evicts nobody.
//!
//! Both follow tokio's time. In production that is the system's; in a test that pauses tokio they stand still and
//! advance together, each clock with its own skew.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// A moment of monotonic time, milliseconds. A clock begins at [`Tick::START`], so that what happened before a process
/// began (a lease renewed at another node) has its moment too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tick(pub u64);

impl Tick {
    /// Where every clock begins: far enough from zero for all that was before.
    pub const START: Self = Self(1 << 40);

    /// The moment `duration` later. Saturates instead of overflowing, so that an absurd lease simply never ends.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
    }

    /// The moment `duration` earlier.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
    }

    /// How long after `earlier` this is; zero if it is not after it.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// Where a node reads both kinds of time.
#[derive(Debug, Clone)]
pub struct Clock {
    started: Instant,
    wall: Wall,
}

#[derive(Debug, Clone)]
enum Wall {
    /// The system's wall clock, read each time: operators step it, and the wire must show what they see.
    System,
    /// An epoch at the start plus tokio's time plus a skew, for tests.
    Simulated { epoch_at_start: i64, skew: Arc<AtomicI64> },
}

impl Clock {
    /// The system's clocks.
    pub fn system() -> Self {
        Self { started: monotonic(), wall: Wall::System }
    }

    /// A clock whose wall time is `epoch_at_start` now and follows tokio's (paused) time from there.
    pub fn simulated(epoch_at_start: i64) -> Self {
        Self { started: monotonic(), wall: Wall::Simulated { epoch_at_start, skew: Arc::default() } }
    }

    /// Wall time, epoch milliseconds.
    pub fn epoch_millis(&self) -> i64 {
        match &self.wall {
            Wall::System => system_epoch_millis(),
            Wall::Simulated { epoch_at_start, skew } => {
                let run = self.tick().since(Tick::START).as_millis();
                let run = i64::try_from(run).unwrap_or(i64::MAX);
                epoch_at_start.saturating_add(run).saturating_add(skew.load(Ordering::Relaxed))
            }
        }
    }

    /// Monotonic time.
    pub fn tick(&self) -> Tick {
        Tick::START.after(monotonic() - self.started)
    }

    /// How long this clock has run, as finely as the system tells: to measure with, not to decide by.
    pub fn elapsed(&self) -> Duration {
        monotonic() - self.started
    }

    /// Steps a simulated wall clock by so many milliseconds, forwards or backwards. The system's is left alone.
    pub fn step(&self, millis: i64) {
        match &self.wall {
            Wall::System => {}
            Wall::Simulated { skew, .. } => {
                skew.fetch_add(millis, Ordering::Relaxed);
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this module is the one place that reads the clocks")]
fn monotonic() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "this module is the one place that reads the clocks")]
fn system_epoch_millis() -> i64 {
    // A wall clock before 1970 is a machine that has not set its time yet; 0 is as good as any answer there.
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn both_times_of_a_simulated_clock_follow_tokios() {
        let clock = Clock::simulated(1_700_000_000_000);
        tokio::time::advance(Duration::from_secs(90)).await;
        assert_eq!(clock.tick().since(Tick::START), Duration::from_secs(90));
        assert_eq!(clock.epoch_millis(), 1_700_000_090_000);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stepped_wall_clock_leaves_monotonic_time_alone() {
        let clock = Clock::simulated(1_700_000_000_000);
        clock.step(-3_600_000);
        assert_eq!(clock.tick(), Tick::START);
        assert_eq!(clock.epoch_millis(), 1_699_996_400_000);
    }

    #[test]
    fn an_absurd_duration_saturates() {
        assert_eq!(Tick(5).after(Duration::MAX), Tick(u64::MAX));
        assert_eq!(Tick(5).since(Tick(7)), Duration::ZERO);
    }
}
