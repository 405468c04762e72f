//! What people and their tools use beside the Eureka API: health, metrics, the page at `/`.

mod metrics;
mod page;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use prometheus_client::registry::Registry as Names;

use crate::http::{Api, NodeState};
use crate::telemetry::{DroppedLines, Metrics};

/// What the handlers need of a node.
#[derive(Debug)]
pub struct Ops {
    /// The API's parts.
    pub api: Arc<Api>,
    /// What the node counts.
    pub metrics: Metrics,
    /// The names of all counters.
    pub names: Names,
    /// Log lines that were dropped.
    pub dropped_lines: DroppedLines,
}

/// `/`, `/health/live`, `/health/ready`, and `/metrics`, which Spring's tools look for at `/actuator/prometheus`.
pub fn routes(ops: Arc<Ops>) -> Router {
    Router::new()
        .route("/", get(page::index))
        .route("/health/live", get(live))
        .route("/health/ready", get(ready))
        .route("/metrics", get(metrics::show))
        .route("/actuator/prometheus", get(metrics::show))
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
