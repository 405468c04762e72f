//! Logs, and the counters that parts are handed.
//!
//! A part gets the struct of its own counters and knows nothing of where they are shown. Two nodes in one process
//! share none of them.

use std::fmt;
use std::io::IsTerminal;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry as Names, Unit};
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::time::FormatTime;

use crate::clock::Clock;
use crate::settings::{LogFormat, LogSettings};

/// Every counter of one node.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    /// What the registry did.
    pub registry: RegistryMetrics,
    /// What the response cache did.
    pub cache: CacheMetrics,
    /// What the HTTP side refused.
    pub http: HttpMetrics,
    /// What went on between nodes.
    pub peers: PeerMetrics,
}

/// What the registry did.
#[derive(Debug, Clone, Default)]
pub struct RegistryMetrics {
    /// Registrations, replicated ones included.
    pub registrations: Counter,
    /// Registrations refused because the registry is full.
    pub registrations_refused: Counter,
    /// Registrations refused because there are as many applications as may be.
    pub applications_refused: Counter,
    /// Registrations refused because their application is full.
    pub registrations_refused_by_application: Counter,
    /// Renewals.
    pub renewals: Counter,
    /// Heartbeats answered 404.
    pub renewals_not_found: Counter,
    /// Cancellations.
    pub cancellations: Counter,
    /// Cancellations of unknown instances.
    pub cancellations_not_found: Counter,
    /// Leases that expired and were taken out.
    pub evictions: Counter,
    /// Status calls.
    pub status_updates: Counter,
    /// Removals of overrides.
    pub override_removals: Counter,
}

/// What the response cache did.
#[derive(Debug, Clone, Default)]
pub struct CacheMetrics {
    /// Documents served as they were.
    pub hits: Counter,
    /// Documents encoded anew.
    pub builds: Counter,
    /// Bytes encoded, before compression.
    pub built_bytes: Counter,
}

/// What the HTTP side refused.
#[derive(Debug, Clone, Default)]
pub struct HttpMetrics {
    /// Connections that there are now.
    pub connections: Gauge,
    /// Connections closed unheard, for there were too many.
    pub connections_refused: Counter,
    /// Connections closed unheard, for there were too many from their address.
    pub connections_refused_by_address: Counter,
    /// Connections that waited for their clients and were closed to make room for others.
    pub connections_closed_for_room: Counter,
    /// Request heads over a limit.
    pub heads_too_large: Counter,
    /// Request heads that did not come in time.
    pub heads_too_slow: Counter,
    /// Requests that were not answered in time.
    pub requests_too_slow: Counter,
    /// Bytes of the bodies of all requests that are being handled now.
    pub bytes_in_flight: Gauge,
    /// Request bodies refused, for there were too many bytes in flight.
    pub bodies_refused: Counter,
    /// Fetches beyond a rate, and which of them were refused.
    pub rate_limiter: RateLimiterMetrics,
    /// Request bodies over their limit.
    pub bodies_too_large: Counter,
    /// Request bodies that could not be read.
    pub bodies_unreadable: Counter,
    /// Calls of nodes whose clock is too far ahead.
    pub clocks_refused: Counter,
}

/// Fetches beyond a rate.
///
/// **Compat:** Java's four counters.
#[derive(Debug, Clone, Default)]
pub struct RateLimiterMetrics {
    /// Fetches that were refused.
    pub limited: Counter,
    /// Those of them that were for the whole registry.
    pub full_fetches_limited: Counter,
    /// Fetches that would have been refused, were the limiter enabled.
    pub candidates: Counter,
    /// Those of them that were for the whole registry.
    pub full_fetch_candidates: Counter,
}

/// What went on between nodes.
#[derive(Debug, Clone, Default)]
pub struct PeerMetrics {
    /// Requests to peers that were answered as they should be.
    pub answered: Counter,
    /// Requests to peers that were not.
    pub failed: Counter,
    /// Changes that peers refused.
    pub refused: Counter,
    /// Comparisons with nodes of this kind.
    pub compared: Counter,
    /// Keys that a comparison put right after an outage, an overflow or a refusal.
    pub repaired: Counter,
    /// Keys that a comparison put right though nothing was known to be lost: a fault.
    pub repaired_unexplained: Counter,
    /// Senders that panicked and were started again.
    pub senders_restarted: Counter,
    /// Leases that another node had heard of just before they were to be evicted.
    pub saved: Counter,
}

