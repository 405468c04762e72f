//! What servers tell each other.

use crate::{AppName, DecodeError, InstanceInfo};

/// What one server did and another is to do too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReplicationAction {
    /// A renewal.
    Heartbeat,
    /// A registration; carries the instance.
    Register,
    /// A cancellation.
    Cancel,
    /// A status set from outside.
    StatusUpdate,
    /// The removal of such a status.
    DeleteStatusOverride,
}

impl ReplicationAction {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Heartbeat, Self::Register, Self::Cancel, Self::StatusUpdate, Self::DeleteStatusOverride];

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Heartbeat => "Heartbeat",
            Self::Register => "Register",
            Self::Cancel => "Cancel",
            Self::StatusUpdate => "StatusUpdate",
            Self::DeleteStatusOverride => "DeleteStatusOverride",
        }
    }
}

/// One item of a batch. Statuses are the sender's words: what they mean depends on the action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicationInstance {
    /// The application.
    pub app_name: AppName,
    /// The instance's id.
    pub id: Box<str>,
    /// The sender's `lastDirtyTimestamp` of the instance, epoch milliseconds.
    pub last_dirty_timestamp: Option<i64>,
    /// The override that the sender holds, as a word.
    pub overridden_status: Option<Box<str>>,
    /// The status, as a word.
    pub status: Option<Box<str>>,
    /// The instance itself, in a registration.
    pub instance_info: Option<InstanceInfo>,
    /// What to do.
    pub action: ReplicationAction,
}

impl ReplicationInstance {
    /// An item that names nothing but its instance.
    pub fn new(action: ReplicationAction, app_name: AppName, id: &str) -> Self {
        Self {
            app_name,
            id: id.into(),
            last_dirty_timestamp: None,
            overridden_status: None,
            status: None,
            instance_info: None,
            action,
        }
    }
}

/// A batch as it was received: an item that could not be read has its error in its place, so that one bad item
/// spoils no other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplicationList {
    /// The items, in the order in which they are to be applied.
    pub items: Vec<Result<ReplicationInstance, DecodeError>>,
}

/// The answer to one item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicationInstanceResponse {
    /// An HTTP status code.
    pub status_code: u16,
    /// The receiver's own copy, when it is newer than the sender's.
    pub response_entity: Option<InstanceInfo>,
}

/// The answer to a batch: one answer per item, in the batch's order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReplicationListResponse {
    /// The answers.
    pub responses: Vec<ReplicationInstanceResponse>,
}
