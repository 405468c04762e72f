//! At most one log line per cause and time, however often it happens.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::Tick;

/// What anybody on the network can bring about as often as he likes is logged once in this time.
const EVERY: Duration = Duration::from_secs(1);

/// Lets one line through in a time and counts the others, for one cause. The next line says how many there were.
#[derive(Debug)]
pub struct LogLimit {
    every: Duration,
    /// When a line was last let through; 0 for never, which no clock shows.
    last: AtomicU64,
    suppressed: AtomicU64,
}

/// A line may be written; so many before it were not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suppressed(u64);

impl Suppressed {
    /// The field `suppressed` of the line: how many like it were not written since the last. None leaves it out.
    pub fn times(self) -> Option<u64> {
        (self.0 > 0).then_some(self.0)
    }
}

impl Default for LogLimit {
    fn default() -> Self {
        Self::every(EVERY)
    }
}

impl LogLimit {
    /// One line in so much time.
    pub fn every(every: Duration) -> Self {
        Self { every, last: AtomicU64::new(0), suppressed: AtomicU64::new(0) }
    }

    /// Whether the line may be written now. Of several that ask at the same moment one may.
    pub fn admit(&self, now: Tick) -> Option<Suppressed> {
        let last = self.last.load(Ordering::Relaxed);
        let free = last == 0 || now.since(Tick(last)) >= self.every;
        if free && self.last.compare_exchange(last, now.0, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            Some(Suppressed(self.suppressed.swap(0, Ordering::Relaxed)))
        } else {
            self.suppressed.fetch_add(1, Ordering::Relaxed);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_in_a_second_is_let_through_and_says_how_many_were_not() {
        let limit = LogLimit::default();
        let at = |millis: u64| limit.admit(Tick(Tick::START.0 + millis)).map(Suppressed::times);
        assert_eq!(at(0), Some(None), "the first has nothing before it");
        for millis in 0..999 {
            assert_eq!(at(millis), None);
        }
        assert_eq!(at(1000), Some(Some(999)));
        assert_eq!(at(1001), None);
        assert_eq!(at(9000), Some(Some(1)));
        assert_eq!(at(10_000), Some(None));
    }

    #[test]
    fn a_longer_time_can_be_asked_for() {
        let limit = LogLimit::every(Duration::from_secs(60));
        assert!(limit.admit(Tick::START).is_some());
        assert!(limit.admit(Tick::START.after(Duration::from_secs(59))).is_none());
        assert!(limit.admit(Tick::START.after(Duration::from_secs(60))).is_some());
    }

    #[test]
    fn however_many_threads_ask_together_one_line_is_written() {
        let limit = LogLimit::default();
        let written: usize = std::thread::scope(|scope| {
            let ask = || (0..1000).filter(|_| limit.admit(Tick::START).is_some()).count();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(written, 1);
    }
}
