//! Eviction: taking out instances whose clients fell silent.

use std::time::Duration;

use rand::RngExt;
use rand::rngs::SmallRng;

use super::gone::Mark;
use super::leave::Exit;
use super::{Happened, Key, Origin, RecentEvent, Registry, SelfPreservation};
use crate::clock::Tick;

/// Leases that are taken out under one hold of the lock.
const CHUNK: usize = 256;

/// Runs eviction passes and remembers when the last one was.
#[derive(Debug)]
pub struct Evictor {
    interval: Duration,
    last_run: Option<Tick>,
    chance: SmallRng,
}

/// What one pass did.
#[derive(Debug, Clone)]
pub struct Eviction {
    /// Leases that were overdue.
    pub overdue: usize,
    /// Who was taken out.
    pub evicted: Vec<Evicted>,
    /// Whether evicting was allowed, and why.
    pub self_preservation: SelfPreservation,
    /// How much the pass was late, and with it every lease's grace.
    pub compensation: Duration,
}

/// An instance that was taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evicted {
    /// Which.
    pub key: Key,
    /// How long its lease had been over.
    pub overdue_by: Duration,
}

impl Evictor {
    /// An evictor that is run every `interval`. Chance picks whom a capped pass takes.
    pub fn new(interval: Duration, chance: SmallRng) -> Self {
        Self { interval, last_run: None, chance }
    }

    /// One pass.
    ///
    /// **Compat:** a pass takes at most `size − ⌊size × threshold⌋` of the overdue leases, picked at random, so that
    /// one pass never empties an application in the order of its ids. If the pass is late (a stall of this process),
    /// the leases get as much grace. Evictions are not replicated: each server evicts on its own.
    pub fn run(&mut self, registry: &Registry) -> Eviction {
        let compensation = self.compensation(registry.clock.tick());
        let self_preservation = registry.self_preservation();
        let mut overdue = registry.overdue(compensation);
        let found = overdue.len();
        if !self_preservation.allows_eviction() {
            return Eviction { overdue: found, evicted: Vec::new(), self_preservation, compensation };
        }
        let size = self_preservation.leases;
        let kept = (size as f64 * registry.settings.renewal_percent_threshold) as usize;
        let limit = found.min(size.saturating_sub(kept));
        // The first `limit` places of a Fisher–Yates shuffle.
        for place in 0..limit {
            let pick = self.chance.random_range(place..found);
            overdue.swap(place, pick);
        }
        overdue.truncate(limit);
        let evicted = overdue.chunks(CHUNK).flat_map(|chunk| registry.evict(chunk, compensation)).collect();
        Eviction { overdue: found, evicted, self_preservation, compensation }
    }

    /// How much later than one interval after the last pass it is.
    fn compensation(&mut self, now: Tick) -> Duration {
        let late = self.last_run.map_or(Duration::ZERO, |last| now.since(last).saturating_sub(self.interval));
        self.last_run = Some(now);
        late
    }
}

impl Registry {
    /// The keys of all overdue leases.
    pub fn overdue(&self, grace: Duration) -> Vec<Key> {
        let now = self.clock.tick();
        let guarded = self.read();
        let all = guarded.instances.apps.values().flat_map(|app| app.instances());
        all.filter(|e| e.lease.is_expired(now, grace)).map(super::Registered::key).collect()
    }

    /// Takes out those of `keys` that are still overdue.
    fn evict(&self, keys: &[Key], grace: Duration) -> Vec<Evicted> {
        let (now, now_epoch) = (self.clock.tick(), self.clock.epoch_millis());
        let mut guarded = self.write();
        let mut evicted = Vec::with_capacity(keys.len());
        for key in keys {
            // Between the two locks its client may have renewed it or gone.
            let entry = guarded.instances.get(key.app.as_str(), key.id.as_str());
            let Some((overdue_by, mark)) = entry
                .filter(|e| e.lease.is_expired(now, grace))
                .map(|e| (now.since(e.lease.expires_at()), Mark::of(e, false)))
            else {
                continue;
            };
            self.take_out(&mut guarded, key.clone(), Exit::Ended(mark), Origin::Evictor, now_epoch);
            guarded.cancelled.push(RecentEvent { at: now_epoch, key: key.clone(), what: Happened::Evicted });
            self.metrics.evictions.inc();
            evicted.push(Evicted { key: key.clone(), overdue_by });
        }
        evicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// Catalog: B14
    #[test]
    fn a_late_pass_gives_as_much_grace_as_it_is_late() {
        let mut evictor = Evictor::new(Duration::from_secs(60), SmallRng::seed_from_u64(1));
        let runs = [0, 60_000, 120_010, 179_999].map(|at| evictor.compensation(Tick(at)).as_millis());
        assert_eq!(runs, [0, 0, 10, 0]);
    }
}
