//! How many bytes of request bodies a node holds at one time, over all requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use crate::telemetry::HttpMetrics;

/// How long one that finds no room waits for others to be done.
const BRIEFLY: Duration = Duration::from_secs(1);

/// The bytes of all bodies that are being read or handled.
///
/// They are counted as they come: what a client only says that it will send costs nothing, and keeps nobody out.
#[derive(Debug)]
pub struct Bodies {
    most: usize,
    held: AtomicUsize,
    freed: Notify,
    metrics: HttpMetrics,
}

/// Some of them, given back when this is dropped.
#[derive(Debug)]
pub(super) struct Held {
    bodies: Arc<Bodies>,
    bytes: usize,
    most: usize,
}

/// There was no room for more, and none came up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoRoom;

impl Bodies {
    /// None yet, and at most so many bytes.
    pub fn new(most: usize, metrics: HttpMetrics) -> Arc<Self> {
        Arc::new(Self { most, held: AtomicUsize::new(0), freed: Notify::new(), metrics })
    }

    /// A body of which nothing has come yet. Batches leave a quarter to others: what peers send, or who says that he is
    /// one, must not keep clients out.
    pub(super) fn one(self: &Arc<Self>, is_batch: bool) -> Held {
        let most = if is_batch { self.most - self.most / 4 } else { self.most };
        Held { bodies: Arc::clone(self), bytes: 0, most }
    }

    fn try_hold(&self, bytes: usize, most: usize) -> bool {
        let fits = |held: usize| held.checked_add(bytes).filter(|held| *held <= most);
        let taken = self.held.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits).is_ok();
        if taken {
            self.metrics.bytes_in_flight.inc_by(i64::try_from(bytes).unwrap_or(i64::MAX));
        }
        taken
    }
}

impl Held {
    /// Holds so many more bytes, and waits a moment for room if there is none.
    pub(super) async fn more(&mut self, bytes: usize) -> Result<(), NoRoom> {
        let waits = async {
            loop {
                let mut freed = std::pin::pin!(self.bodies.freed.notified());
                // Before it is looked, or what is given back in between would go unnoticed.
                freed.as_mut().enable();
                if self.bodies.try_hold(bytes, self.most) {
                    return;
                }
                freed.await;
            }
        };
        match tokio::time::timeout(BRIEFLY, waits).await {
            Ok(()) => {
                self.bytes += bytes;
                Ok(())
            }
            Err(_elapsed) => {
                self.bodies.metrics.bodies_refused.inc();
                Err(NoRoom)
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.bodies.held.fetch_sub(self.bytes, Ordering::AcqRel);
            self.bodies.metrics.bytes_in_flight.dec_by(i64::try_from(self.bytes).unwrap_or(i64::MAX));
            self.bodies.freed.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bodies(most: usize) -> Arc<Bodies> {
        Bodies::new(most, HttpMetrics::default())
    }

    #[tokio::test(start_paused = true)]
    async fn who_finds_no_room_gets_what_is_given_back_or_is_refused_after_a_second() {
        let bodies = bodies(6400);
        let (mut first, mut second) = (bodies.one(false), bodies.one(false));
        assert_eq!(first.more(6000).await, Ok(()));
        assert_eq!(second.more(500).await, Err(NoRoom));
        assert_eq!(bodies.metrics.bodies_refused.get(), 1);
        let waits = tokio::spawn(async move { second.more(500).await });
        tokio::time::advance(Duration::from_millis(500)).await;
        drop(first);
        assert_eq!(waits.await.unwrap(), Ok(()));
        assert_eq!(bodies.held.load(Ordering::Relaxed), 0, "both are done");
        assert_eq!(bodies.metrics.bytes_in_flight.get(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn batches_leave_a_quarter_to_others() {
        let bodies = bodies(6400);
        let mut batch = bodies.one(true);
        assert_eq!(batch.more(4800).await, Ok(()));
        assert_eq!(batch.more(1).await, Err(NoRoom));
        assert_eq!(bodies.one(false).more(1600).await, Ok(()));
    }
}
