//! The page at `/`: what this server is and what it holds.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::extract::{OriginalUri, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use eurekad_wire::{InstanceStatus, made_writable};

use super::{Ops, who};
use crate::http::NodeState;
use crate::peers::{NodeId, PeerKind, PeerState, PeerView};
use crate::registry::{Happened, RecentEvent, Scope};

/// The most instances and events that are listed; a page of everything would help nobody.
const MOST_INSTANCES: usize = 2000;
const MOST_EVENTS: usize = 20;

#[derive(Template)]
#[template(path = "index.html")]
struct Index<'a> {
    version: &'a str,
    host: &'a str,
    id: &'a str,
    node: String,
    /// Where its peers have it listed, if it is in its own list.
    listed: Option<String>,
    context_path: &'a str,
    /// What leads from this page to the root of all paths, in front of a relative link.
    root: String,
    /// Whether metrics are on this port.
    metrics: bool,
    now: String,
    up_for: String,
    environment: &'a str,
    datacenter: &'a str,
    instances: usize,
    self_preservation: String,
    protecting: bool,
    /// What it is doing, while it answers no reads.
    starting: Option<&'static str>,
    overdue: usize,
    peers: Vec<Peer>,
    rows: Vec<Instance>,
    left_out: usize,
    registered: Vec<Event>,
    cancelled: Vec<Event>,
}

struct Instance {
    app: String,
    id: String,
    address: String,
    status: &'static str,
    up: bool,
    /// Whether the status was set from outside.
    overridden: bool,
    /// How long ago its client was heard.
    heard: String,
    overdue: bool,
    /// Whether it is this very node.
    itself: bool,
    /// A link, if the instance named one that a browser may follow.
    link: Option<String>,
}

struct Peer {
    url: String,
    /// What it is registered as, if that is known.
    name: Option<String>,
    kind: String,
    up: bool,
    state: String,
    queued: usize,
    dropped: u64,
    /// What the last comparison found.
    registry: String,
}

impl Peer {
    fn new(view: PeerView, names: &HashMap<NodeId, String>) -> Self {
        let name = match view.kind {
            PeerKind::Ours(id) => Some(match names.get(&id) {
                Some(name) => format!("{name}, node {id}"),
                None => format!("node {id}"),
            }),
            PeerKind::Unknown | PeerKind::Java | PeerKind::Myself => None,
        };
        let state = match (&view.last_error, view.round_trip) {
            (Some(error), _) => error.clone(),
            (None, Some(took)) => format!("answered in {} ms", took.as_millis()),
            (None, None) => "not contacted yet".to_owned(),
        };
        let state = match (view.last_error.is_some(), view.last_success) {
            (true, Some(at)) => format!("{state}; last answer {}", time(at)),
            (true, None) | (false, _) => state,
        };
        let kind = match view.state {
            None | Some(PeerState::Open) => view.kind.word().to_owned(),
            Some(state) => format!("{}, {}", view.kind.word(), state.word()),
        };
        let registry = match view.compared.filter(|_| view.available) {
            None if view.kind == PeerKind::Java => "not compared with Java servers".to_owned(),
            None => "unknown".to_owned(),
            Some(found) => {
                let agrees = if found.equal { "the same as here" } else { "not the same as here" };
                format!("{} live instances, {agrees} {} ago", found.instances, ago(found.ago))
            }
        };
        let PeerView { url, available: up, queued, dropped, .. } = view;
        Self { url, name, kind, up, state, queued, dropped, registry }
    }
}

struct Event {
    at: String,
    how: &'static str,
    what: String,
}

