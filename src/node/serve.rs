//! The accept loop: connections, their limits, and how they end.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;

use crate::settings::HttpSettings;
use crate::telemetry::HttpMetrics;

/// The most bytes of a request's head; beyond, 431.
const MAX_HEAD: usize = 64 * 1024;

/// How long to wait after the system refused to hand out a connection (no file descriptors left, mostly).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

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

/// Serves connections until `stop`, then gives those that are busy `drain` to finish.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: &Limits,
    metrics: &HttpMetrics,
    stop: &CancellationToken,
    drain: Duration,
) {
    let graceful = GracefulShutdown::new();
    let mut refused = false;
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => {
                refused = false;
                stream
            }
            Err(e) => {
                // Once for each time it begins: it may go on for as long as clients do.
                if !refused {
                    tracing::warn!(error = %e, "the system hands out no more connections; clients wait");
                }
                refused = true;
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        // Closed unheard: a client tries another node at once, instead of waiting in a queue that only grows.
        let Ok(permit) = Arc::clone(&limits.connections).try_acquire_owned() else {
            metrics.connections_refused.inc();
            continue;
        };
        spawn_connection(stream, router.clone(), limits, permit, &graceful);
    }
    drop(listener);
    if timeout(drain, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not finish in {drain:?}; their connections are cut");
    }
}

fn spawn_connection(
    stream: TcpStream,
    router: Router,
    limits: &Limits,
    permit: OwnedSemaphorePermit,
    graceful: &GracefulShutdown,
) {
    // Small answers must not wait for more to send. If the system refuses, the connection works all the same.
    let _ = stream.set_nodelay(true);
    // A client that takes nothing of its answer would hold the connection, and the document, for ever.
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(limits.write));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle)
        // Who has said all it has to say may still want the answer.
        .half_close(true)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(router));
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        if let Err(e) = connection.await {
            tracing::debug!(error = %e, "a connection ended badly");
        }
        drop(permit);
    });
}
