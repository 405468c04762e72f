//! Background tasks: named, ended together, and never dead in silence.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::freezer::Freezer;
use crate::telemetry::TaskMetrics;

/// Between a panic and the next start, so that one that panics at once does not fill the log.
const BEFORE_A_RESTART: Duration = Duration::from_secs(1);

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
    metrics: TaskMetrics,
}

/// A background task panicked. It has said why on its way down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a background task panicked; this is a bug, please report what it logged")]
pub struct TaskPanicked;

impl Tasks {
    /// No tasks yet. If one panics, `stop` is cancelled. While `freezer` has them frozen, all stand still.
    pub(super) fn new(stop: CancellationToken, freezer: Arc<Freezer>, metrics: TaskMetrics) -> Self {
        let (end, failed) = (CancellationToken::new(), CancellationToken::new());
        Self { tracker: TaskTracker::new(), stop, end, failed, freezer, metrics }
    }

    /// Runs a task until it ends or all are to. If it panics, the node stops and fails.
    pub(super) fn spawn(&self, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        let (stop, end, failed) = (self.stop.clone(), self.end.clone(), self.failed.clone());
        let (freezer, figures) = (Arc::clone(&self.freezer), self.metrics.of(name));
        let work = async move { freezer.run(work).await };
        let task = tokio::spawn(async move {
            tokio::select! { biased; () = end.cancelled() => {}, () = work => {} }
        });
        self.tracker.spawn(async move {
            if let Err(e) = task.await
                && e.is_panic()
            {
                figures.panicked();
                failed.cancel();
                stop.cancel();
                tracing::error!(task = name, "a background task panicked; stopping");
            }
        });
    }

    /// Runs a task that is started again if it panics: where one may fail without the node, its work must go on.
    pub(super) fn spawn_restarted<F>(
        &self,
        name: &'static str,
        restarts: Counter,
        mut work: impl FnMut() -> F + Send + 'static,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let (freezer, figures) = (Arc::clone(&self.freezer), self.metrics.of(name));
        self.spawn(name, async move {
            loop {
                let (freezer, work) = (Arc::clone(&freezer), work());
                // Dropped when the node ends, this handle ends the task with it.
                let task = AbortOnDropHandle::new(tokio::spawn(async move { freezer.run(work).await }));
                match task.await {
                    Err(e) if e.is_panic() => {
                        restarts.inc();
                        figures.panicked();
                        tracing::error!(
                            task = name,
                            "a background task panicked; it is started again: please report this"
                        );
                        tokio::time::sleep(BEFORE_A_RESTART).await;
                    }
                    Ok(()) | Err(_) => return,
                }
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
