//! One running node: builds the parts, opens for traffic, runs the background work, stops.
//!
//! The only place that spawns tasks. Every task has a name, ends when the node stops, and takes the node down if it
//! panics: a registry whose evictor died silently is worse than one that is restarted.

mod background;
mod serve;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use prometheus_client::registry::Registry as Names;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::blocking::Workers;
use crate::cache::ResponseCache;
use crate::clock::Clock;
use crate::http::{self, Api, Gate};
use crate::ops::{self, Ops};
use crate::registry::Registry;
use crate::settings::Settings;
use crate::telemetry::Metrics;

/// How long requests that are under way may take when a node stops.
const DRAIN: Duration = Duration::from_secs(5);

/// What a node is handed of the world.
#[derive(Debug)]
pub struct Env {
    /// Time.
    pub clock: Clock,
    /// The seed of all chance.
    pub seed: u64,
}

/// One node.
#[derive(Debug)]
pub struct Node {
    api: Arc<Api>,
    router: Router,
    metrics: Metrics,
    seed: u64,
    tasks: TaskTracker,
    stop: CancellationToken,
    failed: CancellationToken,
}

/// A background task panicked. It has said why on its way down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a background task panicked; this is a bug, please report what it logged")]
pub struct TaskPanicked;

impl Node {
    /// Builds a node that is to listen on `port`. It serves nothing and runs nothing yet.
    pub fn new(mut settings: Settings, env: Env, port: u16) -> Self {
        let Env { clock, seed } = env;
        let metrics = Metrics::default();
        settings.registry.own_instance_id = settings.own_instance_id(port).into();
        let registry =
            Arc::new(Registry::new(clock.clone(), settings.registry.clone(), metrics.registry.clone()));
        let workers = Workers::new();
        let cache = ResponseCache::new(
            Arc::clone(&registry),
            clock.clone(),
            settings.cache.clone(),
            metrics.cache.clone(),
            workers.clone(),
        );
        let gate = Gate::new(clock.clone(), settings.http.serve_while_syncing);
        let context_path = settings.http.context_path.clone();
        let started = clock.tick();
        let api = Arc::new(Api {
            clock,
            started,
            port,
            settings,
            registry,
            cache,
            workers,
            gate,
            metrics: metrics.http.clone(),
        });
        let mut names = Names::with_prefix("eurekad");
        metrics.name_into(&mut names);
        let ops = Arc::new(Ops { api: Arc::clone(&api), names });
        let router = http::front(&context_path, http::routes(Arc::clone(&api)).merge(ops::routes(ops)));
        let (tasks, stop, failed) = (TaskTracker::new(), CancellationToken::new(), CancellationToken::new());
        Self { api, router, metrics, seed, tasks, stop, failed }
    }

    /// Every route of the node.
    pub fn router(&self) -> Router {
        self.router.clone()
    }

    /// The node's registry.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.api.registry
    }

    /// The bytes that the read-only cache holds.
    pub fn cached_read_only_bytes(&self) -> u64 {
        self.api.cache.read_only_bytes()
    }

    /// What the node has counted.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Opens for traffic and starts the background work.
    ///
    /// **Compat:** with `eureka.instance.registry.default-open-for-traffic-count=0` a node that found nothing to copy
    /// answers no reads for `eureka.server.wait-time-in-ms-when-sync-empty`. Spring's default is 1: it answers at once.
    pub fn open(&self) {
        let http = &self.api.settings.http;
        if http.default_open_for_traffic_count == 0 && self.api.registry.is_empty() {
            self.api.gate.open_after(http.wait_when_sync_empty);
        } else {
            self.api.gate.open();
        }
        self.start_background(SmallRng::seed_from_u64(self.seed));
    }

    /// Answers requests on `listener` until [`stop`](Self::stopper) is cancelled, then finishes what is under way.
    ///
    /// # Errors
    /// If a background task panicked.
    pub async fn serve(&self, listener: TcpListener) -> Result<(), TaskPanicked> {
        let limits = serve::Limits::new(&self.api.settings.http);
        serve::serve(listener, self.router(), &limits, &self.metrics.http, &self.stop, DRAIN).await;
        self.tasks.close();
        self.tasks.wait().await;
        if self.failed.is_cancelled() { Err(TaskPanicked) } else { Ok(()) }
    }

    /// Cancel this to stop the node.
    pub fn stopper(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Stops the background work and waits for its end.
    pub async fn stop_background(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
