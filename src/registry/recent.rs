//! A ring of what happened last, for people to look at.

use std::collections::VecDeque;

use super::Key;

/// One line of a ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentEvent {
    /// When, epoch milliseconds.
    pub at: i64,
    /// Which instance.
    pub key: Key,
    /// What happened.
    pub what: Happened,
}

/// What happened to an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happened {
    /// It was registered.
    Registered,
    /// It was cancelled.
    Cancelled,
    /// Its lease expired.
    Evicted,
    /// It was to be cancelled, and there was none.
    Unknown,
}

/// The last so many events, oldest dropped first.
#[derive(Debug)]
pub(super) struct Ring {
    events: VecDeque<RecentEvent>,
    capacity: usize,
}

impl Ring {
    /// **Compat:** the Java server keeps the last 1000 registrations and the last 1000 cancellations.
    pub(super) const CAPACITY: usize = 1000;

    pub(super) fn new(capacity: usize) -> Self {
        Self { events: VecDeque::new(), capacity }
    }

    pub(super) fn push(&mut self, event: RecentEvent) {
        if self.events.len() == self.capacity {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// Newest first.
    pub(super) fn newest_first(&self) -> impl Iterator<Item = &RecentEvent> {
        self.events.iter().rev()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catalog: B15
    #[test]
    fn a_full_ring_drops_its_oldest_event() {
        let mut ring = Ring::new(5);
        for at in 1..=6 {
            ring.push(RecentEvent { at, key: Key::new("A", "i"), what: Happened::Registered });
        }
        assert_eq!(ring.newest_first().map(|e| e.at).collect::<Vec<_>>(), [6, 5, 4, 3, 2]);
    }
}
