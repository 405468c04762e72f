//! Background tasks: named, ended together, and never dead in silence.

use std::future::Future;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The background tasks of one node.
#[derive(Debug, Clone, Default)]
pub(super) struct Tasks {
    tracker: TaskTracker,
    /// Cancelled when the node is to stop.
    pub(super) stop: CancellationToken,
    failed: CancellationToken,
}

/// A background task panicked. It has said why on its way down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a background task panicked; this is a bug, please report what it logged")]
pub struct TaskPanicked;

impl Tasks {
    /// Runs a task until it ends or the node stops. If it panics, the node stops and fails.
    pub(super) fn spawn(&self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        let (stop, failed) = (self.stop.clone(), self.failed.clone());
        let task = tokio::spawn({
            let stop = stop.clone();
            async move {
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = work => {}
                }
            }
        });
        self.tracker.spawn(async move {
            if let Err(e) = task.await
                && e.is_panic()
            {
                failed.cancel();
                stop.cancel();
                tracing::error!(task = name, "a background task panicked; stopping");
            }
        });
    }

    /// Waits for the end of all tasks, once the node is to stop.
    ///
    /// # Errors
    /// If one panicked.
    pub(super) async fn end(&self) -> Result<(), TaskPanicked> {
        self.tracker.close();
        self.tracker.wait().await;
        if self.failed.is_cancelled() { Err(TaskPanicked) } else { Ok(()) }
    }
}
