//! The simulated network: it delays, loses, repeats and cuts, all from one seed, and knows what went over it.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use bytes::Bytes;
use eurekad::node::Freezer;
use eurekad::peers::{Failure, Transport, TransportError};
use http_body_util::BodyExt;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};

/// After so long a sender gives up.
pub(crate) const PATIENCE: Duration = Duration::from_millis(1000);

/// Where a Java server is, if there is one.
pub(crate) const JAVA: &str = "j:1";

/// How bad the network is at the moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weather {
    /// The longest way, milliseconds.
    pub(crate) delay_ms: u64,
    /// How many in a hundred requests, and answers, are lost.
    pub(crate) loss: u32,
    /// How many in a hundred requests arrive twice, the second time late.
    pub(crate) twice: u32,
}

impl Weather {
    pub(crate) const FINE: Self = Self { delay_ms: 5, loss: 0, twice: 0 };
}

/// What the network has done, for coverage and for what must not happen.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    pub(crate) twice: u64,
    /// Requests between nodes that carried a record.
    pub(crate) with_record: u64,
}

#[derive(Debug)]
struct State {
    hosts: BTreeMap<String, Host>,
    cut: BTreeSet<(String, String)>,
    weather: Weather,
    chance: SmallRng,
    counts: Counts,
    started: Instant,
    /// A hash over everything that was delivered, and when.
    hash: DefaultHasher,
}

#[derive(Debug, Clone)]
struct Host {
    router: Router,
    freezer: Arc<Freezer>,
}

/// The network of one simulation.
#[derive(Debug, Clone)]
pub(crate) struct Net(Arc<Mutex<State>>);