pub(super) async fn index(State(ops): State<Arc<Ops>>, OriginalUri(asked): OriginalUri) -> Response {
    let page = view(&ops, asked.path()).render();
    match page {
        Ok(html) => (
            [
                (header::CONTENT_TYPE, "text/html; charset=utf-8"),
                // Nothing on the page runs or is fetched, whatever a name in the registry says.
                (header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'"),
                (header::REFERRER_POLICY, "no-referrer"),
            ],
            html,
        )
            .into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn view<'a>(ops: &'a Ops, asked: &str) -> Index<'a> {
    let api = &ops.api;
    let (settings, registry, now) = (&api.settings, &api.registry, api.clock.tick());
    let decided = registry.self_preservation();
    let names = who::registered_as(api);
    let content = registry.content(&Scope::All);
    let groups = content.iter().flat_map(|content| &content.groups);
    let mut rows: Vec<Instance> = groups
        .flat_map(|group| group.instances())
        .take(MOST_INSTANCES)
        .map(|entry| {
            let info = &entry.info;
            let link = info.status_page_url.as_deref().filter(|url| is_web_link(url));
            Instance {
                app: info.app.to_string(),
                id: info.id().to_owned(),
                address: format!("{}:{}", info.ip_addr, info.port.number),
                status: info.status.as_str(),
                up: info.status == InstanceStatus::Up,
                overridden: info.overridden_status != InstanceStatus::Unknown,
                heard: ago(now.since(entry.lease.last_heard())),
                overdue: entry.lease.is_expired(now, Duration::ZERO),
                itself: info.app == api.own.app && info.id() == api.own.id(),
                link: link.map(str::to_owned),
            }
        })
        .collect();
    rows.sort_by(|a, b| (&a.app, &a.id).cmp(&(&b.app, &b.id)));
    Index {
        version: crate::version::VERSION,
        host: &api.own.host_name,
        id: api.own.id(),
        node: api.peers.id().to_string(),
        listed: api.peers.own_url(),
        context_path: &settings.http.context_path,
        root: to_root(asked, &settings.http.dashboard_path),
        metrics: settings.http.management_port.is_none(),
        now: time(api.clock.epoch_millis()),
        up_for: ago(now.since(api.started)),
        environment: &settings.instance.environment,
        datacenter: &settings.instance.datacenter,
        instances: decided.leases,
        self_preservation: decided.to_string(),
        starting: match api.gate.state() {
            _ if api.gate.is_open() => None,
            NodeState::Booting => Some("starting, and looks for a peer to copy the registry from"),
            NodeState::Copying => Some("starting, and copies a peer's registry"),
            NodeState::Open | NodeState::Draining => {
                Some("waiting for clients to register: nothing was there to copy")
            }
        },
        protecting: !decided.allows_eviction(),
        overdue: registry.overdue(Duration::ZERO).len(),
        peers: api.peers.views().into_iter().map(|view| Peer::new(view, &names)).collect(),
        left_out: decided.leases.saturating_sub(rows.len()),
        rows,
        registered: events(registry.recent_registrations()),
        cancelled: events(registry.recent_cancellations()),
    }
}

/// What leads a browser from the page at `asked` to the root of all paths. Relative, for a proxy in front may have taken
/// a prefix away that only the browser knows.
fn to_root(asked: &str, page: &str) -> String {
    let below = page.matches('/').count() - usize::from(page == "/");
    let ups = if asked.ends_with('/') { below } else { below.saturating_sub(1) };
    match asked.rsplit('/').next() {
        // At the root itself, without its slash: a browser takes the last part for a file.
        Some(last) if page == "/" && !last.is_empty() => format!("{last}/"),
        _ => "../".repeat(ups),
    }
}

/// A duration to read: in the largest unit that leaves a number above one.
fn ago(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..=119 => format!("{seconds} s"),
        seconds @ 120..=7199 => format!("{} min", seconds / 60),
        seconds @ 7200..=172_799 => format!("{} h", seconds / 3600),
        seconds => format!("{} days", seconds / 86400),
    }
}

/// A moment to read.
fn time(epoch_millis: i64) -> String {
    let moment = jiff::Timestamp::from_second(epoch_millis / 1000).unwrap_or_default();
    moment.to_string()
}

fn events(recent: Vec<RecentEvent>) -> Vec<Event> {
    let recent = recent.into_iter().take(MOST_EVENTS);
    recent
        .map(|event| Event {
            at: time(event.at),
            how: match event.what {
                Happened::Registered => "registered",
                Happened::Cancelled => "cancelled",
                Happened::Evicted => "evicted: its lease expired",
                Happened::Unknown => "not found: there was nothing to cancel",
            },
            // A cancellation names what its sender likes, and is listed whether it exists or not.
            what: made_writable(&format!("{}({})", event.key.app, event.key.id)),
        })
        .collect()
}

/// A link that is not one to the web (`javascript:` above all) is not made one.
fn is_web_link(url: &str) -> bool {
    let url = url.trim_start().to_ascii_lowercase();
    url.starts_with("http://") || url.starts_with("https://")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Case: P097
    #[test]
    fn links_lead_to_the_root_from_wherever_the_page_is() {
        for (asked, page, root) in [
            ("/", "/", ""),
            ("/registry/", "/", ""),
            ("/registry", "/", "registry/"),
            ("/registry/dashboard", "/dashboard", ""),
            ("/registry/dashboard/", "/dashboard", "../"),
            ("/a/b", "/a/b", "../"),
        ] {
            assert_eq!(to_root(asked, page), root, "{asked}");
        }
    }
}
