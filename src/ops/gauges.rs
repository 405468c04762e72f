//! What can be measured at a moment, as gauges.

use std::time::Duration;

use prometheus_client::metrics::family::Family;
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
    whole("ready", "1 while the node takes traffic, as /health/ready says", usize::from(api.gate.is_ready()));
    let (remembered, forgotten) = api.registry.remembered();
    whole("remembered", "Instances that are gone and remembered for peers that may not know", remembered);
    whole("remembered_dropped", "Such instances forgotten for want of room", forgotten as usize);
    per_peer(api, &mut names);
    let expected = Gauge::<f64, std::sync::atomic::AtomicU64>::default();
    expected.set(decided.expected);
    names.register("renewals_expected", "Renewals expected a minute", expected);
    let uptime = Gauge::<f64, std::sync::atomic::AtomicU64>::default();
    uptime.set(api.clock.tick().since(api.started).as_secs_f64());
    names.register_with_unit("uptime", "Since the start", Unit::Seconds, uptime);
    names.register("build", "What runs", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
    names
}

/// What is known of each peer, by its URL.
fn per_peer(api: &Api, names: &mut Names) {
    type PerPeer = Family<[(&'static str, String); 1], Gauge>;
    let (up, queued, dropped) = (PerPeer::default(), PerPeer::default(), PerPeer::default());
    let (round_trip, equal, instances) = (PerPeer::default(), PerPeer::default(), PerPeer::default());
    for peer in api.peers.views() {
        let label = [("peer", peer.url)];
        let set = |family: &PerPeer, value: u64| {
            family.get_or_create(&label).set(i64::try_from(value).unwrap_or(i64::MAX));
        };
        set(&up, u64::from(peer.available));
        set(&queued, peer.queued as u64);
        set(&dropped, peer.dropped);
        if let Some(took) = peer.round_trip {
            set(&round_trip, u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        }
        if let Some(found) = peer.compared.filter(|_| peer.available) {
            set(&equal, u64::from(found.equal));
            set(&instances, found.instances as u64);
        }
    }
    for (name, help, family) in [
        ("peer_up", "1 if the peer answered last time", up),
        ("peer_queued", "Keys that the peer has not taken yet", queued),
        ("peer_dropped", "Keys dropped for want of room, or because the peer refused them alone", dropped),
        ("peer_round_trip_ms", "How long the last answered request took", round_trip),
        ("peer_agrees", "1 if the last comparison found the same registry there", equal),
        ("peer_instances", "Instances there at the last comparison", instances),
    ] {
        names.register(name, help, family);
    }
}
