//! The page at `/`: what this server is and what it holds.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use eurekad_wire::{InstanceStatus, made_writable};

use super::Ops;
use crate::http::without_credentials;
use crate::registry::{RecentEvent, Scope};

/// The most instances and events that are listed; a page of everything would help nobody.
const MOST_INSTANCES: usize = 2000;
const MOST_EVENTS: usize = 20;

#[derive(Template)]
#[template(path = "index.html")]
struct Index<'a> {
    version: &'a str,
    environment: &'a str,
    datacenter: &'a str,
    instances: usize,
    self_preservation: String,
    protecting: bool,
    peers: Vec<String>,
    applications: Vec<Application>,
    left_out: usize,
    registered: Vec<Event>,
    cancelled: Vec<Event>,
}

struct Application {
    name: String,
    instances: Vec<Instance>,
}

struct Instance {
    id: String,
    address: String,
    status: &'static str,
    up: bool,
    /// A link, if the instance named one that a browser may follow.
    link: Option<String>,
}

struct Event {
    at: String,
    what: String,
}

pub(super) async fn index(State(ops): State<Arc<Ops>>) -> Response {
    let page = view(&ops).render();
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

fn view(ops: &Ops) -> Index<'_> {
    let (settings, registry) = (&ops.api.settings, &ops.api.registry);
    let decided = registry.self_preservation();
    let mut applications = Vec::new();
    let mut listed = 0;
    for group in registry.content(&Scope::All).into_iter().flat_map(|content| content.groups) {
        let room = MOST_INSTANCES - listed;
        let instances: Vec<Instance> = group
            .instances()
            .take(room)
            .map(|entry| {
                let info = &entry.info;
                let link = info.status_page_url.as_deref().filter(|url| is_web_link(url));
                Instance {
                    id: info.id().to_owned(),
                    address: format!("{}:{}", info.ip_addr, info.port.number),
                    status: info.status.as_str(),
                    up: info.status == InstanceStatus::Up,
                    link: link.map(str::to_owned),
                }
            })
            .collect();
        listed += instances.len();
        if !instances.is_empty() {
            applications.push(Application { name: group.name().to_string(), instances });
        }
    }
    applications.sort_by(|a, b| a.name.cmp(&b.name));
    Index {
        version: env!("CARGO_PKG_VERSION"),
        environment: &settings.instance.environment,
        datacenter: &settings.instance.datacenter,
        instances: decided.leases,
        self_preservation: decided.to_string(),
        protecting: !decided.allows_eviction(),
        peers: settings.peers.iter().map(|url| without_credentials(url)).collect(),
        applications,
        left_out: decided.leases.saturating_sub(listed),
        registered: events(registry.recent_registrations()),
        cancelled: events(registry.recent_cancellations()),
    }
}

fn events(recent: Vec<RecentEvent>) -> Vec<Event> {
    let recent = recent.into_iter().take(MOST_EVENTS);
    recent
        .map(|event| Event {
            at: jiff::Timestamp::from_millisecond(event.at).unwrap_or_default().to_string(),
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
