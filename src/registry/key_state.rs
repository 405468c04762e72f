//! What is known of one key, as nodes of this kind tell each other: state, not operations.

use eurekad_wire::InstanceInfo;

use super::gone::{Floor, Mark};
use super::stamp::Stamp;
use super::status::Override;
use super::{Key, Registered, Registry};
use crate::clock::Tick;

/// All that is known of one key, or a part of it. Merging it twice, or in another order, changes nothing.
#[derive(Debug, Clone)]
pub struct KeyState {
    /// Which.
    pub key: Key,
    /// What its client last said.
    pub record: Option<Record>,
    /// What was last set or cleared from outside.
    pub over: Option<Override>,
    /// Its last cancellation, and when that was.
    pub floor: Option<(Floor, Tick)>,
    /// How its lease ended otherwise.
    pub mark: Option<Mark>,
    /// When its client was last heard.
    pub heard: Option<Heard>,
}

/// A client's record.
#[derive(Debug, Clone)]
pub struct Record {
    /// When it was said.
    pub stamp: Stamp,
    /// What was said; without it the record is only named, for whoever has it already.
    pub content: Option<Box<InstanceInfo>>,
}

/// When a client was last heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heard {
    /// The moment.
    pub at: Tick,
    /// Whether that was a renewal, and not the registration.
    pub renewed: bool,
}

impl KeyState {
    /// Nothing but the key: a question.
    pub fn unknown(key: Key) -> Self {
        Self { key, record: None, over: None, floor: None, mark: None, heard: None }
    }

    /// This state with its client's record named only.
    #[must_use]
    pub fn named(&self) -> Self {
        let Self { key, record, over, floor, mark, heard } = self;
        let record = record.as_ref().map(|record| Record { stamp: record.stamp, content: None });
        Self { key: key.clone(), record, over: *over, floor: *floor, mark: *mark, heard: *heard }
    }

    /// The stamps in it.
    pub fn stamps(&self) -> impl Iterator<Item = Stamp> {
        let parts = [
            self.record.as_ref().map(|record| record.stamp),
            self.over.map(|over| over.stamp),
            self.floor.map(|(floor, _)| floor.stamp),
            self.mark.map(|mark| mark.stamp),
        ];
        parts.into_iter().flatten()
    }

    /// Whether it holds something that `other` lacks and that could change what its holder shows.
    pub fn is_ahead_of(&self, other: &Self) -> bool {
        let record = |state: &Self| state.record.as_ref().map(|record| record.stamp);
        let over = |state: &Self| state.over.map(|over| over.stamp);
        let floor = |state: &Self| state.floor.map(|(floor, _)| floor.stamp);
        // A floor under a record says nothing to who has that record.
        let floor_counts =
            floor(self) > record(other) || (record(self).is_none() && floor(self) > floor(other));
        let mark_counts = self.mark.is_some() && other.record.is_some();
        record(self) > record(other) || over(self) > over(other) || floor_counts || mark_counts
    }
}

impl Registered {
    /// What is known of it; the record is named only.
    fn key_state(&self, key: Key, floor_at: Tick) -> KeyState {
        KeyState {
            key,
            record: Some(Record { stamp: self.record_stamp, content: None }),
            over: self.over,
            floor: self.floor.map(|floor| (floor, floor_at)),
            mark: None,
            heard: Some(Heard { at: self.lease.last_heard(), renewed: self.lease.was_renewed() }),
        }
    }
}

impl Registry {
    /// What is known of a key, with its client's record. A lease that nobody has seen renewed is not handed on.
    pub fn key_state(&self, key: &Key) -> KeyState {
        let (mut state, entry) = self.named(key);
        if let (Some(record), Some(entry)) = (&mut state.record, entry) {
            let mut content = entry.own_record();
            // The times of the lease go along, for people; only its lengths decide anything.
            content.lease_info = Some(entry.lease.to_info());
            record.content = Some(Box::new(content));
        }
        state
    }

    /// What is known of a key; its client's record is named only.
    pub fn key_state_named(&self, key: &Key) -> KeyState {
        self.named(key).0
    }

    fn named(&self, key: &Key) -> (KeyState, Option<Registered>) {
        let guarded = self.read();
        match guarded.instances.get(key.app.as_str(), key.id.as_str()) {
            Some(entry) if !entry.lease.is_unproven() => {
                (entry.key_state(key.clone(), self.clock.tick()), Some(entry.clone()))
            }
            Some(_) => (KeyState::unknown(key.clone()), None),
            None => {
                let gone = guarded.went.get(key);
                let state = KeyState {
                    floor: gone.and_then(|gone| gone.floor.map(|floor| (floor, gone.at))),
                    mark: gone.and_then(|gone| gone.mark),
                    ..KeyState::unknown(key.clone())
                };
                (state, None)
            }
        }
    }

    /// The keys of some buckets: of what may be handed on, overdue or not, and of what went.
    pub fn copied_keys(&self, wanted: impl Fn(usize) -> bool) -> Vec<Key> {
        let guarded = self.read();
        let all = guarded.instances.apps.values().flat_map(|app| app.instances());
        let live = all.filter(|entry| !entry.lease.is_unproven()).map(Registered::key);
        let mut gone: Vec<Key> = guarded.went.iter().map(|(key, _)| key.clone()).collect();
        gone.sort();
        live.chain(gone).filter(|key| wanted(key.bucket())).collect()
    }

    /// The keys of some buckets: of what lives and may be handed on, with its digest, and of what went.
    pub fn bucket_keys(&self, wanted: impl Fn(usize) -> bool) -> Vec<(Key, Option<u64>)> {
        let (apps, mut keys) = {
            let guarded = self.read();
            let apps: Vec<_> = guarded.instances.apps.values().cloned().collect();
            let gone = guarded.went.iter().map(|(key, _)| key).filter(|key| wanted(key.bucket()));
            let mut gone: Vec<_> = gone.map(|key| (key.clone(), None)).collect();
            gone.sort();
            (apps, gone)
        };
        let now = self.clock.tick();
        for entry in apps.iter().flat_map(|app| app.instances()).filter(|entry| entry.is_compared(now)) {
            let key = entry.key();
            if wanted(key.bucket()) {
                keys.push((key, Some(entry.digest())));
            }
        }
        keys
    }
}
