//! What a peer can have logged as often as it likes: each cause has its limit.

use std::time::Duration;

use crate::telemetry::LogLimit;

/// Between two lines about what differs and cannot be put right: it is found at every comparison.
const DIFFERS_EVERY: Duration = Duration::from_secs(60);

/// The limits of one peer.
#[derive(Debug)]
pub(super) struct Logged {
    /// It answers again.
    pub(super) answers: LogLimit,
    /// It fails in another way than before.
    pub(super) failed: LogLimit,
    /// Another process answers than before.
    pub(super) other_process: LogLimit,
    /// This node itself answers where another one did.
    pub(super) myself: LogLimit,
    /// It cannot take one change.
    pub(super) dropped: LogLimit,
    /// It answered with another instance's record.
    pub(super) foreign_record: LogLimit,
    /// Something differs and stays so.
    pub(super) differs: LogLimit,
}

impl Default for Logged {
    fn default() -> Self {
        Self {
            answers: LogLimit::default(),
            failed: LogLimit::default(),
            other_process: LogLimit::default(),
            myself: LogLimit::default(),
            dropped: LogLimit::default(),
            foreign_record: LogLimit::default(),
            differs: LogLimit::every(DIFFERS_EVERY),
        }
    }
}
