//! What a node copies at its start, and what it makes of that.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use axum::response::IntoResponse;
use axum::routing::get;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::foreign::{accepting, answered, apps_with, java_with, server};
use crate::net::{AB, ABC, Member, Net, STRANGER, alike, instance, pair, pass_ms};

const COPY: &str = "/eureka/peerreplication/ours/copy";
const READY: &str = "/health/ready";

/// A node from which the buckets below `up_to` can be copied, and no others.
fn breaking(member: &Member, up_to: u64) -> Router {
    let to = member.node.router();
    Router::new().fallback(move |request: Request<Body>| {
        let to = to.clone();
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let question: Value = serde_json::from_slice(&body).unwrap_or_default();
            if parts.uri.path() == COPY && question["from"].as_u64().unwrap() >= up_to {
                return StatusCode::INTERNAL_SERVER_ERROR.into_response();
            }
            to.oneshot(Request::from_parts(parts, Body::from(body))).await.unwrap()
        }
    })
}

/// The first buckets of the questions that one node asked another.
fn copied_from(net: &Net, from: &str, to: &str) -> Vec<u64> {
    let asked = net.delivered(to).into_iter().filter(|d| d.from == from && d.path == COPY);
    asked.map(|d| serde_json::from_str::<Value>(&d.body).unwrap()["from"].as_u64().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn where_the_copy_breaks_off_the_next_node_goes_on() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    for n in 0..500 {
        a.register(&format!("i-{n}"), 1000, "UP").await;
    }
    a.set_status("i-7", "OUT_OF_SERVICE").await;
    pass_ms(2_000).await;
    net.place("a:1", breaking(&a, 128));
    // The one that breaks is the first to answer.
    net.hold("c:1", "b:1", 20);
    let c = Member::start(&net, "c:1", &ABC).await;
    assert_eq!(c.node.registry().len(), 500);
    assert_eq!(alike(&[&a, &b, &c], "i-7").await["status"], "OUT_OF_SERVICE");
    let (first, second) = (copied_from(&net, "c:1", "a:1"), copied_from(&net, "c:1", "b:1"));
    assert_eq!((first.first(), first.last()), (Some(&0), Some(&128)), "{first:?}");
    assert_eq!((second.first(), second.last()), (Some(&128), Some(&248)), "{second:?}");
}

#[tokio::test(start_paused = true)]
async fn a_node_whose_only_source_breaks_off_asks_again_and_does_not_open_with_half() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    for n in 0..100 {
        a.register(&format!("i-{n}"), 1000, "UP").await;
    }
    pass_ms(1_000).await;
    b.kill().await;
    net.place("a:1", breaking(&a, 128));
    let b = Member::new(&net, "b:1", &AB, &[]);
    b.boot();
    pass_ms(5_000).await;
    assert_eq!(b.call(Method::GET, "/health/ready", None).await.0, 503);
    net.place("a:1", a.node.router());
    pass_ms(5_000).await;
    assert_eq!(b.call(Method::GET, "/health/ready", None).await.0, 200);
    assert_eq!(b.node.registry().len(), 100);
}

#[tokio::test(start_paused = true)]
async fn what_only_another_node_than_the_copied_one_knows_is_there_before_a_node_opens() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("gone", 1000, "UP").await;
    pass_ms(100).await;
    net.part("a:1", "b:1");
    a.register("at-a", 1000, "UP").await;
    b.register("at-b", 1000, "UP").await;
    b.cancel("gone").await;
    net.hold("c:1", "b:1", 20);
    let c = Member::start(&net, "c:1", &ABC).await;
    assert_eq!((copied_from(&net, "c:1", "b:1").len(), copied_from(&net, "c:1", "a:1").len()), (0, 32));
    assert_eq!(
        (c.shows("at-a").await, c.shows("at-b").await, c.shows("gone").await),
        ("UP".into(), "UP".into(), String::new())
    );
    assert_eq!(c.node.metrics().peers.repaired_unexplained.get(), 0, "what differs is new here");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_about_to_stop_is_a_source_too() {
    let net = Net::default();
    let a = Member::start_with(&net, "a:1", &AB, &["--eurekad.boot.sync-timeout-ms=0"]).await;
    a.register("x", 1000, "UP").await;
    a.node.leave().await;
    let b = Member::start(&net, "b:1", &AB).await;
    assert_eq!(b.shows("x").await, "UP");
}

