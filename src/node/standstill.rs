//! Whether this process has just stood still: it was paused, or got no processor.
//!
//! What waits in its sockets then may be long out of date. A client that gave up on it has asked another node since, and
//! may have said something else there.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::sleep;

use crate::clock::{Clock, Tick};

/// Who does nothing for so long stands still. Clients wait longer before they give up.
const LONG: Duration = Duration::from_secs(1);

/// How often it says that it does something.
const EVERY: Duration = Duration::from_millis(200);

/// What came meanwhile has been read so long after it has gone on.
const AFTERWARDS: Duration = Duration::from_secs(2);

/// The signs of life of a process.
#[derive(Debug)]
pub(super) struct Standstill {
    clock: Clock,
    /// The last of them.
    alive: AtomicU64,
    /// Until when what is read may have come before it went on.
    until: AtomicU64,
}

impl Standstill {
    pub(super) fn new(clock: Clock) -> Self {
        let alive = AtomicU64::new(clock.tick().0);
        Self { clock, alive, until: AtomicU64::new(0) }
    }

    /// Gives signs of life, for as long as it is asked to.
    pub(super) async fn watch(&self) -> Infallible {
        loop {
            let now = self.clock.tick();
            let stood = now.since(Tick(self.alive.swap(now.0, Ordering::Relaxed)));
            if stood >= LONG {
                self.until.store(now.after(AFTERWARDS).0, Ordering::Relaxed);
                tracing::warn!(
                    stood_still_ms = stood.as_millis() as u64,
                    "this process stood still: it was paused, or got no processor. Changes whose clients have given up on them \
                     meanwhile are not made"
                );
            }
            sleep(EVERY).await;
        }
    }

    /// Whether what is read now may have waited for long. Holds from the first moment after it has gone on, whichever task
    /// comes first then.
    pub(super) fn is_just_over(&self) -> bool {
        let now = self.clock.tick();
        now.since(Tick(self.alive.load(Ordering::Relaxed))) >= LONG
            || now.0 < self.until.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_gives_signs_of_life_does_not_stand_still() {
        let standstill = Arc::new(Standstill::new(Clock::simulated(0)));
        let watched = Arc::clone(&standstill);
        let watch = tokio::spawn(async move { watched.watch().await });
        sleep(Duration::from_secs(60)).await;
        assert!(!standstill.is_just_over());
        watch.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_read_after_it_has_stood_still_may_be_old_whether_the_watch_has_noticed_or_not() {
        let standstill = Arc::new(Standstill::new(Clock::simulated(0)));
        advance(LONG).await;
        assert!(standstill.is_just_over(), "nobody has noticed yet");
        let watched = Arc::clone(&standstill);
        let watch = tokio::spawn(async move { watched.watch().await });
        sleep(EVERY / 2).await;
        assert!(standstill.is_just_over(), "it goes on, and what has come is being read");
        sleep(AFTERWARDS).await;
        assert!(!standstill.is_just_over(), "all of that has been read");
        watch.abort();
    }
}
