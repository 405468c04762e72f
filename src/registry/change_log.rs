//! What changed, in order: the source of deltas, and of whatever else follows the registry.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use super::{Key, Origin, Registered};
use crate::clock::Tick;

/// One change: what became of one instance.
#[derive(Debug, Clone)]
pub struct Change {
    /// The registry's version that this change made.
    pub version: u64,
    /// Which instance.
    pub key: Key,
    /// Where the change came from.
    pub origin: Origin,
    /// The instance after the change; for one that is gone, as it was when it went.
    pub after: Registered,
    /// Whether it is gone.
    pub gone: bool,
    /// What was last decided here, not learned from another node.
    pub local: LocalVersions,
    at: Tick,
}

/// The versions of a key's last local changes, by what they changed.
///
/// A later touch by a replica takes the key's place in the log, and must hide none of them from replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LocalVersions {
    /// The last registration or change of content.
    pub record: Option<u64>,
    /// The last cancellation.
    pub cancel: Option<u64>,
    /// The last change of the override.
    pub override_: Option<u64>,
    /// The last change of the override that a node of this kind told of: Java servers have to hear of it too.
    pub learned_override: Option<u64>,
}

/// What a change touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Touched {
    Record,
    /// A registration that ended what the removal of an override had left: peers have to be told of both.
    RecordAndOverride,
    Cancel,
    Override,
}

/// The log: one entry per key, at its newest position; bounded by age and by count.
#[derive(Debug)]
pub(super) struct ChangeLog {
    entries: BTreeMap<u64, Change>,
    newest: HashMap<Key, u64>,
    retention: Duration,
    capacity: usize,
    /// Until then the log lacks changes that its retention promises.
    incomplete_until: Option<Tick>,
    dropped: u64,
    /// The newest version that went for lack of room.
    dropped_up_to: u64,
}

impl ChangeLog {
    pub(super) fn new(retention: Duration, capacity: usize) -> Self {
        Self {
            entries: BTreeMap::new(),
            newest: HashMap::new(),
            retention,
            capacity: capacity.max(1),
            incomplete_until: None,
            dropped: 0,
            dropped_up_to: 0,
        }
    }

    /// Appends a change; an earlier entry of its key goes.
    pub(super) fn append(
        &mut self,
        version: u64,
        key: Key,
        origin: Origin,
        after: Registered,
        touched: Touched,
        at: Tick,
    ) {
        let earlier = self.newest.insert(key.clone(), version).and_then(|v| self.entries.remove(&v));
        let mut local = earlier.map(|e| e.local).unwrap_or_default();
        if origin.is_local() {
            match touched {
                Touched::Record => local.record = Some(version),
                Touched::RecordAndOverride => {
                    local.record = Some(version);
                    local.override_ = Some(version);
                }
                Touched::Cancel => local.cancel = Some(version),
                Touched::Override => local.override_ = Some(version),
            }
        }
        if origin == Origin::Ours && matches!(touched, Touched::Override | Touched::RecordAndOverride) {
            local.learned_override = Some(version);
        }
        let gone = touched == Touched::Cancel;
        self.entries.insert(version, Change { version, key, origin, after, gone, local, at });
        if self.entries.len() > self.capacity
            && let Some((_, change)) = self.entries.pop_first()
        {
            self.newest.remove(&change.key);
            self.dropped += 1;
            self.dropped_up_to = change.version;
            self.incomplete_until = Some(change.at.after(self.retention).max(at));
        }
    }

    /// Forgets what is older than the retention.
    pub(super) fn forget_old(&mut self, now: Tick) {
        while let Some(first) = self.entries.first_entry() {
            if first.get().at.after(self.retention) >= now {
                break;
            }
            let change = first.remove();
            self.newest.remove(&change.key);
        }
    }

    /// All entries, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Change> {
        self.entries.values()
    }

    /// The entries after a version, oldest first.
    pub(super) fn since(&self, version: u64) -> impl Iterator<Item = &Change> {
        self.entries.range(version.saturating_add(1)..).map(|(_, change)| change)
    }

    /// The version of the oldest entry. It moves up when entries are forgotten.
    pub(super) fn oldest_version(&self) -> Option<u64> {
        self.entries.first_key_value().map(|(v, _)| *v)
    }

    /// Whether every change of the retention is there.
    pub(super) fn is_whole(&self, now: Tick) -> bool {
        self.incomplete_until.is_none_or(|until| now > until)
    }

    /// Changes that went for lack of room.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The newest version that went for lack of room; 0 if none did.
    pub(super) fn dropped_up_to(&self) -> u64 {
        self.dropped_up_to
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::registered;
    use super::*;

    fn log(capacity: usize) -> ChangeLog {
        ChangeLog::new(Duration::from_secs(180), capacity)
    }

    fn append(log: &mut ChangeLog, version: u64, id: &str, origin: Origin, touched: Touched, at: u64) {
        log.append(version, Key::new("A", id), origin, registered("A", id), touched, Tick(at));
    }

    fn ids(log: &ChangeLog) -> Vec<(u64, String)> {
        log.iter().map(|c| (c.version, c.key.id.to_string())).collect()
    }

    #[test]
    fn a_key_has_one_entry_at_its_newest_position() {
        let mut log = log(10);
        append(&mut log, 1, "a", Origin::Client, Touched::Record, 0);
        append(&mut log, 2, "b", Origin::Client, Touched::Record, 0);
        append(&mut log, 3, "a", Origin::Client, Touched::Override, 0);
        assert_eq!(ids(&log), [(2, "b".into()), (3, "a".into())]);
    }

    #[test]
    fn a_replicas_touch_hides_no_local_change() {
        let mut log = log(10);
        append(&mut log, 1, "a", Origin::Client, Touched::Record, 0);
        append(&mut log, 2, "a", Origin::Operator, Touched::Override, 0);
        append(&mut log, 3, "a", Origin::Replica, Touched::Record, 0);
        append(&mut log, 4, "a", Origin::Evictor, Touched::Cancel, 0);
        let local = log.iter().next().map(|c| c.local);
        assert_eq!(
            local,
            Some(LocalVersions { record: Some(1), override_: Some(2), ..LocalVersions::default() })
        );
    }

    #[test]
    fn entries_leave_when_they_are_older_than_the_retention() {
        let mut log = log(10);
        append(&mut log, 1, "a", Origin::Client, Touched::Record, 0);
        append(&mut log, 2, "b", Origin::Client, Touched::Record, 60_000);
        log.forget_old(Tick(180_000));
        assert_eq!(log.len(), 2);
        log.forget_old(Tick(180_001));
        assert_eq!(ids(&log), [(2, "b".into())]);
        assert_eq!(log.oldest_version(), Some(2));
    }

    #[test]
    fn an_overflowing_log_says_so_until_it_is_whole_again() {
        let mut log = log(2);
        (1..=3).for_each(|v| append(&mut log, v, &v.to_string(), Origin::Client, Touched::Record, v * 1000));
        assert_eq!((log.len(), log.dropped()), (2, 1));
        assert!(!log.is_whole(Tick(3_000)));
        assert!(!log.is_whole(Tick(181_000)), "the dropped change would still be shown");
        assert!(log.is_whole(Tick(181_001)));
    }
}
