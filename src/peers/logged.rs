//! What a peer can have logged as often as it likes: each cause has its limit.

use crate::telemetry::LogLimit;

/// The limits of one peer.
#[derive(Debug, Default)]
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
}
