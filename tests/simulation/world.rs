//! One simulated history: a cluster, its clients and operators, and what goes wrong, all from one seed.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{Method, Request, StatusCode};
use bytes::Bytes;
use eurekad::clock::Clock;
use eurekad::peers::Transport;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::time::{Instant, sleep};

use crate::client::{Client, Life, Times};
use crate::invariants::{self, Broken};
use crate::java::Java;
use crate::net::{JAVA, Net, Weather};
use crate::nodes::{Place, Shown};

pub(crate) const EPOCH: i64 = 1_750_000_000_000;
const OWN: [&str; 4] = ["UP", "UP", "DOWN", "STARTING"];
const SET: [&str; 3] = ["OUT_OF_SERVICE", "DOWN", "UP"];

/// What kind of history a seed is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    /// Whether nodes compare and repair. Where they do not, no process dies either: the queues must be enough.
    pub(crate) repair: bool,
    /// Whether clients are sent to another node with every call.
    pub(crate) balanced: bool,
    /// Whether the nodes' wall clocks disagree from the beginning.
    pub(crate) skewed: bool,
    pub(crate) clients: usize,
    pub(crate) times: Times,
    /// Whether a Java server is among the peers.
    pub(crate) java: bool,
}

impl Plan {
    pub(crate) fn of(seed: u64) -> Self {
        let mut chance = SmallRng::seed_from_u64(seed ^ 0x5eed);
        Self {
            seed,
            repair: !seed.is_multiple_of(3),
            balanced: chance.random_range(0..3) == 0,
            skewed: chance.random_range(0..3) == 0,
            clients: chance.random_range(4..9),
            times: Times::SHORT,
            java: !seed.is_multiple_of(3) && chance.random_range(0..3) == 0,
        }
    }
}

/// What an operator set last, and whether all nodes must have understood it alike.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SetStatus {
    pub(crate) value: Option<&'static str>,
    pub(crate) certain: bool,
}

/// What has happened, for coverage.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Happened {
    pub(crate) crashes: u64,
    pub(crate) restarts_in_order: u64,
    pub(crate) freezes: u64,
    pub(crate) cuts: u64,
    pub(crate) steps: u64,
    pub(crate) cancelled: u64,
    pub(crate) died: u64,
    pub(crate) overrides: u64,
}

/// A running history.
pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) net: Net,
    pub(crate) places: Vec<Place>,
    pub(crate) java: Option<Arc<Java>>,
    pub(crate) clients: Vec<Arc<Client>>,
    pub(crate) overrides: BTreeMap<String, SetStatus>,
    /// Who cancelled while all was well, and when.
    pub(crate) cancelled_in_peace: BTreeMap<String, Instant>,
    pub(crate) happened: Happened,
    chance: SmallRng,
    started: Instant,
    /// Until when something is wrong, or may still be felt.
    troubled_until: Instant,
    /// Places that are down, and when they start again.
    down: Vec<(usize, Instant)>,
    frozen: Vec<(usize, Instant)>,
    history: String,
}

