//! What is known of a peer: who it is, how far, how the last contact went, and whether something may have been lost.

use std::time::Duration;

use super::NodeId;
use super::node::PeerEurekaNode;
use super::problem::Problem;
use super::queue::Flags;
use super::view::{LastCompared, PeerKind, PeerState, PeerView};
use crate::clock::Tick;
use crate::registry::Key;

/// Ids that take turns behind one URL within this time are several nodes behind a balancer; an id that comes and stays is
/// a node that was started again.
const TAKING_TURNS: Duration = Duration::from_secs(60);

/// A Java server that could not be reached for so long may have been started again, with an empty registry.
const MAY_HAVE_RESTARTED: Duration = Duration::from_secs(10);

/// Between two log lines about a balancer.
const BALANCER_LOGGED_EVERY: Duration = Duration::from_secs(600);

impl PeerEurekaNode {
    /// What is known of it.
    pub fn view(&self) -> PeerView {
        let now = self.wiring().clock.tick();
        let inner = self.inner();
        PeerView {
            url: self.url().to_string(),
            kind: inner.kind,
            state: inner.state.filter(|_| matches!(inner.kind, PeerKind::Ours(_))),
            compared: inner
                .compared
                .filter(|_| matches!(inner.kind, PeerKind::Ours(_)))
                .map(|(at, instances, equal)| LastCompared { ago: now.since(at), instances, equal }),
            available: inner.last_success.is_some() && inner.last_error.is_none(),
            last_success: inner.last_success,
            last_error: inner.last_error.clone(),
            round_trip: inner.round_trip,
            queued: inner.waiting(),
            dropped: inner.queue.dropped() + inner.refused,
        }
    }

    /// The peer answered as it should; who it is and how far.
    pub(super) fn succeeded(&self, kind: PeerKind, state: Option<PeerState>) {
        self.wiring().metrics.answered.inc();
        let now = self.wiring().clock.tick();
        let (news, before, queued, away) = {
            let mut inner = self.inner();
            let away = inner.unreachable_since.take().map_or(Duration::ZERO, |since| now.since(since));
            let news = inner.last_error.is_some() || inner.last_success.is_none();
            inner.last_success = Some(self.wiring().clock.epoch_millis());
            inner.answered_at = Some(now);
            inner.last_error = None;
            inner.state = state;
            let before = std::mem::replace(&mut inner.kind, kind);
            let moved = matches!(
                (before, kind),
                (PeerKind::Ours(_), PeerKind::Java) | (PeerKind::Java, PeerKind::Ours(_))
            );
            if kind == PeerKind::Myself {
                inner.queue.clear();
                inner.trouble.clear();
            }
            (news || moved, before, inner.queue.len(), away)
        };
        if kind == PeerKind::Myself
            && matches!(before, PeerKind::Ours(_) | PeerKind::Java)
            && let Some(suppressed) = self.logged().myself.admit(now)
        {
            tracing::warn!(
                peer = %self.url(), suppressed = suppressed.times(),
                "another node answered there before, and now this one does: a balancer, or something that repeats headers"
            );
        }
        if let (PeerKind::Ours(was), PeerKind::Ours(is)) = (before, kind)
            && was != is
        {
            self.changed_hands(was, is, now);
        }
        if news {
            // Whoever waits before trying again need not.
            self.try_again();
            if let Some(suppressed) = self.logged().answers.admit(now) {
                let suppressed = suppressed.times();
                tracing::info!(peer = %self.url(), kind = kind.word(), queued, suppressed, "the peer answers");
            }
            if kind == PeerKind::Java && (matches!(before, PeerKind::Ours(_)) || away >= MAY_HAVE_RESTARTED) {
                self.tell_all_again(now);
            }
        }
    }

