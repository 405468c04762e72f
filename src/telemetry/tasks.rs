//! How the background work goes: when each task last ran, how late, and whether it panicked.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::Tick;

/// The figures of all tasks of a node, by name.
#[derive(Debug, Clone, Default)]
pub struct TaskMetrics(Arc<Mutex<BTreeMap<&'static str, Arc<TaskFigures>>>>);

impl TaskMetrics {
    /// The figures of one task; all of one name share them.
    pub fn of(&self, name: &'static str) -> Arc<TaskFigures> {
        Arc::clone(self.lock().entry(name).or_default())
    }

    /// All of them.
    pub fn all(&self) -> Vec<(&'static str, Arc<TaskFigures>)> {
        self.lock().iter().map(|(name, figures)| (*name, Arc::clone(figures))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, Arc<TaskFigures>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The figures of one task.
#[derive(Debug, Default)]
pub struct TaskFigures {
    /// Milliseconds between two runs; 0 for a task that no timer drives.
    interval: AtomicU64,
    /// When it last ran, or began to wait for its first run; 0 for never.
    last: AtomicU64,
    runs: AtomicU64,
    /// How late the last run was, milliseconds.
    lag: AtomicU64,
    panics: AtomicU64,
}

impl TaskFigures {
    /// It is to run every `interval` from now on.
    pub fn runs_every(&self, interval: Duration, now: Tick) {
        self.interval.store(millis(interval).max(1), Ordering::Relaxed);
        self.last.store(now.0, Ordering::Relaxed);
    }

    /// A run begins.
    pub fn ran(&self, now: Tick) {
        let last = self.last.swap(now.0, Ordering::Relaxed);
        self.lag.store(self.late(Tick(last), now), Ordering::Relaxed);
        self.runs.fetch_add(1, Ordering::Relaxed);
    }

    /// It panicked.
    pub fn panicked(&self) {
        self.panics.fetch_add(1, Ordering::Relaxed);
    }

    /// How long there is between two runs; none for a task that no timer drives.
    pub fn interval(&self) -> Option<Duration> {
        Some(self.interval.load(Ordering::Relaxed)).filter(|millis| *millis > 0).map(Duration::from_millis)
    }

    /// How often it ran.
    pub fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }

    /// How long ago it last ran.
    pub fn last_run(&self, now: Tick) -> Option<Duration> {
        (self.runs() > 0).then(|| now.since(Tick(self.last.load(Ordering::Relaxed))))
    }

    /// How much later than its interval its last run was, or its next one is by now.
    pub fn lag(&self, now: Tick) -> Duration {
        let waiting = self.late(Tick(self.last.load(Ordering::Relaxed)), now);
        Duration::from_millis(waiting.max(self.lag.load(Ordering::Relaxed)))
    }

    /// How often it panicked.
    pub fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    fn late(&self, last: Tick, now: Tick) -> u64 {
        millis(now.since(last)).saturating_sub(self.interval.load(Ordering::Relaxed))
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Tick {
        Tick::START.after(Duration::from_secs(seconds))
    }

    #[test]
    fn a_task_that_stands_still_shows_more_lag_from_second_to_second() {
        let figures = TaskMetrics::default().of("eviction");
        figures.runs_every(Duration::from_secs(60), at(0));
        let lag = |now| figures.lag(at(now)).as_secs();
        assert_eq!((figures.last_run(at(59)), lag(60), lag(75)), (None, 0, 15), "not even its first run");
        figures.ran(at(80));
        assert_eq!((lag(80), lag(159), lag(165)), (20, 20, 25));
        figures.ran(at(140));
        assert_eq!(
            (lag(140), figures.runs(), figures.last_run(at(150))),
            (0, 2, Some(Duration::from_secs(10)))
        );
    }

    #[test]
    fn tasks_of_one_name_share_their_figures() {
        let tasks = TaskMetrics::default();
        tasks.of("sender").panicked();
        tasks.of("sender").panicked();
        let all = tasks.all();
        assert_eq!((all.len(), all[0].0, all[0].1.panics(), all[0].1.interval()), (1, "sender", 2, None));
    }
}
