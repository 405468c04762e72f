//! How an instance goes, what stays of it, and what brings it back.

use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use serde_json::json;

use crate::foreign::{accepting, java_registers, java_says, server};
use crate::net::{AB, EPOCH, Member, Net, STRANGER, instance, pair, pass_ms, trio};

/// Whatever is sent to a host is refused for now; what it sends itself goes its way.
fn refuse_for_now(net: &Net, host: &str) {
    net.place(host, Router::new().fallback(|| async { StatusCode::SERVICE_UNAVAILABLE }));
}

async fn shown(nodes: &[Member], id: &str) -> Vec<String> {
    let mut shown = Vec::new();
    for node in nodes {
        shown.push(node.shows(id).await);
    }
    shown
}

/// Case: P067
#[tokio::test(start_paused = true)]
async fn what_was_cancelled_is_gone_everywhere_though_a_node_that_was_cut_off_hears_one_more_heartbeat() {
    for again_at in 0..3 {
        let net = Net::default();
        let nodes = trio(&net).await;
        nodes[0].register("x", 1000, "UP").await;
        pass_ms(50).await;
        net.part("a:1", "b:1");
        nodes[0].cancel("x").await;
        pass_ms(10).await;
        // It has not heard of the cancellation, and tells the third node of the heartbeat.
        assert_eq!(nodes[1].beat("x").await, 200);
        pass_ms(20_000).await;
        net.heal();
        pass_ms(20_000).await;
        assert_eq!(shown(&nodes, "x").await, ["", "", ""]);
        // The same life, as a Java client says it: nothing in it is newer but that it was said now.
        assert_eq!(nodes[again_at].register("x", 1000, "UP").await, 204);
        pass_ms(100).await;
        assert_eq!(shown(&nodes, "x").await, ["UP", "UP", "UP"], "{again_at}");
        pass_ms(60_000).await;
        assert_eq!(shown(&nodes, "x").await, ["UP", "UP", "UP"], "{again_at}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_said_before_a_cancellation_stays_void_when_the_instance_lives_again() {
    let net = Net::default();
    let nodes = trio(&net).await;
    nodes[0].register("x", 1000, "UP").await;
    pass_ms(50).await;
    net.part("a:1", "c:1");
    net.part("b:1", "c:1");
    // Over a client that says UP an older override would win, were it not for the floor.
    nodes[2].set_status("x", "OUT_OF_SERVICE").await;
    pass_ms(1_000).await;
    nodes[0].cancel("x").await;
    pass_ms(1_000).await;
    nodes[1].register("x", 1000, "UP").await;
    pass_ms(1_000).await;
    // Whoever copies it copies the floor below it too.
    let d = Member::start(&net, "d:1", &["b:1", "c:1"]).await;
    net.heal();
    pass_ms(20_000).await;
    for node in nodes.iter().chain([&d]) {
        let shown = node.instance("x").await;
        assert_eq!(
            (&shown["status"], &shown["overriddenStatus"]),
            (&"UP".into(), &"UNKNOWN".into()),
            "{}",
            node.host
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_cancelled_where_it_is_unknown_goes_where_it_is_known_and_java_servers_hear_of_it() {
    let net = Net::default();
    net.place("java:1", server(accepting));
    let a = Member::new(&net, "a:1", &AB, &[]);
    let b = Member::new(&net, "b:1", &["a:1", "b:1", "java:1"], &[]);
    tokio::join!(a.node.boot(), b.node.boot());
    pass_ms(500).await;
    refuse_for_now(&net, "a:1");
    b.register("x", 1000, "UP").await;
    pass_ms(1_000).await;
    assert_eq!(a.cancel("x").await, 404, "it is unknown here");
    pass_ms(1_000).await;
    assert_eq!(b.shows("x").await, "");
    assert_eq!(net.items("b:1", "java:1"), ["Register x", "Cancel x"]);
    net.place("a:1", a.node.router());
    pass_ms(70_000).await;
    assert_eq!((a.shows("x").await, b.shows("x").await), (String::new(), String::new()));
    b.register("x", 2000, "UP").await;
    pass_ms(100).await;
    assert_eq!((a.shows("x").await, b.shows("x").await), ("UP".into(), "UP".into()));
}

#[tokio::test(start_paused = true)]
async fn what_was_evicted_comes_back_when_its_client_was_heard_at_another_node_meanwhile() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("x", 1000, "UP").await;
    pass_ms(100).await;
    net.part("a:1", "b:1");
    for _ in 0..5 {
        pass_ms(30_000).await;
        assert_eq!(b.beat("x").await, 200);
    }
    assert_eq!((a.shows("x").await, a.node.registry().len()), (String::new(), 0), "silence is no objection");
    net.heal();
    pass_ms(30_000).await;
    b.beat("x").await;
    pass_ms(10_000).await;
    assert_eq!((a.shows("x").await, b.shows("x").await), ("UP".into(), "UP".into()));
    assert_eq!((a.node.registry().len(), b.node.registry().len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_is_no_younger_than_what_was_evicted_does_not_bring_it_back() {
    let net = Net::default();
    let a = Member::start_with(&net, "a:1", &["b:1"], &["--eurekad.boot.sync-timeout-ms=0"]).await;
    a.register("x", 1000, "UP").await;
    pass_ms(200_000).await;
    assert_eq!(a.node.registry().len(), 0);
    // Told by a node that believes in it for longer: its age decides, not whether it is overdue.
    let mut info = instance("x", 1000, "UP");
    info["instance"]["leaseInfo"]["durationInSecs"] = 600.into();
    let copy = |age: u64| json!([{"app": "ORDERS", "id": "x", "r": format!("{}.0.{STRANGER}", EPOCH - 1), "i": info, "a": age}]);
    a.hears(copy(200_100)).await;
    assert_eq!(a.node.registry().len(), 0, "no younger");
    a.hears(copy(100_000)).await;
    assert_eq!(a.shows("x").await, "UP");
    assert!(a.heard_ago("x") >= Duration::from_secs(100), "and it is as old as it was");
}

#[tokio::test(start_paused = true)]
async fn what_java_cancelled_at_one_node_goes_at_the_others_unless_its_client_was_heard_there_since() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    for id in ["x", "heard", "anew", "told"] {
        a.register(id, 1000, "UP").await;
    }
    pass_ms(100).await;
    for id in ["x", "heard", "anew", "told"] {
        assert_eq!(java_says(&a, "Cancel", id, json!({})).await, 200);
    }
    assert_eq!(
        (a.node.registry().len(), b.node.registry().len()),
        (0, 4),
        "a replica's word is not passed on"
    );
    // Within two seconds it could be the same renewal, told late.
    pass_ms(3_000).await;
    b.beat("heard").await;
    // A mark holds against copies, not against what clients and Java servers say.
    assert_eq!(a.register("anew", 1000, "UP").await, 204);
    assert_eq!(java_registers(&a, "told", 1000, "UP").await, 200);
    assert_eq!((a.shows("anew").await, a.shows("told").await), ("UP".into(), "UP".into()));
    pass_ms(2_000).await;
    assert_eq!((a.shows("heard").await, b.shows("heard").await), ("UP".into(), "UP".into()));
    pass_ms(65_000).await;
    for node in [&a, &b] {
        assert_eq!(node.shows("x").await, "");
        for id in ["heard", "anew", "told"] {
            assert_eq!(node.shows(id).await, "UP", "{id}");
        }
    }
}

/// A node that was told to cancel x, with a Java server and a node of its own kind beside it.
async fn after_a_cancellation(net: &Net) -> (Member, Member) {
    net.place("java:1", server(accepting));
    let a = Member::new(net, "a:1", &["a:1", "b:1", "java:1"], &[]);
    let b = Member::new(net, "b:1", &AB, &[]);
    tokio::join!(a.node.boot(), b.node.boot());
    pass_ms(500).await;
    a.register("x", 1000, "UP").await;
    pass_ms(100).await;
    a.cancel("x").await;
    pass_ms(100).await;
    (a, b)
}

fn cancels(net: &Net) -> usize {
    net.items("a:1", "java:1").iter().filter(|item| *item == "Cancel x").count()
}

/// Case: P067
#[tokio::test(start_paused = true)]
async fn what_java_says_of_what_was_just_cancelled_is_not_applied_and_the_cancellation_is_told_once_more() {
    let net = Net::default();
    let (a, b) = after_a_cancellation(&net).await;
    assert_eq!(cancels(&net), 1);
    for told in [2, 2] {
        assert_eq!(
            java_says(&a, "Heartbeat", "x", json!({"lastDirtyTimestamp": 1000, "status": "UP"})).await,
            200
        );
        assert_eq!(java_registers(&a, "x", 1000, "UP").await, 200);
        pass_ms(10_000).await;
        assert_eq!((a.shows("x").await, b.shows("x").await, cancels(&net)), ("".into(), "".into(), told));
    }
    // Another life.
    assert_eq!(java_registers(&a, "x", 1001, "UP").await, 200);
    assert_eq!(a.shows("x").await, "UP");
}

#[tokio::test(start_paused = true)]
async fn what_java_registers_two_intervals_after_a_cancellation_is_taken_and_stays_everywhere() {
    let net = Net::default();
    let (a, b) = after_a_cancellation(&net).await;
    pass_ms(61_000).await;
    assert_eq!(
        java_says(&a, "Heartbeat", "x", json!({"lastDirtyTimestamp": 1000, "status": "UP"})).await,
        404
    );
    assert_eq!(java_registers(&a, "x", 1000, "UP").await, 200);
    // Its client speaks to this node from now on.
    for _ in 0..5 {
        assert_eq!(a.beat("x").await, 200);
        pass_ms(30_000).await;
        assert_eq!((a.shows("x").await, b.shows("x").await), ("UP".into(), "UP".into()));
    }
    assert_eq!(cancels(&net), 1);
}
