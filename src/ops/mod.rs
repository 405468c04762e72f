//! What people and their tools use beside the Eureka API: health, metrics, the page at `/`.

mod gauges;
mod page;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::registry::Registry as Names;

use crate::http::{Api, NodeState};

/// What the handlers need of a node.
#[derive(Debug)]
pub struct Ops {
    /// The API's parts.
    pub api: Arc<Api>,
    /// The names of all counters.
    pub names: Names,
}

/// `/`, `/health/live`, `/health/ready` and `/metrics`.
pub fn routes(ops: Arc<Ops>) -> Router {
    Router::new()
        .route("/", get(page::index))
        .route("/health/live", get(live))
        .route("/health/ready", get(ready))
        .route("/metrics", get(metrics))
        .with_state(ops)
}

/// 200 as long as the process answers at all.
async fn live() -> &'static str {
    "live\n"
}

/// 200 while the node takes traffic, else 503: for balancers.
async fn ready(State(ops): State<Arc<Ops>>) -> (StatusCode, &'static str) {
    if ops.api.gate.is_ready() {
        (StatusCode::OK, "ready\n")
    } else {
        let words = match ops.api.gate.state() {
            NodeState::Booting => "not ready: starting, looking for a peer to copy the registry from\n",
            NodeState::Copying => "not ready: starting, copying a peer's registry\n",
            NodeState::Draining => "not ready: stopping\n",
            NodeState::Open => "not ready: waiting for clients to register, as nothing was there to copy\n",
        };
        (StatusCode::SERVICE_UNAVAILABLE, words)
    }
}

/// Counters and gauges, as Prometheus reads them. Gauges are computed when they are asked for.
async fn metrics(State(ops): State<Arc<Ops>>) -> Response {
    let mut text = String::new();
    let written = encode_registry(&mut text, &ops.names)
        .and_then(|()| encode_registry(&mut text, &gauges::of(&ops.api)))
        .and_then(|()| encode_eof(&mut text));
    if written.is_err() {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    ([(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text)
        .into_response()
}