impl World {
    pub(crate) async fn start(plan: Plan) -> Self {
        let mut chance = SmallRng::seed_from_u64(plan.seed);
        let net = Net::new(chance.random());
        let hosts = ["a:1", "b:1", "c:1"];
        let ours: Vec<String> = hosts.iter().map(|host| format!("http://{host}/eureka/")).collect();
        let mut urls = ours.clone();
        urls.extend(plan.java.then(|| format!("http://{JAVA}/eureka/")));
        let repair = if plan.repair { 10_000 } else { 0 };
        let eviction = plan.times.beat.as_millis() / 2;
        let settings = [
            format!("--eureka.client.service-url.default-zone={}", urls.join(",")),
            "--eureka.client.register-with-eureka=false".to_owned(),
            "--eureka.server.use-read-only-response-cache=false".to_owned(),
            format!("--eureka.server.eviction-interval-timer-in-ms={eviction}"),
            "--eureka.server.peer-node-connect-timeout-ms=300".to_owned(),
            "--eureka.server.peer-node-read-timeout-ms=900".to_owned(),
            "--eurekad.replication.contact-interval-ms=1000".to_owned(),
            "--eurekad.boot.sync-timeout-ms=5000".to_owned(),
            format!("--eurekad.repair.interval-ms={repair}"),
        ];
        let mut places: Vec<Place> = hosts
            .iter()
            .map(|host| {
                let skew = if plan.skewed { chance.random_range(-1_800_000..1_800_000) } else { 0 };
                let clock = Clock::simulated(EPOCH + skew);
                Place::new(&net, host, &settings, clock, chance.random())
            })
            .collect();
        let java = plan.java.then(|| {
            let link: Arc<dyn Transport> = net.link(JAVA);
            let java = Java::new(ours, link, Clock::simulated(EPOCH));
            net.place(JAVA, java.router(), &Arc::default());
            java
        });
        places.iter_mut().for_each(Place::start);
        sleep(Duration::from_secs(2)).await;
        let servers = hosts.iter().copied().chain(plan.java.then_some(JAVA));
        let servers: Vec<String> = servers.map(str::to_owned).collect();
        let clients: Vec<Arc<Client>> = (0..plan.clients)
            .map(|n| {
                Client::new(&net, format!("i-{n}"), &servers, plan.balanced, plan.times, chance.random())
            })
            .collect();
        let now = Instant::now();
        let mut world = Self {
            plan,
            net,
            places,
            java,
            clients,
            overrides: BTreeMap::new(),
            cancelled_in_peace: BTreeMap::new(),
            happened: Happened::default(),
            chance,
            started: now,
            troubled_until: now,
            down: Vec::new(),
            frozen: Vec::new(),
            history: format!("{plan:?}"),
        };
        for n in 0..world.clients.len() {
            world.client_says(n);
            tokio::spawn(Arc::clone(&world.clients[n]).run());
        }
        if let Some(java) = &world.java {
            // With nothing to copy it would look for half a minute, and evict nobody until then.
            sleep(plan.times.beat * 2).await;
            java.boot().await;
        }
        world
    }

    /// What happened, to be read when a seed fails.
    pub(crate) fn history(&self) -> &str {
        &self.history
    }

    pub(crate) fn note(&mut self, what: &str) {
        tracing::info!("== {what}");
        let at = self.started.elapsed().as_secs_f64();
        let _ = write!(self.history, "\n  {at:8.3} {what}");
    }

    /// A while of clients and operators doing what they do, while things go wrong.
    pub(crate) async fn trouble(&mut self, during: Duration) -> Result<(), Broken> {
        let end = Instant::now() + during;
        while Instant::now() < end {
            self.recover().await;
            match self.chance.random_range(0..10) {
                0..=2 => self.something_breaks().await,
                3..=7 => self.somebody_acts().await,
                _ => {}
            }
            for _ in 0..self.chance.random_range(1..10) {
                sleep(Duration::from_millis(250)).await;
                self.doubt_overrides();
                invariants::always(self)?;
            }
        }
        self.net.heal();
        self.note("everything is mended");
        self.troubled_until = Instant::now() + Duration::from_secs(10);
        while !self.down.is_empty() || !self.frozen.is_empty() {
            sleep(Duration::from_millis(500)).await;
            self.recover().await;
        }
        Ok(())
    }

    /// Where a lease has ended in the trouble, its override has ended too: nothing can be said of it any more.
    fn doubt_overrides(&mut self) {
        let shown = self.shown();
        let up = self.places.iter().enumerate().filter(|(n, _)| !self.is_out(*n)).map(|(n, _)| &shown[n].1);
        let lost: Vec<String> = up
            .flat_map(|shows| self.overrides.keys().filter(|id| !shows.contains_key(*id)).cloned())
            .collect();
        for id in lost {
            self.overrides.insert(id, SetStatus { value: None, certain: false });
        }
    }

    /// A while of clients and operators doing what they do, and nothing going wrong.
    pub(crate) async fn peace(&mut self, during: Duration) -> Result<(), Broken> {
        let end = Instant::now() + during;
        while Instant::now() < end {
            self.somebody_acts().await;
            for _ in 0..self.chance.random_range(1..6) {
                sleep(Duration::from_millis(500)).await;
                invariants::cancelled::look(self)?;
            }
        }
        Ok(())
    }

