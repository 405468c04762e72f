//! All peers: feeding their queues from the registry.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use eurekad_wire::{AppName, InstanceInfo};
use prometheus_client::metrics::counter::Counter;
use tokio::sync::Notify;

use super::NodeId;
use super::list::PeerList;
use super::losses::Losses;
use super::node::PeerEurekaNode;
use super::queue::Flags;
use super::resolve::Resolve;
use super::strangers::Strangers;
use super::transport::Transport;
use super::view::{PeerKind, PeerState, PeerView};
use crate::clock::{Clock, Tick};
use crate::registry::{Key, LocalTouch, Registry, Scope};
use crate::settings::{PeerSettings, PeerUrl};
use crate::telemetry::{LogLimit, PeerMetrics};

/// How often heartbeats are collected from the registry.
pub const COLLECT: Duration = Duration::from_millis(100);

/// How often a flush looks whether it is done.
const FLUSH_LOOK: Duration = Duration::from_millis(10);

/// A peer that leaves the list keeps its queue for so long: it may come back, with a name that resolves again.
const REMEMBERED: Duration = Duration::from_secs(180);

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
    /// Names to addresses.
    pub resolver: Arc<dyn Resolve>,
    /// What went on between nodes.
    pub metrics: PeerMetrics,
    /// When something was last lost between any nodes.
    pub losses: Arc<Losses>,
    /// What nodes are registered as.
    pub app: AppName,
}

/// The peers of one node.
#[derive(Debug)]
pub struct PeerEurekaNodes {
    wiring: Wiring,
    list: PeerList,
    members: RwLock<Members>,
    /// Whether the list has been read once.
    listed: AtomicBool,
    fed: Mutex<Fed>,
    /// Signalled when a node calls that nobody here knows.
    stranger: Notify,
    strangers: Strangers,
    strangers_logged: LogLimit,
}

/// Who is in the list now, and who left it lately.
#[derive(Debug, Default)]
struct Members {
    nodes: Vec<Arc<PeerEurekaNode>>,
    left: Vec<(Arc<PeerEurekaNode>, Tick)>,
}

/// What another list of peers has changed.
struct Applied {
    /// Those that nobody was before.
    new: Vec<Arc<PeerEurekaNode>>,
    /// The URLs that were not in the list, of peers that are back too.
    came: Vec<String>,
    /// Those that are in it no longer.
    gone: Vec<Arc<PeerEurekaNode>>,
}

/// How far the queues have been fed.
#[derive(Debug, Default)]
struct Fed {
    /// The registry's version up to which changes are in the queues.
    version: u64,
}

impl PeerEurekaNodes {
    /// No peers yet; [`refresh`](Self::refresh) reads the list. This node's own URL may be in it: it is found out by
    /// its id.
    pub fn new(wiring: Wiring) -> Self {
        let list = PeerList::new(&wiring.settings, Arc::clone(&wiring.resolver));
        wiring.registry.follow_renewals(!list.is_empty());
        Self {
            wiring,
            list,
            members: RwLock::default(),
            listed: AtomicBool::new(false),
            fed: Mutex::default(),
            stranger: Notify::new(),
            strangers: Strangers::default(),
            strangers_logged: LogLimit::default(),
        }
    }

    /// Whether the file of peers, if there is one, can be read and understood.
    ///
    /// # Errors
    /// What is wrong with it. Later that leaves the peers as they were; at a start there are none yet.
    pub async fn check_file(&self) -> Result<(), String> {
        self.list.check_file().await
    }

