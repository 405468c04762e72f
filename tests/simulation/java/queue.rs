//! What a Java server still has to tell one peer.

use std::collections::VecDeque;
use std::time::Duration;

use eurekad::clock::Tick;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::registry::{Info, Key, STATUS};

/// How long the first message waits for others.
const BATCHING: Duration = Duration::from_millis(500);

/// The most messages in one batch.
const BATCH: usize = 250;

/// The messages' names on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Action {
    Heartbeat,
    Register,
    Cancel,
    StatusUpdate,
    DeleteStatusOverride,
}

/// One message. A newer one of the same action about the same instance takes its place.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) action: Action,
    pub(super) key: Key,
    /// Not for a cancellation.
    pub(super) info: Option<Info>,
    pub(super) overridden: Option<String>,
    pub(super) submitted: Tick,
}

impl Task {
    fn is_same_as(&self, other: &Self) -> bool {
        (self.action, &self.key) == (other.action, &other.key)
    }

    /// Registrations and heartbeats are worth sending until the client's next heartbeat, the rest for 30 seconds.
    fn is_expired(&self, now: Tick) -> bool {
        let secs = match (self.action, &self.info) {
            (Action::Heartbeat | Action::Register, Some(info)) => {
                info.lease("renewalIntervalInSecs").unwrap_or(90).unsigned_abs()
            }
            _ => 30,
        };
        now >= self.submitted.after(Duration::from_secs(secs))
    }

    /// It as an item of a batch.
    pub(super) fn item(&self) -> Value {
        let mut item = json!({"appName": self.key.0, "id": self.key.1, "action": self.action});
        if let Some(info) = &self.info {
            item["lastDirtyTimestamp"] = info.dirty().into();
            item[STATUS] = info.text(STATUS).into();
        }
        if let Some(over) = &self.overridden {
            item["overriddenStatus"] = over.clone().into();
        }
        if let (Action::Register, Some(info)) = (self.action, &self.info) {
            item["instanceInfo"] = info.document();
        }
        item
    }
}

/// The messages to one peer, in their order.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pending: VecDeque<Task>,
    paused_until: Tick,
}

impl Queue {
    pub(super) fn put(&mut self, task: Task) {
        match self.pending.iter_mut().find(|pending| pending.is_same_as(&task)) {
            Some(older) => *older = task,
            None => self.pending.push_back(task),
        }
    }

    /// A batch that failed goes to the front, without what has a newer one waiting.
    pub(super) fn give_back(&mut self, batch: Vec<Task>, now: Tick, pause: Duration) {
        for task in batch.into_iter().rev() {
            if !self.pending.iter().any(|pending| pending.is_same_as(&task)) {
                self.pending.push_front(task);
            }
        }
        self.paused_until = now.after(pause);
    }

    /// How long until the next batch leaves; `None` if there is none.
    pub(super) fn wait(&self, now: Tick) -> Option<Duration> {
        self.pending.front().map(|head| head.submitted.after(BATCHING).max(self.paused_until).since(now))
    }

    pub(super) fn take(&mut self, now: Tick) -> Vec<Task> {
        self.pending.retain(|task| !task.is_expired(now));
        self.pending.drain(..self.pending.len().min(BATCH)).collect()
    }
}