impl Metrics {
    /// Gives every counter its name and its one line of help.
    pub fn name_into(&self, names: &mut Names) {
        let Self { registry, cache, http, peers } = self;
        let mut counter = |name: &str, help: &str, counter: &Counter| {
            names.register(name, help, counter.clone());
        };
        counter("registrations", "Registrations, replicated ones included", &registry.registrations);
        counter(
            "registrations_refused",
            "Registrations refused because the registry is full",
            &registry.registrations_refused,
        );
        counter(
            "applications_refused",
            "Registrations refused because there are as many applications as may be",
            &registry.applications_refused,
        );
        counter(
            "registrations_refused_by_application",
            "Registrations refused because their application is full",
            &registry.registrations_refused_by_application,
        );
        counter("renewals", "Heartbeats that renewed a lease", &registry.renewals);
        counter("renewals_not_found", "Heartbeats answered 404", &registry.renewals_not_found);
        counter("cancellations", "Instances cancelled", &registry.cancellations);
        counter(
            "cancellations_not_found",
            "Cancellations of unknown instances",
            &registry.cancellations_not_found,
        );
        counter("evictions", "Leases that expired and were taken out", &registry.evictions);
        counter("status_updates", "Status calls", &registry.status_updates);
        counter("override_removals", "Removals of overrides", &registry.override_removals);
        counter("cache_hits", "Documents served as they were", &cache.hits);
        counter("cache_builds", "Documents encoded anew", &cache.builds);
        counter("connections_refused", "Connections closed unheard", &http.connections_refused);
        counter(
            "connections_refused_by_address",
            "Connections closed unheard, for their address had too many",
            &http.connections_refused_by_address,
        );
        counter(
            "connections_closed_for_room",
            "Connections that waited for their clients and were closed to make room",
            &http.connections_closed_for_room,
        );
        counter("heads_too_large", "Request heads over a limit", &http.heads_too_large);
        counter("heads_too_slow", "Request heads that did not come in time", &http.heads_too_slow);
        counter("requests_too_slow", "Requests not answered in time", &http.requests_too_slow);
        counter("bodies_refused", "Request bodies refused for want of room", &http.bodies_refused);
        let limiter = &http.rate_limiter;
        counter("rate_limited_requests", "Fetches refused by the rate limiter", &limiter.limited);
        counter(
            "rate_limited_full_fetches",
            "Fetches of the whole registry refused by the rate limiter",
            &limiter.full_fetches_limited,
        );
        counter(
            "rate_limited_request_candidates",
            "Fetches that the rate limiter would refuse, were it enabled",
            &limiter.candidates,
        );
        counter(
            "rate_limited_full_fetch_candidates",
            "Fetches of the whole registry that the rate limiter would refuse",
            &limiter.full_fetch_candidates,
        );
        counter("bodies_too_large", "Request bodies over their limit", &http.bodies_too_large);
        counter("bodies_unreadable", "Request bodies that could not be read", &http.bodies_unreadable);
        counter("clocks_refused", "Calls of nodes whose clock is a day ahead", &http.clocks_refused);
        counter("peer_requests_answered", "Requests to peers that were answered", &peers.answered);
        counter("peer_requests_failed", "Requests to peers that failed", &peers.failed);
        counter("peer_changes_refused", "Changes that peers refused", &peers.refused);
        counter("peer_comparisons", "Comparisons of the registry with a peer's", &peers.compared);
        counter("peer_repaired", "Keys put right by a comparison after a known loss", &peers.repaired);
        counter(
            "peer_repaired_unexplained",
            "Keys put right by a comparison without a known loss: a fault, please report it",
            &peers.repaired_unexplained,
        );
        counter(
            "peer_senders_restarted",
            "Senders that panicked and were started again: a fault, please report it",
            &peers.senders_restarted,
        );
        counter("leases_saved", "Leases that a peer had heard of just before their eviction", &peers.saved);
        names.register("connections", "Connections now", http.connections.clone());
        names.register_with_unit(
            "bodies_in_flight",
            "What the bodies of all requests that are being handled hold",
            Unit::Bytes,
            http.bytes_in_flight.clone(),
        );
        names.register_with_unit(
            "cache_built",
            "Bytes encoded, before compression",
            Unit::Bytes,
            cache.built_bytes.clone(),
        );
    }
}

/// The most log lines that wait to be written; more are dropped. Whoever reads the log may be slower than the node,
/// or gone, and the registry must not wait for it.
const MOST_WAITING_LINES: usize = 8192;

/// Starts logging to standard error, for the whole process. What is returned must be kept until the end, and dropped
/// then: it writes what still waits.
///
/// Lines are written by a thread of their own. A log that nobody reads costs lines, never heartbeats.
///
/// # Errors
/// If the filter is not one that tracing understands, or if logging has been started before.
pub fn start_logging(settings: &LogSettings, clock: Clock) -> anyhow::Result<WorkerGuard> {
    let filter = EnvFilter::try_new(&settings.filter)
        .map_err(|e| anyhow::anyhow!("eurekad.log.filter: {:?} is no log filter: {e}", settings.filter))?;
    let (writer, guard) = NonBlockingBuilder::default()
        .buffered_lines_limit(MOST_WAITING_LINES)
        .lossy(true)
        .finish(std::io::stderr());
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
    Ok(guard)
}

/// The time of a log line, by the node's clock.
struct WallTime(Clock);

impl FormatTime for WallTime {
    fn format_time(&self, w: &mut tracing_subscriber::fmt::format::Writer<'_>) -> fmt::Result {
        let now = jiff::Timestamp::from_millisecond(self.0.epoch_millis()).unwrap_or_default();
        write!(w, "{now:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_has_a_name_and_help() {
        let metrics = Metrics::default();
        metrics.registry.evictions.inc();
        let mut names = Names::with_prefix("eurekad");
        metrics.name_into(&mut names);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &names).unwrap();
        assert!(text.contains("eurekad_evictions_total 1"), "{text}");
        assert!(text.contains("# HELP eurekad_cache_built_bytes"), "{text}");
    }
}
