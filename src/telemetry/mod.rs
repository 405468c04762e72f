//! Logs, and the counters that parts are handed.
//!
//! A part gets the struct of its own counters and knows nothing of where they are shown. Two nodes in one process
//! share none of them.

mod log_limit;
mod logs;
mod metrics;
mod requests;
mod tasks;

pub use log_limit::{LogLimit, Suppressed};
pub use logs::{ACCESS_LOG, DroppedLines, Logging, start_logging};
pub use metrics::{CacheMetrics, HttpMetrics, Metrics, PeerMetrics, RegistryMetrics};
pub use requests::{Measured, RequestMetrics, Running};
pub use tasks::{TaskFigures, TaskMetrics};
