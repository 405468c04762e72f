//! One peer: its queue and its sender.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rand::rngs::SmallRng;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::NodeId;
use super::backoff::Backoff;
use super::logged::Logged;
use super::nodes::Wiring;
use super::problem::Problem;
use super::queue::{Flags, Queue};
use super::view::{PeerKind, PeerState};
use crate::clock::Tick;
use crate::registry::Key;
use crate::settings::PeerUrl;

/// The most items of one batch. **Compat:** what a Java server sends and expects.
const MOST_ITEMS: usize = 250;

/// The most keys that a node of this kind is told of at once.
const MOST_KEYS: usize = 1000;

/// The least wait after a failure that is longer than this.
const LEAST_PAUSE: Duration = Duration::from_secs(1);

/// Between two log lines about changes that a peer refuses.
const REFUSALS_LOGGED_EVERY: Duration = Duration::from_secs(60);

/// After so many server errors in a row a batch is halved: one item of it may be to blame.
const FAILURES_TO_HALVE: u32 = 3;

/// How often a URL that turned out to be this node itself is looked at again.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// What a peer made of what it was told.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Keys that it has to be told of again.
    pub(super) again: Vec<(Key, Flags)>,
    /// What it refused.
    pub(super) refused: Vec<Refused>,
}

/// Something that a peer refused.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) key: Key,
    pub(super) what: &'static str,
    pub(super) code: u16,
    /// Why, in the peer's own words; a Java server has none.
    pub(super) why: Option<String>,
}

/// One peer.
#[derive(Debug)]
pub struct PeerEurekaNode {
    url: PeerUrl,
    wiring: Wiring,
    wake: Notify,
    retry: Notify,
    /// Signalled when it is back in the list; kept until somebody waits.
    back: Notify,
    ended: CancellationToken,
    logged: Logged,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
pub(super) struct Inner {
    pub(super) queue: Queue,
    /// The batch that is being sent.
    pub(super) on_their_way: Vec<(Key, Flags)>,
    pub(super) kind: PeerKind,
    pub(super) state: Option<PeerState>,
    /// When it was last compared with, how many instances it had, and whether it knew the same.
    pub(super) compared: Option<(Tick, usize, bool)>,
    /// The node that answered before this one, and when it last did.
    pub(super) before: Option<(NodeId, Tick)>,
    pub(super) balancer_logged: Option<Tick>,
    /// Since when there was no answer at all.
    pub(super) unreachable_since: Option<Tick>,
    /// When something last may not have reached the peer.
    pub(super) lost_at: Option<Tick>,
    /// When it was last compared with.
    pub(super) compared_at: Option<Tick>,
    pub(super) last_success: Option<i64>,
    /// When it last answered.
    pub(super) answered_at: Option<Tick>,
    pub(super) last_error: Option<String>,
    pub(super) round_trip: Option<Duration>,
    pub(super) refused: u64,
    /// Whether it has left the list: what waits is still sent, and nothing else.
    pub(super) leaving: bool,
    /// Parts of a batch that the peer could not take: they go first, each by itself, until the item to blame is alone.
    pub(super) trouble: VecDeque<Vec<(Key, Flags)>>,
    /// Batches that the peer has taken.
    pub(super) batches_taken: u64,
    /// Keys that failed alone with a server error, and how many batches had been taken by then.
    pub(super) suspects: HashMap<Key, u64>,
    /// When refused changes were last logged, and how many have been refused since.
    pub(super) refusals_logged: Option<Tick>,
    pub(super) refusals_since: u64,
}

impl Inner {
    /// Keys that the peer has not taken yet.
    pub(super) fn waiting(&self) -> usize {
        self.queue.len() + self.on_their_way.len() + self.trouble.iter().map(Vec::len).sum::<usize>()
    }

