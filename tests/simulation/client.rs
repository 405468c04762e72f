//! A client as Eureka's are: it registers, renews, registers again when it is told to, and goes to another server when
//! one does not answer.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::{Method, Request, StatusCode};
use bytes::Bytes;
use eurekad::peers::Transport;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::net::{Link, Net};

/// How often a client beats, and how long its lease lives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) beat: Duration,
    pub(crate) lease: Duration,
}

impl Times {
    /// Of most histories: short, so that much happens in little time.
    pub(crate) const SHORT: Self = Self { beat: Duration::from_secs(2), lease: Duration::from_secs(6) };
    /// Eureka's.
    pub(crate) const USUAL: Self = Self { beat: Duration::from_secs(30), lease: Duration::from_secs(90) };
}

/// What a client says of itself when it registers.
pub(crate) fn registration(id: &str, status: &str, dirty: i64, times: Times) -> Bytes {
    let body = json!({"instance": {
        "instanceId": id, "hostName": "h", "app": "SIM", "ipAddr": "10.0.0.1", "status": status,
        "vipAddress": "sim", "port": {"$": 80, "@enabled": "true"},
        "dataCenterInfo": {"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"},
        "leaseInfo": {"renewalIntervalInSecs": times.beat.as_secs(), "durationInSecs": times.lease.as_secs()},
        "lastDirtyTimestamp": dirty.to_string(), "metadata": {"said": dirty.to_string()}}});
    Bytes::from(body.to_string())
}

/// What a client has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    /// It runs, and says this of itself, since then.
    Runs { status: &'static str, dirty: i64, since: Instant },
    /// It is gone: it cancelled, or it died without a word.
    Gone { since: Instant },
}

/// What the simulation knows of a client.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) id: String,
    servers: Vec<String>,
    /// Whether a balancer sends each of its calls to another server.
    balanced: bool,
    pub(crate) times: Times,
    link: Arc<Link>,
    /// Held while it talks to a server: it does one thing after the other.
    talks: tokio::sync::Mutex<()>,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    life: Life,
    registered: bool,
    /// Whether its machine is cut off from every server.
    silent: bool,
    server: usize,
    chance: SmallRng,
    /// Heartbeats that were answered 404.
    not_found: u64,
    /// When a server last took its word, and which.
    heard: Option<(Instant, usize)>,
}

impl Client {
    pub(crate) fn new(
        net: &Net,
        id: String,
        servers: &[String],
        balanced: bool,
        times: Times,
        seed: u64,
    ) -> Arc<Self> {
        let mut chance = SmallRng::seed_from_u64(seed);
        let inner = Inner {
            life: Life::Gone { since: Instant::now() },
            registered: false,
            silent: false,
            server: chance.random_range(0..servers.len()),
            chance,
            not_found: 0,
            heard: None,
        };
        let link = net.link("client");
        Arc::new(Self {
            id,
            servers: servers.to_vec(),
            balanced,
            times,
            link,
            talks: tokio::sync::Mutex::default(),
            inner: Mutex::new(inner),
        })
    }

    pub(crate) fn life(&self) -> Life {
        self.inner().life
    }

    pub(crate) fn not_found(&self) -> u64 {
        self.inner().not_found
    }

    /// When a server last took its word, and which.
    pub(crate) fn heard(&self) -> Option<(Instant, &str)> {
        let (at, server) = self.inner().heard?;
        Some((at, &self.servers[server]))
    }

    /// It can reach nobody, or can again.
    pub(crate) fn set_silent(&self, silent: bool) {
        self.inner().silent = silent;
    }

    /// It starts, or changes its status: with a new timestamp.
    pub(crate) fn says(&self, status: &'static str, dirty: i64) {
        let mut inner = self.inner();
        inner.life = Life::Runs { status, dirty, since: Instant::now() };
        inner.registered = false;
    }

    /// It dies without a word.
    pub(crate) fn dies(&self) {
        self.inner().life = Life::Gone { since: Instant::now() };
    }

    /// It cancels, at every server in turn until one has heard it.
    pub(crate) async fn cancels(&self) {
        let _talks = self.talks.lock().await;
        self.dies();
        for _ in 0..self.servers.len() {
            if self.call(Method::DELETE, &format!("apps/SIM/{}", self.id), Bytes::new()).await.is_some() {
                break;
            }
        }
        self.inner().life = Life::Gone { since: Instant::now() };
    }

    /// Beats for ever.
    pub(crate) async fn run(self: Arc<Self>) {
        let most = u64::try_from(self.times.beat.as_millis()).unwrap();
        let first = self.inner().chance.random_range(0..most);
        sleep(Duration::from_millis(first)).await;
        loop {
            let talks = self.talks.lock().await;
            self.beat().await;
            drop(talks);
            sleep(self.times.beat).await;
        }
    }

    async fn beat(&self) {
        let (life, registered) = {
            let inner = self.inner();
            (inner.life, inner.registered && !inner.silent)
        };
        let Life::Runs { status, dirty, .. } = life else { return };
        if self.inner().silent {
            return;
        }
        if registered {
            let path = format!("apps/SIM/{}?status={status}&lastDirtyTimestamp={dirty}", self.id);
            match self.call(Method::PUT, &path, Bytes::new()).await {
                Some(StatusCode::NOT_FOUND) => self.inner().not_found += 1,
                Some(_) | None => return,
            }
        }
        self.register().await;
    }

    async fn register(&self) {
        let Life::Runs { status, dirty, since } = self.life() else { return };
        let body = registration(&self.id, status, dirty, self.times);
        let code = self.call(Method::POST, "apps/SIM", body).await;
        let mut inner = self.inner();
        if code.is_some_and(|code| code.is_success()) && inner.life == (Life::Runs { status, dirty, since }) {
            inner.registered = true;
        }
    }

    /// One call. A server that does not answer, or says that it cannot, is left for the next.
    async fn call(&self, method: Method, path: &str, body: Bytes) -> Option<StatusCode> {
        let server = {
            let mut inner = self.inner();
            if self.balanced {
                inner.server = inner.chance.random_range(0..self.servers.len());
            }
            self.servers[inner.server].clone()
        };
        let asked = self.inner().server;
        let renews = method != Method::DELETE;
        let request = Request::builder()
            .method(method)
            .uri(format!("http://{server}/eureka/{path}"))
            .header("content-type", "application/json")
            .header("accept", "application/json")
            .body(body)
            .unwrap();
        let code = self.link.send(request).await.ok().map(|response| response.status());
        let code = code.filter(|code| !code.is_server_error());
        if renews && code.is_some_and(|code| code.is_success()) {
            self.inner().heard = Some((Instant::now(), asked));
        }
        if code.is_none() {
            let mut inner = self.inner();
            inner.server = (inner.server + 1) % self.servers.len();
        }
        code
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap()
    }
}
