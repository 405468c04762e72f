//! A network of routers. Links can be cut and slowed; every request that is delivered is counted.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, Response, StatusCode};
use bytes::Bytes;
use eurekad::clock::Clock;
use eurekad::node::{Env, Node};
use eurekad::peers::{Failure, LookUp, PeerView, Resolve, Transport, TransportError};
use eurekad::registry::Key;
use eurekad::settings::{from_arguments, split_arguments};
use eurekad::telemetry::DroppedLines;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

/// The addresses of two nodes that are each other's peers.
pub(crate) const AB: [&str; 2] = ["a:1", "b:1"];

/// The same of three.
pub(crate) const ABC: [&str; 3] = ["a:1", "b:1", "c:1"];

pub(crate) const EPOCH: i64 = 1_750_000_000_000;

/// Where nodes of this kind tell each other what happened.
pub(crate) const TELL: &str = "/eureka/peerreplication/ours/tell";

/// The id of a node that nobody lists.
pub(crate) const STRANGER: &str = "00c0ffee00c0ffee";

/// How long one way takes.
const DELAY: Duration = Duration::from_millis(1);

/// The network: who is where, and which links are cut.
#[derive(Debug, Clone, Default)]
pub(crate) struct Net(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    hosts: HashMap<String, Router>,
    cut: HashSet<(String, String)>,
    hanging: HashSet<String>,
    delivered: Vec<Delivered>,
    attempts: HashMap<String, usize>,
    names: HashMap<String, Vec<SocketAddr>>,
    texts: HashMap<String, Result<Vec<String>, String>>,
    late: HashMap<String, u64>,
    hold: HashMap<(String, String), u64>,
}

/// One request that reached a host.
#[derive(Debug, Clone)]
pub(crate) struct Delivered {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) path: String,
    pub(crate) body: String,
    pub(crate) authorization: Option<String>,
}

impl Net {
    /// Puts a router at `host`, in place of whatever was there.
    pub(crate) fn place(&self, host: &str, router: Router) {
        self.state().hosts.insert(host.to_owned(), router);
    }

    /// Takes a host off the network.
    pub(crate) fn remove(&self, host: &str) {
        self.state().hosts.remove(host);
    }

    /// Cuts a link in one direction.
    pub(crate) fn cut(&self, from: &str, to: &str) {
        self.state().cut.insert((from.to_owned(), to.to_owned()));
    }

    /// Cuts a link in both directions.
    pub(crate) fn part(&self, a: &str, b: &str) {
        self.cut(a, b);
        self.cut(b, a);
    }

    /// Mends every link.
    pub(crate) fn heal(&self) {
        let mut state = self.state();
        state.cut.clear();
        state.hanging.clear();
    }

    /// A host that takes connections and never answers.
    pub(crate) fn hang(&self, host: &str) {
        self.state().hanging.insert(host.to_owned());
    }

    /// Requests to a host arrive so many milliseconds late, and their senders do not hear of it.
    pub(crate) fn late(&self, host: &str, millis: u64) {
        self.state().late.insert(host.to_owned(), millis);
    }

    /// Requests on a link, in one direction, take so many milliseconds longer.
    pub(crate) fn hold(&self, from: &str, to: &str, millis: u64) {
        self.state().hold.insert((from.to_owned(), to.to_owned()), millis);
    }

    /// Gives a name such addresses; none makes it resolve no longer.
    pub(crate) fn name(&self, name: &str, addresses: &[&str]) {
        let addresses: Vec<SocketAddr> = addresses.iter().map(|a| a.parse().unwrap()).collect();
        self.state().names.insert(name.to_owned(), addresses);
    }

    /// What a look-up of a name's TXT records gives. Without this it does not resolve.
    pub(crate) fn texts(&self, name: &str, answer: Result<&[&str], &str>) {
        let answer = answer.map(|texts| texts.iter().map(|text| (*text).to_owned()).collect());
        self.state().texts.insert(name.to_owned(), answer.map_err(str::to_owned));
    }

    /// How many requests to `to` were tried.
    pub(crate) fn attempts(&self, to: &str) -> usize {
        self.state().attempts.get(to).copied().unwrap_or(0)
    }

    /// What reached `to`, oldest first.
    pub(crate) fn delivered(&self, to: &str) -> Vec<Delivered> {
        self.state().delivered.iter().filter(|d| d.to == to).cloned().collect()
    }