    fn due_in(&self, now: Tick) -> Option<Duration> {
        if self.trouble.is_empty() { self.queue.due_in(now) } else { Some(Duration::ZERO) }
    }
}

impl PeerEurekaNode {
    pub(super) fn new(url: PeerUrl, wiring: Wiring) -> Self {
        let crowded_out = wiring.metrics.crowded_out.clone();
        let inner = Inner {
            queue: Queue::new(wiring.settings.queue_capacity, wiring.settings.linger, crowded_out),
            on_their_way: Vec::new(),
            kind: PeerKind::Unknown,
            state: None,
            compared: None,
            before: None,
            balancer_logged: None,
            unreachable_since: None,
            lost_at: None,
            compared_at: None,
            last_success: None,
            answered_at: None,
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
            back: Notify::new(),
            ended: CancellationToken::new(),
            logged: Logged::default(),
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

    /// What is logged of it once in a while only.
    pub(super) fn logged(&self) -> &Logged {
        &self.logged
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
            let dropped = inner.queue.dropped();
            keys.iter().for_each(|(key, flags)| inner.queue.mark(key.clone(), *flags, now));
            if inner.queue.dropped() > dropped {
                inner.lost_at = Some(now);
                self.wiring.losses.note(now);
            }
        }
        self.wake.notify_one();
    }

    /// Sends what is queued, until the peer is no longer wanted.
    pub async fn sender(self: Arc<Self>, chance: SmallRng) {
        tokio::select! { biased; () = self.ended.cancelled() => {}, () = self.run(chance) => {} }
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

    /// Why it does not answer, for a person; `None` if it does.
    pub(super) fn says_why_not(&self) -> Option<String> {
        if self.answers() {
            return None;
        }
        let why = self.inner().last_error.clone();
        Some(format!("{} {}", self.url, why.as_deref().unwrap_or("has not answered")))
    }

    async fn run(&self, mut chance: SmallRng) {
        let mut backoff = Backoff::default();
        {
            // What a sender before this one was about to send, when it panicked.
            let mut inner = self.inner();
            let left = std::mem::take(&mut inner.on_their_way);
            inner.queue.put_back(left, self.wiring.clock.tick());
        }
        loop {
            if self.has_to_say_who_it_is() {
                self.introduce(&mut backoff, &mut chance).await;
                continue;
            }
            if self.kind() == PeerKind::Myself {
                tokio::time::sleep(LOOK_AGAIN).await;
                self.look_again(&mut backoff, &mut chance).await;
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
                    tokio::select! { biased; () = tokio::time::sleep(wait) => {}, () = self.wake.notified() => {} }
                }
                None => {
                    // Silence is no proof that the peer is well: an empty batch now and then keeps what is shown true.
                    tokio::select! {
                    biased;
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

    /// Whether who answers there is unknown, or may be another process than before.
    fn has_to_say_who_it_is(&self) -> bool {
        let inner = self.inner();
        match inner.kind {
            PeerKind::Unknown => true,
            PeerKind::Ours(_) => inner.unreachable_since.is_some(),
            PeerKind::Java | PeerKind::Myself => false,
        }
    }

    /// Whether it has not been heard for as long as a peer may be that has nothing to be told.
    fn is_silent(&self) -> bool {
        let (inner, now) = (self.inner(), self.wiring.clock.tick());
        !inner.leaving
            && inner.answered_at.is_none_or(|at| now.since(at) >= self.wiring.settings.contact_interval)
    }

    /// It is back in the list: what waits for it is not to wait for the end of a pause.
    pub(super) fn is_back(&self) {
        self.back.notify_one();
    }

    /// Ends a wait after a failure, if one is going on.
    pub(super) fn try_again(&self) {
        self.retry.notify_waiters();
    }

    /// Waits after a failure. A sign of life ends the wait, but not in its first second: two nodes that fail each other
    /// would wake each other without end.
    async fn pause(&self, wait: Duration) {
        let at_least = wait.min(LEAST_PAUSE);
        let waiting = async {
            tokio::time::sleep(at_least).await;
            let rest = tokio::time::sleep(wait - at_least);
            tokio::select! { biased; () = rest => {}, () = self.retry.notified() => {} }
        };
        tokio::select! { biased; () = waiting => {}, () = self.back.notified() => {} }
    }

    /// Whether it is still this node. It stays so until something else is known: nobody is to see it as a peer meanwhile.
    async fn look_again(&self, backoff: &mut Backoff, chance: &mut SmallRng) {
        self.introduce(backoff, chance).await;
        if !self.answers() {
            self.inner().kind = PeerKind::Unknown;
        }
    }

    /// Sends an empty batch to learn who answers. Any Eureka server takes it and does nothing.
    async fn introduce(&self, backoff: &mut Backoff, chance: &mut SmallRng) {
        match self.batch(&[]).await {
            // If something waits, it has still to be seen whether the peer takes that.
            Ok(_) if self.inner().waiting() > 0 => {}
            Ok(_) => backoff.succeeded(),
            Err(problem) => {
                let wait = backoff.failed(chance);
                self.failed(&problem, wait);
                self.pause(wait).await;
            }
        }
    }

    /// Tells the peer of the first keys that wait. `Err` says how long to wait before the next.
    async fn send_batch(&self, backoff: &mut Backoff, chance: &mut SmallRng) -> Result<(), Duration> {
        let to_ours = matches!(self.kind(), PeerKind::Ours(_));
        let taken = {
            let mut inner = self.inner();
            let most = if to_ours { MOST_KEYS } else { MOST_ITEMS };
            let taken = inner.trouble.pop_front().unwrap_or_else(|| inner.queue.take(most));
            inner.on_their_way.clone_from(&taken);
            taken
        };
        let answer = if to_ours { self.tell_ours(&taken).await } else { self.tell_java(&taken).await };
        self.inner().on_their_way.clear();
        match answer {
            Ok(None) => {
                // A queue of nothing but evicted keys must not hold the thread.
                tokio::task::yield_now().await;
                // Nor may what comes all the time and is not sent, as heartbeats to a peer that leaves, keep it from
                // noticing that somebody else answers there by now.
                if self.is_silent() {
                    self.introduce(backoff, chance).await;
                }
                Ok(())
            }
            Ok(Some(answers)) => {
                backoff.succeeded();
                {
                    let mut inner = self.inner();
                    inner.batches_taken += 1;
                    if inner.queue.is_empty() && inner.trouble.is_empty() {
                        inner.suspects.clear();
                    }
                }
                self.log_refusals(&answers.refused);
                self.inner().queue.put_back(answers.again, self.wiring.clock.tick());
                Ok(())
            }
            Err(problem) => {
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
            Problem::NoAnswer(_)
            | Problem::NotEureka(_)
            | Problem::WrongLength { .. }
            | Problem::NotOurs
            | Problem::OwnClock
            | Problem::TheirClock(_) => false,
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
            {
                let mut inner = self.inner();
                inner.refused += 1;
                inner.lost_at = Some(self.wiring.clock.tick());
                self.wiring.losses.note(self.wiring.clock.tick());
            }
            self.wiring.metrics.refused.inc();
            if let Some(suppressed) = self.logged.dropped.admit(self.wiring.clock.tick()) {
                tracing::warn!(
                    peer = %self.url, app = ?key.app, id = ?key.id, %problem, suppressed = suppressed.times(),
                    "dropped: the peer does not take it"
                );
            }
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

    /// One line about refused changes a minute, with how many there were: a peer that is full refuses every one.
    fn log_refusals(&self, refused: &[Refused]) {
        let Some(Refused { key, what, code, why }) = refused.first() else { return };
        self.wiring.metrics.refused.inc_by(refused.len() as u64);
        let now = self.wiring.clock.tick();
        let times = {
            let mut inner = self.inner();
            inner.refused += refused.len() as u64;
            inner.lost_at = Some(now);
            self.wiring.losses.note(now);
            inner.refusals_since += refused.len() as u64;
            if inner.refusals_logged.is_some_and(|at| now.since(at) < REFUSALS_LOGGED_EVERY) {
                return;
            }
            inner.refusals_logged = Some(now);
            std::mem::take(&mut inner.refusals_since)
        };
        tracing::warn!(
            peer = %self.url, times, code, why, app = ?key.app, id = ?key.id, what,
            "the peer refuses changes; this is one of them"
        );
    }

    pub(super) fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
