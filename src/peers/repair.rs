//! Comparing with nodes of this kind, and putting right what differs; asking them before an eviction.
//!
//! The queues lose nothing by themselves, so a comparison should find nothing, but after an outage, an overflow or a
//! refusal. What it finds without one is a fault, and counted as such.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use super::node::PeerEurekaNode;
use super::nodes::PeerEurekaNodes;
use super::problem::Problem;
use super::protocol::{Compare, Compared, Tell, Told, WireState, hex};
use super::taken::Taken;
use super::view::{PeerKind, PeerState};
use crate::registry::{Digests, How, Key};

/// What is on its way differs too, for a moment: only what still differs after this long, and in the same way, counts.
const SETTLE: Duration = Duration::from_secs(2);

/// What was lost may still be felt for so long: requests that were given up on arrive late, waits go on.
const AFTERMATH: Duration = Duration::from_secs(10);

/// The most keys of one request.
const MOST_KEYS: usize = 1000;

/// How long a question before an eviction may take; silence is no objection.
const LONGEST_QUESTION: Duration = Duration::from_secs(2);

/// How two digests of one key differ; `None` for what is not there.
type Difference = BTreeMap<Key, (Option<String>, Option<String>)>;

/// What came of asking a peer about keys, and of telling it what it lacks.
#[derive(Debug, Default)]
struct Inquired {
    /// What the peer knew.
    taken: Taken,
    /// How many keys the peer refused, and why the first, in its own words.
    refused: usize,
    why: Option<String>,
    /// How many it lacks and is not told of: what is overdue is brought back nowhere.
    kept_back: usize,
}

impl Inquired {
    fn add_refused(&mut self, answer: &Told) {
        self.refused += answer.refused.len();
        self.why = self.why.take().or_else(|| answer.says_why());
    }

    fn still_differ(&self) -> usize {
        self.refused + self.kept_back + self.taken.left_out
    }
}

impl PeerEurekaNodes {
    /// Compares with every node of this kind that is open, and puts right what differs.
    pub async fn compare(&self) {
        join_all(self.open_ours().iter().map(|node| node.compare(Some(SETTLE)))).await;
        if self.distinct().iter().all(|node| node.is_known_here()) {
            // Whatever it opened without, it has by now.
            self.wiring().metrics.opened_without_copy.set(0);
        }
    }

    /// The same at the end of the copy at start, when everything that differs is new here.
    pub(super) async fn compare_at_start(&self) {
        join_all(self.open_ours().iter().map(|node| node.compare(None))).await;
    }

    /// Compares at once with nodes that are new, or other processes than before: from their copy to the moment in which they
    /// were found here, they were told nothing. Returns whether there were any.
    pub async fn compare_with_newcomers(&self) -> bool {
        let mut newcomers = self.open_ours();
        newcomers.retain(|node| node.is_new());
        join_all(newcomers.iter().map(|node| node.compare(None))).await;
        !newcomers.is_empty()
    }

    /// Whether something may not have reached some node, so that comparing should not wait.
    pub fn should_compare(&self) -> bool {
        self.open_ours().iter().any(|node| node.was_out())
    }

    /// Asks the other nodes of this kind when they last heard of these instances, and takes over what is younger: a
    /// client may speak to one of them while this node hears nothing.
    pub async fn ask_before_evicting(&self, keys: &[Key]) {
        let ours = self.open_ours();
        let questions = ours.iter().map(|node| node.inquire(keys, false));
        let answers = tokio::time::timeout(LONGEST_QUESTION, join_all(questions));
        let before = self.wiring().registry.overdue(Duration::ZERO).len();
        // Silence is no objection; each peer's own sender notes what is wrong with it.
        drop(answers.await);
        let after = self.wiring().registry.overdue(Duration::ZERO).len();
        self.wiring().metrics.saved.inc_by(before.saturating_sub(after) as u64);
    }

    fn open_ours(&self) -> Vec<Arc<PeerEurekaNode>> {
        let mut nodes = self.distinct();
        nodes.retain(|node| {
            let view = node.view();
            matches!(view.kind, PeerKind::Ours(_)) && view.available && view.state == Some(PeerState::Open)
        });
        nodes
    }
}

impl PeerEurekaNode {
    /// Whether it was compared with. A Java server is not: its clients are told to register here by their heartbeats.
    fn is_known_here(&self) -> bool {
        self.compared_ago().is_some() || (self.kind() == PeerKind::Java && self.answers())
    }

    /// Compares with this peer. After `settle`, what still differs in the same way is put right.
    async fn compare(&self, settle: Option<Duration>) {
        let wiring = self.wiring();
        let outcome: Result<(), Problem> = async {
            let (mut differs, mut lost) = self.differences().await?;
            if let Some(settle) = settle
                && !differs.is_empty()
            {
                tokio::time::sleep(settle).await;
                let (again, lost_meanwhile) = self.differences().await?;
                lost |= lost_meanwhile;
                differs.retain(|key, how| again.get(key) == Some(how));
            }
            self.note_compared_now();
            wiring.metrics.compared.inc();
            let keys: Vec<Key> = differs.into_keys().collect();
            let inquired = self.inquire(&keys, true).await?;
            let put_right = keys.len().saturating_sub(inquired.still_differ());
            if put_right > 0 {
                let explained = lost || settle.is_none();
                let counter =
                    if explained { &wiring.metrics.repaired } else { &wiring.metrics.repaired_unexplained };
                counter.inc_by(put_right as u64);
                tracing::info!(
                    peer = %self.url(), differed = keys.len(), put_right, changed_here = inquired.taken.changed,
                    after_a_known_loss = lost, first = keys.first().map(|key| format!("{}/{}", key.app, key.id)),
                    "put right what differed"
                );
            }
            self.log_what_still_differs(&inquired);
            Ok(())
        }
        .await;
        if let Err(problem) = outcome {
            self.note_loss();
            tracing::debug!(peer = %self.url(), %problem, "no comparison: the peer {problem}");
        }
    }

