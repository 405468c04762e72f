//! Nodes that call here and are in no list here: the nodes of a cluster must all know each other.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::NodeId;
use crate::clock::Tick;

/// A stranger for less than this has just been started, and is about to be found.
const PATIENCE: Duration = Duration::from_secs(60);

/// The most that are remembered: anybody can call himself a node.
const MOST: usize = 100;

/// Who called, since when, and whether that was said.
#[derive(Debug, Default)]
pub(super) struct Strangers(Mutex<HashMap<NodeId, (Tick, bool)>>);

impl Strangers {
    /// A node that nobody here knows has called. True once, when it has been a stranger for long.
    pub(super) fn called(&self, id: NodeId, now: Tick) -> bool {
        let mut strangers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if strangers.len() >= MOST && !strangers.contains_key(&id) {
            return false;
        }
        let (since, said) = strangers.entry(id).or_insert((now, false));
        !*said && now.since(*since) >= PATIENCE && !std::mem::replace(said, true)
    }

    /// A node has called that is known: a stranger no more.
    pub(super) fn is_known(&self, id: NodeId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_stays_a_stranger_is_named_once() {
        let strangers = Strangers::default();
        let called =
            |id, secs: u64| strangers.called(NodeId(id), Tick::START.after(Duration::from_secs(secs)));
        assert_eq!(
            [0, 30, 59, 60, 61, 4000].map(|at| called(1, at)),
            [false, false, false, true, false, false]
        );
        strangers.is_known(NodeId(1));
        assert!(!called(1, 4001), "it was known in between");
        (2..1000).for_each(|id| assert!(!called(id, 4001)));
        assert_eq!(strangers.0.lock().unwrap().len(), MOST);
    }
}
