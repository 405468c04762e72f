//! The read-only level: a snapshot of documents that readers share until a timer renews it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;

use super::{Document, Key, Size};
use crate::clock::Tick;

/// The most documents it holds: each renewal looks at all of them under the registry's lock.
const MOST_KEYS: usize = 10_000;

#[derive(Debug)]
pub(super) struct ReadOnly {
    documents: RwLock<HashMap<Key, Slot>>,
    /// The most bytes it holds. A document that does not fit is served by the read-write level alone.
    max_bytes: u64,
    bytes: AtomicU64,
    /// Documents that there was no room for.
    crowded_out: Counter,
}

#[derive(Debug)]
struct Slot {
    document: Document,
    last_read: AtomicU64,
}

impl ReadOnly {
    pub(super) fn new(max_bytes: u64, crowded_out: Counter) -> Self {
        Self { documents: RwLock::default(), max_bytes, bytes: AtomicU64::new(0), crowded_out }
    }

    pub(super) fn get(&self, key: &Key, now: Tick) -> Option<Document> {
        let documents = self.documents.read().unwrap_or_else(PoisonError::into_inner);
        let slot = documents.get(key)?;
        slot.last_read.store(now.0, Ordering::Relaxed);
        Some(slot.document.clone())
    }

    /// Takes a document in, if there is room, and returns the one that is there now: a refresh may have come in
    /// between with a newer one, and readers must not see that and then this.
    pub(super) fn put(&self, key: &Key, document: Document, now: Tick) -> Document {
        let mut documents = self.documents.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = documents.get(key) {
            return slot.document.clone();
        }
        let bytes = document.payload.weight() as u64;
        if documents.len() < MOST_KEYS && self.bytes.load(Ordering::Relaxed) + bytes <= self.max_bytes {
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
            let slot = Slot { document: document.clone(), last_read: AtomicU64::new(now.0) };
            documents.insert(key.clone(), slot);
        } else {
            self.crowded_out.inc();
        }
        document
    }

    /// What it holds.
    pub(super) fn size(&self) -> Size {
        let documents = self.documents.read().unwrap_or_else(PoisonError::into_inner).len() as u64;
        Size { documents, bytes: self.bytes() }
    }

    /// The bytes it holds.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The documents that were read within `idle`.
    pub(super) fn in_use(&self, now: Tick, idle: Duration) -> Vec<(Key, Document)> {
        let documents = self.documents.read().unwrap_or_else(PoisonError::into_inner);
        let used = documents.iter().filter(|(_, slot)| slot.is_used(now, idle));
        used.map(|(key, slot)| (key.clone(), slot.document.clone())).collect()
    }

    /// Puts new documents in place of the old ones, all at once; `None` takes one out. What was not read within
    /// `idle` goes too.
    pub(super) fn swap(&self, fresh: Vec<(Key, Option<Document>)>, now: Tick, idle: Duration) {
        let mut documents = self.documents.write().unwrap_or_else(PoisonError::into_inner);
        for (key, document) in fresh {
            match document {
                Some(document) => {
                    if let Some(slot) = documents.get_mut(&key) {
                        slot.document = document;
                    }
                }
                None => {
                    documents.remove(&key);
                }
            }
        }
        documents.retain(|_, slot| slot.is_used(now, idle));
        let bytes = documents.values().map(|slot| slot.document.payload.weight() as u64).sum();
        self.bytes.store(bytes, Ordering::Relaxed);
    }
}

impl Slot {
    fn is_used(&self, now: Tick, idle: Duration) -> bool {
        now.since(Tick(self.last_read.load(Ordering::Relaxed))) < idle
    }
}
