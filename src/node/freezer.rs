//! Standing still: what a process does that the system has stopped, for simulations.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Freezes work and thaws it again. Whoever waits is woken in the order in which they came, so that a simulation stays
/// the same from one run to the next.
#[derive(Debug, Default)]
pub struct Freezer {
    frozen: AtomicBool,
    turned: Notify,
}

impl Freezer {
    /// Freezes, or thaws.
    pub fn freeze(&self, freeze: bool) {
        self.frozen.store(freeze, Ordering::Release);
        self.turned.notify_waiters();
    }

    /// Waits until it is frozen, or is not.
    pub async fn until(&self, frozen: bool) {
        loop {
            let mut turns = pin!(self.turned.notified());
            turns.as_mut().enable();
            if self.frozen.load(Ordering::Acquire) == frozen {
                return;
            }
            turns.await;
        }
    }

    /// Runs `work`, but not while frozen: then it is not even asked how far it is.
    pub async fn run(&self, work: impl Future<Output = ()>) {
        let mut work = pin!(work);
        loop {
            self.until(false).await;
            tokio::select! {
                biased;
                () = self.until(true) => {}
                () = &mut work => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;
    use std::time::Duration;
    use tokio::time::sleep;

    #[tokio::test(start_paused = true)]
    async fn frozen_work_stands_still_and_goes_on_when_it_thaws() {
        let (freezer, done) = (Arc::new(Freezer::default()), Arc::new(AtomicU32::new(0)));
        let work = {
            let (freezer, done) = (Arc::clone(&freezer), Arc::clone(&done));
            async move {
                let steps = async {
                    for _ in 0..3 {
                        sleep(Duration::from_secs(1)).await;
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                };
                freezer.run(steps).await;
            }
        };
        let work = tokio::spawn(work);
        sleep(Duration::from_millis(1500)).await;
        freezer.freeze(true);
        sleep(Duration::from_secs(60)).await;
        assert_eq!(done.load(Ordering::Relaxed), 1);
        freezer.freeze(false);
        work.await.unwrap();
        assert_eq!(done.load(Ordering::Relaxed), 3);
    }
}
