//! What people and their tools use beside the Eureka API: health, metrics, the page at `/`.

mod actuator;
mod health;
mod metrics;
mod page;
mod who;

use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use prometheus_client::registry::Registry as Names;

use crate::http::Api;
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

/// The page, and health for balancers.
pub fn routes(ops: Arc<Ops>) -> Router {
    let settings = &ops.api.settings.http;
    let page = match settings.dashboard {
        true => Router::new().route(&settings.dashboard_path, get(page::index)),
        false => Router::new(),
    };
    page.with_state(Arc::clone(&ops)).merge(health(ops))
}

/// `/health/live` and `/health/ready`: on every port.
pub fn health(ops: Arc<Ops>) -> Router {
    Router::new()
        .route("/health/live", get(health::live))
        .route("/health/ready", get(health::ready))
        .with_state(ops)
}

/// What Spring serves on the port of its management: `/actuator`, and `/metrics`.
pub fn management(ops: Arc<Ops>) -> Router {
    Router::new()
        .route("/metrics", get(metrics::show))
        .route("/actuator/prometheus", get(metrics::show))
        .route("/actuator", get(actuator::index))
        .route("/actuator/health", get(actuator::health))
        .route("/actuator/health/liveness", get(actuator::liveness))
        .route("/actuator/health/readiness", get(actuator::readiness))
        .route("/actuator/info", get(actuator::info))
        .with_state(ops)
}
