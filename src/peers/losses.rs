//! When something was last lost anywhere between nodes, as far as is known here.
//!
//! A comparison may find at two nodes what a third could not tell one of them. So nodes tell each other with every request
//! and answer how long ago they last knew of a loss.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::Tick;

/// The moment of the last loss; 0 for none.
#[derive(Debug, Default)]
pub struct Losses(AtomicU64);

impl Losses {
    /// Something was lost, or may have been, at that moment.
    pub(super) fn note(&self, at: Tick) {
        self.0.fetch_max(at.0, Ordering::Relaxed);
    }

    /// How long ago that was.
    pub(super) fn ago(&self, now: Tick) -> Option<Duration> {
        let at = self.0.load(Ordering::Relaxed);
        (at > 0).then(|| now.since(Tick(at)))
    }
}
