//! How long to leave a peer alone after a failure.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::SmallRng;

/// The first wait; each further failure doubles it.
const FIRST: Duration = Duration::from_millis(250);
/// The longest wait.
const LONGEST: Duration = Duration::from_secs(30);
/// The longest wait in the first failures, while whatever restarts is likely to be back soon.
const LONGEST_AT_FIRST: Duration = Duration::from_secs(2);
/// After so many failures in a row the wait may grow to its longest.
const PATIENT_FAILURES: u32 = 15;

/// Failures in a row, and the wait that follows from them.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// Another failure; how long to wait now. Half of it is chance, so that nodes do not knock together.
    pub(super) fn failed(&mut self, chance: &mut SmallRng) -> Duration {
        let longest = if self.failures < PATIENT_FAILURES { LONGEST_AT_FIRST } else { LONGEST };
        let wait = FIRST.saturating_mul(1 << self.failures.min(16)).min(longest);
        self.failures = self.failures.saturating_add(1);
        wait.mul_f64(chance.random_range(0.5..=1.0))
    }

    /// It answered.
    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// Failures in a row.
    pub(super) fn failures(self) -> u32 {
        self.failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn waits_grow_within_their_bounds_and_begin_anew_after_an_answer() {
        let (mut backoff, mut chance) = (Backoff::default(), SmallRng::seed_from_u64(1));
        for n in 0..100 {
            let wait = backoff.failed(&mut chance);
            let longest = if n < PATIENT_FAILURES { LONGEST_AT_FIRST } else { LONGEST };
            assert!(wait >= FIRST / 2 && wait <= longest, "{n}: {wait:?}");
        }
        backoff.succeeded();
        assert!(backoff.failed(&mut chance) <= FIRST);
    }
}
