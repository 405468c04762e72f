//! One peer: its queue and its sender.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use eurekad_wire::{ReplicationInstance, ReplicationListResponse, decode, encode};
use http::{HeaderValue, Method, Request, Response, header};
use rand::rngs::SmallRng;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::backoff::Backoff;
use super::messages::{self, Sent, Verdict};
use super::nodes::Wiring;
use super::problem::Problem;
use super::queue::{Flags, Queue};
use super::transport::{Failure, TransportError};
use super::view::{PeerKind, PeerView};
use super::{BATCH_HEADER, NODE_HEADER, NodeId};
use crate::clock::Tick;
use crate::registry::Key;
use crate::settings::PeerUrl;

/// The most items of one batch. **Compat:** what a Java server sends and expects.
const MOST_ITEMS: usize = 250;

/// The least wait after a failure that is longer than this.
const LEAST_PAUSE: Duration = Duration::from_secs(1);

/// Between two log lines about changes that a peer refuses.
const REFUSALS_LOGGED_EVERY: Duration = Duration::from_secs(60);

/// After so many server errors in a row a batch is halved: one item of it may be to blame.
const FAILURES_TO_HALVE: u32 = 3;

/// How often a URL that turned out to be this node itself is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// One peer.
#[derive(Debug)]
pub struct PeerEurekaNode {
    url: PeerUrl,
    wiring: Wiring,
    wake: Notify,
    retry: Notify,
    ended: CancellationToken,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    queue: Queue,
    /// Keys of the batch that is being sent.
    on_their_way: usize,
    kind: PeerKind,
    last_success: Option<i64>,
    last_error: Option<String>,
    round_trip: Option<Duration>,
    refused: u64,
    /// Whether it has left the list: what waits is still sent, and nothing else.
    leaving: bool,
    /// Parts of a batch that the peer could not take: they go first, each by itself, until the item to blame is alone.
    trouble: VecDeque<Vec<(Key, Flags)>>,
    /// Batches that the peer has taken.
    batches_taken: u64,
    /// Keys that failed alone with a server error, and how many batches had been taken by then.
    suspects: HashMap<Key, u64>,
    /// When refused changes were last logged, and how many have been refused since.
    refusals_logged: Option<Tick>,
    refusals_since: u64,
}

impl Inner {
    /// Keys that the peer has not taken yet.
    fn waiting(&self) -> usize {
        self.queue.len() + self.on_their_way + self.trouble.iter().map(Vec::len).sum::<usize>()
    }

    fn due_in(&self, now: Tick) -> Option<Duration> {
        if self.trouble.is_empty() { self.queue.due_in(now) } else { Some(Duration::ZERO) }
    }
}

impl PeerEurekaNode {
    pub(super) fn new(url: PeerUrl, wiring: Wiring) -> Self {
        let inner = Inner {
            queue: Queue::new(wiring.settings.queue_capacity, wiring.settings.linger),
            on_their_way: 0,
            kind: PeerKind::Unknown,
            last_success: None,
            last_error: None,
            round_trip: None,
            refused: 0,
            leaving: false,
            trouble: VecDeque::new(),
            batches_taken: 0,
            suspects: HashMap::new(),
            refusals_logged: None,
            refusals_since: 0,
        };
        Self {
            url,
            wiring,
            wake: Notify::new(),
            retry: Notify::new(),
            ended: CancellationToken::new(),
            inner: Mutex::new(inner),
        }
    }

    /// Its URL.
    pub fn url(&self) -> &PeerUrl {
        &self.url
    }

    /// What it is wired to.
    pub(super) fn wiring(&self) -> &Wiring {
        &self.wiring
    }

    /// What is known of it.
    pub fn view(&self) -> PeerView {
        let inner = self.inner();
        PeerView {
            url: self.url.to_string(),
            kind: inner.kind,
            available: inner.last_success.is_some() && inner.last_error.is_none(),
            last_success: inner.last_success,
            last_error: inner.last_error.clone(),
            round_trip: inner.round_trip,
            queued: inner.waiting(),
            dropped: inner.queue.dropped() + inner.refused,
        }
    }

