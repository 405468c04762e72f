//! Long computations, off the threads that serve heartbeats.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Semaphore;

/// Runs long computations on tokio's blocking pool, no more at one time than there are processors: what waits costs
/// nothing, what runs costs memory.
#[derive(Debug, Clone)]
pub struct Workers {
    free: Arc<Semaphore>,
    most: usize,
    waiting: Arc<AtomicUsize>,
}

impl Workers {
    /// As many workers as there are processors.
    pub fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self { free: Arc::new(Semaphore::new(processors)), most: processors, waiting: Arc::default() }
    }

    /// Runs `work` when a worker is free. A panic in it is a panic here.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let waits = Waits::begin(&self.waiting);
        // The semaphore is never closed, so there is always a permit to come.
        let permit = Arc::clone(&self.free).acquire_owned().await.ok();
        drop(waits);
        finished(tokio::task::spawn_blocking(move || {
            let done = work();
            drop(permit);
            done
        }))
        .await
    }
}

impl Workers {
    /// How many computations run.
    pub fn busy(&self) -> usize {
        self.most.saturating_sub(self.free.available_permits())
    }

    /// How many computations wait for a worker.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}

/// One that waits, until it is dropped: who waits may be given up on.
struct Waits<'a>(&'a AtomicUsize);

impl<'a> Waits<'a> {
    fn begin(waiting: &'a AtomicUsize) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Default for Workers {
    fn default() -> Self {
        Self::new()
    }
}

/// What a task returns. A panic in it is a panic here.
pub(crate) async fn finished<T>(task: tokio::task::JoinHandle<T>) -> T {
    match task.await {
        Ok(done) => done,
        Err(failed) => match failed.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime is shutting down, and this task with it.
            Err(_cancelled) => std::future::pending().await,
        },
    }
}
