//! The Eureka API over HTTP: routes, negotiation, limits, and which outcome is which status code.
//!
//! Handlers hold no state of their own: they read a request, call the registry or the cache once, and write the
//! answer. Eureka's quirks of status codes, empty bodies and headers are visible here and nowhere else.

mod auth;
mod batch;
mod body;
mod drain;
mod gate;
mod in_flight;
mod instance;
mod logged;
mod negotiate;
mod ours;
mod paths;
mod query;
mod rate_limiter;
mod reads;
mod register;
mod reject;
mod status;
mod watch;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use eurekad_wire::{Format, InstanceInfo};
use tower::ServiceExt;

pub use auth::Access;
pub use gate::{Gate, NodeState};
pub use in_flight::Bodies;
pub use logged::Logged;
pub use paths::normalise;
pub use rate_limiter::RateLimiter;
pub use watch::Watch;

use crate::blocking::Workers;
use crate::cache::ResponseCache;
use crate::clock::{Clock, Tick};
use crate::peers::{CLOCK_HEADER, LOST_HEADER, NODE_HEADER, PeerEurekaNodes, STATE_HEADER};
use crate::registry::{Origin, Registry};
use crate::settings::Settings;
use crate::telemetry::HttpMetrics;
use reject::Reject;

/// The header by which one server tells another that a call is a copy of one it has had already.
///
/// **Compat:** only the exact value `true` counts.
pub const REPLICATION_HEADER: &str = "x-netflix-discovery-replication";

/// What the handlers need of a node.
#[derive(Debug)]
pub struct Api {
    /// Time.
    pub clock: Clock,
    /// When the node started.
    pub started: Tick,
    /// What the node says of itself.
    pub own: Arc<InstanceInfo>,
    /// All settings.
    pub settings: Settings,
    /// The registry.
    pub registry: Arc<Registry>,
    /// The response cache.
    pub cache: ResponseCache,
    /// The other nodes.
    pub peers: Arc<PeerEurekaNodes>,
    /// For long computations.
    pub workers: Workers,
    /// Whether reads are answered.
    pub gate: Gate,
    /// Who may use the node.
    pub access: Access,
    /// The bytes of request bodies that are held.
    pub bodies: Arc<Bodies>,
    /// How often the registry may be fetched.
    pub rate_limiter: RateLimiter,
    /// What was refused.
    pub metrics: HttpMetrics,
    /// What is logged once in a while only.
    pub logged: Logged,
}

/// The Eureka API, at `/eureka`, `/eureka/v2` and `/v2`.
///
/// **Compat:** Spring serves the first two, Netflix's web archive the last two, depending on where it is mounted.
pub fn routes(api: Arc<Api>) -> Router {
    let introduced = axum::middleware::from_fn_with_state(Arc::clone(&api), introduce);
    let limited = axum::middleware::from_fn_with_state(Arc::clone(&api), rate_limiter::limit);
    let eureka = endpoints().with_state(api).layer(limited).layer(introduced);
    Router::new().nest("/eureka/v2", eureka.clone()).nest("/eureka", eureka.clone()).nest("/v2", eureka)
}

fn endpoints() -> Router<Arc<Api>> {
    Router::new()
        .route("/apps", get(reads::all))
        .route("/apps/delta", get(reads::delta))
        .route("/apps/{app}", get(reads::application).post(register::register))
        .route("/apps/{app}/{id}", get(instance::show).put(instance::heartbeat).delete(instance::cancel))
        .route("/apps/{app}/{id}/status", put(instance::set_status).delete(instance::clear_status))
        .route("/apps/{app}/{id}/metadata", put(instance::set_metadata))
        .route("/instances/{id}", get(instance::find))
        .route("/vips/{vip}", get(reads::vip))
        .route("/svips/{vip}", get(reads::secure_vip))
        .route("/peerreplication/batch", post(batch::apply))
        .route("/peerreplication/ours/tell", post(ours::tell))
        .route("/peerreplication/ours/compare", post(ours::compare))
        .route("/peerreplication/ours/copy", post(ours::copy))
        .route("/asg/{name}/status", put(asg_status))
        .route("/status", get(status::status))
        .route("/serverinfo/statusoverrides", get(status::overrides))
}

