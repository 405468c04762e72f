//! What is to be done when this node meets another for the first time, and its clock was behind.
//!
//! What was stamped here before, alone, was stamped by a clock that was wrong: another node's older word would beat it. The
//! difference is known now, so these stamps are given the moment that they had by the others' clocks.

use super::follow::LocalTouch;
use super::stamp::{FromTheFuture, NodeId, Stamp};
use super::status::Override;
use super::{Key, Registry};

impl Registry {
    /// Takes notice of a stamp that another node gave.
    ///
    /// # Errors
    /// If it is too far ahead to be taken.
    pub fn observe(&self, seen: Stamp) -> Result<(), FromTheFuture> {
        let behind = self.stamps.observe(seen)?;
        if behind > 0 {
            self.catch_up(behind);
        }
        Ok(())
    }

    fn catch_up(&self, behind: i64) {
        let own = self.stamps.node();
        let mut guarded = self.write();
        let entries = guarded.instances.apps.values().flat_map(|app| app.instances());
        let stamped: Vec<_> = entries
            .filter(|entry| {
                is_own(entry.record_stamp, own) || entry.over.is_some_and(|o| is_own(o.stamp, own))
            })
            .map(|entry| {
                let over = entry.over.map(|over| Override { stamp: moved(over.stamp, own, behind), ..over });
                (entry.key(), moved(entry.record_stamp, own, behind), over, entry.floor)
            })
            .collect();
        let mut keys: Vec<Key> = guarded.went.catch_up(own, behind);
        for (key, record, over, floor) in stamped {
            guarded.instances.restamp(&key, record, over, floor);
            keys.push(key);
        }
        drop(guarded);
        keys.into_iter().for_each(|key| self.following.note(key, LocalTouch::Restamped));
    }
}

fn is_own(stamp: Stamp, own: NodeId) -> bool {
    // What was copied from a Java server is below every stamp, and stays so.
    stamp.node == own && stamp.millis > 0
}

/// A stamp of this node's, as it should have been.
pub(super) fn moved(stamp: Stamp, own: NodeId, behind: i64) -> Stamp {
    if is_own(stamp, own) { stamp.shifted(behind) } else { stamp }
}
