//! What was cancelled here a moment ago, so that a peer that still believes in it does not bring it back.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::Key;
use super::state::Registered;
use crate::clock::Tick;

/// The most floors that are kept; the oldest go first.
const CAPACITY: usize = 100_000;

/// One cancellation by a client or an operator, here.
#[derive(Debug, Clone, Copy)]
struct Floor {
    at: Tick,
    /// The `lastDirtyTimestamp` that was cancelled: a newer one is another life of the instance.
    last_dirty: i64,
    /// So long what peers say of it is taken for old news: two renewal intervals, within which a client that is alive
    /// would have been heard.
    holds: Duration,
    told: bool,
}

/// What a floor makes of a peer's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Covered {
    /// There is no floor, or it does not hold against this.
    No,
    /// The word is old news, and this is the first: the peers should be told of the cancellation again.
    First,
    /// The word is old news, and the peers have been told.
    Again,
}

/// The floors, bounded by time and by count.
#[derive(Debug, Default)]
pub(super) struct Floors {
    by_key: HashMap<Key, Floor>,
    order: VecDeque<(Key, Tick)>,
}

impl Floors {
    /// An instance was cancelled here.
    pub(super) fn set(&mut self, key: Key, cancelled: &Registered, now: Tick) {
        let last_dirty = cancelled.info.last_dirty_timestamp.unwrap_or(0);
        let holds = cancelled.lease.interval().saturating_mul(2);
        self.order.push_back((key.clone(), now));
        self.by_key.insert(key, Floor { at: now, last_dirty, holds, told: false });
        while self.order.len() > CAPACITY {
            self.drop_oldest();
        }
    }

    /// The instance lives again.
    pub(super) fn forget(&mut self, key: &Key) {
        self.by_key.remove(key);
    }

    /// Whether a peer's word about `key` is old news. `last_dirty` is that of the record it speaks of.
    pub(super) fn covers(&mut self, key: &Key, last_dirty: Option<i64>, now: Tick) -> Covered {
        match self.by_key.get_mut(key) {
            Some(floor)
                if now.since(floor.at) < floor.holds && last_dirty.is_none_or(|d| d <= floor.last_dirty) =>
            {
                if std::mem::replace(&mut floor.told, true) {
                    Covered::Again
                } else {
                    Covered::First
                }
            }
            Some(_) | None => Covered::No,
        }
    }

    /// Forgets floors that hold no longer.
    pub(super) fn forget_old(&mut self, now: Tick) {
        self.by_key.retain(|_, floor| now.since(floor.at) < floor.holds);
        let by_key = &self.by_key;
        self.order.retain(|(key, at)| by_key.get(key).is_some_and(|floor| floor.at == *at));
    }

    fn drop_oldest(&mut self) {
        if let Some((key, at)) = self.order.pop_front()
            && self.by_key.get(&key).is_some_and(|floor| floor.at == at)
        {
            self.by_key.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::registered;
    use super::*;

    fn floors() -> (Floors, Key) {
        let mut floors = Floors::default();
        let key = Key::new("A", "a");
        let mut cancelled = registered("A", "a");
        let mut info = (*cancelled.info).clone();
        info.last_dirty_timestamp = Some(1000);
        cancelled.info = info.into();
        floors.set(key.clone(), &cancelled, Tick(0));
        (floors, key)
    }

    /// Case: P067
    #[test]
    fn for_two_renewal_intervals_what_peers_say_of_a_cancelled_instance_is_old_news() {
        let (mut floors, key) = floors();
        assert_eq!(floors.covers(&key, Some(1000), Tick(1)), Covered::First);
        assert_eq!(floors.covers(&key, None, Tick(59_999)), Covered::Again);
        assert_eq!(floors.covers(&key, Some(1000), Tick(60_000)), Covered::No);
        assert_eq!(floors.covers(&Key::new("A", "b"), Some(1000), Tick(1)), Covered::No);
    }

    #[test]
    fn a_newer_record_is_another_life() {
        let (mut floors, key) = floors();
        assert_eq!(floors.covers(&key, Some(1001), Tick(1)), Covered::No);
        floors.forget(&key);
        assert_eq!(floors.covers(&key, Some(1000), Tick(1)), Covered::No);
    }

    #[test]
    fn floors_are_bounded_by_time_and_by_count() {
        let (mut floors, _) = floors();
        floors.forget_old(Tick(60_000));
        assert!(floors.by_key.is_empty() && floors.order.is_empty());
        let cancelled = registered("A", "a");
        for n in 0..=CAPACITY {
            floors.set(Key::new("A", &n.to_string()), &cancelled, Tick(0));
        }
        assert_eq!((floors.by_key.len(), floors.order.len()), (CAPACITY, CAPACITY));
    }
}
