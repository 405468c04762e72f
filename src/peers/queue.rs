//! What a peer has still to be told: a queue of keys with flags.
//!
//! Nothing is kept of *what* happened but that it did: what is sent is read from the registry when it is sent. So the
//! order within a key is the registry's, nothing is sent twice, and the size is bounded by the number of instances.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;

use crate::clock::Tick;
use crate::registry::Key;

/// How long heartbeats gather when there is nothing else to send.
const HEARTBEATS_GATHER: Duration = Duration::from_millis(500);

/// What a peer has to be told of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags {
    /// It was cancelled.
    pub cancel: bool,
    /// It was registered, or its content changed.
    pub record: bool,
    /// Its status was set or cleared from outside.
    pub status: bool,
    /// A status was set from outside that it showed already.
    pub confirmed: bool,
    /// A status set from outside was removed that it did not have.
    pub removed: bool,
    /// A node of this kind told of a status that was set or cleared from outside; Java servers hear of it too.
    pub learned: bool,
    /// What is known of it has another stamp than before; Java servers know nothing of those.
    pub restamped: bool,
    /// Its client was heard.
    pub heartbeat: bool,
}

impl Flags {
    /// Both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            cancel: self.cancel || other.cancel,
            record: self.record || other.record,
            status: self.status || other.status,
            confirmed: self.confirmed || other.confirmed,
            removed: self.removed || other.removed,
            learned: self.learned || other.learned,
            restamped: self.restamped || other.restamped,
            heartbeat: self.heartbeat || other.heartbeat,
        }
    }

    /// Whether it should leave at once; a heartbeat can wait a little for others.
    pub fn is_urgent(self) -> bool {
        self.cancel || self.record || self.says_status() || self.restamped
    }

    fn says_status(self) -> bool {
        self.status || self.confirmed || self.removed || self.learned
    }

    /// Whether a node of this kind needs to hear of it: what another of them told, that one tells itself.
    pub fn is_for_ours(self) -> bool {
        Self { learned: false, ..self } != Self::default()
    }
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    flags: Flags,
    since: Tick,
}

/// The queue of one peer, in the order in which keys were first marked.
#[derive(Debug)]
pub struct Queue {
    /// By the number each key was given when it was first marked.
    entries: BTreeMap<u64, (Key, Entry)>,
    numbers: HashMap<Key, u64>,
    /// The numbers of what is urgent, and of what is not.
    urgent: BTreeSet<u64>,
    beats: BTreeSet<u64>,
    next: u64,
    capacity: usize,
    linger: Duration,
    dropped: u64,
    /// The same over all queues of the node.
    crowded_out: Counter,
}

impl Queue {
    /// An empty queue of at most `capacity` keys. What is urgent lingers for `linger` before it leaves.
    /// What goes for lack of room is counted in `crowded_out` too.
    pub fn new(capacity: usize, linger: Duration, crowded_out: Counter) -> Self {
        Self {
            entries: BTreeMap::new(),
            numbers: HashMap::new(),
            urgent: BTreeSet::new(),
            beats: BTreeSet::new(),
            next: 0,
            capacity: capacity.max(1),
            linger,
            dropped: 0,
            crowded_out,
        }
    }

    /// Marks a key. Marking it again keeps its place, so that a client that beats all the time delays nobody.
    pub fn mark(&mut self, key: Key, flags: Flags, now: Tick) {
        if let Some(number) = self.numbers.get(&key)
            && let Some((_, entry)) = self.entries.get_mut(number)
        {
            if flags.is_urgent() && self.beats.remove(number) {
                self.urgent.insert(*number);
                entry.since = now;
            }
            entry.flags = entry.flags.or(flags);
            return;
        }
        if self.entries.len() == self.capacity {
            // The oldest heartbeat goes: the next one replaces it. Without any, the oldest entry.
            let oldest = self.beats.first().or_else(|| self.urgent.first()).copied();
            oldest.map(|number| self.remove(number));
            self.dropped += 1;
            self.crowded_out.inc();
        }
        let number = self.next;
        self.next += 1;
        self.numbers.insert(key.clone(), number);
        self.entries.insert(number, (key, Entry { flags, since: now }));
        if flags.is_urgent() { &mut self.urgent } else { &mut self.beats }.insert(number);
    }

    fn remove(&mut self, number: u64) -> Option<(Key, Flags)> {
        let (key, entry) = self.entries.remove(&number)?;
        self.numbers.remove(&key);
        self.urgent.remove(&number);
        self.beats.remove(&number);
        Some((key, entry.flags))
    }

    /// How long until something should be sent; `None` if there is nothing.
    pub fn due_in(&self, now: Tick) -> Option<Duration> {
        let (first, gather) = match (self.urgent.first(), self.beats.first()) {
            (Some(_), _) if self.linger.is_zero() => return Some(Duration::ZERO),
            (Some(urgent), _) => (urgent, self.linger),
            (None, Some(beat)) => (beat, HEARTBEATS_GATHER),
            (None, None) => return None,
        };
        let (_, entry) = self.entries.get(first)?;
        Some(gather.saturating_sub(now.since(entry.since)))
    }