    /// Reads the list of peers and returns those that are new: each needs its [`sender`](PeerEurekaNode::sender) run.
    pub async fn refresh(&self) -> Vec<Arc<PeerEurekaNode>> {
        let by_name = self.list.found_by_name();
        let urls = self.list.read().await;
        let now = self.wiring.clock.tick();
        let Applied { new, came, gone } = self.apply(urls, now);
        let vanished: Vec<String> = gone
            .iter()
            .filter(|node| by_name.contains(node.url()) && self.has_not_said_that_it_stops(node))
            .map(|node| node.url().to_string())
            .collect();
        let left = gone.iter().map(|node| node.url().to_string()).collect::<Vec<_>>().join(", ");
        if self.listed.swap(true, Ordering::Relaxed) {
            // It has copied what there was before anybody here knew of it. What has changed since has not reached it.
            new.iter().for_each(|node| node.note_loss());
        }
        let came = came.join(", ");
        if !gone.is_empty() && self.nodes().is_empty() {
            tracing::warn!(left, "no peer is left in the list: this node is alone now");
        } else if !vanished.is_empty() {
            tracing::warn!(
                came,
                left,
                vanished = vanished.join(", "),
                "the list of peers has changed: a name has lost the address of a node that had not said that it stops"
            );
        } else if !came.is_empty() || !left.is_empty() {
            tracing::info!(came, left, "the list of peers has changed");
        }
        if !new.is_empty() {
            // Of what clients renew here a new peer may know nothing. Told of a renewal, it asks for what it lacks.
            let beat = Flags { heartbeat: true, ..Flags::default() };
            let renewed = self.wiring.registry.keys_renewed_here().into_iter();
            let beats: Vec<(Key, Flags)> = renewed.map(|key| (key, beat)).collect();
            new.iter().for_each(|node| node.mark(&beats, now));
        }
        new
    }

    /// Whether this is a node of this kind that neither says that it is stopping nor has taken itself out of the registry.
    fn has_not_said_that_it_stops(&self, node: &PeerEurekaNode) -> bool {
        let view = node.view();
        let PeerKind::Ours(id) = view.kind else { return false };
        view.state != Some(PeerState::Draining) && self.registered_nodes().iter().any(|(node, _)| *node == id)
    }

    /// The instances under which nodes of this kind are registered, with the id of each. A node registers itself, so the
    /// record is stamped by it. So is that of anybody else who registers there under the name of servers.
    pub fn registered_nodes(&self) -> Vec<(NodeId, Arc<InstanceInfo>)> {
        let registry = &self.wiring.registry;
        let servers = registry.content(&Scope::App(self.wiring.app.clone()));
        let servers = servers.iter().flat_map(|content| &content.groups).flat_map(|group| group.instances());
        let stamped = servers.filter_map(|entry| {
            let record = registry.key_state_named(&entry.key()).record?;
            Some((record.stamp.node, Arc::clone(&entry.info)))
        });
        stamped.collect()
    }

    /// Makes these URLs the peers.
    fn apply(&self, urls: Vec<PeerUrl>, now: Tick) -> Applied {
        let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
        let Members { nodes, left } = &mut *members;
        left.retain(|(node, since)| {
            let keep = now.since(*since) < REMEMBERED;
            if !keep {
                node.end();
            }
            keep
        });
        let (mut new, mut came, mut still) = (Vec::new(), Vec::new(), Vec::with_capacity(urls.len()));
        for url in urls {
            if let Some(at) = nodes.iter().position(|node| *node.url() == url) {
                still.push(nodes.remove(at));
                continue;
            }
            came.push(url.to_string());
            if let Some(at) = left.iter().position(|(node, _)| *node.url() == url) {
                let node = left.remove(at).0;
                node.leave(false);
                // It has its name back, as after a cut.
                node.is_back();
                still.push(node);
            } else {
                let node = Arc::new(PeerEurekaNode::new(url, self.wiring.clone()));
                new.push(Arc::clone(&node));
                still.push(node);
            }
        }
        let gone = nodes.clone();
        for node in nodes.drain(..) {
            if node.leave(true) {
                left.push((node, now));
            } else {
                node.end();
            }
        }
        *nodes = still;
        Applied { new, came, gone }
    }

    /// Whether the list can change while the node runs.
    pub fn can_change(&self) -> bool {
        self.list.can_change()
    }

    /// Whether every source of the list could be read last time.
    pub(super) fn is_listed_completely(&self) -> bool {
        self.list.is_complete()
    }

    /// Where it is counted that a sender was started again.
    pub fn restarts(&self) -> Counter {
        self.wiring.metrics.senders_restarted.clone()
    }

    /// This node's id.
    pub fn id(&self) -> NodeId {
        self.wiring.id
    }

    /// This node's own URL, if it is in its list and has answered there.
    pub fn own_url(&self) -> Option<String> {
        self.nodes().iter().find(|node| node.kind() == PeerKind::Myself).map(|node| node.url().to_string())
    }

