//! What went: floors of what was cancelled, marks of what was evicted.
//!
//! A peer that has not heard yet, or that comes back after a long cut, still believes in an instance that is gone. What
//! is kept here says whether its word brings the instance back.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::Key;
use super::first_contact::moved;
use super::stamp::{NodeId, Stamp};
use super::state::Registered;
use crate::clock::Tick;

/// The most that is kept of what went; the oldest goes first.
const CAPACITY: usize = 100_000;

/// The most that is kept of what was not here when it went. Anybody can say that of anything, and must not push out the
/// rest with it.
const BLIND_CAPACITY: usize = 10_000;

/// Longer names of what was not here are not remembered.
const LONGEST_UNKNOWN_NAME: usize = 1024;

/// Kept for so much longer than twice a lease.
const MARGIN: Duration = Duration::from_secs(60);

/// What nodes tell each other of the same renewal is late by the way of each telling: so much younger is no younger.
const LATE: Duration = Duration::from_millis(200);

/// A cancellation by a client or an operator, here or at a node of this kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Floor {
    /// When; what was said before is void.
    pub stamp: Stamp,
    /// The `lastDirtyTimestamp` that was cancelled, epoch milliseconds: for Java servers a greater one is another life.
    pub last_dirty: i64,
    /// How often the client meant to renew.
    pub interval: Duration,
    /// How long its lease lived after a renewal.
    pub life: Duration,
    /// Whether the instance was unknown where it was cancelled.
    pub blind: bool,
}

/// A lease that ended without its client, or that a Java server cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// When its client had last said what its record was; a later word is another life.
    pub stamp: Stamp,
    /// When its client was last heard, as far as was known then. A copy that is no younger does not come back.
    pub heard: Tick,
    /// Whether a Java server cancelled it: copies that are no younger are taken out elsewhere too.
    pub cancelled: bool,
    /// How long its lease lived after a renewal.
    pub life: Duration,
    /// Whether there was no lease where it was cancelled.
    pub blind: bool,
}

/// What is kept of one instance that is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gone {
    /// Its last cancellation.
    pub floor: Option<Floor>,
    /// How its lease ended otherwise.
    pub mark: Option<Mark>,
    /// When it went.
    pub at: Tick,
    /// Whether it was here when it went.
    known: bool,
    /// Whether peers were told once more, for one of them had missed it.
    told: bool,
}

impl Gone {
    fn keep_until(&self) -> Tick {
        let life = self.floor.map(|f| f.life).max(self.mark.map(|m| m.life)).unwrap_or_default();
        self.at.after(life.saturating_mul(2)).after(MARGIN)
    }

    /// Whether it went in a way that a copy from a Java server does not undo. Before the copy came nothing was known here,
    /// so what clients cancelled meanwhile left a blind floor.
    pub(super) fn went_while_copying(&self) -> bool {
        self.mark.is_some() || self.floor.is_some_and(|floor| floor.blind)
    }
}

/// What a floor makes of a Java server's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Covered {
    /// There is no floor, or it does not hold against this.
    No,
    /// The word is old news, and this is the first: the peers should be told of the cancellation again.
    First,
    /// The word is old news, and the peers have been told.
    Again,
}

/// All that is kept, bounded by time and by count.
#[derive(Debug, Default)]
pub(super) struct WhatWent {
    by_key: HashMap<Key, Gone>,
    order: VecDeque<(Key, Tick)>,
    blind_order: VecDeque<(Key, Tick)>,
    dropped: u64,
}

impl WhatWent {
    pub(super) fn get(&self, key: &Key) -> Option<&Gone> {
        self.by_key.get(key)
    }

    /// An instance was cancelled at `at`. Of two cancellations the later counts.
    pub(super) fn cancelled(&mut self, key: Key, floor: Floor, at: Tick, known: bool) {
        let (mark, known) = match self.by_key.get(&key) {
            Some(before) if before.floor.is_some_and(|before| before.stamp >= floor.stamp) => return,
            Some(before) => (before.mark, known || before.known),
            None => (None, known),
        };
        self.keep(key, Gone { floor: Some(floor), mark, at, known, told: false });
    }

    /// A lease ended at `at` without its client. `floor` is what its client's last cancellation left.
    pub(super) fn ended(&mut self, key: Key, mark: Mark, floor: Option<Floor>, at: Tick) {
        let known = self.by_key.get(&key).copied();
        let floor = floor.or(known.and_then(|known| known.floor));
        let earlier = known.and_then(|known| known.mark);
        let mark = earlier.filter(|earlier| earlier.heard > mark.heard).unwrap_or(mark);
        let known = !mark.blind || known.is_some_and(|known| known.known);
        self.keep(key, Gone { floor, mark: Some(mark), at, known, told: false });
    }

    fn keep(&mut self, key: Key, gone: Gone) {
        let (order, capacity) = if gone.known {
            (&mut self.order, CAPACITY)
        } else {
            if key.app.as_str().len() + key.id.as_str().len() > LONGEST_UNKNOWN_NAME {
                return;
            }
            (&mut self.blind_order, BLIND_CAPACITY)
        };
        order.push_back((key.clone(), gone.at));
        self.by_key.insert(key, gone);
        while order.len() > capacity {
            if let Some((key, at)) = order.pop_front()
                && self.by_key.get(&key).is_some_and(|gone| gone.at == at)
            {
                self.by_key.remove(&key);
                self.dropped += 1;
            }
        }
    }

