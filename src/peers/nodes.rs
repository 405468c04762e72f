//! All peers: feeding their queues from the registry.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::NodeId;
use super::node::{PeerEurekaNode, PeerKind, PeerView};
use super::queue::Flags;
use super::transport::Transport;
use crate::clock::Clock;
use crate::registry::{Key, LocalTouch, Registry};
use crate::settings::{PeerSettings, PeerUrl};

/// How often heartbeats are collected from the registry.
const COLLECT: Duration = Duration::from_millis(100);

/// What every peer is wired to.
#[derive(Debug, Clone)]
pub struct Wiring {
    /// This node's id.
    pub id: NodeId,
    /// Time.
    pub clock: Clock,
    /// How to treat peers.
    pub settings: PeerSettings,
    /// What is replicated.
    pub registry: Arc<Registry>,
    /// The network.
    pub transport: Arc<dyn Transport>,
}

/// The peers of one node.
#[derive(Debug)]
pub struct PeerEurekaNodes {
    wiring: Wiring,
    nodes: Vec<Arc<PeerEurekaNode>>,
    fed: Mutex<Fed>,
}

/// How far the queues have been fed.
#[derive(Debug, Default)]
struct Fed {
    /// The registry's version up to which changes are in the queues.
    version: u64,
    /// How many changes the log had lost by then.
    dropped: u64,
}

impl PeerEurekaNodes {
    /// The peers at such URLs. This node's own may be among them: it is found out by its id.
    pub fn new(urls: Vec<PeerUrl>, wiring: Wiring) -> Self {
        wiring.registry.follow_renewals(!urls.is_empty());
        let nodes = urls.into_iter().map(|url| Arc::new(PeerEurekaNode::new(url, wiring.clone()))).collect();
        Self { wiring, nodes, fed: Mutex::default() }
    }

    /// This node's id.
    pub fn id(&self) -> NodeId {
        self.wiring.id
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// What is known of each, without this node itself.
    pub fn views(&self) -> Vec<PeerView> {
        self.nodes.iter().map(|node| node.view()).filter(|view| view.kind != PeerKind::Myself).collect()
    }

    /// What every peer is wired to.
    pub(super) fn wiring(&self) -> &Wiring {
        &self.wiring
    }

    /// All of them.
    pub(super) fn nodes(&self) -> &[Arc<PeerEurekaNode>] {
        &self.nodes
    }

    /// A node of this kind has called: it is back, if it was given up on. An id that nobody had yet may be that of any
    /// peer that is not answering, started again.
    pub fn heard(&self, id: NodeId) {
        let is_known = self.nodes.iter().any(|node| node.kind() == PeerKind::Ours(id));
        let meant = self.nodes.iter().filter(|node| !is_known || node.kind() == PeerKind::Ours(id));
        meant.for_each(|node| node.try_again());
    }

    /// Feeds the queues with what changes here, for ever.
    pub async fn feed(self: Arc<Self>) {
        let mut changes = self.wiring.registry.watch_version();
        let mut tick = tokio::time::interval(COLLECT);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                _ = tick.tick() => {}
            }
            self.feed_once();
            self.wiring.registry.set_java_peer(self.nodes.iter().any(|node| node.kind() == PeerKind::Java));
        }
    }

    /// Puts into the queues what has changed here since the last time.
    fn feed_once(&self) {
        let mut keys = self.changed_keys();
        keys.extend(self.wiring.registry.take_local_touches().into_iter().map(|(key, touch)| match touch {
            LocalTouch::Renewed => (key, Flags { heartbeat: true, ..Flags::default() }),
            LocalTouch::StatusConfirmed => (key, Flags { status: true, ..Flags::default() }),
        }));
        if !keys.is_empty() {
            let now = self.wiring.clock.tick();
            self.nodes.iter().for_each(|node| node.mark(&keys, now));
        }
    }

    /// Every peer's sender, each to be run as a task of its own.
    pub fn senders(&self, chance: &mut SmallRng) -> Vec<impl Future<Output = ()> + Send + use<>> {
        self.nodes.iter().map(|node| Arc::clone(node).run(SmallRng::seed_from_u64(chance.random()))).collect()
    }

    /// Sends to all peers, side by side, what is still queued.
    pub async fn flush(&self, chance: &mut SmallRng) {
        self.feed_once();
        join_all(self.nodes.iter().map(|node| node.flush(SmallRng::seed_from_u64(chance.random())))).await;
    }

    /// The keys whose local state changed since the last call. If the change log has lost entries, that is every key.
    fn changed_keys(&self) -> Vec<(Key, Flags)> {
        let registry = &self.wiring.registry;
        let mut fed = self.fed.lock().unwrap_or_else(PoisonError::into_inner);
        let changes = registry.changes_since(fed.version);
        let lost = registry.changes_dropped();
        let mut keys: Vec<(Key, Flags)> = Vec::new();
        if lost > fed.dropped {
            fed.dropped = lost;
            let all = Flags { record: true, status: true, ..Flags::default() };
            keys.extend(registry.keys().into_iter().map(|key| (key, all)));
        }
        let after = |version: Option<u64>| version.is_some_and(|v| v > fed.version);
        keys.extend(changes.iter().filter_map(|change| {
            let local = change.local;
            let flags = Flags {
                cancel: after(local.cancel),
                record: after(local.record),
                status: after(local.override_),
                heartbeat: false,
            };
            (flags != Flags::default()).then(|| (change.key.clone(), flags))
        }));
        if let Some(last) = changes.last() {
            fed.version = last.version;
        }
        keys
    }
}