    /// Who answers there.
    pub(super) fn kind(&self) -> PeerKind {
        self.inner().kind
    }

    /// Marks keys that this peer has to be told of.
    pub(super) fn mark(&self, keys: &[(Key, Flags)], now: Tick) {
        {
            let mut inner = self.inner();
            if inner.kind == PeerKind::Myself {
                return;
            }
            keys.iter().for_each(|(key, flags)| inner.queue.mark(key.clone(), *flags, now));
        }
        self.wake.notify_one();
    }

    /// Sends what is queued, until the peer is no longer wanted.
    pub async fn sender(self: Arc<Self>, chance: SmallRng) {
        tokio::select! { () = self.ended.cancelled() => {}, () = self.run(chance) => {} }
    }

    /// It has turned out to be this node.
    pub(super) fn is_myself(&self) {
        let mut inner = self.inner();
        inner.kind = PeerKind::Myself;
        inner.queue.clear();
    }

    /// It leaves the list, or comes back to it. Returns whether anything still waits.
    pub(super) fn leave(&self, leaving: bool) -> bool {
        let mut inner = self.inner();
        inner.leaving = leaving;
        inner.waiting() > 0
    }

    /// The peer is no longer wanted: its sender ends.
    pub(super) fn end(&self) {
        self.ended.cancel();
    }

    /// Whether it answered last time.
    pub(super) fn answers(&self) -> bool {
        let inner = self.inner();
        inner.last_success.is_some() && inner.last_error.is_none()
    }

    async fn run(&self, mut chance: SmallRng) {
        let mut backoff = Backoff::default();
        loop {
            if self.kind() == PeerKind::Unknown {
                self.introduce(&mut backoff, &mut chance).await;
                continue;
            }
            if self.kind() == PeerKind::Myself {
                tokio::time::sleep(LOOK_AGAIN).await;
                self.inner().kind = PeerKind::Unknown;
                continue;
            }
            let due = self.inner().due_in(self.wiring.clock.tick());
            match due {
                Some(Duration::ZERO) => {
                    if let Err(wait) = self.send_batch(&mut backoff, &mut chance).await {
                        self.pause(wait).await;
                    }
                }
                Some(wait) => {
                    tokio::select! { () = tokio::time::sleep(wait) => {}, () = self.wake.notified() => {} }
                }
                None => {
                    // Silence is no proof that the peer is well: an empty batch now and then keeps what is shown true.
                    tokio::select! {
                        () = self.wake.notified() => {}
                        () = tokio::time::sleep(self.wiring.settings.contact_interval) => {
                            if !self.inner().leaving {
                                self.introduce(&mut backoff, &mut chance).await;
                            }
                        }
                    }
                }
            }
        }
    }

    /// Ends a wait after a failure, if one is going on.
    pub(super) fn try_again(&self) {
        self.retry.notify_waiters();
    }

    /// Waits after a failure. A sign of life ends the wait, but not in its first second: two nodes that fail each other
    /// would wake each other without end.
    async fn pause(&self, wait: Duration) {
        let at_least = wait.min(LEAST_PAUSE);
        tokio::time::sleep(at_least).await;
        let rest = tokio::time::sleep(wait - at_least);
        tokio::select! { () = rest => {}, () = self.retry.notified() => {} }
    }

    /// Sends an empty batch to learn who answers. Any Eureka server takes it and does nothing.
    async fn introduce(&self, backoff: &mut Backoff, chance: &mut SmallRng) {
        match self.exchange(&[]).await {
            Ok(_) => backoff.succeeded(),
            Err(problem) => {
                let wait = backoff.failed(chance);
                self.failed(&problem, wait);
                self.pause(wait).await;
            }
        }
    }

