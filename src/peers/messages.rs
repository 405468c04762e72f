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
/// An instance that is gone by eviction leaves nothing: each node evicts on its own. Of one that is overdue only a status
/// is told, which the peer may need although the client speaks to it and no longer here.
pub(super) fn items(registry: &Registry, now: Tick, key: &Key, flags: Flags) -> Vec<Sent> {
    let Some(entry) = registry.entry(key) else {
        return if flags.cancel { cancel(registry, key).into_iter().collect() } else { Vec::new() };
    };
    let overdue = entry.lease.is_expired(now, Duration::ZERO);
    let flags = Flags { status: flags.status || flags.learned, ..flags };
    let status = |action, status| item(action, key, &entry, status);
    let over = entry.override_view();
    // What was set from outside and has not been told, or has to be told with the record.
    let from_outside = match over {
        OverrideView::Set(set) if flags.status => vec![status(ReplicationAction::StatusUpdate, set)],
        // To a peer that never heard of the override its removal would say nothing: it hears of both.
        OverrideView::Cleared(value) if flags.status => vec![
            status(ReplicationAction::StatusUpdate, value),
            status(ReplicationAction::DeleteStatusOverride, value),
        ],
        // One was set and is gone, for the client has spoken since or was cancelled: the peer must not keep it.
        OverrideView::None | OverrideView::Spent if flags.status || flags.cancel => {
            vec![status(ReplicationAction::DeleteStatusOverride, entry.info.status)]
        }
        _ if flags.confirmed && !flags.record => {
            vec![status(ReplicationAction::StatusUpdate, entry.info.status)]
        }
        // Not as a status: where there was none to remove, the client may say another by now.
        _ if flags.removed => vec![status(ReplicationAction::DeleteStatusOverride, entry.info.status)],
        _ => Vec::new(),
    };
    // A cancellation before it needs no item of its own: the registration replaces the record. An override that is gone
    // was gone before the client spoke, so the record follows it.
    let spoke_after = flags.status && matches!(over, OverrideView::None | OverrideView::Spent);
    let record = ((flags.record || flags.cancel || spoke_after) && !overdue).then(|| {
        let mut record = status(ReplicationAction::Register, entry.info.status);
        let mut info = (*entry.info).clone();
        info.lease_info = Some(entry.lease.to_info());
        info.last_dirty_timestamp = Some(entry.record_dirty());
        record.instance_info = Some(info);
        record
    });
    let mut items: Vec<ReplicationInstance> = if entry.override_is_newer() {
        record.into_iter().chain(from_outside).collect()
    } else {
        from_outside.into_iter().chain(record).collect()
    };
    if items.is_empty() && flags.heartbeat && !overdue {
        let mut beat = status(ReplicationAction::Heartbeat, entry.info.status);
        if let OverrideView::Set(status) = over {
            beat.overridden_status = Some(status.as_str().into());
        }
        items.push(beat);
    }
    items.into_iter().map(|item| Sent { key: key.clone(), item, entry: Some(entry.clone()) }).collect()
}

/// A cancellation, as long as it is remembered. After that the lease ends by itself at the peer, unless the instance has
/// registered there anew, and then the cancellation would be wrong.
fn cancel(registry: &Registry, key: &Key) -> Option<Sent> {
    registry.was_cancelled(key).then(|| {
        let item = ReplicationInstance::new(ReplicationAction::Cancel, key.app.clone(), key.id.as_str());
        Sent { key: key.clone(), item, entry: None }
    })
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
    /// The peer answered with another instance's record, which is ignored.
    Foreign,
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
            match answer.response_entity.filter(|_| is_unchanged(registry, sent)) {
                Some(theirs) => adopt(registry, &sent.key, theirs),
                None => Verdict::Done,
            }
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

/// **Compat:** the record of a peer that knows a newer one is registered here as a replica's, if it is this instance's.
fn adopt(registry: &Registry, key: &Key, theirs: InstanceInfo) -> Verdict {
    if theirs.app != key.app || theirs.id() != key.id.as_str() {
        return Verdict::Foreign;
    }
    registry.register(theirs, Origin::Replica);
    Verdict::Done
}