    /// Whether there are none, and never will be.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// What is known of each, without this node itself; of several URLs of one node, and of one URL with several passwords, the
    /// first that answers.
    pub fn views(&self) -> Vec<PeerView> {
        let nodes = self.nodes();
        let same = |one: &PeerView, other: &PeerEurekaNode| other.url().to_string() == one.url;
        let stood_in_for = |view: &PeerView| {
            let others = nodes.iter().filter(|node| same(view, node));
            !view.available
                && others.into_iter().any(|node| node.answers() || node.kind() == PeerKind::Myself)
        };
        let mut views: Vec<PeerView> = Vec::with_capacity(nodes.len());
        for view in self.distinct().iter().map(|node| node.view()) {
            if !stood_in_for(&view) && !views.iter().any(|known| known.url == view.url) {
                views.push(view);
            }
        }
        views
    }

    /// The peers, each once: without this node itself, and of several URLs that one node answers at the first that does.
    pub(super) fn distinct(&self) -> Vec<Arc<PeerEurekaNode>> {
        let nodes = self.nodes();
        let mut ids: HashMap<NodeId, usize> = HashMap::new();
        let mut distinct: Vec<Arc<PeerEurekaNode>> = Vec::with_capacity(nodes.len());
        for node in nodes {
            match node.kind() {
                PeerKind::Myself => {}
                PeerKind::Unknown | PeerKind::Java => distinct.push(node),
                PeerKind::Ours(id) => match ids.get(&id) {
                    None => {
                        ids.insert(id, distinct.len());
                        distinct.push(node);
                    }
                    Some(at) if !distinct[*at].answers() && node.answers() => distinct[*at] = node,
                    Some(_) => {}
                },
            }
        }
        distinct
    }

    /// What every peer is wired to.
    pub(super) fn wiring(&self) -> &Wiring {
        &self.wiring
    }

    /// All of them.
    pub(super) fn nodes(&self) -> Vec<Arc<PeerEurekaNode>> {
        self.members.read().unwrap_or_else(PoisonError::into_inner).nodes.clone()
    }

    /// A node of this kind has called: it is back, if it was given up on. An id that nobody had yet may be that of any
    /// peer that is not answering, started again.
    pub fn heard(&self, id: NodeId) {
        let nodes = self.nodes();
        let is_known = nodes.iter().any(|node| node.kind() == PeerKind::Ours(id));
        if is_known {
            self.strangers.is_known(id);
        } else if id != self.wiring.id {
            self.stranger.notify_one();
            let now = self.wiring.clock.tick();
            if self.strangers.called(id, now)
                && let Some(suppressed) = self.strangers_logged.admit(now)
            {
                tracing::warn!(
                    node = %id, suppressed = suppressed.times(),
                    "a node calls that is not among this node's peers: it tells this one what happens there, and is told \
                     nothing. Give all nodes of the cluster the same list in eureka.client.service-url"
                );
            }
        }
        let meant = nodes.iter().filter(|node| !is_known || node.kind() == PeerKind::Ours(id));
        meant.for_each(|node| node.try_again());
    }

    /// Whether this is the id of a peer, or of this node itself.
    pub fn knows(&self, id: NodeId) -> bool {
        id == self.wiring.id || self.nodes().iter().any(|node| node.kind() == PeerKind::Ours(id))
    }

    /// Waits until a node calls that nobody here knows: names may have got new addresses.
    pub async fn stranger_called(&self) {
        self.stranger.notified().await;
    }

