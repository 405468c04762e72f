//! The copy of the peers' registry that a node takes before it opens.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use eurekad_wire::{Applications, Format, decode};
use futures_util::future::join_all;
use http::{Method, StatusCode};

use super::node::{PeerEurekaNode, Problem};
use super::nodes::PeerEurekaNodes;
use super::{NODE_HEADER, NodeId, STATE_HEADER};
use crate::registry::{Origin, Registration};

/// Between two rounds of asking those that had no answer.
const ROUND: Duration = Duration::from_secs(1);

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
    /// It is booting too, and has found nobody with data.
    BootingToo,
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
        loop {
            let listed = self.is_listed_completely();
            let mut left = self.nodes();
            left.retain(|node| !done.contains(&node.url().to_string()));
            let said = join_all(left.iter().map(|node| node.fetch_registry())).await;
            // A name that does not resolve is a peer that does not answer.
            let mut some_may_have_data = !listed;
            let mut unheard = Vec::new();
            for (node, said) in left.into_iter().zip(said) {
                match said {
                    Said::Registry(applications) => {
                        let brought = self.take_over(*applications);
                        copying.fetch_or(brought > 0, Ordering::Relaxed);
                        synced.sources += usize::from(brought > 0);
                        synced.instances += brought;
                        tracing::info!(peer = %node.url(), instances = brought, "copied the peer's registry");
                        done.push(node.url().to_string());
                    }
                    Said::Myself => {
                        node.is_myself();
                        done.push(node.url().to_string());
                    }
                    // It knows no more than this node does.
                    Said::BootingToo => unheard.push(node),
                    Said::Copying | Said::Nothing => {
                        some_may_have_data = true;
                        unheard.push(node);
                    }
                }
            }
            if synced.sources > 0 || !some_may_have_data {
                synced.complete = !some_may_have_data;
                return synced;
            }
            let now = wiring.clock.tick();
            if now >= deadline {
                let silent: Vec<String> = unheard.iter().map(|node| node.url().to_string()).collect();
                tracing::warn!(peers = silent.join(", "), "nothing to copy: these peers have not answered");
                return synced;
            }
            tokio::time::sleep(ROUND.min(deadline.since(now))).await;
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
            (StatusCode::OK, _) => match decode::applications(Format::Json, response.body()) {
                Ok(applications) => Said::Registry(Box::new(applications)),
                Err(e) => {
                    tracing::warn!(peer = %self.url(), "the peer {}", Problem::NotEureka(e.to_string()));
                    Said::Nothing
                }
            },
            (StatusCode::FORBIDDEN, Some("booting")) => Said::BootingToo,
            (StatusCode::FORBIDDEN, Some("copying")) => Said::Copying,
            (status, _) => {
                tracing::info!(peer = %self.url(), "the peer {}", Problem::Status(status));
                Said::Nothing
            }
        }
    }
}