    /// Takes out the first keys, at most so many.
    pub fn take(&mut self, most: usize) -> Vec<(Key, Flags)> {
        let numbers: Vec<u64> = self.entries.keys().take(most).copied().collect();
        numbers.into_iter().filter_map(|number| self.remove(number)).collect()
    }

    /// Puts back what could not be sent. What was marked meanwhile is added to it.
    pub fn put_back(&mut self, taken: impl IntoIterator<Item = (Key, Flags)>, now: Tick) {
        taken.into_iter().for_each(|(key, flags)| self.mark(key, flags, now));
    }

    /// Forgets the heartbeats: whoever starts anew copies what they say.
    pub fn drop_heartbeats(&mut self) {
        let beats: Vec<u64> = self.beats.iter().copied().collect();
        beats.into_iter().for_each(|number| drop(self.remove(number)));
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.numbers.clear();
        self.urgent.clear();
        self.beats.clear();
    }

    /// How many keys wait.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Entries that went for lack of room.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NONE: Flags = Flags {
        cancel: false,
        record: false,
        status: false,
        confirmed: false,
        removed: false,
        learned: false,
        restamped: false,
        heartbeat: false,
    };
    const BEAT: Flags = Flags { heartbeat: true, ..NONE };
    const RECORD: Flags = Flags { record: true, ..NONE };

    fn key(n: u32) -> Key {
        Key::new("A", &n.to_string())
    }

    #[test]
    fn heartbeats_gather_and_what_is_urgent_takes_them_along_at_once() {
        let mut queue = Queue::new(10, Duration::ZERO, Counter::default());
        assert_eq!(queue.due_in(Tick(0)), None);
        queue.mark(key(1), BEAT, Tick(100));
        assert_eq!(queue.due_in(Tick(200)), Some(Duration::from_millis(400)));
        queue.mark(key(2), RECORD, Tick(200));
        assert_eq!(queue.due_in(Tick(200)), Some(Duration::ZERO));
        assert_eq!(queue.take(250), [(key(1), BEAT), (key(2), RECORD)]);
        assert_eq!(queue.due_in(Tick(200)), None);
    }

    /// Case: P065
    #[test]
    fn marking_a_key_again_and_again_keeps_its_place_and_delays_nobody() {
        let mut queue = Queue::new(10, Duration::ZERO, Counter::default());
        queue.mark(key(1), BEAT, Tick(0));
        queue.mark(key(2), BEAT, Tick(1));
        for at in 2..500 {
            queue.mark(key(1), BEAT, Tick(at));
        }
        assert_eq!(queue.due_in(Tick(500)), Some(Duration::ZERO));
        assert_eq!(queue.take(1), [(key(1), BEAT)]);
    }

    #[test]
    fn a_linger_holds_back_what_is_urgent() {
        let mut queue = Queue::new(10, Duration::from_millis(500), Counter::default());
        queue.mark(key(1), RECORD, Tick(100));
        assert_eq!(queue.due_in(Tick(300)), Some(Duration::from_millis(300)));
    }

    #[test]
    fn a_full_queue_drops_a_heartbeat_before_anything_else() {
        let mut queue = Queue::new(2, Duration::ZERO, Counter::default());
        queue.mark(key(1), RECORD, Tick(0));
        queue.mark(key(2), BEAT, Tick(0));
        queue.mark(key(3), RECORD, Tick(0));
        assert_eq!(queue.take(9), [(key(1), RECORD), (key(3), RECORD)]);
        assert_eq!(queue.dropped(), 1);
    }

    proptest! {
        /// Whatever is marked, taken, lost and put back: no flag is lost, none is invented, each key stands once.
        #[test]
        fn no_flag_is_lost_or_invented(
            steps in prop::collection::vec((0_u8..4, 0_u32..8, any::<[bool; 4]>()), 0..200)
        ) {
            let mut queue = Queue::new(1_000, Duration::ZERO, Counter::default());
            let mut model: BTreeMap<Key, Flags> = BTreeMap::new();
            let mut flight: Vec<(Key, Flags)> = Vec::new();
            for (step, n, [cancel, record, status, heartbeat]) in steps {
                let flags = Flags { cancel, record, status, heartbeat, ..NONE };
                match step {
                    0 | 1 if flags != Flags::default() => {
                        queue.mark(key(n), flags, Tick(0));
                        let known = model.entry(key(n)).or_default();
                        *known = known.or(flags);
                    }
                    2 if flight.is_empty() => {
                        flight = queue.take(n as usize);
                        for (key, flags) in &flight {
                            prop_assert_eq!(model.remove(key), Some(*flags));
                        }
                    }
                    3 => {
                        for (key, flags) in flight.drain(..) {
                            let known = model.entry(key.clone()).or_default();
                            *known = known.or(flags);
                            queue.put_back([(key, flags)], Tick(0));
                        }
                    }
                    _ => {}
                }
                prop_assert_eq!(queue.len(), model.len());
                let urgent = model.values().any(|f| f.is_urgent());
                prop_assert_eq!(queue.due_in(Tick(0)) == Some(Duration::ZERO), urgent);
            }
            let left: BTreeMap<Key, Flags> = queue.take(usize::MAX).into_iter().collect();
            prop_assert_eq!(left, model);
        }
    }
}
