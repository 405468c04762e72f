//! What people and their tools use beside the Eureka API: health, metrics, the page at `/`.

mod actuator;
mod gauges;
mod health;
mod page;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::registry::Registry as Names;

use crate::http::Api;

/// What the handlers need of a node.
#[derive(Debug)]
pub struct Ops {
    /// The API's parts.
    pub api: Arc<Api>,
    /// The names of all counters.
    pub names: Names,
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
        .route("/metrics", get(metrics))
        .route("/actuator", get(actuator::index))
        .route("/actuator/health", get(actuator::health))
        .route("/actuator/health/liveness", get(actuator::liveness))
        .route("/actuator/health/readiness", get(actuator::readiness))
        .route("/actuator/info", get(actuator::info))
        .with_state(ops)
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
