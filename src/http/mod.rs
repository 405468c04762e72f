//! The Eureka API over HTTP: routes, negotiation, limits, and which outcome is which status code.
//!
//! Handlers hold no state of their own: they read a request, call the registry or the cache once, and write the
//! answer. Eureka's quirks of status codes, empty bodies and headers are visible here and nowhere else.

mod batch;
mod body;
mod drain;
mod gate;
mod in_flight;
mod instance;
mod negotiate;
mod ours;
mod paths;
mod query;
mod rate_limiter;
mod reads;
mod register;
mod reject;
mod status;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use eurekad_wire::InstanceInfo;
use tower::ServiceExt;

pub use gate::{Gate, NodeState};
pub use in_flight::Bodies;
pub use paths::normalise;
pub use rate_limiter::RateLimiter;

use crate::blocking::Workers;
use crate::cache::ResponseCache;
use crate::clock::{Clock, Tick};
use crate::peers::{CLOCK_HEADER, LOST_HEADER, NODE_HEADER, PeerEurekaNodes, STATE_HEADER};
use crate::registry::{Origin, Registry};
use crate::settings::{HttpSettings, Settings};
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
    /// The bytes of request bodies that are held.
    pub bodies: Arc<Bodies>,
    /// How often the registry may be fetched.
    pub rate_limiter: RateLimiter,
    /// What was refused.
    pub metrics: HttpMetrics,
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

/// Puts in front of all routes what concerns every request: the context path, doubled and trailing slashes, `OPTIONS`,
/// and how long it may take.
pub fn front(api: Arc<Api>, routes: Router) -> Router {
    Router::new().fallback(move |request: Request| {
        let (api, routes) = (Arc::clone(&api), routes.clone());
        async move { dispatch(&api, routes, request).await }
    })
}

async fn dispatch(api: &Api, routes: Router, mut request: Request) -> Response {
    let HttpSettings { context_path, request_timeout, .. } = &api.settings.http;
    if !paths::normalise(context_path, request.uri_mut()) {
        return StatusCode::NOT_FOUND.into_response();
    }
    let options = request.method() == Method::OPTIONS;
    let format = negotiate::format(request.headers());
    let (request, rest) = drain::watched(request);
    // Until the answer is made: how long its client takes to take it is another matter.
    let Ok(response) = tokio::time::timeout(*request_timeout, routes.oneshot(request)).await else {
        api.metrics.requests_too_slow.inc();
        let detail = format!("not done within the {request_timeout:?} of eurekad.limits.request-timeout-ms");
        let mut response = Reject::Overloaded { format, detail }.into_response();
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        return response;
    };
    let mut response = response.into_response();
    // **Compat:** Java answers OPTIONS 200 with `Allow` and a description that no client reads. The router knows
    // the methods of a path when it refuses one.
    if options && response.status() == StatusCode::METHOD_NOT_ALLOWED {
        *response.status_mut() = StatusCode::OK;
    }
    if !rest.drain().await {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
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
