//! Long computations, off the threads that serve heartbeats.

use std::panic::resume_unwind;

/// Runs `work` on tokio's blocking pool. A panic in it is a panic here.
pub(crate) async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(failed) => match failed.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime is shutting down, and this task with it.
            Err(_cancelled) => std::future::pending().await,
        },
    }
}
