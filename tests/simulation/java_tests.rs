//! The model of a Java server: beside another one, and beside a node of this kind.

mod recorded;
mod sending;
mod statuses;

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use bytes::Bytes;
use eurekad::clock::Clock;
use eurekad::node::{Env, Node};
use eurekad::peers::{Failure, Transport, TransportError};
use eurekad::settings::{from_arguments, split_arguments};
use eurekad::telemetry::DroppedLines;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::java::Java;
use crate::nodes::NoNames;

const EPOCH: i64 = 1_750_000_000_000;

/// Routers by host; each request takes a millisecond.
#[derive(Debug, Clone, Default)]
struct Wires(Arc<Mutex<BTreeMap<String, Router>>>);

impl Transport for Wires {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, TransportError>> + Send + 'a>> {
        Box::pin(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let host = request.uri().authority().unwrap().to_string();
            let router = self.0.lock().unwrap().get(&host).cloned();
            let nobody = || TransportError { failure: Failure::Unreachable, detail: "refused".to_owned() };
            let answer = router.ok_or_else(nobody)?.oneshot(request.map(Body::from)).await.unwrap();
            let (parts, body) = answer.into_parts();
            Ok(Response::from_parts(parts, body.collect().await.unwrap().to_bytes()))
        })
    }
}

impl Wires {
    fn place(&self, host: &str, router: Router) {
        self.0.lock().unwrap().insert(host.to_owned(), router);
    }

    fn remove(&self, host: &str) -> Router {
        self.0.lock().unwrap().remove(host).unwrap()
    }

    fn java(&self, host: &str, peer: &str) -> Arc<Java> {
        let peers = vec![format!("http://{peer}/eureka/")];
        let java = Java::new(peers, Arc::new(self.clone()), Clock::simulated(EPOCH));
        self.place(host, java.router());
        java
    }

    /// One that has booted, or is still looking for somebody who has a registry.
    async fn running_java(&self, host: &str, peer: &str) -> Arc<Java> {
        let java = self.java(host, peer);
        let booting = Arc::clone(&java);
        tokio::spawn(async move { booting.boot().await });
        pass_ms(10).await;
        java
    }

    async fn node(&self, host: &str, peer: &str) -> Arc<Node> {
        let arguments = [
            format!("--eureka.client.service-url.default-zone=http://{peer}/eureka/"),
            "--eureka.server.use-read-only-response-cache=false".to_owned(),
            "--eureka.client.register-with-eureka=false".to_owned(),
        ];
        let (dotted, _) = split_arguments(arguments);
        let transport = Arc::new(self.clone());
        let resolver = Arc::new(NoNames);
        let env = Env {
            clock: Clock::simulated(EPOCH),
            seed: 7,
            transport,
            resolver,
            freezer: Arc::default(),
            dropped_lines: DroppedLines::default(),
        };
        let node = Arc::new(Node::new(from_arguments(&dotted).unwrap(), env, 8761));
        self.place(host, node.router());
        node.boot().await;
        pass_ms(100).await;
        node
    }

    async fn call(&self, method: &str, url: &str, body: Option<&Value>) -> (StatusCode, Value) {
        let request = Request::builder().method(method).uri(format!("http://{url}"));
        let request = request.header("accept", "application/json").header("content-type", "application/json");
        let body = Bytes::from(body.map(ToString::to_string).unwrap_or_default());
        let answer = self.send(request.body(body).unwrap()).await.unwrap();
        (answer.status(), serde_json::from_slice(answer.body()).unwrap_or_default())
    }

    async fn register(&self, host: &str, id: &str, dirty: i64, status: &str) {
        let body = json!({ "instance": instance(id, dirty, status) });
        let answer = self.call("POST", &format!("{host}/eureka/apps/ORDERS"), Some(&body)).await;
        assert_eq!(answer.0, StatusCode::NO_CONTENT);
    }

    /// A call about one instance; `more` follows its path.
    async fn about(&self, host: &str, method: &str, id: &str, more: &str) -> u16 {
        self.call(method, &format!("{host}/eureka/apps/ORDERS/{id}{more}"), None).await.0.as_u16()
    }