    /// What reached `to` from `from`, as `Action id`: the items of batches, and the states that nodes of this kind tell.
    pub(crate) fn items(&self, from: &str, to: &str) -> Vec<String> {
        let told =
            self.delivered(to).into_iter().filter(|d| d.from == from && d.path.contains("peerreplication"));
        told.filter(|d| d.path.contains("batch") || d.path.contains("tell"))
            .flat_map(|told| {
                let batch: Value = serde_json::from_str(&told.body).unwrap();
                if told.path.contains("tell") {
                    return states(&batch);
                }
                let items = batch["replicationList"].as_array().unwrap().clone();
                items
                    .into_iter()
                    .map(|i| format!("{} {}", i["action"].as_str().unwrap(), i["id"].as_str().unwrap()))
                    .collect()
            })
            .collect()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }
}

/// The states that a node tells another, in Eureka's words; what it only asks about is left out.
fn states(told: &Value) -> Vec<String> {
    let states = told["keys"].as_array().unwrap().iter().filter(|_| told["asks"] == false);
    states
        .map(|state| {
            let action = match (state.get("r"), state.get("i")) {
                (None, _) => "Cancel",
                (Some(_), None) => "Heartbeat",
                (Some(_), Some(_)) => "Register",
            };
            format!("{action} {}", state["id"].as_str().unwrap())
        })
        .collect()
}

impl Resolve for Net {
    fn addresses<'a>(&'a self, host: &'a str, _: u16) -> LookUp<'a, Vec<SocketAddr>> {
        let found = self.state().names.get(host).cloned().unwrap_or_default();
        Box::pin(async move {
            if found.is_empty() { Err(std::io::Error::other("no such name")) } else { Ok(found) }
        })
    }

    fn texts<'a>(&'a self, name: &'a str) -> LookUp<'a, Vec<String>> {
        let found = self.state().texts.get(name).cloned();
        let found = found.unwrap_or_else(|| Err("there is no such name".to_owned()));
        Box::pin(async move { found.map_err(std::io::Error::other) })
    }
}

/// The network as one host sees it.
#[derive(Debug)]
struct Link {
    from: String,
    net: Net,
    timeout: Duration,
}

impl Transport for Link {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, TransportError>> + Send + 'a>> {
        Box::pin(async move {
            tokio::time::sleep(DELAY).await;
            let to = request.uri().authority().unwrap().to_string();
            *self.net.state().attempts.entry(to.clone()).or_default() += 1;
            let error = |failure, detail: &str| TransportError { failure, detail: detail.to_owned() };
            let (router, cut, hanging) = {
                let state = self.net.state();
                let cut = |a: &str, b: &str| state.cut.contains(&(a.to_owned(), b.to_owned()));
                (
                    state.hosts.get(&to).cloned(),
                    (cut(&self.from, &to), cut(&to, &self.from)),
                    state.hanging.contains(&to),
                )
            };
            if hanging || cut.0 {
                tokio::time::sleep(self.timeout).await;
                return Err(error(Failure::TimedOut, "no answer"));
            }
            let (late, hold) = {
                let state = self.net.state();
                let hold = state.hold.get(&(self.from.clone(), to.clone())).copied().unwrap_or(0);
                (state.late.get(&to).copied().unwrap_or(0), hold)
            };
            tokio::time::sleep(Duration::from_millis(hold)).await;
            if late > 0 {
                let (parts, body) = request.into_parts();
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(late)).await;
                    if let Some(router) = router {
                        drop(router.oneshot(Request::from_parts(parts, Body::from(body))).await);
                    }
                });
                tokio::time::sleep(self.timeout).await;
                return Err(error(Failure::TimedOut, "no answer"));
            }
            let router = router.ok_or_else(|| error(Failure::Unreachable, "connection refused"))?;
            let (parts, body) = request.into_parts();
            self.net.state().delivered.push(Delivered {
                from: self.from.clone(),
                to: to.clone(),
                path: parts.uri.path().to_owned(),
                body: String::from_utf8_lossy(&body).into_owned(),
                authorization: parts.headers.get("authorization").map(|v| v.to_str().unwrap().to_owned()),
            });
            let response = router.oneshot(Request::from_parts(parts, Body::from(body))).await.unwrap();
            let (parts, body) = response.into_parts();
            let body = body.collect().await.map_err(|e| error(Failure::Broken, &e.to_string()))?.to_bytes();
            if cut.1 {
                tokio::time::sleep(self.timeout).await;
                return Err(error(Failure::TimedOut, "the answer was lost"));
            }
            tokio::time::sleep(DELAY).await;
            Ok(Response::from_parts(parts, body))
        })
    }
}