#[tokio::test(start_paused = true)]
async fn before_it_is_open_nothing_is_copied_from_a_node() {
    let net = Net::default();
    net.hang("b:1");
    let a = Member::new(&net, "a:1", &AB, &[]);
    a.boot();
    pass_ms(1_000).await;
    a.register("x", 1000, "UP").await;
    let ask = async |from: usize| {
        let question = json!({"from": from, "to": 256}).to_string();
        a.post(COPY, &[("eurekad-node", STRANGER)], question).await
    };
    let (status, headers, _) = ask(0).await;
    assert_eq!((status.as_u16(), &headers["eurekad-state"]), (403, &"booting".parse().unwrap()));
    pass_ms(40_000).await;
    let mut known = 0;
    // No answer has more than 32 of the 256 buckets.
    for from in (0..256).step_by(32) {
        let (status, headers, answer) = ask(from).await;
        assert_eq!((status.as_u16(), &headers["eurekad-state"]), (200, &"open".parse().unwrap()));
        known += answer["known"].as_array().unwrap().len();
    }
    assert_eq!(known, 1);
}

#[tokio::test(start_paused = true)]
async fn an_overdue_lease_gets_one_grace_and_its_true_age_is_handed_on() {
    let net = Net::default();
    let never = ["--eureka.server.eviction-interval-timer-in-ms=100000000"];
    let often = ["--eureka.server.eviction-interval-timer-in-ms=1000"];
    let a = Member::new(&net, "a:1", &ABC, &never);
    a.boot();
    pass_ms(40_000).await;
    a.register("x", 1000, "UP").await;
    pass_ms(150_000).await;
    let b = Member::start_with(&net, "b:1", &ABC, &often).await;
    assert_eq!(b.shows("x").await, "UP", "its client may have had nobody to speak to");
    assert!(b.heard_ago("x") >= Duration::from_secs(150));
    pass_ms(50_000).await;
    assert_eq!(b.shows("x").await, "UP");
    // Twice its interval is less than its duration.
    pass_ms(15_000).await;
    assert_eq!(b.node.registry().len(), 0);
    pass_ms(65_000).await;
    assert_eq!(b.node.registry().len(), 0, "no comparison brings it back");
    let c = Member::start_with(&net, "c:1", &ABC, &often).await;
    assert!(c.heard_ago("x") >= Duration::from_secs(280), "{:?}", c.heard_ago("x"));
    // Its client has not given up.
    assert_eq!(c.beat("x").await, 200);
    pass_ms(2_000).await;
    assert_eq!((a.shows("x").await, b.shows("x").await), ("UP".into(), "UP".into()));
}

