//! Background tasks: named, ended together, and never dead in silence.

use std::future::Future;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::freezer::Freezer;

/// The background tasks of one node.
#[derive(Debug, Clone)]
pub(super) struct Tasks {
    tracker: TaskTracker,
    /// Cancelled when a task has failed: the node must stop.
    stop: CancellationToken,
    /// Cancelled when the tasks are to end, which is the last that a node does.
    end: CancellationToken,
    failed: CancellationToken,
    freezer: Arc<Freezer>,
}

/// A background task panicked. It has said why on its way down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a background task panicked; this is a bug, please report what it logged")]
pub struct TaskPanicked;

impl Tasks {
    /// No tasks yet. If one panics, `stop` is cancelled. While `freezer` has them frozen, all stand still.
    pub(super) fn new(stop: CancellationToken, freezer: Arc<Freezer>) -> Self {
        let (end, failed) = (CancellationToken::new(), CancellationToken::new());
        Self { tracker: TaskTracker::new(), stop, end, failed, freezer }
    }

    /// Runs a task until it ends or all are to. If it panics, the node stops and fails.
    pub(super) fn spawn(&self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        let (stop, end, failed) = (self.stop.clone(), self.end.clone(), self.failed.clone());
        let freezer = Arc::clone(&self.freezer);
        let work = async move { freezer.run(work).await };
        let task = tokio::spawn(async move {
            tokio::select! { biased; () = end.cancelled() => {}, () = work => {} }
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

    /// Ends all tasks and waits for that.
    ///
    /// # Errors
    /// If one panicked.
    pub(super) async fn end(&self) -> Result<(), TaskPanicked> {
        self.end.cancel();
        self.tracker.close();
        self.tracker.wait().await;
        if self.failed.is_cancelled() { Err(TaskPanicked) } else { Ok(()) }
    }
}