    /// Sends one batch. `Err` says how long to wait before the next.
    async fn send_batch(&self, backoff: &mut Backoff, chance: &mut SmallRng) -> Result<(), Duration> {
        let now = self.wiring.clock.tick();
        let taken = {
            let mut inner = self.inner();
            let taken = inner.trouble.pop_front().unwrap_or_else(|| inner.queue.take(MOST_ITEMS));
            inner.on_their_way = taken.len();
            taken
        };
        let to_ours = matches!(self.kind(), PeerKind::Ours(_));
        let sent: Vec<Sent> = taken
            .iter()
            .flat_map(|(key, flags)| messages::items(&self.wiring.registry, now, key, *flags, to_ours))
            .collect();
        let answer = if sent.is_empty() { None } else { Some(self.exchange(&sent).await) };
        self.inner().on_their_way = 0;
        match answer {
            None => {
                // A queue of nothing but evicted keys must not hold the thread.
                tokio::task::yield_now().await;
                Ok(())
            }
            Some(Ok(answer)) => {
                backoff.succeeded();
                {
                    let mut inner = self.inner();
                    inner.batches_taken += 1;
                    if inner.queue.is_empty() && inner.trouble.is_empty() {
                        inner.suspects.clear();
                    }
                }
                self.judge(&sent, answer);
                Ok(())
            }
            Some(Err(problem)) => {
                let wait = backoff.failed(chance);
                self.failed(&problem, wait);
                self.keep(taken, &problem, backoff.failures());
                Err(wait)
            }
        }
    }

    /// After a failure everything is kept; a batch that the peer cannot take is halved until the item to blame is
    /// alone, and that one is dropped.
    fn keep(&self, taken: Vec<(Key, Flags)>, problem: &Problem, failures: u32) {
        let halve = match problem {
            Problem::Status(status) => match status.as_u16() {
                400 | 413 => true,
                503 => false,
                code => code >= 500 && failures >= FAILURES_TO_HALVE,
            },
            Problem::NoAnswer(_) | Problem::NotEureka(_) | Problem::WrongLength { .. } => false,
        };
        // One item that ends in a server error may be to blame, or the whole server: it is to blame if others were taken
        // since it first failed alone.
        let server_error = matches!(problem, Problem::Status(status) if status.is_server_error());
        if halve
            && server_error
            && let [(key, _)] = &taken[..]
        {
            let mut inner = self.inner();
            let taken_now = inner.batches_taken;
            if *inner.suspects.entry(key.clone()).or_insert(taken_now) == taken_now {
                inner.queue.put_back(taken, self.wiring.clock.tick());
                return;
            }
            inner.suspects.clear();
        }
        if halve && let [(key, _)] = &taken[..] {
            self.inner().refused += 1;
            tracing::warn!(
                peer = %self.url, app = ?key.app, id = ?key.id, %problem, "dropped: the peer does not take it"
            );
            return;
        }
        let mut inner = self.inner();
        if halve {
            let mut first = taken;
            let second = first.split_off(first.len() / 2);
            inner.trouble.push_front(second);
            inner.trouble.push_front(first);
        } else {
            inner.queue.put_back(taken, self.wiring.clock.tick());
        }
    }

    fn judge(&self, sent: &[Sent], answer: ReplicationListResponse) {
        let (mut again, mut refused) = (Vec::new(), Vec::new());
        for (sent, answer) in sent.iter().zip(answer.responses) {
            match messages::judge(&self.wiring.registry, sent, answer) {
                Verdict::Done => {}
                Verdict::SendRecord => {
                    again.push((sent.key.clone(), Flags { record: true, ..Flags::default() }));
                }
                Verdict::Refused(code) => refused.push((sent, code)),
            }
        }
        self.log_refusals(&refused);
        // An override goes with the record, and counts where none is set: the peer may know better.
        self.inner().queue.put_back(again, self.wiring.clock.tick());
    }

    /// One line about refused changes a minute, with how many there were: a peer that is full refuses every one.
    fn log_refusals(&self, refused: &[(&Sent, u16)]) {
        let Some((sent, code)) = refused.first() else { return };
        let now = self.wiring.clock.tick();
        let times = {
            let mut inner = self.inner();
            inner.refused += refused.len() as u64;
            inner.refusals_since += refused.len() as u64;
            if inner.refusals_logged.is_some_and(|at| now.since(at) < REFUSALS_LOGGED_EVERY) {
                return;
            }
            inner.refusals_logged = Some(now);
            std::mem::take(&mut inner.refusals_since)
        };
        tracing::warn!(
            peer = %self.url, times, code, app = ?sent.key.app, id = ?sent.key.id,
            action = sent.item.action.as_str(), "the peer refuses changes; this is one of them"
        );
    }

