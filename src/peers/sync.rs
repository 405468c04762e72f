//! The copy of the peers' registry that a node takes before it opens.

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
use super::{NODE_HEADER, NodeId, STATE_HEADER};
use crate::clock::Tick;
use crate::registry::{Origin, Registration};

/// Between two rounds of asking those that had no answer.
const ROUND: Duration = Duration::from_secs(1);

/// Once some peer had data, the others have so long to give theirs.
const GRACE: Duration = Duration::from_secs(1);

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

/// What one peer said.
#[derive(Debug)]
enum Said {
    /// Its registry.
    Registry(Box<Applications>),
    /// It has nothing: it is booting too, or has opened with nothing.
    Empty,
    /// It is booting and copying from somebody: it will have data.
    Copying,
    /// It is this node.
    Myself,
    /// Nothing that helps.
    Nothing,
}

impl PeerEurekaNodes {
    /// Asks all peers together for their registry, until each has given it or the time is up.
    ///
    /// The wait ends early when every peer has answered and none has data or is about to have. What several peers
    /// have is merged by Eureka's rule: the newer record wins. `copying` is set once a source was found.
    ///
    /// **Compat:** Java takes the registry of the one server that its embedded client is talking to.
    pub async fn sync(&self, copying: &AtomicBool) -> Synced {
        let wiring = self.wiring();
        let mut synced = Synced { instances: 0, sources: 0, complete: false };
        let mut done: Vec<String> = Vec::new();
        let deadline = wiring.clock.tick().after(wiring.settings.sync_timeout);
        let until = |moment: Tick| moment.since(wiring.clock.tick());
        loop {
            let nodes = self.nodes().into_iter().filter(|node| !done.contains(&node.url().to_string()));
            let mut asked: FuturesUnordered<_> = nodes
                .map(|node| async move {
                    let said = node.fetch_registry().await;
                    (node, said)
                })
                .collect();
            // A name that does not resolve is a peer that does not answer.
            let mut some_may_have_data = !self.is_listed_completely();
            let mut patience = deadline;
            loop {
                // What one has is taken at once: while others are waited for, it grows old.
                let answer = match tokio::time::timeout(until(patience), asked.next()).await {
                    Ok(Some(answer)) => answer,
                    Ok(None) => break,
                    Err(_elapsed) => {
                        some_may_have_data = true;
                        break;
                    }
                };
                match answer {
                    (node, Said::Registry(applications)) => {
                        let brought = self.take_over(*applications);
                        copying.fetch_or(brought > 0, Ordering::Relaxed);
                        synced.sources += usize::from(brought > 0);
                        synced.instances += brought;
                        tracing::info!(peer = %node.url(), instances = brought, "copied the peer's registry");
                        done.push(node.url().to_string());
                        if brought > 0 {
                            patience = patience.min(wiring.clock.tick().after(GRACE));
                        }
                    }
                    (node, Said::Myself) => {
                        node.is_myself();
                        done.push(node.url().to_string());
                    }
                    // It knows no more than this node does, or has opened with nothing.
                    (_, Said::Empty) => {}
                    (_, Said::Copying | Said::Nothing) => some_may_have_data = true,
                }
            }
            if synced.sources > 0 || !some_may_have_data {
                synced.complete = !some_may_have_data;
                return synced;
            }
            if until(deadline).is_zero() {
                let nodes = self.nodes().into_iter().map(|node| node.url().to_string());
                let silent: Vec<String> = nodes.filter(|url| !done.contains(url)).collect();
                tracing::warn!(peers = silent.join(", "), "nothing to copy: these peers have not answered");
                return synced;
            }
            tokio::time::sleep(ROUND.min(until(deadline))).await;
        }
    }

    fn take_over(&self, applications: Applications) -> usize {
        let registry = &self.wiring().registry;
        let instances = applications.applications.into_iter().flat_map(|app| app.instances);
        let taken = instances.filter(|info| !info.app.is_empty() && !info.id().is_empty());
        taken
            .map(|info| registry.register(info, Origin::Sync))
            .filter(|outcome| match outcome {
                Registration::New | Registration::Replaced | Registration::KeptNewer => true,
                Registration::Full | Registration::TooLarge(_) | Registration::Cancelled => false,
            })
            .count()
    }
}

impl PeerEurekaNode {
    async fn fetch_registry(&self) -> Said {
        let request = self.request(Method::GET, "apps/", Bytes::new());
        let response = match self.wiring().transport.send(request).await {
            Ok(response) => response,
            Err(e) => {
                tracing::info!(peer = %self.url(), "the peer {}", Problem::NoAnswer(e));
                return Said::Nothing;
            }
        };
        let text = |name: &str| response.headers().get(name).and_then(|v| v.to_str().ok());
        let id: Option<NodeId> = text(NODE_HEADER).and_then(|id| id.parse().ok());
        if id == Some(self.wiring().id) {
            return Said::Myself;
        }
        match (response.status(), text(STATE_HEADER)) {
            (StatusCode::OK, _) => match decode::registry_copy(response.body()) {
                Ok((applications, refused)) => {
                    if let Some(first) = refused.first() {
                        tracing::warn!(
                            peer = %self.url(), times = refused.len(), first = ?first.to_string(),
                            "instances of the peer cannot be taken over"
                        );
                    }
                    Said::Registry(Box::new(applications))
                }
                Err(e) => {
                    tracing::warn!(peer = %self.url(), "the peer {}", Problem::NotEureka(e.to_string()));
                    Said::Nothing
                }
            },
            (StatusCode::FORBIDDEN, Some("booting" | "open")) => Said::Empty,
            (StatusCode::FORBIDDEN, Some("copying")) => Said::Copying,
            (status, _) => {
                tracing::info!(peer = %self.url(), "the peer {}", Problem::Status(status));
                Said::Nothing
            }
        }
    }
}
