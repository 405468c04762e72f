//! Batches that arrive after later ones.
//!
//! A node that gives up on a batch sends its keys again, as they are by then, in a later one. If this process was stopped
//! meanwhile, it finds both in its sockets and may take the later one first; the earlier would undo it.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::peers::NodeId;

/// The most nodes whose batches are followed; more than any cluster has.
const MOST_NODES: usize = 1024;

/// The newest batch of each node.
#[derive(Debug, Default)]
pub struct BatchOrder(Mutex<HashMap<NodeId, u64>>);

impl BatchOrder {
    /// Whether no later batch of this node has come yet. Each process has an id of its own, and counts from 1.
    pub(super) fn is_in_order(&self, node: NodeId, number: u64) -> bool {
        let mut newest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if newest.len() >= MOST_NODES && !newest.contains_key(&node) {
            newest.clear();
        }
        let known = newest.entry(node).or_default();
        let in_order = number > *known;
        *known = number.max(*known);
        in_order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_node_only_what_is_newer_than_its_newest_is_in_order() {
        let order = BatchOrder::default();
        let taken = [(1, 1), (1, 3), (1, 2), (2, 2), (1, 3), (1, 4)];
        let taken = taken.map(|(node, number)| order.is_in_order(NodeId(node), number));
        assert_eq!(taken, [true, true, false, true, false, true]);
    }
}
