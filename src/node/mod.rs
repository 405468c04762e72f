//! One running node: builds the parts, opens for traffic, runs the background work, stops.
//!
//! The only place that spawns tasks. Every task has a name, ends when the node stops, and takes the node down if it
//! panics: a registry whose evictor died silently is worse than one that is restarted.

mod background;
mod freezer;
mod own_instance;
mod places;
mod serve;
mod standstill;
mod tasks;
mod watched;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use eurekad_wire::LeaseInfo;
use prometheus_client::registry::Registry as Names;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::blocking::Workers;
use crate::cache::ResponseCache;
use crate::clock::Clock;
use crate::http::{self, Access, Api, Gate, Logged, Watch};
use crate::ops::{self, Ops};
use crate::peers::{NodeId, PeerEurekaNodes, PeerView, Resolve, Transport, Wiring};
use crate::registry::{Origin, Registry};
use crate::settings::Settings;
use crate::telemetry::{DroppedLines, Metrics};
pub use freezer::Freezer;
use own_instance::own_instance;
use standstill::Standstill;
pub use tasks::TaskPanicked;
use tasks::Tasks;

/// What a node is handed of the world.
#[derive(Debug)]
pub struct Env {
    /// Time.
    pub clock: Clock,
    /// The seed of all chance, the node's id included.
    pub seed: u64,
    /// The network to the peers.
    pub transport: Arc<dyn Transport>,
    /// Names to addresses.
    pub resolver: Arc<dyn Resolve>,
    /// Makes the node's tasks stand still, as those of a process do that the system has stopped.
    pub freezer: Arc<Freezer>,
    /// How many log lines were dropped.
    pub dropped_lines: DroppedLines,
}

/// One node.
#[derive(Debug)]
pub struct Node {
    api: Arc<Api>,
    router: Router,
    /// Health and metrics, for a port of their own.
    management: Router,
    metrics: Metrics,
    chance: Mutex<SmallRng>,
    tasks: Tasks,
    /// Cancelled when the node is to stop.
    stop: CancellationToken,
    /// Signalled when the list of peers is to be read now.
    reload: Arc<Notify>,
}

impl Node {
    /// Builds a node that is to listen on `port`. It serves nothing and runs nothing yet.
    pub fn new(mut settings: Settings, env: Env, port: u16) -> Self {
        let Env { clock, seed, transport, resolver, freezer, dropped_lines } = env;
        let mut chance = SmallRng::seed_from_u64(seed);
        let metrics = Metrics::default();
        settings.registry.own_instance_id = settings.own_instance_id(port).into();
        let id = NodeId(chance.random());
        let registry =
            Arc::new(Registry::new(clock.clone(), id, settings.registry.clone(), metrics.registry.clone()));
        let workers = Workers::new();
        let cache = ResponseCache::new(
            Arc::clone(&registry),
            clock.clone(),
            settings.cache.clone(),
            metrics.cache.clone(),
            workers.clone(),
        );
        let own = Arc::new(own_instance(&settings, port, clock.epoch_millis()));
        let peers = Arc::new(PeerEurekaNodes::new(Wiring {
            id,
            clock: clock.clone(),
            settings: settings.peers.clone(),
            registry: Arc::clone(&registry),
            transport,
            resolver,
            metrics: metrics.peers.clone(),
            losses: Arc::default(),
            app: own.app.clone(),
        }));
        let gate = Gate::new(clock.clone(), settings.http.serve_while_syncing);
        let access = Access::new(&settings.access);
        let context_path = settings.http.context_path.clone();
        let started = clock.tick();
        let watch = Watch::new(clock.clone(), metrics.requests.clone(), settings.log.access);
        let bytes_in_flight = settings.http.max_bytes_in_flight;
        let api = Arc::new(Api {
            clock,
            started,
            own,
            settings,
            registry,
            cache,
            peers,
            workers,
            gate,
            access,
            bodies: http::Bodies::new(bytes_in_flight, metrics.http.clone()),
            rate_limiter: http::RateLimiter::default(),
            metrics: metrics.http.clone(),
            logged: Logged::default(),
        });
        let mut names = Names::with_prefix("eurekad");
        metrics.name_into(&mut names);
        let ops = Arc::new(Ops { api: Arc::clone(&api), metrics: metrics.clone(), names, dropped_lines });
        let mut routes = http::routes(Arc::clone(&api)).merge(ops::routes(Arc::clone(&ops)));
        if api.settings.http.management_port.is_none() {
            routes = routes.merge(ops::management(Arc::clone(&ops)));
        }
        let router = http::front(Arc::clone(&api), &context_path, routes, watch.clone());
        let management = ops::health(Arc::clone(&ops)).merge(ops::management(ops));
        let management = http::front(Arc::clone(&api), "", management, watch);
        let stop = CancellationToken::new();
        let tasks = Tasks::new(stop.clone(), freezer, metrics.tasks.clone());
        Self {
            api,
            router,
            management,
            metrics,
            chance: Mutex::new(chance),
            tasks,
            stop,
            reload: Arc::default(),
        }
    }

    /// Every route of the node.
    pub fn router(&self) -> Router {
        self.router.clone()
    }

    /// Health and metrics, for a port of their own.
    pub fn management_router(&self) -> Router {
        self.management.clone()
    }

    /// The node's random id.
    pub fn id(&self) -> NodeId {
        self.api.peers.id()
    }