    /// The status, the overridden one and the timestamp that a server shows of x; nothing if it is not there.
    async fn x(&self, host: &str) -> String {
        let answer = self.call("GET", &format!("{host}/eureka/apps/ORDERS/x"), None).await.1;
        let text = |field: &str| answer["instance"][field].as_str().unwrap_or_default().to_owned();
        let words = [text("status"), text("overriddenStatus"), text("lastDirtyTimestamp")].join(" ");
        words.trim().to_owned()
    }

    async fn batch(&self, host: &str, items: Value) -> (u16, Value) {
        let url = format!("{host}/eureka/peerreplication/batch/");
        let (status, body) = self.call("POST", &url, Some(&json!({ "replicationList": items }))).await;
        (status.as_u16(), body["responseList"].clone())
    }
}

fn instance(id: &str, dirty: i64, status: &str) -> Value {
    json!({
        "instanceId": id, "hostName": "n1.test", "app": "ORDERS", "ipAddr": "10.9.0.1", "status": status,
        "vipAddress": "orders", "port": {"$": 8080, "@enabled": "true"},
        "dataCenterInfo": {"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"},
        "leaseInfo": {"renewalIntervalInSecs": 30, "durationInSecs": 90},
        "lastDirtyTimestamp": dirty.to_string()})
}