/// To a node of this kind every answer says who gives it and how far it is; and its call is a sign of life.
async fn introduce(State(api): State<Arc<Api>>, request: Request, next: Next) -> Response {
    let from_node = request.headers().contains_key(NODE_HEADER);
    let id = request.headers().get(NODE_HEADER).and_then(|id| id.to_str().ok()?.parse().ok());
    let refused = if from_node { ours::check_clock(&api, request.headers()).err() } else { None };
    let mut response = match refused {
        Some(refused) => *refused,
        None => {
            if let Some(id) = id {
                api.peers.heard(id);
                if let Some(ago) = ours::lost_ago(request.headers()) {
                    api.peers.heard_of_loss(ago);
                }
            }
            next.run(request).await
        }
    };
    if from_node {
        let headers = response.headers_mut();
        let mut say = |name, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        };
        say(NODE_HEADER, &api.peers.id().to_string());
        say(CLOCK_HEADER, &api.registry.stamps().now().to_string());
        say(STATE_HEADER, api.gate.state().as_str());
        // A node that is no peer here is told nothing: what it finds by comparing was lost to it.
        let ago = if id.is_some_and(|id| !api.peers.knows(id)) {
            Some(Duration::ZERO)
        } else {
            api.peers.lost_ago()
        };
        if let Some(ago) = ago {
            say(LOST_HEADER, &ago.as_millis().to_string());
        }
    }
    response
}

/// Puts in front of all routes what concerns every request: that it is measured, the context path, doubled and trailing
/// slashes, who may use the node, `OPTIONS`, how long it may take, and the end of connections to a node that stops.
pub fn front(api: Arc<Api>, context_path: &str, routes: Router, watch: Watch) -> Router {
    let context_path: Arc<str> = context_path.into();
    let routes = routes.layer(axum::middleware::from_fn(watch::name_route));
    Router::new().fallback(move |request: Request| {
        let (api, context_path) = (Arc::clone(&api), Arc::clone(&context_path));
        let (routes, watch) = (routes.clone(), watch.clone());
        async move { watch.over(request, |request| dispatch(&api, &context_path, routes, request)).await }
    })
}

async fn dispatch(api: &Api, context_path: &str, routes: Router, mut request: Request) -> Response {
    let below = paths::normalise(context_path, request.uri_mut());
    let options = request.method() == Method::OPTIONS;
    let format = negotiate::format(request.headers());
    let (request, rest) = drain::watched(request);
    let mut response = if !api.access.allows(request.uri().path(), request.headers()) {
        refuse_stranger(api, &request)
    } else if below {
        let longest = api.settings.http.request_timeout;
        // Until the answer is made: how long its client takes to take it is another matter.
        let Ok(answered) = tokio::time::timeout(longest, routes.oneshot(request)).await else {
            return took_too_long(api, format, longest);
        };
        answered.into_response()
    } else {
        StatusCode::NOT_FOUND.into_response()
    };
    // **Compat:** Java answers OPTIONS 200 with `Allow` and a description that no client reads. The router knows
    // the methods of a path when it refuses one.
    if options && response.status() == StatusCode::METHOD_NOT_ALLOWED {
        *response.status_mut() = StatusCode::OK;
    }
    // A client that keeps its connection would go on using a node that is about to stop.
    let stopping = api.gate.state() == NodeState::Draining;
    if !rest.drain().await || stopping {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// 503: the request was not done in time. What is left of it is not read.
fn took_too_long(api: &Api, format: Format, longest: Duration) -> Response {
    api.metrics.requests_too_slow.inc();
    let detail = format!("not done within the {longest:?} of eurekad.limits.request-timeout-ms");
    let mut response = Reject::Overloaded { format, detail }.into_response();
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// 401, and a line in the log once in a while. Whether there were credentials tells a person where to look.
fn refuse_stranger(api: &Api, request: &Request) -> Response {
    api.metrics.unauthorized.inc();
    if let Some(suppressed) = api.logged.unauthorized.admit(api.clock.tick()) {
        let client = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(client)| client);
        let why = match request.headers().contains_key(header::AUTHORIZATION) {
            true => "the user or the password is not that of spring.security.user",
            false => "it came without a user and a password",
        };
        tracing::warn!(
            client = client.map(tracing::field::display),
            // In quotes, as texts are: a client must not be able to write log lines.
            path = request.uri().path(),
            suppressed = suppressed.times(),
            "answered 401: {why}"
        );
    }
    auth::unauthorized()
}

/// Who a call comes from, by its replication header.
fn origin(headers: &HeaderMap, otherwise: Origin) -> Origin {
    match headers.get(REPLICATION_HEADER) {
        Some(value) if value.as_bytes() == b"true" => Origin::Replica,
        Some(_) | None => otherwise,
    }
}

/// **Compat:** auto-scaling groups belong to Amazon's own registry; any other answers 400.
async fn asg_status() -> StatusCode {
    StatusCode::BAD_REQUEST
}

/// A body with its content type.
fn with_type(content_type: &'static str, body: impl Into<axum::body::Body>) -> Response {
    ([(header::CONTENT_TYPE, content_type)], body.into()).into_response()
}
