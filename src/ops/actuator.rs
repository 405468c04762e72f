//! Spring's actuator, as far as people who move from it have probes and scripts for it.

use std::sync::Arc;

use axum::extract::{OriginalUri, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::Ops;

/// **Compat:** the media type of Spring Boot 3 and 4.
const TYPE: &str = "application/vnd.spring-boot.actuator.v3+json";

fn answer(status: StatusCode, body: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, TYPE)], body.to_string()).into_response()
}

/// `GET /actuator`: what there is.
pub(super) async fn index(OriginalUri(uri): OriginalUri) -> Response {
    let base = uri.path().trim_end_matches('/');
    let link = |path: &str| json!({"href": format!("{base}{path}"), "templated": false});
    let links = json!({
        "self": link(""), "health": link("/health"), "info": link("/info"), "prometheus": link("/prometheus"),
    });
    answer(StatusCode::OK, &json!({"_links": links}))
}

/// `GET /actuator/health`
///
/// **Compat:** `UP` with 200, or `OUT_OF_SERVICE` with 503 while the node takes no traffic.
pub(super) async fn health(State(ops): State<Arc<Ops>>) -> Response {
    let (code, status) = readiness_of(&ops);
    answer(code, &json!({"status": status, "groups": ["liveness", "readiness"]}))
}

/// `GET /actuator/health/liveness`
pub(super) async fn liveness() -> Response {
    answer(StatusCode::OK, &json!({"status": "UP"}))
}

/// `GET /actuator/health/readiness`
pub(super) async fn readiness(State(ops): State<Arc<Ops>>) -> Response {
    let (code, status) = readiness_of(&ops);
    answer(code, &json!({"status": status}))
}

fn readiness_of(ops: &Ops) -> (StatusCode, &'static str) {
    match ops.api.gate.is_ready() {
        true => (StatusCode::OK, "UP"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "OUT_OF_SERVICE"),
    }
}

/// `GET /actuator/info`
pub(super) async fn info(State(ops): State<Arc<Ops>>) -> Response {
    let name = &ops.api.settings.instance.app_name;
    let build = json!({"artifact": env!("CARGO_PKG_NAME"), "name": name, "version": crate::version::VERSION});
    answer(StatusCode::OK, &json!({"build": build}))
}
