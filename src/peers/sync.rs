//! The copy of the neighbours' registry that a node takes before it opens.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use eurekad_wire::{Applications, decode};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::{Method, StatusCode};

use super::node::PeerEurekaNode;
use super::nodes::PeerEurekaNodes;
use super::problem::Problem;
use super::protocol::{CopyBuckets, Told};
use super::taken::Taken;
use super::view::{PeerKind, PeerState};
use crate::clock::Tick;
use crate::registry::{BUCKETS, How, Origin, Registration};

/// Between two rounds of asking those that had no answer.
const ROUND: Duration = Duration::from_secs(1);

/// Once some peer had data, the others have so long to give theirs.
const GRACE: Duration = Duration::from_secs(1);

/// Buckets that are copied at once: of a large registry a few megabytes.
const STRETCH: usize = 8;

/// Between two lines about a copy that takes long.
const PROGRESS: Duration = Duration::from_secs(5);

/// How long the comparison after the copy may take.
const LAST_LOOK: Duration = Duration::from_secs(5);

/// What a copy brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Synced {
    /// Instances that are here now because of it.
    pub instances: usize,
    /// Peers that something was taken from.
    pub sources: usize,
    /// Whether every peer said what it has.
    pub complete: bool,
}

/// What the peers of one round said.
#[derive(Debug, Default)]
struct Round {
    /// Open nodes of this kind.
    ours: Vec<Arc<PeerEurekaNode>>,
    /// Java servers, with their registries.
    java: Vec<(Arc<PeerEurekaNode>, Applications)>,
    /// Whether one that has said nothing yet, or is copying itself, may have data.
    some_may_have_data: bool,
}

/// What one peer said.
#[derive(Debug)]
enum Said {
    /// It is of this kind and takes traffic.
    Ours,
    /// It is a Java server; its registry.
    Java(Box<Applications>),
    /// It has nothing: it is starting too.
    Empty,
    /// It will have data: it is copying.
    Copying,
    /// It is this node.
    Myself,
    /// Nothing that helps.
    Nothing,
}

impl PeerEurekaNodes {
    /// Asks all peers together, and copies what one of this kind has; without any, what the Java servers have.
    ///
    /// It waits `eurekad.boot.sync-timeout-ms` for something to copy. A copy that goes on is not given up on: a part of a
    /// registry would take clients' services from them. The wait ends early when every peer has answered and none has data or is about to have. `copying` is set once a
    /// source was found. What happens meanwhile is merged like any other news: a cancellation counts.
    ///
    /// **Compat:** Java takes the registry of the one server that its embedded client is talking to.
    pub async fn sync(&self, copying: &AtomicBool) -> Synced {
        let wiring = self.wiring();
        let mut synced = Synced { instances: 0, sources: 0, complete: false };
        let deadline = wiring.clock.tick().after(wiring.settings.sync_timeout);
        let mut drained: HashSet<String> = HashSet::new();
        loop {
            let mut round = self.ask_all(deadline, &drained).await;
            // A name that does not resolve is a peer that does not answer.
            round.some_may_have_data |= !self.is_listed_completely();
            copying.fetch_or(!round.ours.is_empty() || !round.java.is_empty(), Ordering::Relaxed);
            if let Some(instances) = self.copy_from_ours(&round.ours).await {
                (synced.instances, synced.sources) = (instances, 1);
            } else {
                // One that has a registry could not be copied to the end: it is asked again.
                round.some_may_have_data |= !round.ours.is_empty();
            }
            if synced.instances == 0 {
                for (node, applications) in round.java {
                    let taken = self.take_over(applications);
                    let brought = taken.changed;
                    tracing::info!(peer = %node.url(), instances = brought, "copied the Java server's registry");
                    taken.warn(node.url());
                    drained.insert(node.url().to_string());
                    synced.instances += brought;
                    synced.sources += usize::from(brought > 0);
                }
            }
            if synced.instances > 0 || !round.some_may_have_data {
                synced.complete = !round.some_may_have_data;
                break;
            }
            if self.until(deadline).is_zero() {
                let failing: Vec<String> =
                    self.nodes().iter().filter_map(|node| node.says_why_not()).collect();
                tracing::warn!("nothing to copy: {}", failing.join("; "));
                break;
            }
            tokio::time::sleep(ROUND.min(self.until(deadline))).await;
        }
        // What changed while it was copied, or is known elsewhere only.
        drop(tokio::time::timeout(LAST_LOOK, self.compare_at_start()).await);
        synced
    }

    fn until(&self, moment: Tick) -> Duration {
        moment.since(self.wiring().clock.tick())
    }