    /// The keys that differ now, and how; and whether something is known to have been lost on either way.
    async fn differences(&self) -> Result<(Difference, bool), Problem> {
        let registry = &self.wiring().registry;
        let digests = digests(registry).await;
        let question = Compare {
            count: digests.count,
            buckets: digests.buckets.iter().map(|digest| hex(*digest)).collect(),
        };
        let answer: Compared = self.ask("peerreplication/ours/compare", &question).await?;
        let lost = self.is_explained();
        let equal = answer.digest == hex(digests.whole());
        self.note_compared(answer.count, equal);
        let theirs: BTreeMap<Key, Option<String>> =
            answer.keys.into_iter().map(|key| (Key::new(&key.app, &key.id), key.digest)).collect();
        let mut differs = Difference::new();
        if equal {
            return Ok((differs, lost));
        }
        let here: BTreeMap<Key, Option<String>> = registry
            .bucket_keys(|bucket| answer.differs.contains(&bucket))
            .into_iter()
            .map(|(key, digest)| (key, digest.map(hex)))
            .collect();
        for (key, here) in &here {
            let there = theirs.get(key).cloned().flatten();
            if *here != there {
                differs.insert(key.clone(), (here.clone(), there));
            }
        }
        for (key, there) in theirs {
            if there.is_some() && !here.contains_key(&key) {
                differs.insert(key, (None, there));
            }
        }
        Ok((differs, lost))
    }

    /// Whether a loss explains what is found now: it was after the last comparison, or so shortly before that its
    /// consequences came after.
    fn is_explained(&self) -> bool {
        let since = self.compared_ago().map_or(Duration::MAX, |compared| compared.saturating_add(AFTERMATH));
        self.wiring().losses.ago(self.wiring().clock.tick()).is_some_and(|ago| ago <= since)
    }

    /// One line a minute about what one of the two has no place for: until somebody does something, every comparison finds
    /// it again.
    fn log_what_still_differs(&self, inquired: &Inquired) {
        let Inquired { taken, refused, why, .. } = inquired;
        let mut said = Vec::new();
        if *refused > 0 {
            let why = why.as_deref().unwrap_or("it does not say why");
            said.push(format!("the peer refuses {refused} of what is known here: {why:?}"));
        }
        if taken.left_out > 0 {
            let why = taken.why.as_deref().unwrap_or_default();
            said.push(format!("{} of what the peer knows are not taken here: {why:?}", taken.left_out));
        }
        if !said.is_empty()
            && let Some(suppressed) = self.logged().differs.admit(self.wiring().clock.tick())
        {
            let suppressed = suppressed.times();
            tracing::warn!(peer = %self.url(), suppressed, "instances differ and stay so: {}", said.join("; "));
        }
    }

    /// Asks what the peer knows of these keys and merges it; with `tell`, also tells it what it lacks.
    async fn inquire(&self, keys: &[Key], tell: bool) -> Result<Inquired, Problem> {
        let registry = &self.wiring().registry;
        let mut inquired = Inquired::default();
        for chunk in keys.chunks(MOST_KEYS) {
            let now = self.wiring().clock.tick();
            let names = chunk.iter().map(|key| WireState::of(&registry.key_state_named(key), now));
            let question = Tell { asks: true, keys: names.collect() };
            let answer: Told = self.ask("peerreplication/ours/tell", &question).await?;
            let refused_before = inquired.refused;
            inquired.add_refused(&answer);
            inquired.taken.add(self.take_in(answer.known, now, How::Answers));
            let needed = answer.needed.iter().filter_map(|position| chunk.get(*position)).filter(|_| tell);
            // What is overdue here is brought back nowhere.
            let needed = needed.filter(|key| {
                registry.entry(key).is_some_and(|entry| !entry.lease.is_overdue_by_its_duration(now))
            });
            let lacks = answer.needed.len();
            let whole: Vec<WireState> =
                needed.map(|key| WireState::of(&registry.key_state(key), now)).collect();
            inquired.kept_back += lacks.saturating_sub(whole.len());
            if !whole.is_empty() {
                let told = Tell { asks: true, keys: whole };
                let answer: Told = self.ask("peerreplication/ours/tell", &told).await?;
                inquired.add_refused(&answer);
                inquired.taken.add(self.take_in(answer.known, now, How::Answers));
            }
            if inquired.refused > refused_before {
                // It will differ the next time too.
                self.wiring().losses.note(now);
            }
        }
        Ok(inquired)
    }
}

async fn digests(registry: &Arc<crate::registry::Registry>) -> Digests {
    /// Registries of so many instances are walked through aside, so that heartbeats do not wait.
    const LARGE: usize = 1000;
    if registry.len() < LARGE {
        return registry.digests();
    }
    let registry = Arc::clone(registry);
    crate::blocking::finished(tokio::task::spawn_blocking(move || registry.digests())).await
}