impl Net {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(State {
            hosts: BTreeMap::new(),
            cut: BTreeSet::new(),
            weather: Weather::FINE,
            chance: SmallRng::seed_from_u64(seed),
            counts: Counts::default(),
            started: Instant::now(),
            hash: DefaultHasher::new(),
        })))
    }

    pub(crate) fn place(&self, host: &str, router: Router, freezer: &Arc<Freezer>) {
        self.state().hosts.insert(host.to_owned(), Host { router, freezer: Arc::clone(freezer) });
    }

    pub(crate) fn remove(&self, host: &str) {
        self.state().hosts.remove(host);
    }

    pub(crate) fn cut(&self, from: &str, to: &str) {
        self.state().cut.insert((from.to_owned(), to.to_owned()));
    }

    pub(crate) fn set_weather(&self, weather: Weather) {
        self.state().weather = weather;
    }

    /// Mends everything.
    pub(crate) fn heal(&self) {
        let mut state = self.state();
        state.cut.clear();
        state.weather = Weather::FINE;
    }

    pub(crate) fn counts(&self) -> Counts {
        self.state().counts
    }

    /// A hash over everything that was delivered so far.
    pub(crate) fn hash(&self) -> u64 {
        self.state().hash.finish()
    }

    /// The network as `from` sees it.
    pub(crate) fn link(&self, from: &str) -> Arc<Link> {
        Arc::new(Link { from: from.to_owned(), net: self.clone() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// What becomes of one request.
    fn fate(&self, from: &str, to: &str) -> Fate {
        let mut state = self.state();
        let Weather { delay_ms, loss, twice } = state.weather;
        let cut = |state: &State, a: &str, b: &str| state.cut.contains(&(a.to_owned(), b.to_owned()));
        let mut there = Duration::from_millis(state.chance.random_range(1..=delay_ms));
        let mut back = Duration::from_millis(state.chance.random_range(1..=delay_ms));
        // A few are very late.
        if state.chance.random_range(0..50) == 0 {
            there *= 4;
            back *= 2;
        }
        let lost = cut(&state, from, to) || state.chance.random_range(0..100) < loss;
        let answer_lost = cut(&state, to, from) || state.chance.random_range(0..100) < loss;
        // What a client sends twice it means twice; and Java's messages are not made to arrive twice.
        let once = [from, to].iter().any(|host| ["client", JAVA].contains(host));
        let twice = state.chance.random_range(0..100) < twice && !once;
        let again = twice.then(|| Duration::from_millis(state.chance.random_range(1..3000)));
        state.counts.lost += u64::from(lost) + u64::from(answer_lost);
        state.counts.twice += u64::from(twice);
        Fate { there, back, lost, answer_lost, again }
    }

    /// Hands a request over, once its host is not frozen.
    async fn deliver(
        &self,
        from: &str,
        to: &str,
        request: Request<Bytes>,
        given_up: impl Fn() -> bool,
    ) -> Option<Response<Bytes>> {
        let freezer = Arc::clone(&self.state().hosts.get(to)?.freezer);
        freezer.until(false).await;
        // What a client gave up on is not delivered late: it may say the opposite of what it has said elsewhere since.
        if from == "client" && given_up() {
            return None;
        }
        let router = self.state().hosts.get(to)?.router.clone();
        let (parts, body) = request.into_parts();
        {
            let mut state = self.state();
            let at = state.started.elapsed().as_micros();
            (at, from, to, parts.uri.path(), &body).hash(&mut state.hash);
            state.counts.delivered += 1;
            let record = from != "client" && (has(&body, b"\"i\":") || has(&body, b"\"Register\""));
            state.counts.with_record += u64::from(record);
        }
        let response = tower::ServiceExt::oneshot(router, Request::from_parts(parts, Body::from(body))).await;
        let (parts, body) = response.ok()?.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        Some(Response::from_parts(parts, body))
    }
}

struct Fate {
    there: Duration,
    back: Duration,
    lost: bool,
    answer_lost: bool,
    again: Option<Duration>,
}

fn has(body: &[u8], what: &[u8]) -> bool {
    body.windows(what.len()).any(|window| window == what)
}

/// The network as one host sees it.
#[derive(Debug)]
pub(crate) struct Link {
    from: String,
    net: Net,
}

impl Link {
    async fn send_one(&self, request: Request<Bytes>) -> Result<Response<Bytes>, TransportError> {
        let error = |failure, detail: &str| TransportError { failure, detail: detail.to_owned() };
        let to = request.uri().authority().unwrap().to_string();
        let fate = self.net.fate(&self.from, &to);
        let started = Instant::now();
        if fate.lost {
            sleep(PATIENCE).await;
            return Err(error(Failure::TimedOut, "no answer"));
        }
        sleep(fate.there).await;
        if !self.net.state().hosts.contains_key(&to) {
            return Err(error(Failure::Unreachable, "connection refused"));
        }
        if let Some(again) = fate.again {
            let (net, from, to, request) = (self.net.clone(), self.from.clone(), to.clone(), request.clone());
            tokio::spawn(async move {
                sleep(again).await;
                net.deliver(&from, &to, request, || false).await;
            });
        }
        // Who gives up does not take back what is on its way.
        let (answers, answer) = oneshot::channel();
        let (net, from) = (self.net.clone(), self.from.clone());
        tokio::spawn(async move {
            let response = net.deliver(&from, &to, request, || answers.is_closed()).await;
            drop(answers.send(response));
        });
        let rest = PATIENCE.saturating_sub(started.elapsed());
        match timeout(rest, answer).await {
            Ok(Ok(Some(response))) if !fate.answer_lost => {
                sleep(fate.back).await;
                Ok(response)
            }
            Ok(Ok(None) | Err(_)) => Err(error(Failure::Broken, "connection reset")),
            Ok(Ok(Some(_))) | Err(_) => {
                sleep(PATIENCE.saturating_sub(started.elapsed())).await;
                Err(error(Failure::TimedOut, "no answer"))
            }
        }
    }
}

impl Transport for Link {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, TransportError>> + Send + 'a>> {
        Box::pin(self.send_one(request))
    }
}
