//! A Java Eureka server, as its peers and clients see it.
//!
//! Where Java leaves things to chance (whom an eviction pass takes first) this takes the order of the keys. Evictions do
//! not wait for the renewals of a minute: self-preservation is off. Leases follow the wall clock, as Java's do; the
//! queues follow monotonic time.

mod http;
mod queue;
mod registry;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::Router;
use axum::http::{Method, Request, Response, StatusCode};
use bytes::Bytes;
use eurekad::clock::Clock;
use eurekad::peers::{Failure, Transport};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use queue::{Action, Queue, Task};
use registry::{Info, Key, OVERRIDDEN, Registry, STATUS, STATUSES};

/// Between two passes of the evictor.
const EVICTION: Duration = Duration::from_secs(2);

/// How often the peers are asked for their registry at start, and what lies between.
const SYNC_TRIES: u32 = 5;
const SYNC_WAIT: Duration = Duration::from_secs(30);

/// How long a peer may take to answer, connection included.
const PATIENCE: Duration = Duration::from_secs(6);

/// Batches that may be under way to one peer: a slow one does not hold up the next.
const WORKERS: usize = 20;

/// Pauses after a peer that is busy or slow, and after one that is not there.
const CONGESTED: Duration = Duration::from_secs(1);
const BROKEN: Duration = Duration::from_millis(100);

/// A Java server.
#[derive(Debug)]
pub(crate) struct Java {
    transport: Arc<dyn Transport>,
    clock: Clock,
    registry: Mutex<Registry>,
    peers: Vec<Peer>,
    /// None once it is dead.
    tasks: Mutex<Option<JoinSet<()>>>,
}

#[derive(Debug)]
struct Peer {
    url: String,
    queue: Mutex<Queue>,
    news: Notify,
}

impl Java {
    /// `peers`: the other servers' base URLs, such as `http://a:1/eureka/`, without its own.
    pub(crate) fn new(peers: Vec<String>, transport: Arc<dyn Transport>, clock: Clock) -> Arc<Self> {
        let peer = |url| Peer { url, queue: Mutex::default(), news: Notify::new() };
        Arc::new(Self {
            transport,
            registry: Mutex::new(Registry::new(clock.clone())),
            clock,
            peers: peers.into_iter().map(peer).collect(),
            tasks: Mutex::new(Some(JoinSet::new())),
        })
    }

    /// What it answers. Replicated calls are not passed on.
    pub(crate) fn router(self: &Arc<Self>) -> Router {
        Router::new().fallback(http::answer).with_state(Arc::clone(self))
    }

    /// Begins to replicate, copies the registry of the first peer that has one, and then begins to evict.
    pub(crate) async fn boot(self: &Arc<Self>) {
        for peer in 0..self.peers.len() {
            let java = Arc::clone(self);
            self.spawn(async move { java.replicate(peer).await });
        }
        self.sync_up().await;
        let java = Arc::clone(self);
        self.spawn(async move {
            loop {
                tokio::time::sleep(EVICTION).await;
                java.registry().evict();
            }
        });
    }

    /// Ends all its tasks: it is dead.
    pub(crate) fn kill(&self) {
        drop(self.tasks.lock().unwrap().take());
    }

    /// What it shows: by application and id, the status, the overridden status and the `lastDirtyTimestamp`.
    pub(crate) fn shows(&self) -> BTreeMap<(String, String), (String, String, i64)> {
        let registry = self.registry();
        let shown = |info: Info| (info.text(STATUS), info.text(OVERRIDDEN), info.dirty());
        registry.all().map(|(key, info)| (key.clone(), shown(info))).collect()
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap()
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(tasks) = self.tasks.lock().unwrap().as_mut() {
            tasks.spawn(task);
        }
    }

    async fn sync_up(&self) {
        for round in 0..SYNC_TRIES {
            if round > 0 {
                tokio::time::sleep(SYNC_WAIT).await;
            }
            for peer in &self.peers {
                // This is no task of its own: it may have been killed meanwhile.
                if self.is_dead() {
                    return;
                }
                let answer = self.ask(peer, Method::GET, "apps/", Bytes::new()).await;
                if self.is_dead() || answer.is_ok_and(|answer| self.copy(&answer) > 0) {
                    return;
                }
            }
        }
    }

    fn is_dead(&self) -> bool {
        self.tasks.lock().unwrap().is_none()
    }

    /// Takes a whole registry over; how many instances there were.
    fn copy(&self, answer: &Response<Bytes>) -> usize {
        let body: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let apps = list(&body["applications"]["application"]);
        let instances = apps.iter().flat_map(|app| list(&app["instance"]));
        let infos = instances.filter_map(|instance| self.read(instance));
        infos.filter(Info::has_lease).map(|info| self.registry().register(&info, true)).count()
    }

    /// Sends one peer its batches as they become due.
    async fn replicate(self: Arc<Self>, peer: usize) {
        let Peer { queue, news, .. } = &self.peers[peer];
        let mut under_way = JoinSet::new();
        loop {
            let wait = queue.lock().unwrap().wait(self.clock.tick());
            let due = wait.is_some() && under_way.len() < WORKERS;
            tokio::select! {
                biased;
                Some(_done) = under_way.join_next() => {}
                () = tokio::time::sleep(wait.unwrap_or_default()), if due => {
                    let batch = queue.lock().unwrap().take(self.clock.tick());
                    if !batch.is_empty() {
                        under_way.spawn(Arc::clone(&self).deliver(peer, batch));
                    }
                }
                () = news.notified() => {}
            }
        }
    }