    /// The node's registry.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.api.registry
    }

    /// What is known of the node's peers.
    pub fn peers(&self) -> Vec<PeerView> {
        self.api.peers.views()
    }

    /// The bytes that the read-only cache holds.
    pub fn cached_read_only_bytes(&self) -> u64 {
        self.api.cache.read_only_bytes()
    }

    /// What the node has counted.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Whether the file of peers, if there is one, can be used.
    ///
    /// # Errors
    /// What is wrong with it.
    pub async fn check_peers_file(&self) -> Result<(), String> {
        self.api.peers.check_file().await
    }

    /// Copies the peers' registry, registers itself, opens for traffic and starts the background work.
    ///
    /// From the beginning the peers are told what changes here, and batches, registrations and cancellations are taken.
    pub async fn boot(&self) {
        self.start_replication().await;
        if !self.api.peers.is_empty() {
            let longest = self.api.settings.peers.sync_timeout;
            tracing::info!(
                "looking for a peer to copy the registry from, for at most {longest:?}; reads are answered 403"
            );
            let synced = self.api.peers.sync(self.api.gate.copying()).await;
            let instances = self.api.registry.len();
            if synced.sources > 0 {
                tracing::info!(instances, sources = synced.sources, "the registry is copied");
            } else if synced.complete {
                tracing::info!(
                    told_meanwhile = instances,
                    "no peer has a registry to copy: they are starting too"
                );
            } else {
                self.metrics.peers.opened_without_copy.set(1);
                tracing::warn!(
                    instances,
                    "opening without a copy: not every peer answered. If there should be instances, check the peers in \
                     eureka.client.service-url (--peers) before clients read from here"
                );
            }
        }
        self.open();
    }

    /// Opens for traffic and starts the background work.
    ///
    /// **Compat:** with `eureka.instance.registry.default-open-for-traffic-count=0` a node that found nothing to copy
    /// answers no reads for `eureka.server.wait-time-in-ms-when-sync-empty`. Spring's default is 1: it answers at once.
    pub fn open(&self) {
        let api = &self.api;
        let empty = api.registry.is_empty();
        let itself = api.settings.peers.register_itself.unwrap_or(!api.peers.is_empty());
        if empty {
            api.gate.open_empty(Duration::from_secs(
                LeaseInfo::DEFAULT_RENEWAL_INTERVAL_SECS.unsigned_abs().into(),
            ));
        }
        if itself {
            api.registry.register((*api.own).clone(), Origin::Client);
        }
        if api.settings.http.default_open_for_traffic_count == 0 && empty {
            api.gate.open_after(api.settings.http.wait_when_sync_empty);
        } else {
            api.gate.open();
        }
        self.start_background(itself);
    }

    /// Answers requests on `listener`, and those for health and metrics on `management` if there is one, until
    /// [`stop`](Self::stopper) is cancelled; then stops in order.
    ///
    /// The order: not ready, and out of the registry; for a while requests are still taken, so that balancers and clients
    /// see that this node goes; no more connections, and what is under way is finished; the peers are told what they have
    /// not heard. Each step has its bound in `eurekad.stop.*`.
    ///
    /// # Errors
    /// If a background task panicked.
    pub async fn serve(
        &self,
        listener: TcpListener,
        management: Option<TcpListener>,
    ) -> Result<(), TaskPanicked> {
        let (settings, clock) = (&self.api.settings, &self.api.clock);
        let standstill = Arc::new(Standstill::new(clock.clone()));
        let metrics = || self.metrics.http.clone();
        let limits = || serve::Limits::new(clock.clone(), Arc::clone(&standstill), &settings.http, metrics());
        let close = CancellationToken::new();
        let order = async {
            self.stop.cancelled().await;
            self.announce_end();
            tokio::time::sleep(settings.stop.grace).await;
            close.cancel();
        };
        let drain = settings.stop.drain;
        let main = serve::serve(listener, self.router(), limits(), clock, &close, drain);
        let beside = async {
            if let Some(listener) = management {
                let router = self.management_router();
                serve::serve(listener, router, limits(), clock, &close, drain).await;
            }
        };
        tokio::select! {
            _ = async { tokio::join!(order, main, beside) } => {}
            never = standstill.watch() => match never {},
        }
        // The senders run on until the peers have been told.
        self.flush().await;
        self.tasks.end().await
    }

    /// Takes this node itself out of the registry, and tells the peers that and what else they have not heard.
    pub async fn leave(&self) {
        self.announce_end();
        self.flush().await;
    }

    /// Balancers and peers hear that this node is about to stop.
    fn announce_end(&self) {
        let api = &self.api;
        api.gate.drain();
        if api.registry.instance(&api.own.app, api.own.id()).is_some() {
            api.registry.cancel(&api.own.app, api.own.id(), Origin::Client);
        }
    }

    async fn flush(&self) {
        let longest = self.api.settings.stop.flush;
        // Who has not heard all by then is named below.
        let _ = tokio::time::timeout(longest, self.api.peers.flush()).await;
        let untold = self.api.peers.untold();
        if !untold.is_empty() {
            tracing::warn!(
                longest_ms = longest.as_millis() as u64,
                "not every peer has heard all before the end: {}. Instances that live tell it with their next heartbeat; what \
                 was cancelled or set here last, look at there",
                untold.join("; ")
            );
        }
    }

    /// A source of chance for one part, drawn from the node's.
    fn draw_chance(&self) -> SmallRng {
        let mut chance = self.chance.lock().unwrap_or_else(PoisonError::into_inner);
        SmallRng::seed_from_u64(chance.random())
    }

    /// Signal this to have the list of peers read now.
    pub fn reloader(&self) -> Arc<Notify> {
        Arc::clone(&self.reload)
    }

    /// Cancel this to stop the node.
    pub fn stopper(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Stops the background work and waits for its end.
    pub async fn stop_background(&self) {
        self.stop.cancel();
        // Whether one panicked is for who serves to say.
        let _ = self.tasks.end().await;
    }
}
