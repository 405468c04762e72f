//! How the background work goes, by the task's name.

use super::figures::Figures;
use crate::clock::Clock;
use crate::telemetry::TaskMetrics;

pub(super) fn measure(tasks: &TaskMetrics, clock: &Clock, figures: &mut Figures) {
    let (now, epoch) = (clock.tick(), clock.epoch_millis() as f64 / 1000.0);
    let all = tasks.all();
    let label = |name: &str| [("task", name.to_owned())];
    let timed = || all.iter().filter_map(|(name, task)| Some((label(name), task, task.interval()?)));
    figures.counters("task_runs", "Runs of a task", timed().map(|(label, task, _)| (label, task.runs())));
    figures.counters(
        "task_panics",
        "Panics of a task: a fault, please report it",
        all.iter().map(|(name, task)| (label(name), task.panics())),
    );
    figures.seconds_each(
        "task_interval",
        "Between two runs of a task",
        timed().map(|(label, _, interval)| (label, interval.as_secs_f64())),
    );
    figures.seconds_each(
        "task_last_run_timestamp",
        "When a task last ran",
        timed().filter_map(|(label, task, _)| Some((label, epoch - task.last_run(now)?.as_secs_f64()))),
    );
    figures.seconds_each(
        "task_lag",
        "How much later than its interval a task last ran, or is by now",
        timed().map(|(label, task, _)| (label, task.lag(now).as_secs_f64())),
    );
}
