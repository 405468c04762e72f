//! What clients can have logged as often as they like: each cause has its limit.

use std::time::Duration;

use crate::telemetry::LogLimit;

/// A node whose clock is wrong calls again and again, until a person has seen to it.
const CLOCKS_EVERY: Duration = Duration::from_secs(60);

/// A client with an old password, or somebody who guesses, calls again and again, too.
const UNAUTHORIZED_EVERY: Duration = Duration::from_secs(10);

/// The limits of one node.
#[derive(Debug)]
pub struct Logged {
    /// A status was set from outside.
    pub(super) status_set: LogLimit,
    /// A status that was set from outside was removed.
    pub(super) status_removed: LogLimit,
    /// The call of a node whose clock is too far ahead.
    pub(super) clocks: LogLimit,
    /// A request without the right credentials.
    pub(super) unauthorized: LogLimit,
}

impl Default for Logged {
    fn default() -> Self {
        let (status_set, status_removed) = (LogLimit::default(), LogLimit::default());
        let (clocks, unauthorized) = (LogLimit::every(CLOCKS_EVERY), LogLimit::every(UNAUTHORIZED_EVERY));
        Self { status_set, status_removed, clocks, unauthorized }
    }
}