    /// Asks every peer who it is and what it has. Once one has data, the others have a moment left.
    async fn ask_all(&self, deadline: Tick, drained: &HashSet<String>) -> Round {
        let mut asked: FuturesUnordered<_> = self
            .nodes()
            .into_iter()
            .filter(|node| !drained.contains(&node.url().to_string()))
            .map(|node| async move {
                let said = node.what_it_has().await;
                (node, said)
            })
            .collect();
        let mut round = Round::default();
        let mut patience = deadline;
        loop {
            match tokio::time::timeout(self.until(patience), asked.next()).await {
                Ok(Some((node, said))) => {
                    match said {
                        Said::Ours => round.ours.push(node),
                        Said::Java(applications) => round.java.push((node, *applications)),
                        Said::Copying | Said::Nothing => round.some_may_have_data = true,
                        Said::Myself => node.is_myself(),
                        Said::Empty => {}
                    }
                    if !round.ours.is_empty() || !round.java.is_empty() {
                        patience = patience.min(self.wiring().clock.tick().after(GRACE));
                    }
                }
                Ok(None) => return round,
                Err(_elapsed) => {
                    round.some_may_have_data = true;
                    return round;
                }
            }
        }
    }

    /// Copies from the first of these; if it breaks half-way, the next goes on. `None` if none of them could be copied
    /// to the end.
    async fn copy_from_ours(&self, sources: &[Arc<PeerEurekaNode>]) -> Option<usize> {
        let registry = &self.wiring().registry;
        let (mut from, mut taken) = (0, Taken::default());
        let mut said = self.wiring().clock.tick();
        for source in sources {
            while from < BUCKETS {
                let asked_at = self.wiring().clock.tick();
                let question = CopyBuckets { from, to: from + STRETCH };
                match source.ask::<Told>("peerreplication/ours/copy", &question).await {
                    Ok(told) => {
                        taken.add(source.take_in(told.known, asked_at, How::Copied));
                        from += STRETCH;
                        let now = self.wiring().clock.tick();
                        if from < BUCKETS && now.since(said) >= PROGRESS {
                            said = now;
                            tracing::info!(
                                peer = %source.url(), parts = from, of = BUCKETS, instances = registry.len(), "copying"
                            );
                        }
                    }
                    Err(problem) => {
                        tracing::warn!(peer = %source.url(), "the copy broke off: the peer {problem}");
                        break;
                    }
                }
            }
            if from >= BUCKETS {
                tracing::info!(
                    peer = %source.url(), instances = registry.len(), "copied the node's registry"
                );
                taken.warn(source.url());
                return Some(registry.len());
            }
        }
        None
    }

    fn take_over(&self, applications: Applications) -> Taken {
        let registry = &self.wiring().registry;
        let instances = applications.applications.into_iter().flat_map(|app| app.instances);
        let named = instances.filter(|info| !info.app.is_empty() && !info.id().is_empty());
        let mut taken = Taken::default();
        for info in named {
            match registry.register(info, Origin::Sync) {
                Registration::New | Registration::Replaced | Registration::KeptNewer => taken.changed += 1,
                Registration::Full(full) => taken.leave_out(full),
                Registration::TooLarge(oversize) => taken.leave_out(oversize),
                Registration::Cancelled => {}
            }
        }
        taken
    }
}

impl PeerEurekaNode {
    async fn what_it_has(&self) -> Said {
        if let Err(problem) = self.batch(&[]).await {
            // Its sender says so at a level that people read, and once.
            tracing::debug!(peer = %self.url(), "the peer {problem}");
            return Said::Nothing;
        }
        let view = self.view();
        match (view.kind, view.state) {
            (PeerKind::Myself, _) => Said::Myself,
            (PeerKind::Ours(_), Some(PeerState::Open | PeerState::Draining)) => Said::Ours,
            (PeerKind::Ours(_), Some(PeerState::Copying)) => Said::Copying,
            (PeerKind::Ours(_), _) => Said::Empty,
            (PeerKind::Java, _) => self.java_registry().await,
            (PeerKind::Unknown, _) => Said::Nothing,
        }
    }

    async fn java_registry(&self) -> Said {
        let request = self.request(Method::GET, "apps/", Bytes::new());
        let response = match self.wiring().transport.send(request).await {
            Ok(response) => response,
            Err(e) => {
                self.count_too_large(&e);
                tracing::info!(peer = %self.url(), "the peer {}", Problem::NoAnswer(e));
                return Said::Nothing;
            }
        };
        if response.status() != StatusCode::OK {
            tracing::info!(peer = %self.url(), "the peer {}", Problem::Status(response.status()));
            return Said::Nothing;
        }
        match decode::registry_copy(response.body()) {
            Ok((applications, refused)) => {
                if let Some(first) = refused.first() {
                    tracing::warn!(
                        peer = %self.url(), times = refused.len(), first = ?first.to_string(),
                        "instances of the peer cannot be taken over"
                    );
                }
                Said::Java(Box::new(applications))
            }
            Err(e) => {
                tracing::warn!(peer = %self.url(), "the peer {}", Problem::NotEureka(e.to_string()));
                Said::Nothing
            }
        }
    }
}