    /// Another node answers at this URL than before: it was started again, or several take turns behind a balancer.
    fn changed_hands(&self, was: NodeId, is: NodeId, now: Tick) {
        let mut inner = self.inner();
        let takes_turns = inner.before.is_some_and(|(id, at)| id == is && now.since(at) < TAKING_TURNS);
        inner.before = Some((was, now));
        inner.lost_at = Some(now);
        // What was found before says nothing of the new one.
        inner.compared = None;
        self.wiring().losses.note(now);
        if !takes_turns {
            inner.queue.drop_heartbeats();
            drop(inner);
            if let Some(suppressed) = self.logged().other_process.admit(now) {
                let suppressed = suppressed.times();
                tracing::info!(peer = %self.url(), node = %is, suppressed, "the peer is another process than before");
            }
        } else if inner.balancer_logged.is_none_or(|at| now.since(at) >= BALANCER_LOGGED_EVERY) {
            inner.balancer_logged = Some(now);
            drop(inner);
            tracing::warn!(
                peer = %self.url(),
                "several nodes take turns there: a balancer. Put each node's own URL into eureka.client.service-url, or \
                 a name with all their addresses as dns+http://…"
            );
        }
    }

    /// A Java server that took the place of one of ours knows only what it copied, which leaves out what is not UP; one that
    /// was away may have lost its registry. Told of a renewal, it asks for what it lacks.
    fn tell_all_again(&self, now: Tick) {
        let beat = Flags { heartbeat: true, ..Flags::default() };
        let keys = self.wiring().registry.keys_renewed_here().into_iter();
        let beats: Vec<(Key, Flags)> = keys.map(|key| (key, beat)).collect();
        self.mark(&beats, now);
    }

    /// Who answers there has to be found out anew.
    pub(super) fn forget_kind(&self) {
        self.inner().kind = PeerKind::Unknown;
    }

    pub(super) fn note_round_trip(&self, took: Duration) {
        self.inner().round_trip = Some(took);
    }

    /// What a comparison found.
    pub(super) fn note_compared(&self, instances: usize, equal: bool) {
        let now = self.wiring().clock.tick();
        self.inner().compared = Some((now, instances, equal));
    }

    /// Something may not have reached the peer: the next comparison may find it.
    pub(super) fn note_loss(&self) {
        let now = self.wiring().clock.tick();
        self.inner().lost_at = Some(now);
        self.wiring().losses.note(now);
    }

    /// Whether the last contact failed.
    pub(super) fn is_out(&self) -> bool {
        self.inner().last_error.is_some()
    }

    /// A comparison with it is done.
    pub(super) fn note_compared_now(&self) {
        let now = self.wiring().clock.tick();
        self.inner().compared_at = Some(now);
    }

    /// How long ago it was last compared with.
    pub(super) fn compared_ago(&self) -> Option<Duration> {
        let now = self.wiring().clock.tick();
        self.inner().compared_at.map(|at| now.since(at))
    }

    /// Whether something may not have reached the process that answers now, which was never compared with.
    pub(super) fn is_new(&self) -> bool {
        let inner = self.inner();
        inner.compared.is_none() && inner.lost_at.is_some()
    }

    /// Whether something may not have reached the peer since it was last compared with.
    pub(super) fn was_out(&self) -> bool {
        let inner = self.inner();
        match (inner.lost_at, inner.compared_at) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(lost), Some(compared)) => lost > compared,
        }
    }

    pub(super) fn failed(&self, problem: &Problem, wait: Duration) {
        self.wiring().metrics.failed.inc();
        self.note_loss();
        if matches!(problem, Problem::NoAnswer(_)) {
            let now = self.wiring().clock.tick();
            self.inner().unreachable_since.get_or_insert(now);
        }
        let words = problem.to_string();
        // The same failure again is no news.
        if self.inner().last_error.replace(words.clone()).as_ref() != Some(&words)
            && let Some(suppressed) = self.logged().failed.admit(self.wiring().clock.tick())
        {
            let suppressed = suppressed.times();
            tracing::warn!(peer = %self.url(), retry_in_ms = wait.as_millis() as u64, suppressed, "the peer {words}");
        }
    }
}
