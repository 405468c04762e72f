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

impl PeerEurekaNodes {
    /// Compares with every node of this kind that is open, and puts right what differs.
    pub async fn compare(&self) {
        join_all(self.open_ours().iter().map(|node| node.compare(Some(SETTLE)))).await;
    }

    /// The same at the end of the copy at start, when everything that differs is new here.
    pub(super) async fn compare_at_start(&self) {
        join_all(self.open_ours().iter().map(|node| node.compare(None))).await;
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
    /// Compares with this peer. After `settle`, what still differs in the same way is put right.
    async fn compare(&self, settle: Option<Duration>) {
        let wiring = self.wiring();
        let outcome: Result<usize, Problem> = async {
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
            let changed = self.inquire(&keys, true).await?;
            if keys.is_empty() {
                return Ok(0);
            }
            if lost || settle.is_none() {
                wiring.metrics.repaired.inc_by(keys.len() as u64);
            } else {
                wiring.metrics.repaired_unexplained.inc_by(keys.len() as u64);
            }
            tracing::info!(
                peer = %self.url(), differed = keys.len(), changed_here = changed, after_a_known_loss = lost,
                first = keys.first().map(|key| format!("{}/{}", key.app, key.id)), "put right what differed"
            );
            Ok(changed)
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

    /// Asks what the peer knows of these keys and merges it; with `tell`, also tells it what it lacks. Returns how many
    /// changed here.
    async fn inquire(&self, keys: &[Key], tell: bool) -> Result<usize, Problem> {
        let registry = &self.wiring().registry;
        let mut changed = 0;
        for chunk in keys.chunks(MOST_KEYS) {
            let now = self.wiring().clock.tick();
            let names = chunk.iter().map(|key| WireState::of(&registry.key_state_named(key), now));
            let question = Tell { asks: true, keys: names.collect() };
            let answer: Told = self.ask("peerreplication/ours/tell", &question).await?;
            changed += self.take_in(answer.known, now, How::Answers).changed;
            let mut refused = !answer.refused.is_empty();
            let needed = answer.needed.iter().filter_map(|position| chunk.get(*position)).filter(|_| tell);
            // What is overdue here is brought back nowhere.
            let needed = needed.filter(|key| {
                registry.entry(key).is_some_and(|entry| !entry.lease.is_overdue_by_its_duration(now))
            });
            let whole: Vec<WireState> =
                needed.map(|key| WireState::of(&registry.key_state(key), now)).collect();
            if !whole.is_empty() {
                let told = Tell { asks: true, keys: whole };
                let answer: Told = self.ask("peerreplication/ours/tell", &told).await?;
                changed += self.take_in(answer.known, now, How::Answers).changed;
                refused |= !answer.refused.is_empty();
            }
            if refused {
                // It will differ the next time too.
                self.wiring().losses.note(now);
            }
        }
        Ok(changed)
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