    /// One exchange with the peer: who it is is learned from every answer.
    async fn exchange(&self, sent: &[Sent]) -> Result<ReplicationListResponse, Problem> {
        let items: Vec<ReplicationInstance> = sent.iter().map(|sent| sent.item.clone()).collect();
        let body = Bytes::from(encode::replication_list(&items));
        let started = self.wiring.clock.tick();
        let mut request = self.request(Method::POST, "peerreplication/batch/", body);
        request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Ok(number) =
            HeaderValue::from_str(&self.wiring.batches.fetch_add(1, Ordering::Relaxed).to_string())
        {
            request.headers_mut().insert(BATCH_HEADER, number);
        }
        let limit = self.wiring.settings.connect_timeout + self.wiring.settings.read_timeout;
        let response = match tokio::time::timeout(limit, self.wiring.transport.send(request)).await {
            Ok(answer) => answer.map_err(Problem::NoAnswer)?,
            Err(_elapsed) => {
                let detail = format!("nothing for {limit:?}");
                return Err(Problem::NoAnswer(TransportError { failure: Failure::TimedOut, detail }));
            }
        };
        if !response.status().is_success() {
            return Err(Problem::Status(response.status()));
        }
        let answer =
            decode::replication_response(response.body()).map_err(|e| Problem::NotEureka(e.to_string()))?;
        if answer.responses.len() != sent.len() {
            return Err(Problem::WrongLength { sent: sent.len(), answered: answer.responses.len() });
        }
        self.succeeded(&response, self.wiring.clock.tick().since(started));
        Ok(answer)
    }

    /// A request to this peer, with what every one carries.
    pub(super) fn request(&self, method: Method, path: &str, body: Bytes) -> Request<Bytes> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = self.url.join(path).parse().expect("a parsed URL with a fixed path is a URL");
        let headers = request.headers_mut();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        // **Compat:** how servers tell each other from clients.
        headers.insert("discoveryidentity-name", HeaderValue::from_static("DefaultServer"));
        headers.insert("discoveryidentity-version", HeaderValue::from_static("1.0"));
        if let Ok(id) = HeaderValue::from_str(&self.wiring.id.to_string()) {
            headers.insert(NODE_HEADER, id);
        }
        if let Some(authorization) = self.url.authorization() {
            headers.insert(header::AUTHORIZATION, authorization.clone());
        }
        request
    }

    fn succeeded(&self, response: &Response<Bytes>, round_trip: Duration) {
        let id = response.headers().get(NODE_HEADER).and_then(|v| v.to_str().ok()?.parse::<NodeId>().ok());
        let kind = match id {
            Some(id) if id == self.wiring.id => PeerKind::Myself,
            Some(id) => PeerKind::Ours(id),
            None => PeerKind::Java,
        };
        let (news, turned, queued) = {
            let mut inner = self.inner();
            let news = inner.last_error.is_some() || inner.last_success.is_none();
            inner.last_success = Some(self.wiring.clock.epoch_millis());
            inner.last_error = None;
            inner.round_trip = Some(round_trip);
            let before = std::mem::replace(&mut inner.kind, kind);
            let turned = kind == PeerKind::Myself && matches!(before, PeerKind::Ours(_) | PeerKind::Java);
            if kind == PeerKind::Myself {
                inner.queue.clear();
                inner.trouble.clear();
            }
            (news, turned, inner.queue.len())
        };
        if turned {
            tracing::warn!(
                peer = %self.url,
                "another node answered there before, and now this one does: a balancer, or something that repeats headers"
            );
        }
        if news {
            tracing::info!(peer = %self.url, kind = kind.word(), queued, "the peer answers");
        }
    }

    fn failed(&self, problem: &Problem, wait: Duration) {
        let words = problem.to_string();
        // The same failure again is no news.
        if self.inner().last_error.replace(words.clone()).as_ref() != Some(&words) {
            tracing::warn!(peer = %self.url, retry_in = ?wait, "the peer {words}");
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