    async fn recover(&mut self) {
        let now = Instant::now();
        for (n, until) in std::mem::take(&mut self.frozen) {
            if until <= now {
                self.places[n].freeze(false);
                self.note(&format!("{} thaws", self.places[n].host));
                self.troubled_until = now + Duration::from_secs(10);
            } else {
                self.frozen.push((n, until));
            }
        }
        for (n, until) in std::mem::take(&mut self.down) {
            if until <= now {
                self.places[n].start();
                self.note(&format!("{} starts", self.places[n].host));
                self.troubled_until = now + Duration::from_secs(10);
            } else {
                self.down.push((n, until));
            }
        }
    }

    async fn something_breaks(&mut self) {
        self.troubled_until = Instant::now() + Duration::from_secs(3600);
        let n = self.chance.random_range(0..self.places.len());
        let other = (n + self.chance.random_range(1..self.places.len())) % self.places.len();
        let (mut host, mut to) = (self.places[n].host.clone(), self.places[other].host.clone());
        if self.plan.java && self.chance.random_range(0..3) == 0 {
            to = JAVA.to_owned();
            if self.chance.random_range(0..2) == 0 {
                std::mem::swap(&mut host, &mut to);
            }
        }
        match self.chance.random_range(0..9) {
            0 => {
                self.net.cut(&host, &to);
                self.happened.cuts += 1;
                self.note(&format!("cut {host} to {to}"));
            }
            1 => {
                for other in ["a:1", "b:1", "c:1", JAVA].into_iter().filter(|other| *other != host) {
                    self.net.cut(&host, other);
                    self.net.cut(other, &host);
                }
                self.happened.cuts += 1;
                self.note(&format!("{host} is cut off"));
            }
            2 | 3 => {
                self.net.heal();
                self.note("the network is mended");
            }
            4 => {
                let weather = Weather {
                    delay_ms: self.chance.random_range(5..600),
                    loss: self.chance.random_range(0..30),
                    twice: self.chance.random_range(0..20),
                };
                self.net.set_weather(weather);
                self.note(&format!("{weather:?}"));
            }
            5 if !self.is_out(n) => {
                let host = self.places[n].host.clone();
                let secs = self.chance.random_range(1..10);
                self.places[n].freeze(true);
                self.frozen.push((n, Instant::now() + Duration::from_secs(secs)));
                self.happened.freezes += 1;
                self.note(&format!("{host} freezes for {secs} s"));
            }
            6 if !self.is_out(n) && self.plan.repair => {
                let host = self.places[n].host.clone();
                let secs = self.chance.random_range(0..12);
                self.places[n].stop(false).await;
                self.down.push((n, Instant::now() + Duration::from_secs(secs)));
                self.happened.crashes += 1;
                self.note(&format!("{host} dies for {secs} s"));
            }
            7 if !self.is_out(n) && self.plan.repair => {
                let host = self.places[n].host.clone();
                self.note(&format!("{host} stops in good order"));
                self.places[n].stop(true).await;
                self.down.push((n, Instant::now() + Duration::from_secs(1)));
                self.happened.restarts_in_order += 1;
            }
            8 => {
                let host = self.places[n].host.clone();
                let millis = self.chance.random_range(-3_600_000..3_600_000);
                self.places[n].step(millis);
                self.happened.steps += 1;
                self.note(&format!("the wall clock of {host} steps by {millis} ms"));
            }
            _ => {}
        }
    }

    pub(crate) fn is_out(&self, n: usize) -> bool {
        let listed = |list: &[(usize, Instant)]| list.iter().any(|(at, _)| *at == n);
        listed(&self.down) || listed(&self.frozen)
    }

