//! The log: where it goes, how its lines look, and what becomes of those that nobody reads.

use std::fmt;
use std::io::IsTerminal;

use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::time::FormatTime;

use crate::clock::Clock;
use crate::settings::{LogFormat, LogSettings};

/// Where a filter finds the access log.
pub const ACCESS_LOG: &str = "eurekad::access";

/// The most log lines that wait to be written; more are dropped. Whoever reads the log may be slower than the node,
/// or gone, and the registry must not wait for it.
const MOST_WAITING_LINES: usize = 8192;

/// Logging, while it goes on. Dropped at the end, it writes what still waits.
#[derive(Debug)]
pub struct Logging {
    _written_at_the_end: WorkerGuard,
    dropped: DroppedLines,
}

impl Logging {
    /// Where it is counted how many lines were dropped.
    pub fn dropped_lines(&self) -> DroppedLines {
        self.dropped.clone()
    }
}

/// How many log lines were dropped because nobody read them fast enough.
#[derive(Debug, Clone, Default)]
pub struct DroppedLines(Option<ErrorCounter>);

impl DroppedLines {
    /// So many since the start; none where nothing is logged.
    pub fn get(&self) -> u64 {
        self.0.as_ref().map_or(0, |counter| counter.dropped_lines() as u64)
    }
}

/// Starts logging to standard error, for the whole process. What is returned must be kept until the end.
///
/// Lines are written by a thread of their own. A log that nobody reads costs lines, never heartbeats.
///
/// # Errors
/// If the filter is not one that tracing understands, or if logging has been started before.
pub fn start_logging(settings: &LogSettings, clock: Clock) -> anyhow::Result<Logging> {
    let filter = EnvFilter::try_new(&settings.filter)
        .map_err(|e| anyhow::anyhow!("eurekad.log.filter: {:?} is no log filter: {e}", settings.filter))?;
    // Who turns the access log on wants it, whatever else is left out.
    let filter =
        if settings.access { filter.add_directive(format!("{ACCESS_LOG}=info").parse()?) } else { filter };
    let (writer, guard) = NonBlockingBuilder::default()
        .buffered_lines_limit(MOST_WAITING_LINES)
        .lossy(true)
        .finish(std::io::stderr());
    let dropped = DroppedLines(Some(writer.error_counter()));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        // Its own complaints would go to standard error too, and panic when that is gone.
        .log_internal_errors(false)
        .with_writer(writer)
        .with_ansi(std::io::stderr().is_terminal())
        .with_timer(WallTime(clock));
    let started = match settings.format {
        LogFormat::Text => log.with_target(false).try_init(),
        LogFormat::Json => log.json().flatten_event(true).try_init(),
    };
    started.map_err(|e| anyhow::anyhow!("logging has been started before: {e}"))?;
    Ok(Logging { _written_at_the_end: guard, dropped })
}

/// The time of a log line, by the node's clock.
struct WallTime(Clock);

impl FormatTime for WallTime {
    fn format_time(&self, w: &mut tracing_subscriber::fmt::format::Writer<'_>) -> fmt::Result {
        let now = jiff::Timestamp::from_millisecond(self.0.epoch_millis()).unwrap_or_default();
        write!(w, "{now:.3}")
    }
}
