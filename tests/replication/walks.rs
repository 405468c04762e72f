//! Random histories under random cuts, from seeds: when the network is whole again, all nodes must show the same.

use std::fmt::Write;

use axum::http::Method;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::net::{ABC, Member, Net, pass_ms};

const OWN: [&str; 3] = ["UP", "DOWN", "STARTING"];
const SET: [&str; 3] = ["OUT_OF_SERVICE", "DOWN", "UP"];

/// Three nodes, a few clients, and what they did, to be read when a seed fails.
struct Walk {
    net: Net,
    nodes: Vec<Member>,
    chance: SmallRng,
    clients: [Client; 4],
    dirty: i64,
    history: String,
}

#[derive(Clone, Copy, Default)]
struct Client {
    /// What it last registered with; nothing if it is not there.
    registered: Option<(i64, &'static str)>,
}

impl Walk {
    async fn start(seed: u64) -> Self {
        let net = Net::default();
        let nodes: Vec<Member> = ABC.iter().map(|host| Member::new(&net, host, &ABC, &[])).collect();
        tokio::join!(nodes[0].node.boot(), nodes[1].node.boot(), nodes[2].node.boot());
        pass_ms(500).await;
        let history = format!("seed {seed}");
        Self {
            net,
            nodes,
            chance: SmallRng::seed_from_u64(seed),
            clients: Default::default(),
            dirty: 1000,
            history,
        }
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.chance.random_range(0..from.len())]
    }

    fn note(&mut self, what: std::fmt::Arguments<'_>) {
        let _ = write!(self.history, "\n  {what}");
    }

    /// A client registers at a node, or speaks again with what it said last.
    async fn register(&mut self, client: usize, node: usize, anew: Option<&'static str>) {
        let (dirty, status) = match (anew, self.clients[client].registered) {
            (None, Some(last)) => last,
            (status, _) => {
                self.dirty += 1000;
                (self.dirty, status.unwrap_or("UP"))
            }
        };
        self.clients[client].registered = Some((dirty, status));
        self.nodes[node].register(&format!("i-{client}"), dirty, status).await;
        self.note(format_args!("client {client} registers {status} {dirty} at {}", ABC[node]));
    }

    /// A client beats, and registers again if it has to.
    async fn beat(&mut self, client: usize, node: usize) {
        let Some((dirty, status)) = self.clients[client].registered else { return };
        let path = format!("/eureka/apps/ORDERS/i-{client}?status={status}&lastDirtyTimestamp={dirty}");
        if self.nodes[node].call(Method::PUT, &path, None).await.0 == 404 {
            self.register(client, node, None).await;
        }
    }

    async fn cancel(&mut self, client: usize, node: usize) {
        self.clients[client].registered = None;
        self.nodes[node].cancel(&format!("i-{client}")).await;
        self.note(format_args!("client {client} cancels at {}", ABC[node]));
    }

    /// The network fails somewhere, or everything is mended.
    fn weather(&mut self) {
        let (from, to) = (self.pick(&ABC), self.pick(&ABC));
        if from == to {
            self.net.heal();
            self.note(format_args!("everything is mended"));
        } else {
            self.net.cut(from, to);
            self.note(format_args!("cut {from} to {to}"));
        }
    }

    async fn wait(&mut self, most_ms: u64) {
        let wait = self.chance.random_range(0..most_ms);
        pass_ms(wait).await;
    }

    /// What each node shows of a client's instance: its status, its record's timestamp, and what is set from outside.
    async fn shown(&self, client: usize) -> Vec<String> {
        let mut shown = Vec::new();
        for node in &self.nodes {
            let instance = node.instance(&format!("i-{client}")).await;
            let word = |field: &str| instance[field].as_str().unwrap_or("-").to_owned();
            let over = match instance["overriddenStatus"].as_str() {
                Some("UNKNOWN") | None => String::new(),
                Some(set) => format!("/{set}"),
            };
            shown.push([word("status"), word("lastDirtyTimestamp")].join("/") + &over);
        }
        shown
    }

    async fn end(self) {
        for node in self.nodes {
            node.kill().await;
        }
    }
}

/// One writer per instance, operators included: whatever the network does, all nodes end alike.
#[tokio::test(start_paused = true)]
async fn what_one_node_is_told_of_an_instance_is_what_all_nodes_end_with() {
    for seed in 0..300 {
        let mut walk = Walk::start(seed).await;
        for _ in 0..60 {
            let client = walk.chance.random_range(0..walk.clients.len());
            let (node, id) = (client % ABC.len(), format!("i-{client}"));
            match walk.chance.random_range(0..8) {
                0 | 1 => {
                    let status = walk.pick(&OWN);
                    walk.register(client, node, Some(status)).await;
                }
                2 => walk.cancel(client, node).await,
                3 => {
                    let status = walk.pick(&SET);
                    walk.nodes[node].set_status(&id, status).await;
                    walk.note(format_args!("{id} is set {status} at {}", ABC[node]));
                }
                4 => {
                    let status = walk.pick(&SET);
                    walk.nodes[node].clear_status(&id, status).await;
                    walk.note(format_args!("{id} is cleared to {status} at {}", ABC[node]));
                }
                5 => walk.weather(),
                _ => walk.beat(client, node).await,
            }
            walk.wait(3_000).await;
        }
        walk.net.heal();
        for _ in 0..4 {
            for client in 0..walk.clients.len() {
                walk.beat(client, client % ABC.len()).await;
            }
            pass_ms(25_000).await;
        }
        for client in 0..walk.clients.len() {
            let shown = walk.shown(client).await;
            let alike = shown.iter().all(|s| *s == shown[0]);
            assert!(alike, "client {client}: {shown:?}\n{}", walk.history);
        }
        walk.end().await;
    }
}

/// Many writers, no operator: every call of a client goes to another node, as behind a balancer.
#[tokio::test(start_paused = true)]
async fn clients_behind_a_balancer_end_with_what_they_said_last_everywhere() {
    for seed in 0..300 {
        let mut walk = Walk::start(seed).await;
        for _ in 0..50 {
            let client = walk.chance.random_range(0..walk.clients.len());
            let node = walk.chance.random_range(0..ABC.len());
            match walk.chance.random_range(0..8) {
                0 | 1 => {
                    let status = walk.pick(&OWN);
                    walk.register(client, node, Some(status)).await;
                }
                2 => walk.cancel(client, node).await,
                3 => walk.weather(),
                _ => walk.beat(client, node).await,
            }
            walk.wait(6_000).await;
        }
        walk.net.heal();
        for _ in 0..10 {
            for client in 0..walk.clients.len() {
                let node = walk.chance.random_range(0..ABC.len());
                walk.beat(client, node).await;
            }
            pass_ms(25_000).await;
        }
        for client in 0..walk.clients.len() {
            let expected = match walk.clients[client].registered {
                Some((dirty, status)) => format!("{status}/{dirty}"),
                None => "-/-".to_owned(),
            };
            let shown = walk.shown(client).await;
            let right = shown.iter().all(|s| *s == expected);
            assert!(right, "client {client}: {shown:?}, expected {expected}\n{}", walk.history);
        }
        walk.end().await;
    }
}