async fn pass_ms(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

/// What clients and operators do at one server is seen at the other.
async fn everything_is_told(net: &Wires, here: &str, there: &str) {
    net.register(here, "x", 1000, "UP").await;
    pass_ms(700).await;
    assert_eq!(net.x(there).await, "UP UNKNOWN 1000");
    // The client is heard here only, and lives there.
    for _ in 0..10 {
        pass_ms(30_000).await;
        assert_eq!(net.about(here, "PUT", "x", "?status=UP&lastDirtyTimestamp=1000").await, 200);
    }
    assert_eq!(net.x(there).await, "UP UNKNOWN 1000");
    assert_eq!(
        net.about(here, "PUT", "x", "/status?value=OUT_OF_SERVICE&lastDirtyTimestamp=1500").await,
        200
    );
    pass_ms(700).await;
    assert_eq!(net.x(there).await, "OUT_OF_SERVICE OUT_OF_SERVICE 1500");
    assert_eq!(net.about(here, "DELETE", "x", "/status?value=UP").await, 200);
    pass_ms(700).await;
    assert_eq!(net.x(there).await, "UP UNKNOWN 1500");
    net.register(here, "x", 2000, "DOWN").await;
    pass_ms(700).await;
    assert_eq!(net.x(there).await, "DOWN UNKNOWN 2000");
    assert_eq!(net.about(here, "DELETE", "x", "").await, 200);
    pass_ms(700).await;
    assert_eq!(net.x(there).await, "");
}

#[tokio::test(start_paused = true)]
async fn two_models_tell_each_other_everything() {
    let net = Wires::default();
    let (j, _k) = (net.running_java("j:1", "k:1").await, net.running_java("k:1", "j:1").await);
    everything_is_told(&net, "j:1", "k:1").await;
    everything_is_told(&net, "k:1", "j:1").await;
    assert!(j.shows().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_model_and_a_node_tell_each_other_everything_in_words_that_the_model_takes() {
    let net = Wires::default();
    let java = net.running_java("j:1", "a:1").await;
    let node = net.node("a:1", "j:1").await;
    everything_is_told(&net, "j:1", "a:1").await;
    // What was cancelled by a peer's client does not stop one of ours.
    everything_is_told(&net, "a:1", "j:1").await;
    let view = node.peers().remove(0);
    assert_eq!((view.queued, view.dropped, view.last_error), (0, 0, None));
    assert!(java.shows().is_empty());
}

#[tokio::test(start_paused = true)]
async fn each_copies_the_others_registry_at_its_start() {
    let net = Wires::default();
    let (j, node) = (net.running_java("j:1", "a:1").await, net.node("a:1", "j:1").await);
    net.register("j:1", "x", 1000, "UP").await;
    net.about("j:1", "PUT", "x", "/status?value=OUT_OF_SERVICE").await;
    pass_ms(700).await;
    let shown = j.shows();
    j.kill();
    let again = net.java("j:1", "a:1");
    again.boot().await;
    assert_eq!(again.shows(), shown);
    node.stop_background().await;
    net.node("a:1", "j:1").await;
    assert_eq!(net.x("a:1").await, "OUT_OF_SERVICE OUT_OF_SERVICE 1000");
}

#[tokio::test(start_paused = true)]
async fn a_lease_ends_after_its_duration_and_a_renewed_one_after_twice_that() {
    let net = Wires::default();
    let _java = net.running_java("j:1", "k:1").await;
    // Nobody has a registry: it looks for one, and evicts only after that.
    pass_ms(130_000).await;
    net.register("j:1", "x", 1000, "UP").await;
    pass_ms(89_000).await;
    assert_eq!(net.x("j:1").await, "UP UNKNOWN 1000");
    assert_eq!(net.about("j:1", "PUT", "x", "").await, 200);
    pass_ms(179_000).await;
    assert_eq!(net.x("j:1").await, "UP UNKNOWN 1000");
    pass_ms(4_000).await;
    assert_eq!(net.about("j:1", "PUT", "x", "").await, 404);
}

#[tokio::test(start_paused = true)]
async fn an_eviction_is_told_to_nobody() {
    let net = Wires::default();
    let (j, k) = (net.running_java("j:1", "k:1").await, net.running_java("k:1", "j:1").await);
    pass_ms(130_000).await;
    net.register("j:1", "x", 1000, "UP").await;
    pass_ms(80_000).await;
    // A bare replica call: only this server hears it.
    let beat = json!([{"appName": "ORDERS", "id": "x", "action": "Heartbeat"}]);
    assert_eq!(net.batch("k:1", beat).await, (200, json!([{"statusCode": 200}])));
    pass_ms(15_000).await;
    assert_eq!((j.shows().len(), k.shows().len()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_with_an_older_record_brings_the_newer_one_back() {
    for ours in [false, true] {
        let net = Wires::default();
        let _java = net.running_java("j:1", "k:1").await;
        let other = if ours {
            let node = net.node("k:1", "j:1").await;
            Box::new(node) as Box<dyn std::any::Any>
        } else {
            Box::new(net.running_java("k:1", "j:1").await)
        };
        for (stale, newer) in [("j:1", "k:1"), ("k:1", "j:1")] {
            net.register(stale, "x", 1000, "UP").await;
            pass_ms(700).await;
            // Only one hears of the newer record.
            let item = json!({"appName": "ORDERS", "id": "x", "action": "Register",
                "instanceInfo": instance("x", 2000, "DOWN")});
            assert_eq!(net.batch(newer, json!([item])).await.0, 200);
            assert_eq!(net.x(stale).await, "UP UNKNOWN 1000", "{stale} {ours}");
            assert_eq!(net.about(stale, "PUT", "x", "").await, 200);
            pass_ms(1_500).await;
            assert_eq!(net.x(stale).await, "DOWN UNKNOWN 2000", "{stale} {ours}");
            net.about(stale, "DELETE", "x", "").await;
            pass_ms(120_000).await;
        }
        drop(other);
    }
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_that_a_peer_does_not_know_brings_it_the_record() {
    for ours in [false, true] {
        let net = Wires::default();
        let _java = net.running_java("j:1", "k:1").await;
        net.register("j:1", "x", 1000, "UP").await;
        // Longer than the registration is worth sending.
        pass_ms(40_000).await;
        let there =
            if ours { net.node("k:1", "none:1").await.router() } else { net.java("k:1", "j:1").router() };
        net.place("k:1", there);
        pass_ms(1_000).await;
        assert_eq!(net.x("k:1").await, "");
        net.about("j:1", "PUT", "x", "").await;
        pass_ms(2_000).await;
        assert_eq!(net.x("k:1").await, "UP UNKNOWN 1000");
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_is_away_for_less_than_a_messages_life_misses_nothing() {
    let net = Wires::default();
    let (_j, k) = (net.running_java("j:1", "k:1").await, net.running_java("k:1", "j:1").await);
    net.register("j:1", "y", 1000, "UP").await;
    pass_ms(700).await;
    let router = net.remove("k:1");
    net.about("j:1", "DELETE", "y", "").await;
    for n in 0..300 {
        net.register("j:1", &format!("i{n}"), 1000, "UP").await;
    }
    pass_ms(20_000).await;
    net.place("k:1", router);
    pass_ms(1_000).await;
    assert_eq!(k.shows().len(), 300);
    let router = net.remove("k:1");
    net.about("j:1", "DELETE", "i0", "").await;
    pass_ms(31_000).await;
    net.place("k:1", router);
    pass_ms(1_000).await;
    assert_eq!(k.shows().len(), 300, "the cancellation was given up");
}

#[tokio::test(start_paused = true)]
async fn a_batch_with_an_unknown_field_is_refused_whole() {
    let net = Wires::default();
    let java = net.running_java("j:1", "k:1").await;
    let good = json!({"appName": "ORDERS", "id": "x", "action": "Register", "lastDirtyTimestamp": 1000,
        "status": "UP", "instanceInfo": instance("x", 1000, "UP")});
    let with = |field: &str, value: Value| {
        let mut item = good.clone();
        item[field] = value;
        item
    };
    let mut odd = instance("x", 1000, "UP");
    odd["more"] = json!([1]);
    for bad in [with("more", json!(1)), with("action", json!("Explode")), with("instanceInfo", odd)] {
        assert_eq!(net.batch("j:1", json!([good, bad])).await.0, 400);
    }
    assert!(java.shows().is_empty());
    let answers = net.batch("j:1", json!([good, {"appName": "ORDERS", "id": "y", "action": "Cancel"}])).await;
    assert_eq!(answers, (200, json!([{"statusCode": 200}, {"statusCode": 404}])));
}

#[tokio::test(start_paused = true)]
async fn an_override_outlives_registrations_and_its_removal_asks_the_client_to_register() {
    let net = Wires::default();
    let _java = net.running_java("j:1", "k:1").await;
    net.register("j:1", "x", 1000, "UP").await;
    net.about("j:1", "PUT", "x", "/status?value=OUT_OF_SERVICE").await;
    net.register("j:1", "x", 2000, "UP").await;
    assert_eq!(net.x("j:1").await, "OUT_OF_SERVICE OUT_OF_SERVICE 2000");
    net.about("j:1", "DELETE", "x", "/status").await;
    assert_eq!(net.about("j:1", "PUT", "x", "").await, 404);
    net.register("j:1", "x", 2000, "UP").await;
    assert_eq!(net.x("j:1").await, "UP UNKNOWN 2000");
    // Of what is shown already no override is stored, and an older record does not replace a newer one.
    net.about("j:1", "PUT", "x", "/status?value=UP").await;
    net.register("j:1", "x", 1000, "DOWN").await;
    assert_eq!(net.x("j:1").await, "UP UNKNOWN 2000");
    assert_eq!(net.about("j:1", "PUT", "x", "/status?value=up").await, 500);
    assert_eq!(net.about("j:1", "PUT", "x", "?lastDirtyTimestamp=3000").await, 404);
}

#[tokio::test(start_paused = true)]
async fn an_override_goes_with_a_cancellation_and_comes_with_a_peers_newer_heartbeat() {
    let net = Wires::default();
    let _java = net.running_java("j:1", "k:1").await;
    net.register("j:1", "x", 1000, "UP").await;
    net.about("j:1", "PUT", "x", "/status?value=OUT_OF_SERVICE").await;
    net.about("j:1", "DELETE", "x", "").await;
    net.register("j:1", "x", 1000, "UP").await;
    assert_eq!(net.x("j:1").await, "UP UNKNOWN 1000");
    let beat = json!([{"appName": "ORDERS", "id": "x", "action": "Heartbeat", "lastDirtyTimestamp": 2000,
        "status": "OUT_OF_SERVICE", "overriddenStatus": "OUT_OF_SERVICE"}]);
    assert_eq!(net.batch("j:1", beat).await, (200, json!([{"statusCode": 404}])));
    assert_eq!(net.x("j:1").await, "UP OUT_OF_SERVICE 1000", "the status follows with the next heartbeat");
    net.about("j:1", "PUT", "x", "").await;
    assert_eq!(net.x("j:1").await, "OUT_OF_SERVICE OUT_OF_SERVICE 1000");
}

#[tokio::test(start_paused = true)]
async fn one_pass_evicts_no_more_than_a_share_of_all_leases() {
    let net = Wires::default();
    let java = net.running_java("j:1", "k:1").await;
    pass_ms(130_000).await;
    for n in 0..20 {
        net.register("j:1", &format!("i{n}"), 1000, "UP").await;
    }
    pass_ms(92_000).await;
    assert_eq!(java.shows().len(), 17);
    pass_ms(2_000).await;
    assert_eq!(java.shows().len(), 14);
}
