//! What the server says of itself: `GET status` and `GET serverinfo/statusoverrides`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use eurekad_wire::encode::{escape_xml_text, instance_element_xml, instance_fields_json};
use eurekad_wire::{Format, InstanceInfo, Shown};
use serde::Serialize;
use serde_json::value::RawValue;

use super::reject::Reject;
use super::{Api, negotiate, with_type};
use crate::cache::Payload;

/// The element in which the status document stands.
///
/// **Compat:** Spring's server shows the Java class here, and so do its clients expect it.
const XML_ROOT: &str = "com.netflix.eureka.util.StatusInfo";

type Stats = Vec<(&'static str, String)>;

/// `GET status`
pub(super) async fn status(State(api): State<Arc<Api>>, headers: HeaderMap) -> Result<Response, Reject> {
    let wanted = negotiate::wanted(&headers)?;
    let (general, applications, own) = (general_stats(&api), application_stats(&api), &api.own);
    let body = match wanted.form.format {
        Format::Json => json(&general, &applications, own),
        Format::Xml => xml(&general, &applications, own),
    };
    Ok(wanted.answer(&Payload::new(body), &api.workers).await)
}

/// `GET serverinfo/statusoverrides`: always JSON, by instance id.
pub(super) async fn overrides(State(api): State<Arc<Api>>) -> Response {
    let overrides: BTreeMap<String, &str> = api
        .registry
        .overrides()
        .into_iter()
        .map(|(key, status)| (key.id.to_string(), status.as_str()))
        .collect();
    with_type("application/json", serde_json::to_vec(&overrides).expect("a map of strings is always JSON"))
}

fn general_stats(api: &Api) -> Stats {
    let decided = api.registry.self_preservation();
    let overdue = api.registry.overdue(Duration::ZERO);
    let named: Vec<String> = overdue.iter().take(50).map(|key| format!("{}/{}", key.app, key.id)).collect();
    let mut stats = vec![
        ("environment", api.settings.instance.environment.clone()),
        ("num-of-cpus", std::thread::available_parallelism().map_or(1, usize::from).to_string()),
        ("server-uptime", uptime(api.clock.tick().since(api.started))),
        ("instances", decided.leases.to_string()),
        ("self-preservation", decided.to_string()),
        ("renews-per-minute-expected", format!("{:.1}", decided.expected)),
        ("renews-per-minute-threshold", decided.threshold.to_string()),
        ("renews-last-minute", decided.renewals.to_string()),
        ("overdue-leases", overdue.len().to_string()),
        ("overdue-instances", named.join(", ")),
    ];
    if let Some(memory) = resident_memory() {
        stats.push(("current-memory-usage", format!("{}mb", memory / (1024 * 1024))));
    }
    stats
}

/// **Compat:** `registered-replicas` are joined by a comma and a space, the other two end each URL with a comma.
/// Java looks a peer's host name up in the registry; here available is who answered last time.
fn application_stats(api: &Api) -> Stats {
    let peers = api.peers.views();
    let each = |available: bool| -> String {
        let those = peers.iter().filter(|peer| peer.available == available);
        those.map(|peer| format!("{},", peer.url)).collect()
    };
    let all: Vec<&str> = peers.iter().map(|peer| peer.url.as_str()).collect();
    vec![
        ("registered-replicas", all.join(", ")),
        ("available-replicas", each(true)),
        ("unavailable-replicas", each(false)),
    ]
}

/// **Compat:** `[N day(s) ]HH:mm`.
fn uptime(up: Duration) -> String {
    let minutes = up.as_secs() / 60;
    let (days, hours, minutes) = (minutes / 1440, minutes / 60 % 24, minutes % 60);
    match days {
        0 => format!("{hours:02}:{minutes:02}"),
        1 => format!("1 day {hours:02}:{minutes:02}"),
        days => format!("{days} days {hours:02}:{minutes:02}"),
    }
}

/// Bytes of memory in use, where the system tells.
fn resident_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusInfo<'a> {
    general_stats: BTreeMap<&'a str, &'a str>,
    application_stats: BTreeMap<&'a str, &'a str>,
    instance_info: Box<RawValue>,
}

fn json(general: &Stats, applications: &Stats, own: &InstanceInfo) -> Vec<u8> {
    let own = String::from_utf8(instance_fields_json(Shown::from(own))).expect("JSON is UTF-8");
    let info = StatusInfo {
        general_stats: general.iter().map(|(name, value)| (*name, value.as_str())).collect(),
        application_stats: applications.iter().map(|(name, value)| (*name, value.as_str())).collect(),
        instance_info: RawValue::from_string(own).expect("an encoded instance is JSON"),
    };
    serde_json::to_vec(&info).expect("maps of strings are always JSON")
}

fn xml(general: &Stats, applications: &Stats, own: &InstanceInfo) -> Vec<u8> {
    let mut out = format!("<{XML_ROOT}>\n");
    for (element, stats) in [("generalStats", general), ("applicationStats", applications)] {
        out.push_str(&format!("  <{element}>\n"));
        for (name, value) in stats {
            out.push_str(&format!("    <{name}>{}</{name}>\n", escape_xml_text(value)));
        }
        out.push_str(&format!("  </{element}>\n"));
    }
    out.push_str(&instance_element_xml("instanceInfo", 1, Shown::from(own)));
    out.push_str(&format!("\n</{XML_ROOT}>"));
    out.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uptime_reads_as_javas() {
        let of = |minutes: u64| uptime(Duration::from_secs(minutes * 60));
        assert_eq!([of(2), of(1441), of(3 * 1440 + 61)], ["00:02", "1 day 00:01", "3 days 01:01"]);
    }
}
