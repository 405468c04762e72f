//! The accept loop: connections, their limits, and how they end.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{HeaderValue, Request, Response, StatusCode, header};
use axum::response::IntoResponse;
use futures_util::FutureExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::places::{Phase, Place, Places, Taken};
use super::standstill::Standstill;
use super::watched::{Asked, Told, Watched};
use crate::clock::Clock;
use crate::settings::HttpSettings;
use crate::telemetry::{HttpMetrics, LogLimit};

/// What HTTP reads ahead on one connection, in bytes, unless a head may be larger.
const READ_AHEAD: usize = 64 * 1024;

/// So many header lines are read without a list of their own.
const USUAL_HEADERS: usize = 100;

/// How long to wait after the system refused to hand out a connection (no file descriptors left, mostly).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A connection that is new has not said yet what it wants. When a node stops, those are heard out for so long.
const LAST_CALL: Duration = Duration::from_millis(100);

/// Between two log lines about a system that hands out no connections.
const NO_MORE_LOGGED_EVERY: Duration = Duration::from_secs(10);

/// What connections are allowed.
#[derive(Debug)]
pub(super) struct Limits {
    places: Arc<Places>,
    standstill: Arc<Standstill>,
    http: http1::Builder,
    idle: Duration,
    head: Duration,
    head_bytes: usize,
    write: Duration,
    metrics: HttpMetrics,
}

impl Limits {
    pub(super) fn new(
        clock: Clock,
        standstill: Arc<Standstill>,
        settings: &HttpSettings,
        metrics: HttpMetrics,
    ) -> Self {
        let mut http = http1::Builder::new();
        // Who has said all it has to say may still want the answer.
        http.half_close(true)
            .max_buf_size(READ_AHEAD.max(settings.max_header_bytes))
            .max_header_size(settings.max_header_bytes)
            // Ours tells the wait for a request from the wait for the rest of it.
            .header_read_timeout(None);
        if settings.max_headers != USUAL_HEADERS {
            http.max_headers(settings.max_headers);
        }
        Self {
            places: Arc::new(Places::new(clock, settings, metrics.clone())),
            standstill,
            http,
            idle: settings.idle_timeout,
            head: settings.header_timeout,
            head_bytes: settings.max_header_bytes,
            write: settings.write_timeout,
            metrics,
        }
    }
}

/// Serves connections until `stop`, then gives those that are busy `drain` to finish.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    clock: &Clock,
    stop: &CancellationToken,
    drain: Duration,
) {
    let graceful = GracefulShutdown::new();
    let no_more = LogLimit::every(NO_MORE_LOGGED_EVERY);
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, client)) => serve_one(stream, client, router.clone(), &limits, &graceful),
            Err(e) => {
                // It may go on for as long as clients do.
                if let Some(suppressed) = no_more.admit(clock.tick()) {
                    tracing::warn!(
                        error = %e, suppressed = suppressed.times(),
                        "the system hands out no more connections; clients wait"
                    );
                }
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    // Who has connected already is served: closing the listener would break those connections.
    while let Some(Ok((stream, client))) = listener.accept().now_or_never() {
        serve_one(stream, client, router.clone(), &limits, &graceful);
    }
    drop(listener);
    sleep(LAST_CALL.min(drain)).await;
    if timeout(drain, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not finish in {drain:?}; their connections are cut");
    }
}

