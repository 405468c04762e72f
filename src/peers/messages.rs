//! From a key to Eureka's batch items, and back from their answers.
//!
//! **Compat:** the items carry exactly what a Java server sends, no field more: an unknown one makes it refuse the batch.

use std::sync::Arc;
use std::time::Duration;

use eurekad_wire::{
    InstanceInfo, InstanceStatus, ReplicationAction, ReplicationInstance, ReplicationInstanceResponse,
};

use super::queue::Flags;
use crate::clock::Tick;
use crate::registry::{Key, Origin, OverrideView, Registered, Registry};

/// An item that is sent, and what it was made from.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) key: Key,
    pub(super) item: ReplicationInstance,
    /// The entry it was read from; a cancellation has none.
    entry: Option<Registered>,
}

/// The items that tell a peer of one key, in the order in which they must be applied.
///
/// An instance that is gone by eviction leaves nothing: each node evicts on its own. One that is overdue is not sent.
pub(super) fn items(registry: &Registry, now: Tick, key: &Key, flags: Flags) -> Vec<Sent> {
    let Some(entry) = registry.entry(key) else {
        let cancel = ReplicationInstance::new(ReplicationAction::Cancel, key.app.clone(), key.id.as_str());
        return if flags.cancel {
            vec![Sent { key: key.clone(), item: cancel, entry: None }]
        } else {
            Vec::new()
        };
    };
    if entry.lease.is_expired(now, Duration::ZERO) {
        return Vec::new();
    }
    let mut items = Vec::new();
    // A cancellation before it needs no item of its own: the registration replaces all there is.
    if flags.record || flags.cancel {
        let mut item = item(ReplicationAction::Register, key, &entry, entry.info.status);
        let mut info = (*entry.info).clone();
        info.lease_info = Some(entry.lease.to_info());
        item.instance_info = Some(info);
        items.push(item);
    }
    if flags.status {
        items.push(match entry.override_view() {
            OverrideView::Set(status) => item(ReplicationAction::StatusUpdate, key, &entry, status),
            OverrideView::Cleared(status) => {
                item(ReplicationAction::DeleteStatusOverride, key, &entry, status)
            }
            OverrideView::None => item(ReplicationAction::StatusUpdate, key, &entry, entry.info.status),
        });
    }
    if items.is_empty() && flags.heartbeat {
        let mut item = item(ReplicationAction::Heartbeat, key, &entry, entry.info.status);
        if let OverrideView::Set(status) = entry.override_view() {
            item.overridden_status = Some(status.as_str().into());
        }
        items.push(item);
    }
    items.into_iter().map(|item| Sent { key: key.clone(), item, entry: Some(entry.clone()) }).collect()
}

fn item(
    action: ReplicationAction,
    key: &Key,
    entry: &Registered,
    status: InstanceStatus,
) -> ReplicationInstance {
    let mut item = ReplicationInstance::new(action, key.app.clone(), key.id.as_str());
    item.last_dirty_timestamp = entry.info.last_dirty_timestamp;
    item.status = Some(status.as_str().into());
    item
}

/// What the answer to one item asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing.
    Done,
    /// The peer does not have the instance, or an older record: it has to be told the whole.
    SendRecord,
    /// The peer refused it; what it said.
    Refused(u16),
}

/// Judges the answer to one item, and takes over a newer record that came with it.
///
/// It is judged against what was sent: if the instance has changed since, its newer state is on its way anyway.
pub(super) fn judge(registry: &Registry, sent: &Sent, answer: ReplicationInstanceResponse) -> Verdict {
    match (sent.item.action, answer.status_code) {
        (_, 200..=299) => Verdict::Done,
        (ReplicationAction::Heartbeat, 404) => Verdict::SendRecord,
        (ReplicationAction::Heartbeat, 409) => {
            if let (Some(theirs), true) = (answer.response_entity, is_unchanged(registry, sent)) {
                adopt(registry, &sent.key, theirs);
            }
            Verdict::Done
        }
        // A peer that never had what is cancelled has nothing to do; and a status of what it does not have comes
        // with the record that its next heartbeat's 404 asks for.
        (ReplicationAction::Cancel, 404) => Verdict::Done,
        (ReplicationAction::StatusUpdate | ReplicationAction::DeleteStatusOverride, 404) => {
            Verdict::SendRecord
        }
        (_, code) => Verdict::Refused(code),
    }
}

fn is_unchanged(registry: &Registry, sent: &Sent) -> bool {
    let now = registry.entry(&sent.key);
    match (&now, &sent.entry) {
        (Some(now), Some(then)) => Arc::ptr_eq(&now.info, &then.info) && Arc::ptr_eq(&now.lease, &then.lease),
        (None, _) | (_, None) => false,
    }
}

/// **Compat:** the record of a peer that knows a newer one is registered here as a replica's.
fn adopt(registry: &Registry, key: &Key, theirs: InstanceInfo) {
    if theirs.app == key.app && theirs.id() == key.id.as_str() {
        registry.register(theirs, Origin::Replica);
    } else {
        tracing::warn!(app = ?key.app, id = ?key.id, "a peer answered with another instance's record; ignored");
    }
}