#[tokio::test(start_paused = true)]
async fn what_was_copied_from_java_is_handed_on_once_somebody_has_heard_its_client() {
    let net = Net::default();
    let ids = ["silent", "beats", "set", "registers", "cancelled"];
    let copied = ids.map(|id| instance(id, 1000, "UP")["instance"].clone());
    net.place("java:1", java_with(&copied));
    let b = Member::start(&net, "b:1", &["a:1", "c:1", "java:1"]).await;
    assert_eq!(b.node.registry().len(), 5);
    let c = Member::start(&net, "c:1", &["b:1"]).await;
    assert_eq!(c.node.registry().len(), 0);
    pass_ms(65_000).await;
    assert_eq!(c.node.registry().len(), 0, "nor does a comparison hand it on");
    // It may be of any age: each later word counts, and each node's.
    assert_eq!(b.beat("beats").await, 200);
    assert_eq!(b.set_status("set", "OUT_OF_SERVICE").await, 200);
    assert_eq!(c.register("registers", 500, "DOWN").await, 204);
    assert_eq!(c.cancel("cancelled").await, 404, "it is unknown there");
    pass_ms(2_000).await;
    for (id, status) in [("beats", "UP"), ("set", "OUT_OF_SERVICE"), ("registers", "DOWN")] {
        assert_eq!(alike(&[&b, &c], id).await["status"], status, "{id}");
    }
    assert_eq!((b.shows("cancelled").await, b.shows("silent").await), (String::new(), "UP".into()));
    assert_eq!((c.node.registry().len(), c.node.metrics().peers.repaired_unexplained.get()), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn with_an_open_node_of_ours_nothing_is_taken_from_a_java_server() {
    let net = Net::default();
    net.place("java:1", java_with(&[instance("stale", 1000, "UP")["instance"].clone()]));
    let a = Member::start(&net, "a:1", &[]).await;
    a.register("x", 1000, "UP").await;
    let b = Member::start(&net, "b:1", &["a:1", "java:1"]).await;
    assert_eq!((b.shows("x").await, b.shows("stale").await), ("UP".into(), String::new()));
}

/// A Java server that has x, and needs three seconds to say so.
fn slow_java() -> Router {
    let apps = apps_with(&[instance("x", 1000, "UP")["instance"].clone()]);
    let slow = move || async move {
        tokio::time::sleep(Duration::from_secs(3)).await;
        answered(&apps)
    };
    server(accepting).route("/eureka/apps/", get(slow))
}

#[tokio::test(start_paused = true)]
async fn what_happens_while_a_node_copies_counts_over_what_it_copies() {
    // From one of ours.
    let net = Net::default();
    let a = Member::start_with(&net, "a:1", &AB, &["--eurekad.boot.sync-timeout-ms=0"]).await;
    for n in 0..50 {
        a.register(&format!("i-{n}"), 1000, "UP").await;
    }
    net.hold("b:1", "a:1", 200);
    let b = Member::new(&net, "b:1", &AB, &[]);
    b.boot();
    pass_ms(1_000).await;
    for n in 0..25 {
        b.cancel(&format!("i-{n}")).await;
        a.cancel(&format!("i-{}", n + 25)).await;
        pass_ms(150).await;
    }
    pass_ms(10_000).await;
    assert_eq!(b.call(Method::GET, READY, None).await.0, 200);
    assert_eq!((a.node.registry().len(), b.node.registry().len()), (0, 0));
    // From a Java server.
    for (what, shown) in [("cancels", ""), ("registers", "DOWN"), ("says nothing", "UP")] {
        let net = Net::default();
        net.place("java:1", slow_java());
        let b = Member::new(&net, "b:1", &["java:1"], &[]);
        b.boot();
        pass_ms(1_000).await;
        match what {
            "cancels" => assert_eq!(b.cancel("x").await, 404),
            "registers" => assert_eq!(b.register("x", 500, "DOWN").await, 204),
            _ => {}
        }
        pass_ms(10_000).await;
        assert_eq!(b.shows("x").await, shown, "its client {what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_found_nothing_but_was_asked_for_something_keeps_its_silence_for_an_interval() {
    for beats in [true, false] {
        let net = Net::default();
        net.hang("b:1");
        let a = Member::new(&net, "a:1", &AB, &["--eurekad.boot.sync-timeout-ms=5000"]);
        a.boot();
        pass_ms(1_000).await;
        if beats {
            assert_eq!(a.beat("x").await, 503);
        }
        let read = async || a.call(Method::GET, "/eureka/apps", None).await.0.as_u16();
        let mut opened = 0;
        while a.call(Method::GET, READY, None).await.0 != 200 {
            assert_eq!(read().await, 403);
            pass_ms(100).await;
            opened += 1;
            assert!(opened < 150, "it opens when its time is up");
        }
        // Balancers send traffic, unknown clients are asked to register, and reads wait for them.
        assert_eq!(a.beat("x").await, 404);
        assert_eq!(a.register("x", 1000, "UP").await, 204);
        assert_eq!(read().await, if beats { 403 } else { 200 });
        pass_ms(29_000).await;
        assert_eq!(read().await, if beats { 403 } else { 200 });
        pass_ms(1_500).await;
        assert_eq!((read().await, a.shows("x").await), (200, "UP".into()));
    }
}