    /// The instance lives again: what is kept of it, which is not kept here any longer.
    pub(super) fn take(&mut self, key: &Key) -> Option<Gone> {
        self.by_key.remove(key)
    }

    /// Whether a Java server's word about `key` is old news: for two renewal intervals after a cancellation, within
    /// which a client that is alive would have been heard. `last_dirty` is that of the record it speaks of.
    pub(super) fn covers(&mut self, key: &Key, last_dirty: Option<i64>, now: Tick) -> Covered {
        let Some(gone) = self.by_key.get_mut(key) else { return Covered::No };
        match gone.floor {
            Some(floor)
                if !floor.blind
                    && now.since(gone.at) < floor.interval.saturating_mul(2)
                    && last_dirty.is_none_or(|dirty| dirty <= floor.last_dirty) =>
            {
                if std::mem::replace(&mut gone.told, true) { Covered::Again } else { Covered::First }
            }
            Some(_) | None => Covered::No,
        }
    }

    /// Forgets what no node can still believe in.
    pub(super) fn forget_old(&mut self, now: Tick) {
        self.by_key.retain(|_, gone| now < gone.keep_until());
        let by_key = &self.by_key;
        let stands = |(key, at): &(Key, Tick)| by_key.get(key).is_some_and(|gone| gone.at == *at);
        self.order.retain(stands);
        self.blind_order.retain(stands);
    }

    /// Moves the stamps that the node `own` gave while its clock was behind. Returns what they are of.
    pub(super) fn catch_up(&mut self, own: NodeId, behind: i64) -> Vec<Key> {
        let mut keys = Vec::new();
        for (key, gone) in &mut self.by_key {
            if let Some(mark) = &mut gone.mark {
                mark.stamp = moved(mark.stamp, own, behind);
            }
            if let Some(floor) = &mut gone.floor
                && floor.stamp.node == own
            {
                floor.stamp = moved(floor.stamp, own, behind);
                keys.push(key.clone());
            }
        }
        keys.sort();
        keys
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Key, &Gone)> {
        self.by_key.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// How many went for lack of room.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }
}

impl Mark {
    /// The mark that a lease leaves.
    pub(super) fn of(entry: &Registered, cancelled: bool) -> Self {
        let (stamp, lease) = (entry.record_stamp, &entry.lease);
        Self { stamp, heard: lease.last_heard(), cancelled, life: lease.life(), blind: false }
    }

    /// Whether a copy whose record was said then, and whose client was last heard then, is no younger than what ended.
    pub(super) fn holds(&self, stamp: Stamp, heard: Tick) -> bool {
        stamp <= self.stamp && heard <= self.heard.after(LATE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Tick = Tick(1_000_000);

    fn floor(millis: i64, blind: bool) -> Floor {
        let stamp = Stamp { millis, count: 0, node: NodeId(1) };
        let (interval, life) = (Duration::from_secs(30), Duration::from_secs(90));
        Floor { stamp, last_dirty: 1000, interval, life, blind }
    }

    fn with_floor() -> (WhatWent, Key) {
        let (mut went, key) = (WhatWent::default(), Key::new("A", "a"));
        went.cancelled(key.clone(), floor(1, false), NOW, true);
        (went, key)
    }

    fn later(secs: u64) -> Tick {
        NOW.after(Duration::from_secs(secs))
    }

    /// Case: P067
    #[test]
    fn for_two_renewal_intervals_what_java_says_of_a_cancelled_instance_is_old_news() {
        let (mut went, key) = with_floor();
        assert_eq!(went.covers(&key, Some(1000), later(1)), Covered::First);
        assert_eq!(went.covers(&key, None, later(59)), Covered::Again);
        assert_eq!(went.covers(&key, Some(1000), later(60)), Covered::No);
        assert_eq!(went.covers(&Key::new("A", "b"), Some(1000), later(1)), Covered::No);
        assert_eq!(went.covers(&key, Some(1001), later(1)), Covered::No, "a newer record is another life");
    }

    #[test]
    fn of_two_cancellations_the_later_counts() {
        let (mut went, key) = with_floor();
        went.cancelled(key.clone(), floor(5, false), later(1), true);
        went.cancelled(key.clone(), floor(3, false), later(2), true);
        let gone = went.get(&key).copied();
        assert_eq!(gone.and_then(|gone| gone.floor), Some(floor(5, false)));
    }

    #[test]
    fn what_went_is_kept_for_twice_a_lease_and_a_minute() {
        let (mut went, key) = with_floor();
        went.forget_old(later(239));
        assert!(went.get(&key).is_some());
        went.forget_old(later(240));
        assert_eq!((went.len(), went.order.len()), (0, 0));
    }

    #[test]
    fn cancellations_of_unknown_instances_push_out_no_others() {
        let (mut went, key) = with_floor();
        for n in 0..=BLIND_CAPACITY {
            went.cancelled(Key::new("X", &n.to_string()), floor(2, true), later(1), false);
        }
        assert!(went.get(&key).is_some());
        assert_eq!((went.len(), went.dropped()), (BLIND_CAPACITY + 1, 1));
    }

    #[test]
    fn what_is_kept_is_bounded_by_count() {
        let mut went = WhatWent::default();
        for n in 0..=CAPACITY {
            went.cancelled(Key::new("A", &n.to_string()), floor(1, false), NOW, true);
        }
        assert_eq!((went.len(), went.order.len(), went.dropped()), (CAPACITY, CAPACITY, 1));
    }
}