    async fn somebody_acts(&mut self) {
        let n = self.chance.random_range(0..self.clients.len());
        let client = Arc::clone(&self.clients[n]);
        match self.chance.random_range(0..8) {
            0 | 1 => self.client_says(n),
            2 => {
                if matches!(client.life(), Life::Runs { .. }) {
                    self.note(&format!("{} cancels", client.id));
                    self.happened.cancelled += 1;
                    self.overrides.remove(&client.id);
                    client.cancels().await;
                    if Instant::now() > self.troubled_until {
                        self.cancelled_in_peace.insert(client.id.clone(), Instant::now());
                    }
                }
            }
            3 => {
                if matches!(client.life(), Life::Runs { .. }) {
                    client.dies();
                    self.happened.died += 1;
                    self.overrides.remove(&client.id);
                    self.note(&format!("{} dies", client.id));
                }
            }
            _ => self.operator_acts(&client).await,
        }
    }

    /// A client starts, or changes its status.
    fn client_says(&mut self, n: usize) {
        let status = OWN[self.chance.random_range(0..OWN.len())];
        let dirty = EPOCH + i64::try_from(self.started.elapsed().as_millis()).unwrap();
        let client = Arc::clone(&self.clients[n]);
        // A process that starts again right after its end may find its old override or not.
        let fresh =
            matches!(client.life(), Life::Gone { since } if since.elapsed() < Duration::from_secs(60));
        if fresh && self.started.elapsed() > Duration::from_secs(1) {
            self.overrides.insert(client.id.clone(), SetStatus { value: None, certain: false });
        }
        self.cancelled_in_peace.remove(&client.id);
        client.says(status, dirty);
        self.note(&format!("{} says {status} {dirty}", client.id));
    }

    /// An operator sets a status at some node, or takes it back.
    async fn operator_acts(&mut self, client: &Client) {
        let up: Vec<&Place> = self.places.iter().filter(|place| place.running.is_some()).collect();
        if up.is_empty() || !matches!(client.life(), Life::Runs { .. }) {
            return;
        }
        let host = up[self.chance.random_range(0..up.len())].host.clone();
        let set = self.chance.random_range(0..3) > 0;
        let value = SET[self.chance.random_range(0..SET.len())];
        let method = if set { Method::PUT } else { Method::DELETE };
        let uri = format!("http://{host}/eureka/apps/SIM/{}/status?value={value}", client.id);
        let request = Request::builder().method(method.clone()).uri(uri).body(Bytes::new()).unwrap();
        let shown = self.places.iter().find(|place| place.host == host).map(Place::shows).unwrap_or_default();
        let shown = shown.get(&client.id).cloned();
        let code = self.net.link("client").send(request).await.map(|response| response.status());
        let taken = code.as_ref().is_ok_and(StatusCode::is_success);
        self.note(&format!("operator {method} {value} of {} at {host}: {code:?}", client.id));
        self.happened.overrides += u64::from(taken);
        let calm = Instant::now() > self.troubled_until;
        // Set to what is shown, nothing is stored; and who gets no answer does not know what came of it.
        let stored = shown
            .as_ref()
            .is_some_and(|shown| if set { shown.status != value } else { !shown.over.is_empty() });
        let known = self.overrides.get(&client.id).copied();
        let next = match (taken && calm, stored) {
            (true, true) => SetStatus { value: set.then_some(value), certain: true },
            (true, false) if known.is_none_or(|known| known.certain) => {
                known.unwrap_or(SetStatus { value: None, certain: true })
            }
            _ => SetStatus { value: None, certain: false },
        };
        self.overrides.insert(client.id.clone(), next);
    }

    /// Who is to be seen at the end, with what its client said last.
    pub(crate) fn truth(&self) -> BTreeMap<String, (i64, &'static str)> {
        let running = self.clients.iter().filter_map(|client| match client.life() {
            Life::Runs { status, dirty, .. } => Some((client.id.clone(), (dirty, status))),
            Life::Gone { .. } => None,
        });
        running.collect()
    }

    /// What each node shows.
    pub(crate) fn shown(&self) -> Vec<(String, BTreeMap<String, Shown>)> {
        self.places.iter().map(|place| (place.host.clone(), place.shows())).collect()
    }

    pub(crate) async fn end(mut self) {
        for place in &mut self.places {
            place.stop(false).await;
        }
        if let Some(java) = self.java {
            java.kill();
        }
    }
}
