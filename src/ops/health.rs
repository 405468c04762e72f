//! Liveness and readiness, for balancers and containers.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;

use super::Ops;
use crate::http::NodeState;

/// 200 as long as the process answers at all.
pub(super) async fn live() -> &'static str {
    "live\n"
}

/// 200 while the node takes traffic, else 503: for balancers.
pub(super) async fn ready(State(ops): State<Arc<Ops>>) -> (StatusCode, &'static str) {
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