    /// Delivers one batch. What fails on the way is tried again; what the peer refuses is given up.
    async fn deliver(self: Arc<Self>, peer: usize, batch: Vec<Task>) {
        let peer = &self.peers[peer];
        let items: Vec<Value> = batch.iter().map(Task::item).collect();
        let body = Bytes::from(json!({ "replicationList": items }).to_string());
        let pause = match self.ask(peer, Method::POST, "peerreplication/batch/", body).await {
            Ok(answer) if answer.status().is_success() => {
                match serde_json::from_slice::<Value>(answer.body()) {
                    Ok(answer) => return self.judge(peer, &batch, &answer),
                    Err(_) => BROKEN,
                }
            }
            Ok(answer) if answer.status() == StatusCode::SERVICE_UNAVAILABLE => CONGESTED,
            Ok(_) => return,
            Err(Failure::TimedOut) => CONGESTED,
            Err(Failure::Unreachable | Failure::Broken | Failure::TooLarge) => BROKEN,
        };
        peer.queue.lock().unwrap().give_back(batch, self.clock.tick(), pause);
    }

    /// Only of heartbeats the answers matter: 404 asks for the instance, and with 409 comes a newer one.
    fn judge(&self, peer: &Peer, batch: &[Task], answer: &Value) {
        let answers = answer["responseList"].as_array().filter(|answers| answers.len() == batch.len());
        for (task, answer) in batch.iter().zip(answers.into_iter().flatten()) {
            let code = answer["statusCode"].as_u64().unwrap_or_default();
            match (task.action, &task.info) {
                (Action::Heartbeat, Some(info)) if code == 404 => {
                    self.put(peer, Action::Register, &task.key, Some(info.clone()), None);
                }
                (Action::Heartbeat, _) if !(200..300).contains(&code) => {
                    if let Some(newer) = self.read(answer["responseEntity"].clone()) {
                        let mut registry = self.registry();
                        registry.store_override(&task.key, &newer.text(OVERRIDDEN));
                        registry.register(&newer, true);
                    }
                }
                _ => {}
            }
        }
    }

    async fn ask(
        &self,
        peer: &Peer,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Response<Bytes>, Failure> {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", peer.url))
            .header("accept", "application/json")
            .header("content-type", "application/json")
            .header("discoveryidentity-name", "DefaultServer")
            .header("discoveryidentity-version", "1.0");
        let sent = self.transport.send(request.body(body).unwrap());
        match tokio::time::timeout(PATIENCE, sent).await {
            Ok(answer) => answer.map_err(|error| error.failure),
            Err(_elapsed) => Err(Failure::TimedOut),
        }
    }

    /// Tells every peer what a client did here. Of what a peer did nothing is told: each tells all others itself.
    fn tell(&self, replica: bool, action: Action, key: &Key, info: Option<&Info>) {
        if replica {
            return;
        }
        let heartbeat = action == Action::Heartbeat;
        let overridden = if heartbeat { self.registry().override_of(&key.1) } else { None };
        for peer in &self.peers {
            self.put(peer, action, key, info.cloned(), overridden.clone());
        }
    }

    fn put(&self, peer: &Peer, action: Action, key: &Key, info: Option<Info>, overridden: Option<String>) {
        let task = Task { action, key: key.clone(), info, overridden, submitted: self.clock.tick() };
        peer.queue.lock().unwrap().put(task);
        peer.news.notify_one();
    }

    fn read(&self, instance: Value) -> Option<Info> {
        Info::read(instance, self.clock.epoch_millis())
    }

    fn register(&self, app: &str, info: &Info, replica: bool) -> u16 {
        if !info.is_valid_for(app) {
            return 400;
        }
        self.registry().register(info, replica);
        self.tell(replica, Action::Register, &info.key(), Some(info));
        204
    }

    fn heartbeat(
        &self,
        key: &Key,
        dirty: Option<i64>,
        over: Option<&str>,
        replica: bool,
    ) -> (u16, Option<Value>) {
        if !self.registry().renew(key, replica) {
            return (404, None);
        }
        let info = self.registry().live(key);
        self.tell(replica, Action::Heartbeat, key, info.as_ref());
        self.registry().compare(key, dirty, over, replica)
    }

    fn cancel(&self, key: &Key, replica: bool) -> u16 {
        if !self.registry().cancel(key) {
            return 404;
        }
        self.tell(replica, Action::Cancel, key, None);
        200
    }

    fn change_status(
        &self,
        action: Action,
        key: &Key,
        status: Option<&str>,
        dirty: Option<i64>,
        replica: bool,
    ) -> u16 {
        let Some(info) = self.registry().live(key) else { return 404 };
        let Some(status) = status.filter(|status| STATUSES.contains(status)) else { return 500 };
        if action == Action::StatusUpdate {
            self.registry().set_status(key, status, dirty);
        } else {
            self.registry().clear_status(key, status, dirty);
        }
        self.tell(replica, action, key, Some(&info));
        200
    }
}
