//! The access gate: whether reads of the registry are answered.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::reject::Reject;
use crate::clock::{Clock, Tick};

/// Whether reads are answered. An empty registry is worse than no answer: clients keep what they have.
///
/// **Compat:** Java's gate is open before the copy at the start and closed for a while if there was nothing to copy.
/// Here it is closed until the node opens; `eurekad.boot.serve-while-syncing` opens it from the beginning.
#[derive(Debug)]
pub struct Gate {
    clock: Clock,
    open: AtomicBool,
    closed_until: AtomicU64,
}

impl Gate {
    /// A gate that is closed, or open from the beginning.
    pub fn new(clock: Clock, open: bool) -> Self {
        Self { clock, open: AtomicBool::new(open), closed_until: AtomicU64::new(0) }
    }

    /// The node is complete and takes traffic.
    pub fn open(&self) {
        self.open.store(true, Ordering::Release);
    }

    /// The node has opened with nothing to show: reads wait so long for clients to register.
    pub fn open_after(&self, wait: Duration) {
        self.closed_until.store(self.clock.tick().after(wait).0, Ordering::Release);
        self.open();
    }

    /// Whether the node takes traffic.
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
            && self.clock.tick() >= Tick(self.closed_until.load(Ordering::Acquire))
    }

    pub(super) fn check(&self) -> Result<(), Reject> {
        if self.is_open() { Ok(()) } else { Err(Reject::Forbidden) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_gate_opens_when_told_or_after_its_wait() {
        let gate = Gate::new(Clock::simulated(0), false);
        assert!(!gate.is_open());
        gate.open_after(Duration::from_secs(300));
        assert!(!gate.is_open());
        tokio::time::advance(Duration::from_secs(300)).await;
        assert!(gate.is_open());
    }
}
