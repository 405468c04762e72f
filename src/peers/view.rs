//! What is known of a peer, for logs, pages and metrics.

use std::time::Duration;

use super::NodeId;

/// Who answers at a peer's URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerKind {
    /// Nobody has yet, or nothing that could be understood.
    Unknown,
    /// A Java server.
    Java,
    /// A node of this kind.
    Ours(NodeId),
    /// This very node.
    Myself,
}

impl PeerKind {
    /// For logs and pages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Java => "java",
            Self::Ours(_) => "eurekad",
            Self::Myself => "this node",
        }
    }
}

/// What is known of a peer, for people.
#[derive(Debug, Clone)]
pub struct PeerView {
    /// Its URL, without credentials.
    pub url: String,
    /// Who answers there.
    pub kind: PeerKind,
    /// Whether the last contact succeeded.
    pub available: bool,
    /// When the last contact succeeded, epoch milliseconds.
    pub last_success: Option<i64>,
    /// What the last failure was, in words; none since the last success.
    pub last_error: Option<String>,
    /// How long the last successful request took.
    pub round_trip: Option<Duration>,
    /// Keys that the peer has not taken yet, those on their way included.
    pub queued: usize,
    /// Keys that were dropped for lack of room, or because the peer refused them alone.
    pub dropped: u64,
}
