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

/// How far a node of this kind is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerState {
    /// It has not opened.
    Starting,
    /// It has not opened, and has found somebody to copy from.
    Copying,
    /// It takes traffic.
    Open,
    /// It is about to stop.
    Draining,
}

impl PeerState {
    /// From the word in the header.
    pub(super) fn of(word: Option<&str>) -> Option<Self> {
        match word? {
            "booting" => Some(Self::Starting),
            "copying" => Some(Self::Copying),
            "open" => Some(Self::Open),
            "draining" => Some(Self::Draining),
            _ => None,
        }
    }

    /// For pages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Copying => "copying",
            Self::Open => "open",
            Self::Draining => "stopping",
        }
    }
}

/// What the last comparison with a node of this kind found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastCompared {
    /// How long ago.
    pub ago: Duration,
    /// How many instances it has that are not about to go.
    pub instances: usize,
    /// Whether it knows the same as this node.
    pub equal: bool,
}

/// What is known of a peer, for people.
#[derive(Debug, Clone)]
pub struct PeerView {
    /// Its URL, without credentials.
    pub url: String,
    /// Who answers there.
    pub kind: PeerKind,
    /// How far it is, if it is of this kind.
    pub state: Option<PeerState>,
    /// What the last comparison with it found.
    pub compared: Option<LastCompared>,
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
