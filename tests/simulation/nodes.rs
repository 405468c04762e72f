//! The nodes of a simulated cluster: started, frozen, killed and started again.

use std::collections::BTreeMap;
use std::sync::Arc;

use eurekad::clock::Clock;
use eurekad::node::{Env, Freezer, Node};
use eurekad::peers::{LookUp, Resolve, Transport};
use eurekad::registry::Scope;
use eurekad::settings::{from_arguments, split_arguments};
use eurekad::telemetry::DroppedLines;

use tokio::time::Instant;

use crate::net::Net;

/// What a node shows of an instance, or what it should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) status: String,
    /// The timestamp of the client's own record.
    pub(crate) dirty: i64,
    /// What is set from outside; empty for nothing.
    pub(crate) over: String,
}

/// Names are not used here.
#[derive(Debug)]
pub(crate) struct NoNames;

impl Resolve for NoNames {
    fn addresses<'a>(&'a self, _: &'a str, _: u16) -> LookUp<'a, Vec<std::net::SocketAddr>> {
        Box::pin(async { Err(std::io::Error::other("no such name")) })
    }

    fn texts<'a>(&'a self, _: &'a str) -> LookUp<'a, Vec<String>> {
        Box::pin(async { Err(std::io::Error::other("no such name")) })
    }
}

/// A place for a node, and the node that runs there.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) host: String,
    net: Net,
    settings: Vec<String>,
    clock: Clock,
    pub(crate) running: Option<Running>,
    /// When the process that runs here was started.
    pub(crate) started: Option<Instant>,
    starts: u64,
    seed: u64,
}

#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) node: Arc<Node>,
    freezer: Arc<Freezer>,
}

impl Place {
    pub(crate) fn new(net: &Net, host: &str, settings: &[String], clock: Clock, seed: u64) -> Self {
        let (host, settings) = (host.to_owned(), settings.to_vec());
        Self { host, net: net.clone(), settings, clock, running: None, started: None, starts: 0, seed }
    }

    /// Starts a process here.
    pub(crate) fn start(&mut self) {
        self.starts += 1;
        self.started = Some(Instant::now());
        let freezer = Arc::new(Freezer::default());
        let (dotted, _) = split_arguments(self.settings.iter().cloned());
        let env = Env {
            clock: self.clock.clone(),
            seed: self.seed.wrapping_mul(31).wrapping_add(self.starts),
            transport: self.net.link(&self.host) as Arc<dyn Transport>,
            resolver: Arc::new(NoNames),
            freezer: Arc::clone(&freezer),
            dropped_lines: DroppedLines::default(),
        };
        let node = Arc::new(Node::new(from_arguments(&dotted).unwrap(), env, 8761));
        self.net.place(&self.host, node.router(), &freezer);
        let (boots, thaws) = (Arc::clone(&node), Arc::clone(&freezer));
        tokio::spawn(async move { thaws.run(boots.boot()).await });
        self.running = Some(Running { node, freezer });
    }

    /// The process dies, or ends its work in good order first.
    pub(crate) async fn stop(&mut self, in_order: bool) {
        let Some(running) = self.running.take() else { return };
        running.freezer.freeze(false);
        if in_order {
            running.node.leave().await;
        }
        self.net.remove(&self.host);
        running.node.stop_background().await;
    }

    pub(crate) fn freeze(&self, freeze: bool) {
        if let Some(running) = &self.running {
            running.freezer.freeze(freeze);
        }
    }

    /// The wall clock steps.
    pub(crate) fn step(&self, millis: i64) {
        self.clock.step(millis);
    }

    pub(crate) fn node(&self) -> Option<&Arc<Node>> {
        self.running.as_ref().map(|running| &running.node)
    }

    /// What it shows, by id; nothing while it is down.
    pub(crate) fn shows(&self) -> BTreeMap<String, Shown> {
        let Some(node) = self.node() else { return BTreeMap::new() };
        let content = node.registry().content(&Scope::All).unwrap();
        let entries = content.groups.iter().flat_map(|group| group.instances());
        entries
            .map(|entry| {
                let word = entry.info.overridden_status.as_str();
                let over = if word == "UNKNOWN" { String::new() } else { word.to_owned() };
                let status = entry.info.status.as_str().to_owned();
                (entry.info.id().to_owned(), Shown { status, dirty: entry.record_dirty(), over })
            })
            .collect()
    }
}