/// A node on the network.
pub(crate) struct Member {
    pub(crate) node: Arc<Node>,
    pub(crate) host: String,
    clock: Clock,
    net: Net,
}

impl Member {
    /// A node at `host`, with such peers; not booted yet.
    pub(crate) fn new(net: &Net, host: &str, peers: &[&str], settings: &[&str]) -> Self {
        Self::with_skew(net, host, peers, settings, 0)
    }

    /// The same with a wall clock that is so many milliseconds ahead of the others'.
    pub(crate) fn with_skew(net: &Net, host: &str, peers: &[&str], settings: &[&str], skew: i64) -> Self {
        let urls: Vec<String> = peers.iter().map(|p| format!("http://{p}/eureka/")).collect();
        let fixed = [
            format!("--eureka.client.service-url.default-zone={}", urls.join(",")),
            "--eureka.server.use-read-only-response-cache=false".to_owned(),
            "--eureka.client.register-with-eureka=false".to_owned(),
        ];
        let arguments = fixed.into_iter().chain(settings.iter().map(|s| (*s).to_owned()));
        let (dotted, _) = split_arguments(arguments);
        let link = Link { from: host.to_owned(), net: net.clone(), timeout: Duration::from_secs(6) };
        let name = host.bytes().fold(7_u64, |seed, b| seed.wrapping_mul(31).wrapping_add(u64::from(b)));
        let seed = name.wrapping_add(net.state().delivered.len() as u64);
        let clock = Clock::simulated(EPOCH + skew);
        let env = Env {
            clock: clock.clone(),
            seed,
            transport: Arc::new(link),
            resolver: Arc::new(net.clone()),
            freezer: Arc::default(),
            dropped_lines: DroppedLines::default(),
        };
        let node = Arc::new(Node::new(from_arguments(&dotted).unwrap(), env, 8761));
        net.place(host, node.router());
        Self { node, host: host.to_owned(), clock, net: net.clone() }
    }

    /// Boots it in the background, as a process does.
    pub(crate) fn boot(&self) {
        let node = Arc::clone(&self.node);
        tokio::spawn(async move { node.boot().await });
    }

    /// A node that has booted.
    pub(crate) async fn start(net: &Net, host: &str, peers: &[&str]) -> Self {
        Self::start_with(net, host, peers, &[]).await
    }

    /// A node with such settings that has booted.
    pub(crate) async fn start_with(net: &Net, host: &str, peers: &[&str], settings: &[&str]) -> Self {
        let member = Self::new(net, host, peers, settings);
        member.node.boot().await;
        member
    }

    /// Ends it as a killed process ends: no word to anybody.
    pub(crate) async fn kill(self) {
        self.net.remove(&self.host);
        self.node.stop_background().await;
    }

    /// Sends a request of a client.
    pub(crate) async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> (StatusCode, Value) {
        let request = Request::builder().method(method).uri(path).header("accept", "application/json");
        let request = match body {
            Some(body) => {
                request.header("content-type", "application/json").body(Body::from(body.to_string()))
            }
            None => request.body(Body::empty()),
        };
        let response = self.node.router().oneshot(request.unwrap()).await.unwrap();
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
    }

