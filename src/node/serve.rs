//! The accept loop: connections, their limits, and how they end.

use std::error::Error;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::clock::Clock;
use crate::settings::HttpSettings;
use crate::telemetry::{HttpMetrics, LogLimit};

/// The most bytes of a request's head; beyond, 431.
const MAX_HEAD: usize = 64 * 1024;

/// How long to wait after the system refused to hand out a connection (no file descriptors left, mostly).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Between two log lines about a system that hands out no connections.
const NO_MORE_LOGGED_EVERY: Duration = Duration::from_secs(10);

/// What connections are allowed.
#[derive(Debug)]
pub(super) struct Limits {
    connections: Arc<Semaphore>,
    idle: Duration,
    write: Duration,
}

impl Limits {
    pub(super) fn new(settings: &HttpSettings) -> Self {
        let most = settings.max_connections.min(Semaphore::MAX_PERMITS);
        Self {
            connections: Arc::new(Semaphore::new(most)),
            idle: settings.idle_timeout,
            write: settings.write_timeout,
        }
    }
}

/// One connection, as long as it is open.
#[derive(Debug)]
struct Open {
    metrics: HttpMetrics,
    _permit: OwnedSemaphorePermit,
}

impl Open {
    fn new(metrics: &HttpMetrics, permit: OwnedSemaphorePermit) -> Self {
        metrics.connections_accepted.inc();
        metrics.connections.inc();
        Self { metrics: metrics.clone(), _permit: permit }
    }

    /// Counts why it ended badly, if a limit was the reason.
    fn ended_badly(&self, error: &hyper::Error) {
        if error.is_parse_too_large() {
            self.metrics.heads_too_large.inc();
        } else if error.is_timeout() {
            self.metrics.connections_idle.inc();
        } else if is_write_timeout(error) {
            self.metrics.writes_too_slow.inc();
        }
        tracing::debug!(%error, "a connection ended badly");
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.metrics.connections.dec();
    }
}

/// Whether the stream's own time-out is the reason: a client took nothing of its answer.
fn is_write_timeout(error: &hyper::Error) -> bool {
    let io = error.source().and_then(|cause| cause.downcast_ref::<std::io::Error>());
    io.is_some_and(|cause| cause.kind() == ErrorKind::TimedOut)
}

/// Serves connections until `stop`, then gives those that are busy `drain` to finish.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: &Limits,
    metrics: &HttpMetrics,
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
        let (stream, client) = match accepted {
            Ok(accepted) => accepted,
            Err(e) => {
                // It may go on for as long as clients do.
                if let Some(suppressed) = no_more.admit(clock.tick()) {
                    tracing::warn!(
                        error = %e, suppressed = suppressed.times(),
                        "the system hands out no more connections; clients wait"
                    );
                }
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // Closed unheard: a client tries another node at once, instead of waiting in a queue that only grows.
        let Ok(permit) = Arc::clone(&limits.connections).try_acquire_owned() else {
            metrics.connections_refused.inc();
            continue;
        };
        spawn_connection(stream, client, router.clone(), limits, Open::new(metrics, permit), &graceful);
    }
    drop(listener);
    if timeout(drain, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not finish in {drain:?}; their connections are cut");
    }
}

fn spawn_connection(
    stream: TcpStream,
    client: SocketAddr,
    router: Router,
    limits: &Limits,
    open: Open,
    graceful: &GracefulShutdown,
) {
    // Small answers must not wait for more to send. If the system refuses, the connection works all the same.
    let _ = stream.set_nodelay(true);
    // A client that takes nothing of its answer would hold the connection, and the document, for ever.
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(limits.write));
    let service = router.map_request(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(client));
        request
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle)
        // Who has said all it has to say may still want the answer.
        .half_close(true)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(service));
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        if let Err(e) = connection.await {
            open.ended_badly(&e);
        }
    });
}
