//! What every request is measured by, and its line in the access log.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, MatchedPath, Request};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use http_body::Body as _;

use crate::clock::Clock;
use crate::telemetry::{ACCESS_LOG, Measured, RequestMetrics};

/// The route of requests that no template of a path fits: what clients ask for does not become a label.
const NO_ROUTE: &str = "none";

/// Longer paths are cut in the access log.
const LONGEST_PATH: usize = 2048;

/// Measures requests, and writes the access log.
#[derive(Debug, Clone)]
pub struct Watch {
    clock: Clock,
    metrics: RequestMetrics,
    access_log: bool,
}

/// The template that fits a request's path, on its way back with the answer.
#[derive(Debug, Clone)]
struct Route(MatchedPath);

/// What the access log says of a request.
struct Line {
    client: Option<SocketAddr>,
    method: Method,
    path: String,
}

impl Watch {
    /// With an access log, or without.
    pub fn new(clock: Clock, metrics: RequestMetrics, access_log: bool) -> Self {
        Self { clock, metrics, access_log }
    }

    /// Has a request answered by `answer`, and takes note of it.
    pub(super) async fn over<F>(&self, request: Request, answer: impl FnOnce(Request) -> F) -> Response
    where
        F: Future<Output = Response>,
    {
        let (began, running) = (self.clock.elapsed(), self.metrics.begin());
        let method = word(request.method());
        let line = self.access_log.then(|| Line::of(&request));
        let mut response = answer(request).await;
        let took = self.clock.elapsed().saturating_sub(began);
        let route = response.extensions_mut().remove::<Route>();
        let route = route.as_ref().map_or(NO_ROUTE, |Route(path)| without_mount(path.as_str()));
        running.answered(&Measured { route, method, status: response.status().as_u16(), took });
        if let Some(Line { client, method, path }) = line {
            // Texts are written in quotes: a client must not be able to write log lines.
            tracing::info!(
                target: ACCESS_LOG,
                client = client.map(tracing::field::display),
                method = method.as_str(),
                path,
                status = response.status().as_u16(),
                bytes = response.body().size_hint().exact(),
                ms = (took.as_secs_f64() * 1e6).round() / 1e3,
                "request"
            );
        }
        response
    }
}

impl Line {
    /// Of the path without its query, in which secrets may stand.
    fn of(request: &Request) -> Self {
        let client = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(client)| *client);
        let path = request.uri().path();
        let path = match path.len() {
            0..=LONGEST_PATH => path.to_owned(),
            _ => format!("{}…", &path[..path.floor_char_boundary(LONGEST_PATH)]),
        };
        Self { client, method: request.method().clone(), path }
    }
}

/// Has the answer say which template of a path the request fitted.
pub(super) async fn name_route(path: Option<MatchedPath>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    if let Some(path) = path {
        response.extensions_mut().insert(Route(path));
    }
    response
}

/// The API is the same at each of its three places.
fn without_mount(path: &str) -> &str {
    let rest = ["/eureka/v2", "/eureka", "/v2"].iter().find_map(|mount| path.strip_prefix(mount));
    rest.filter(|rest| rest.starts_with('/')).unwrap_or(path)
}

/// A method as a label: of those that HTTP does not know there may be any number.
fn word(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::PUT => "PUT",
        Method::POST => "POST",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        Method::OPTIONS => "OPTIONS",
        Method::PATCH => "PATCH",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_places_of_the_api_are_one_route() {
        for path in ["/eureka/apps/{app}", "/eureka/v2/apps/{app}", "/v2/apps/{app}"] {
            assert_eq!(without_mount(path), "/apps/{app}");
        }
        assert_eq!(without_mount("/health/live"), "/health/live");
        assert_eq!(without_mount("/v2x/y"), "/v2x/y");
    }

    #[test]
    fn a_method_that_http_does_not_know_is_one_of_many() {
        assert_eq!(word(&Method::PUT), "PUT");
        assert_eq!(word(&Method::from_bytes(b"BREW").unwrap()), "other");
    }
}