    /// Posts what another server sends.
    pub(crate) async fn post(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> (StatusCode, HeaderMap, Value) {
        let request = Request::post(path).header("content-type", "application/json");
        let request = request.header("accept", "application/json");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let response = self.node.router().oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        (parts.status, parts.headers, serde_json::from_slice(&body).unwrap_or(Value::Null))
    }

    /// What a node of this kind is answered that tells these states.
    pub(crate) async fn hears(&self, keys: Value) -> (StatusCode, Value) {
        let body = json!({"asks": false, "keys": keys}).to_string();
        let (status, _, answer) = self.post(TELL, &[("eurekad-node", STRANGER)], body).await;
        (status, answer)
    }

    /// Registers an instance of ORDERS as its client does.
    pub(crate) async fn register(&self, id: &str, dirty: i64, status: &str) -> StatusCode {
        self.call(Method::POST, "/eureka/apps/ORDERS", Some(&instance(id, dirty, status))).await.0
    }

    /// Registers an instance of ORDERS whose lease is not over in the next minutes, whether or not it is renewed.
    pub(crate) async fn register_for_long(&self, id: &str) {
        let mut body = instance(id, 1000, "UP");
        body["instance"]["leaseInfo"] = json!({"renewalIntervalInSecs": 300, "durationInSecs": 900});
        assert_eq!(self.call(Method::POST, "/eureka/apps/ORDERS", Some(&body)).await.0, 204);
    }

    pub(crate) async fn beat(&self, id: &str) -> StatusCode {
        self.call(Method::PUT, &format!("/eureka/apps/ORDERS/{id}"), None).await.0
    }

    pub(crate) async fn cancel(&self, id: &str) -> StatusCode {
        self.call(Method::DELETE, &format!("/eureka/apps/ORDERS/{id}"), None).await.0
    }

    pub(crate) async fn set_status(&self, id: &str, status: &str) -> StatusCode {
        self.call(Method::PUT, &format!("/eureka/apps/ORDERS/{id}/status?value={status}"), None).await.0
    }

    pub(crate) async fn clear_status(&self, id: &str, status: &str) -> StatusCode {
        self.call(Method::DELETE, &format!("/eureka/apps/ORDERS/{id}/status?value={status}"), None).await.0
    }

    /// One instance; null if it is not there.
    pub(crate) async fn instance(&self, id: &str) -> Value {
        self.call(Method::GET, &format!("/eureka/apps/ORDERS/{id}"), None).await.1["instance"].clone()
    }

    /// The status that an instance shows; empty if it is not there.
    pub(crate) async fn shows(&self, id: &str) -> String {
        self.instance(id).await["status"].as_str().unwrap_or_default().to_owned()
    }

    /// Its wall clock, epoch milliseconds.
    pub(crate) fn epoch_millis(&self) -> i64 {
        self.clock.epoch_millis()
    }

    /// How long ago the client of an instance was heard, as far as this node knows.
    pub(crate) fn heard_ago(&self, id: &str) -> Duration {
        let entry = self.node.registry().entry(&Key::new("ORDERS", id)).unwrap();
        self.clock.tick().since(entry.lease.last_heard())
    }

    /// What it knows of one of its peers.
    pub(crate) fn peer(&self, host: &str) -> PeerView {
        self.node.peers().into_iter().find(|view| view.url.contains(host)).unwrap()
    }

    /// The peers that this node reports, by a word of its status document.
    pub(crate) async fn replicas(&self, which: &str) -> String {
        let status = self.call(Method::GET, "/eureka/status", None).await.1;
        status["applicationStats"][which].as_str().unwrap().to_owned()
    }
}

/// Two nodes that are each other's peers, both open.
pub(crate) async fn pair(net: &Net) -> (Member, Member) {
    let (a, b) = (Member::new(net, "a:1", &AB, &[]), Member::new(net, "b:1", &AB, &[]));
    tokio::join!(a.node.boot(), b.node.boot());
    pass_ms(100).await;
    (a, b)
}

/// Three nodes that are each other's peers, all open.
pub(crate) async fn trio(net: &Net) -> [Member; 3] {
    let nodes = ABC.map(|host| Member::new(net, host, &ABC, &[]));
    tokio::join!(nodes[0].node.boot(), nodes[1].node.boot(), nodes[2].node.boot());
    pass_ms(200).await;
    nodes
}

/// How many keys the comparisons of these nodes have put right: after a known loss, and without one.
pub(crate) fn put_right<'a>(nodes: impl IntoIterator<Item = &'a Member>) -> (u64, u64) {
    let each = nodes.into_iter().map(|member| &member.node.metrics().peers);
    each.fold((0, 0), |sum, one| (sum.0 + one.repaired.get(), sum.1 + one.repaired_unexplained.get()))
}

/// What all these nodes show of an instance, which has to be the same but for the times of its lease.
pub(crate) async fn alike(nodes: &[&Member], id: &str) -> Value {
    let mut shown = Vec::new();
    for node in nodes {
        let mut instance = node.instance(id).await;
        if let Some(fields) = instance.as_object_mut() {
            fields.retain(|name, _| !["leaseInfo", "lastUpdatedTimestamp", "actionType"].contains(&&**name));
        }
        shown.push(instance);
    }
    assert!(shown.iter().all(|one| *one == shown[0]), "{id}: {shown:#?}");
    shown.remove(0)
}

/// The body of a registration.
pub(crate) fn instance(id: &str, dirty: i64, status: &str) -> Value {
    json!({"instance": {
        "instanceId": id, "hostName": "n1.test", "app": "ORDERS", "ipAddr": "10.9.0.1", "status": status,
        "vipAddress": "orders", "port": {"$": 8080, "@enabled": "true"},
        "dataCenterInfo": {"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"},
        "leaseInfo": {"renewalIntervalInSecs": 30, "durationInSecs": 90},
        "lastDirtyTimestamp": dirty.to_string()}})
}

/// Lets virtual time pass, and everybody's background work run.
pub(crate) async fn pass_ms(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}
