//! The counters of a node's parts, and what they are called.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry as Names, Unit};

use super::{RequestMetrics, TaskMetrics};

/// Every counter of one node.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    /// What the registry did.
    pub registry: RegistryMetrics,
    /// What the response cache did.
    pub cache: CacheMetrics,
    /// Connections, and what the HTTP side refused.
    pub http: HttpMetrics,
    /// What was asked, and how it was answered.
    pub requests: RequestMetrics,
    /// What went on between nodes.
    pub peers: PeerMetrics,
    /// How the background work goes.
    pub tasks: TaskMetrics,
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
    /// Registrations and changes refused because the metadata is too large.
    pub metadata_too_large: Counter,
    /// Registrations and changes refused because the instance is too large.
    pub instances_too_large: Counter,
    /// Registrations refused because of too many VIP addresses.
    pub vips_too_many: Counter,
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
    /// Documents that went for want of room, or that there was no room for.
    pub crowded_out: Counter,
}

/// Connections, and what the HTTP side refused.
#[derive(Debug, Clone, Default)]
pub struct HttpMetrics {
    /// Connections that are open.
    pub connections: Gauge,
    /// Connections that were taken.
    pub connections_accepted: Counter,
    /// Connections closed unheard, for there were too many.
    pub connections_refused: Counter,
    /// Connections closed unheard, for there were too many from their address.
    pub connections_refused_by_address: Counter,
    /// Connections that waited for their clients and were closed to make room for others.
    pub connections_closed_for_room: Counter,
    /// Connections closed because no request came in time.
    pub connections_idle: Counter,
    /// Connections closed because their client took nothing of its answer in time.
    pub writes_too_slow: Counter,
    /// Requests whose head is too large.
    pub heads_too_large: Counter,
    /// Request heads that did not come in time.
    pub heads_too_slow: Counter,
    /// Requests that were not answered in time.
    pub requests_too_slow: Counter,
    /// Changes that were not made: their clients had gone while the node stood still.
    pub changes_abandoned: Counter,
    /// Bytes of the bodies of all requests that are being handled now.
    pub bytes_in_flight: Gauge,
    /// Request bodies refused, for there were too many bytes in flight.
    pub bodies_refused: Counter,
    /// Fetches beyond a rate.
    pub rate_limiter: RateLimiterMetrics,
    /// Request bodies over their limit.
    pub bodies_too_large: Counter,
    /// Batches, and what nodes tell, over their limit.
    pub batches_too_large: Counter,
    /// Request bodies that did not come in time.
    pub bodies_too_slow: Counter,
    /// Request bodies that could not be read.
    pub bodies_unreadable: Counter,
    /// Calls of nodes whose clock is too far ahead.
    pub clocks_refused: Counter,
    /// Requests without the credentials that are asked for.
    pub unauthorized: Counter,
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
    /// Keys that went for want of room in a peer's queue.
    pub crowded_out: Counter,
    /// Answers of peers over their limit.
    pub answers_too_large: Counter,
    /// Whether the node has opened without a copy, though not every peer had answered that it has none.
    pub opened_without_copy: Gauge,
}

impl Metrics {
    /// Gives every counter its name and its one line of help. Those that say how often a limit was reached are shown
    /// together, by the limit.
    pub fn name_into(&self, names: &mut Names) {
        self.registry.name_into(names);
        self.cache.name_into(names);
        self.http.name_into(names);
        self.requests.name_into(names);
        self.peers.name_into(names);
    }
}

impl RegistryMetrics {
    fn name_into(&self, names: &mut Names) {
        for (name, help, counter) in [
            ("registrations", "Registrations, replicated ones included", &self.registrations),
            ("renewals", "Heartbeats that renewed a lease", &self.renewals),
            ("renewals_not_found", "Heartbeats answered 404", &self.renewals_not_found),
            ("cancellations", "Instances cancelled", &self.cancellations),
            ("cancellations_not_found", "Cancellations of unknown instances", &self.cancellations_not_found),
            ("evictions", "Leases that expired and were taken out", &self.evictions),
            ("status_updates", "Status calls", &self.status_updates),
            ("override_removals", "Removals of overrides", &self.override_removals),
        ] {
            names.register(name, help, counter.clone());
        }
    }
}

impl CacheMetrics {
    fn name_into(&self, names: &mut Names) {
        names.register("cache_hits", "Documents served as they were", self.hits.clone());
        names.register("cache_builds", "Documents encoded anew", self.builds.clone());
        let (help, counter) = ("Bytes encoded, before compression", self.built_bytes.clone());
        names.register_with_unit("cache_built", help, Unit::Bytes, counter);
    }
}

impl HttpMetrics {
    fn name_into(&self, names: &mut Names) {
        names.register("http_connections", "Connections that are open", self.connections.clone());
        let help = "What the bodies of all requests that are being handled hold";
        names.register_with_unit("bodies_in_flight", help, Unit::Bytes, self.bytes_in_flight.clone());
        let limiter = &self.rate_limiter;
        for (name, help, counter) in [
            ("http_connections_accepted", "Connections that were taken", &self.connections_accepted),
            ("bodies_unreadable", "Request bodies that could not be read", &self.bodies_unreadable),
            (
                "changes_abandoned",
                "Changes that were not made, for their clients had gone while the node stood still",
                &self.changes_abandoned,
            ),
            ("clocks_refused", "Calls of nodes whose clock is a day ahead", &self.clocks_refused),
            (
                "unauthorized",
                "Requests answered 401: without credentials or with wrong ones",
                &self.unauthorized,
            ),
            ("rate_limited_requests", "Fetches refused by the rate limiter", &limiter.limited),
            (
                "rate_limited_full_fetches",
                "Fetches of the whole registry refused by the rate limiter",
                &limiter.full_fetches_limited,
            ),
            (
                "rate_limited_request_candidates",
                "Fetches that the rate limiter would refuse, were it enabled",
                &limiter.candidates,
            ),
            (
                "rate_limited_full_fetch_candidates",
                "Fetches of the whole registry that the rate limiter would refuse",
                &limiter.full_fetch_candidates,
            ),
        ] {
            names.register(name, help, counter.clone());
        }
    }
}

impl PeerMetrics {
    fn name_into(&self, names: &mut Names) {
        for (name, help, counter) in [
            ("peer_requests_answered", "Requests to peers that were answered", &self.answered),
            ("peer_requests_failed", "Requests to peers that failed", &self.failed),
            ("peer_changes_refused", "Changes that peers refused", &self.refused),
            ("peer_comparisons", "Comparisons of the registry with a peer's", &self.compared),
            ("peer_repaired", "Keys put right by a comparison after a known loss", &self.repaired),
            (
                "peer_repaired_unexplained",
                "Keys put right by a comparison without a known loss: a fault, please report it",
                &self.repaired_unexplained,
            ),
            (
                "peer_senders_restarted",
                "Senders that panicked and were started again: a fault, please report it",
                &self.senders_restarted,
            ),
            ("leases_saved", "Leases that a peer had heard of just before their eviction", &self.saved),
        ] {
            names.register(name, help, counter.clone());
        }
        let help =
            "1 after it opened without a copy of a peer's registry, until it was compared with every peer";
        names.register("opened_without_copy", help, self.opened_without_copy.clone());
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