fn serve_one(
    stream: TcpStream,
    client: SocketAddr,
    router: Router,
    limits: &Limits,
    graceful: &GracefulShutdown,
) {
    let client = canonical(client);
    // Closed unheard: a client tries another node at once, instead of waiting in a queue that only grows.
    let Some(taken) = limits.places.take(client.ip()) else { return };
    // Small answers must not wait for more to send. If the system refuses, the connection works all the same.
    let _ = stream.set_nodelay(true);
    // A client that takes nothing of its answer would hold the connection, and the document, for ever.
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(limits.write));
    let metrics = limits.metrics.clone();
    let (place, standstill) = (Arc::clone(&taken.place), Arc::clone(&limits.standstill));
    let stream = Watched::new(stream, place, standstill, metrics.clone(), limits.idle, limits.head);
    let service =
        Served { router, client, place: Arc::clone(&taken.place), head_bytes: limits.head_bytes, metrics };
    let connection = graceful.watch(limits.http.serve_connection(TokioIo::new(stream), service));
    let metrics = limits.metrics.clone();
    metrics.connections_accepted.inc();
    tokio::spawn(async move {
        let Taken { place, .. } = &taken;
        tokio::select! {
            ended = connection => if let Err(e) = ended {
                if e.is_parse_too_large() {
                    metrics.heads_too_large.inc();
                } else if is_timeout(&e) && !matches!(place.phase(), Phase::Quiet | Phase::Head) {
                    // The stream's own: the client took nothing of its answer.
                    metrics.writes_too_slow.inc();
                }
                tracing::debug!(error = %e, "a connection ended badly");
            },
            () = place.given_up() => tracing::debug!(%client, "a connection was closed to make room for another"),
        }
    });
}

/// A socket of IPv6 sees clients of IPv4 as `::ffff:a.b.c.d`. Nobody further on does.
fn canonical(client: SocketAddr) -> SocketAddr {
    match client.ip().to_canonical() {
        v4 @ IpAddr::V4(_) => SocketAddr::new(v4, client.port()),
        // With its scope, which an address alone has not.
        IpAddr::V6(_) => client,
    }
}

fn is_timeout(error: &hyper::Error) -> bool {
    let io = error.source().and_then(|cause| cause.downcast_ref::<std::io::Error>());
    io.is_some_and(|cause| cause.kind() == ErrorKind::TimedOut)
}

/// The routes, for one connection.
struct Served {
    router: Router,
    client: SocketAddr,
    place: Arc<Place>,
    head_bytes: usize,
    metrics: HttpMetrics,
}

impl Service<Request<Incoming>> for Served {
    type Response = Response<Told>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Told>, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let place = Arc::clone(&self.place);
        place.goes(&[Phase::Quiet, Phase::Head, Phase::Answered], Phase::Handled);
        if bytes_of_head(&request) > self.head_bytes {
            self.metrics.heads_too_large.inc();
            return Box::pin(async move { Ok(too_large().map(|body| Told::new(body, place))) });
        }
        if self.place.is_abandoned() && !request.method().is_safe() {
            self.metrics.changes_abandoned.inc();
            return Box::pin(async move { Ok(too_late().map(|body| Told::new(body, place))) });
        }
        let mut asked =
            request.map(|body| Body::new(Asked::new(body, Arc::clone(&place), self.metrics.clone())));
        asked.extensions_mut().insert(ConnectInfo(self.client));
        let answer = self.router.clone().oneshot(asked);
        Box::pin(async move {
            let answer = answer.await.unwrap_or_else(|never| match never {});
            Ok(answer.map(|body| Told::new(body, place)))
        })
    }
}

/// 431: the head is complete, and larger than one may be. HTTP itself looks only while more is to come.
fn too_large() -> Response<Body> {
    let close = [(header::CONNECTION, HeaderValue::from_static("close"))];
    (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, close).into_response()
}

/// 408, which nobody reads: the client has given up on this, and may have asked for something else since.
fn too_late() -> Response<Body> {
    let close = [(header::CONNECTION, HeaderValue::from_static("close"))];
    (StatusCode::REQUEST_TIMEOUT, close).into_response()
}

fn bytes_of_head(request: &Request<Incoming>) -> usize {
    let uri = request.uri();
    let line = request.method().as_str().len() + uri.path_and_query().map_or(0, |path| path.as_str().len());
    let headers = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
    line + headers.sum::<usize>()
}
