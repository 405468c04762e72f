//! `/metrics` and `/actuator/prometheus`: every counter, and what is measured when it is asked for.
//!
//! docs/metrics.md says what each is; a test holds it against what is shown.

mod figures;
mod instances;
mod limits;
mod node;
mod peers;
mod process;
mod tasks;
mod text_format;

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::text::{encode_eof, encode_registry};

use super::Ops;
use figures::Figures;

const OPENMETRICS: &str = "application/openmetrics-text";

/// Prometheus' text format, or OpenMetrics for who asks for it.
pub(super) async fn show(State(ops): State<Arc<Ops>>, headers: HeaderMap) -> Response {
    let workers = ops.api.workers.clone();
    // Off the threads that serve heartbeats: of a large registry this takes some milliseconds.
    let Ok(openmetrics) = workers.run(move || written(&ops)).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    if asks_for_openmetrics(&headers) {
        let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        ([(header::CONTENT_TYPE, content_type)], openmetrics).into_response()
    } else {
        let content_type = "text/plain; version=0.0.4; charset=utf-8";
        ([(header::CONTENT_TYPE, content_type)], text_format::of(&openmetrics)).into_response()
    }
}

/// Everything, as OpenMetrics.
fn written(ops: &Ops) -> Result<String, std::fmt::Error> {
    let api = &ops.api;
    let mut figures = Figures::new("eurekad");
    node::measure(api, &mut figures);
    instances::measure(api, &mut figures);
    limits::measure(&ops.metrics, api, &mut figures);
    peers::measure(api, &mut figures);
    tasks::measure(&ops.metrics.tasks, &api.clock, &mut figures);
    figures.counter("log_lines_dropped", "Log lines that nobody read fast enough", ops.dropped_lines.get());
    let mut text = String::new();
    encode_registry(&mut text, &ops.names)?;
    encode_registry(&mut text, &figures.into_names())?;
    encode_registry(&mut text, &process::measure().into_names())?;
    encode_eof(&mut text)?;
    Ok(text)
}

fn asks_for_openmetrics(headers: &HeaderMap) -> bool {
    let accepts = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepts.flat_map(|value| value.split(',')).any(|range| {
        let mut parts = range.split(';').map(str::trim);
        parts.next().is_some_and(|media| media.eq_ignore_ascii_case(OPENMETRICS))
            && !parts.any(|parameter| parameter.strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn openmetrics_is_for_who_names_it() {
        let asks = |accept: &'static str| {
            asks_for_openmetrics(&HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]))
        };
        assert!(asks("application/openmetrics-text"));
        assert!(asks("application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3"));
        assert!(asks("text/plain, Application/OpenMetrics-Text; charset=utf-8"));
        for other in ["*/*", "text/plain", "application/*", "application/openmetrics-text;q=0", ""] {
            assert!(!asks(other), "{other}");
        }
        assert!(!asks_for_openmetrics(&HeaderMap::new()));
    }
}