    /// Feeds the queues with what changes here, for ever, and calls `ran` each time.
    pub async fn feed(self: Arc<Self>, ran: impl Fn() + Send) {
        let mut changes = self.wiring.registry.watch_version();
        let mut tick = tokio::time::interval(COLLECT);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                    biased;
                changed = changes.changed() => if changed.is_err() { return },
                _ = tick.tick() => {}
            }
            ran();
            self.feed_once();
            self.wiring.registry.set_java_peer(self.nodes().iter().any(|node| node.kind() == PeerKind::Java));
        }
    }

    /// Puts into the queues what has changed here since the last time.
    fn feed_once(&self) {
        let mut keys = self.changed_keys();
        keys.extend(self.wiring.registry.take_local_touches().into_iter().map(|(key, touch)| match touch {
            LocalTouch::Renewed => (key, Flags { heartbeat: true, ..Flags::default() }),
            LocalTouch::StatusConfirmed => (key, Flags { confirmed: true, ..Flags::default() }),
            LocalTouch::RemovalConfirmed => (key, Flags { removed: true, ..Flags::default() }),
            LocalTouch::Restamped => (key, Flags { restamped: true, ..Flags::default() }),
            LocalTouch::OverrideMissed => (key, Flags { learned: true, ..Flags::default() }),
            LocalTouch::CancelledBefore => (key, Flags { cancel: true, ..Flags::default() }),
        }));
        if !keys.is_empty() {
            let now = self.wiring.clock.tick();
            self.distinct().iter().for_each(|node| {
                // What a node of this kind told, it tells its like itself.
                let mut keys = keys.clone();
                if matches!(node.kind(), PeerKind::Ours(_)) {
                    keys.retain(|(_, flags)| flags.is_for_ours());
                }
                node.mark(&keys, now);
            });
        }
    }

    /// How long ago something was lost between any nodes, as far as is known here; while a peer cannot be reached, that is
    /// now.
    pub fn lost_ago(&self) -> Option<Duration> {
        let now = self.wiring.clock.tick();
        if self.distinct().iter().any(|node| node.is_out()) {
            self.wiring.losses.note(now);
        }
        self.wiring.losses.ago(now)
    }

    /// Another node knows of a loss so long ago.
    pub fn heard_of_loss(&self, ago: Duration) {
        self.wiring.losses.note(self.wiring.clock.tick().before(ago));
    }

    /// Waits until every peer that answers has taken what it has to be told.
    pub async fn flush(&self) {
        self.feed_once();
        while self.to_be_told().iter().any(|node| node.answers() && node.view().queued > 0) {
            tokio::time::sleep(FLUSH_LOOK).await;
        }
    }

    /// The peers, and those that have left the list with something still to hear.
    fn to_be_told(&self) -> Vec<Arc<PeerEurekaNode>> {
        let members = self.members.read().unwrap_or_else(PoisonError::into_inner);
        let left: Vec<_> = members.left.iter().map(|(node, _)| Arc::clone(node)).collect();
        drop(members);
        self.distinct().into_iter().chain(left).collect()
    }

    /// The peers that have not heard all, with how many instances that is about, for a person.
    pub fn untold(&self) -> Vec<String> {
        let told = |node: Arc<PeerEurekaNode>| {
            let queued = node.view().queued;
            let why = node.says_why_not().unwrap_or_else(|| format!("{} answers", node.url()));
            (queued > 0).then(|| format!("{why} (news of {queued} instances)"))
        };
        self.to_be_told().into_iter().filter_map(told).collect()
    }

    /// The keys whose local state changed since the last call. If the change log
    /// has lost some of these, that is every key that is heard here.
    fn changed_keys(&self) -> Vec<(Key, Flags)> {
        let registry = &self.wiring.registry;
        let mut fed = self.fed.lock().unwrap_or_else(PoisonError::into_inner);
        let changes = registry.changes_since(fed.version);
        let mut keys: Vec<(Key, Flags)> = Vec::new();
        let lost_up_to = registry.changes_lost_up_to();
        if lost_up_to > fed.version {
            self.distinct().iter().for_each(|node| node.note_loss());
            // What peers were not told of was said here: by clients that are heard here.
            let all = Flags { record: true, ..Flags::default() };
            keys.extend(registry.keys_renewed_here().into_iter().map(|key| {
                let status = registry.has_override(&key);
                (key, Flags { status, ..all })
            }));
        }
        let after = |version: Option<u64>| version.is_some_and(|v| v > fed.version);
        keys.extend(changes.iter().filter_map(|change| {
            let local = change.local;
            let flags = Flags {
                cancel: after(local.cancel),
                record: after(local.record),
                status: after(local.override_),
                learned: after(local.learned_override),
                ..Flags::default()
            };
            (flags != Flags::default()).then(|| (change.key.clone(), flags))
        }));
        fed.version = changes.last().map_or(fed.version, |last| last.version).max(lost_up_to);
        keys
    }
}
