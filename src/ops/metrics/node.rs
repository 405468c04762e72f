//! What a node is and does at this moment.

use super::figures::Figures;
use crate::http::Api;
use crate::registry::SelfPreservationState as State;

pub(super) fn measure(api: &Api, figures: &mut Figures) {
    figures.info(
        "build",
        "What runs",
        [
            ("version", crate::version::VERSION),
            ("os", std::env::consts::OS),
            ("arch", std::env::consts::ARCH),
            ("node", &api.peers.id().to_string()),
            ("host", &api.own.host_name),
        ],
    );
    figures.seconds("uptime", "Since the start", api.clock.elapsed().as_secs_f64());
    let help = "1 while the node takes traffic, as /health/ready says";
    figures.gauge("ready", help, u64::from(api.gate.is_ready()));
    self_preservation(api, figures);
    changes(api, figures);
    cache(api, figures);
    let workers = &api.workers;
    figures.gauge("workers_busy", "Long computations that run", workers.busy() as u64);
    figures.gauge("workers_waiting", "Long computations that wait for a processor", workers.waiting() as u64);
}

/// Every state with its reason, the one that holds as 1; all from the predicate that evictor, page and status ask.
fn self_preservation(api: &Api, figures: &mut Figures) {
    let decided = api.registry.self_preservation();
    let now = match decided.state {
        State::Disabled => 0,
        State::TooFewLeases { .. } => 1,
        State::Armed => 2,
        State::ProtectingFirstMinute => 3,
        State::Protecting => 4,
    };
    let all = [
        ("disabled", "setting"),
        ("not-armed", "too-few-leases"),
        ("armed", "enough-renewals"),
        ("protecting", "first-minute"),
        ("protecting", "too-few-renewals"),
    ];
    let rows = all.into_iter().enumerate().map(|(n, (state, reason))| {
        ([("state", state.to_owned()), ("reason", reason.to_owned())], u64::from(n == now))
    });
    figures.gauges("self_preservation", "What self-preservation does and why: 1 for what holds", rows);
    figures.gauge(
        "self_preservation_protecting",
        "1 while self-preservation keeps overdue leases, else 0",
        u64::from(!decided.allows_eviction()),
    );
    figures.real("renewals_expected", "Renewals expected a minute", decided.expected);
    figures.gauge(
        "renewals_threshold",
        "At so many renewals a minute or fewer, self-preservation protects",
        decided.threshold,
    );
    figures.gauge("renewals_last_minute", "Renewals in the last minute that counts", decided.renewals);
}

fn changes(api: &Api, figures: &mut Figures) {
    let registry = &api.registry;
    figures.gauge("changes_held", "Changes held for deltas", registry.changes_held() as u64);
    let remembered = registry.remembered().0 as u64;
    let help = "Instances that are gone and remembered for peers that may not know";
    figures.gauge("remembered", help, remembered);
    let help = "What happened here and waits to be put into the peers' queues";
    figures.gauge("touches_waiting", help, registry.touches_waiting() as u64);
}

fn cache(api: &Api, figures: &mut Figures) {
    for (level, size) in [("read_only", api.cache.read_only_size()), ("read_write", api.cache.size())] {
        figures.bytes(&format!("cache_{level}"), "Bytes that this level of the cache holds", size.bytes);
        let name = format!("cache_{level}_documents");
        figures.gauge(&name, "Documents that this level of the cache holds", size.documents);
    }
}
