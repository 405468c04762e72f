//! The access gate: whether reads of the registry are answered.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::reject::Reject;
use crate::clock::{Clock, Tick};

/// How far a node is, as it tells other nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeState {
    /// It has not opened, and has found nobody to copy from.
    Booting,
    /// It has not opened, and is copying a registry.
    Copying,
    /// It takes traffic.
    Open,
    /// It is about to stop.
    Draining,
}

impl NodeState {
    /// Whether it has not opened yet.
    pub fn is_starting(self) -> bool {
        match self {
            Self::Booting | Self::Copying => true,
            Self::Open | Self::Draining => false,
        }
    }

    /// The word in the header.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Booting => "booting",
            Self::Copying => "copying",
            Self::Open => "open",
            Self::Draining => "draining",
        }
    }
}

/// Whether reads are answered. An empty registry is worse than no answer: clients keep what they have.
///
/// **Compat:** Java's gate is open before the copy at the start and closed for a while if there was nothing to copy.
/// Here it is closed until the node opens; `eurekad.boot.serve-while-syncing` opens it from the beginning.
#[derive(Debug)]
pub struct Gate {
    clock: Clock,
    serve_while_syncing: bool,
    copying: AtomicBool,
    open: AtomicBool,
    draining: AtomicBool,
    closed_until: AtomicU64,
    /// Whether a client's heartbeat found nothing while the node was starting: there are instances that it does not know.
    missed_somebody: AtomicBool,
    /// Until then reads are not answered, though balancers may send traffic.
    quiet_until: AtomicU64,
}

impl Gate {
    /// A gate that is closed, or lets reads through from the beginning.
    pub fn new(clock: Clock, serve_while_syncing: bool) -> Self {
        Self {
            clock,
            serve_while_syncing,
            copying: AtomicBool::new(false),
            open: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            closed_until: AtomicU64::new(0),
            missed_somebody: AtomicBool::new(false),
            quiet_until: AtomicU64::new(0),
        }
    }

    /// Where the copy at start notes that it has found a source.
    pub fn copying(&self) -> &AtomicBool {
        &self.copying
    }

    /// How far the node is.
    pub fn state(&self) -> NodeState {
        if self.draining.load(Ordering::Acquire) {
            NodeState::Draining
        } else if self.open.load(Ordering::Acquire) {
            NodeState::Open
        } else if self.copying.load(Ordering::Relaxed) {
            NodeState::Copying
        } else {
            NodeState::Booting
        }
    }

    /// The node is about to stop: balancers should send no more.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Release);
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

    /// A client's heartbeat found nothing while the node was starting.
    pub(super) fn note_missed(&self) {
        self.missed_somebody.store(true, Ordering::Relaxed);
    }

    /// The node is about to open with nothing to show. If clients asked for what it does not have, reads wait for one of
    /// their renewal intervals, in which they register; balancers may send them here.
    pub fn open_empty(&self, interval: Duration) {
        if self.missed_somebody.load(Ordering::Relaxed) {
            self.quiet_until.store(self.clock.tick().after(interval).0, Ordering::Release);
        }
    }

    /// Whether reads are answered.
    pub fn is_open(&self) -> bool {
        self.takes_traffic() && self.clock.tick() >= Tick(self.quiet_until.load(Ordering::Acquire))
    }

    fn takes_traffic(&self) -> bool {
        match self.state() {
            NodeState::Booting | NodeState::Copying => self.serve_while_syncing,
            NodeState::Open | NodeState::Draining => {
                self.clock.tick() >= Tick(self.closed_until.load(Ordering::Acquire))
            }
        }
    }

    /// Whether balancers should send traffic here.
    pub fn is_ready(&self) -> bool {
        self.takes_traffic() && self.state() == NodeState::Open
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
