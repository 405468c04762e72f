//! What can be measured at a moment, as gauges.

use std::time::Duration;

use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry as Names, Unit};

use crate::http::Api;

/// The gauges of a node, as they stand now.
pub(super) fn of(api: &Api) -> Names {
    let mut names = Names::with_prefix("eurekad");
    let decided = api.registry.self_preservation();
    let mut whole = |name: &str, help: &str, value: usize| {
        let gauge = Gauge::<i64>::default();
        gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
        names.register(name, help, gauge);
    };
    whole("instances", "Instances in the registry", decided.leases);
    whole(
        "leases_overdue",
        "Leases that are over and not evicted yet",
        api.registry.overdue(Duration::ZERO).len(),
    );
    whole(
        "self_preservation_protecting",
        "1 while self-preservation keeps overdue leases, else 0",
        usize::from(!decided.allows_eviction()),
    );
    whole(
        "renewals_threshold",
        "At so many renewals a minute or fewer, self-preservation protects",
        decided.threshold as usize,
    );
    whole("renewals_last_minute", "Renewals in the last whole minute", decided.renewals as usize);
    whole("changes_held", "Changes held for deltas", api.registry.changes_held());
    whole(
        "changes_dropped",
        "Changes dropped for want of room since the start",
        api.registry.changes_dropped() as usize,
    );
    whole(
        "cache_read_only_bytes",
        "Bytes that the read-only cache holds",
        api.cache.read_only_bytes() as usize,
    );
    let expected = Gauge::<f64, std::sync::atomic::AtomicU64>::default();
    expected.set(decided.expected);
    names.register("renewals_expected", "Renewals expected a minute", expected);
    let uptime = Gauge::<f64, std::sync::atomic::AtomicU64>::default();
    uptime.set(api.clock.tick().since(api.started).as_secs_f64());
    names.register_with_unit("uptime", "Since the start", Unit::Seconds, uptime);
    names.register("build", "What runs", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
    names
}
