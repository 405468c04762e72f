//! How often each limit was reached.

use super::figures::Figures;
use crate::http::Api;
use crate::telemetry::Metrics;

/// By the setting that moves the limit, or a word for those that nothing moves.
pub(super) fn measure(metrics: &Metrics, api: &Api, figures: &mut Figures) {
    let Metrics { registry, cache, http, peers, .. } = metrics;
    let rows = [
        ("eurekad.limits.instances", registry.registrations_refused.get()),
        ("eurekad.limits.applications", registry.applications_refused.get()),
        ("eurekad.limits.instances-per-application", registry.registrations_refused_by_application.get()),
        ("eurekad.limits.metadata-bytes", registry.metadata_too_large.get()),
        ("eurekad.limits.vips", registry.vips_too_many.get()),
        ("eurekad.limits.changes", api.registry.changes_dropped()),
        ("eurekad.limits.body-bytes", http.bodies_too_large.get() + registry.instances_too_large.get()),
        ("eurekad.limits.batch-bytes", http.batches_too_large.get()),
        ("eurekad.limits.body-timeout-ms", http.bodies_too_slow.get()),
        (
            "eurekad.limits.connections",
            http.connections_refused.get() + http.connections_closed_for_room.get(),
        ),
        ("eurekad.limits.connections-per-address", http.connections_refused_by_address.get()),
        ("eurekad.limits.header-timeout-ms", http.heads_too_slow.get()),
        ("eurekad.limits.request-timeout-ms", http.requests_too_slow.get()),
        ("eurekad.limits.bytes-in-flight", http.bodies_refused.get()),
        ("eurekad.limits.idle-timeout-ms", http.connections_idle.get()),
        ("eurekad.limits.write-timeout-ms", http.writes_too_slow.get()),
        ("eurekad.limits.answer-bytes", peers.answers_too_large.get()),
        ("eurekad.limits.replication-queue", peers.crowded_out.get()),
        ("eurekad.cache.max-bytes", cache.crowded_out.get()),
        ("eurekad.limits.header-bytes", http.heads_too_large.get()),
        ("remembered", api.registry.remembered().1),
    ];
    figures.counters(
        "limit_reached",
        "How often a limit was reached, by the setting that moves it",
        rows.map(|(limit, count)| ([("limit", limit.to_owned())], count)),
    );
    let settings = &api.settings;
    let bounds = [
        ("eurekad.limits.instances", settings.registry.max_instances),
        ("eurekad.limits.applications", settings.registry.max_applications),
        ("eurekad.limits.changes", settings.registry.max_changes),
        ("eurekad.limits.connections", settings.http.max_connections),
        ("eurekad.limits.bytes-in-flight", settings.http.max_bytes_in_flight),
        ("eurekad.limits.replication-queue", settings.peers.queue_capacity),
    ];
    figures.gauges(
        "limit",
        "Where the limit is, of what another figure says how much there is",
        bounds.map(|(limit, bound)| ([("limit", limit.to_owned())], bound as u64)),
    );
}
