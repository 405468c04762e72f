//! Comparing, and putting right what differs.

use axum::http::Method;
use eurekad::registry::Origin;
use serde_json::Value;

use crate::log::Log;
use crate::metrics::scrape;
use crate::net::{AB, Member, Net, alike, pair, pass_ms, put_right, trio};

/// Case: P066
#[tokio::test(start_paused = true)]
async fn a_change_that_was_really_lost_is_put_right_within_a_minute_and_then_the_nodes_agree() {
    let net = Net::default();
    let a = Member::new(&net, "a:1", &AB, &["--eurekad.limits.replication-queue=1"]);
    let b = Member::new(&net, "b:1", &AB, &[]);
    tokio::join!(a.node.boot(), b.node.boot());
    for id in ["cancelled", "set", "changed"] {
        a.register_for_long(id).await;
        pass_ms(200).await;
    }
    net.part("a:1", "b:1");
    // Room for one: all but the last of these is lost on its way.
    a.cancel("cancelled").await;
    a.set_status("set", "OUT_OF_SERVICE").await;
    a.call(Method::PUT, "/eureka/apps/ORDERS/changed/metadata?weight=7", None).await;
    a.register_for_long("new").await;
    a.register_for_long("newer").await;
    pass_ms(500).await;
    assert!(a.peer("b:1").dropped >= 4);
    net.heal();
    pass_ms(60_000).await;
    for id in ["cancelled", "set", "changed", "new", "newer"] {
        alike(&[&a, &b], id).await;
    }
    assert_eq!((b.shows("cancelled").await, b.shows("set").await), (String::new(), "OUT_OF_SERVICE".into()));
    assert_eq!(b.instance("changed").await["metadata"]["weight"], "7");
    assert_eq!(b.shows("new").await, "UP");
    let (repaired, unexplained) = put_right([&a, &b]);
    assert!(repaired >= 4 && unexplained == 0, "{repaired} {unexplained}");
    pass_ms(65_000).await;
    assert_eq!(put_right([&a, &b]), (repaired, 0), "nothing is left to put right");
    for (node, other) in [(&a, "b:1"), (&b, "a:1")] {
        let found = node.peer(other).compared.unwrap();
        assert!(found.equal && found.instances == 4, "{found:?}");
        let metrics = scrape(node).await;
        let line = format!("eurekad_peer_agrees{{peer=\"http://{other}/eureka/\"}} 1");
        assert!(metrics.lines().any(|l| l == line), "{metrics}");
        assert!(metrics.contains("eurekad_peer_repaired_unexplained_total 0"), "{metrics}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_overdue_is_brought_back_by_no_comparison() {
    let net = Net::default();
    let never = ["--eureka.server.eviction-interval-timer-in-ms=100000000"];
    let (a, b) = (Member::new(&net, "a:1", &AB, &never), Member::new(&net, "b:1", &AB, &[]));
    tokio::join!(a.node.boot(), b.node.boot());
    pass_ms(100).await;
    a.register("x", 1000, "UP").await;
    pass_ms(100).await;
    // The other has it no longer, and a loss gives reason to compare.
    pass_ms(180_000).await;
    net.part("a:1", "b:1");
    a.register_for_long("y").await;
    pass_ms(20_000).await;
    net.heal();
    for _ in 0..10 {
        pass_ms(15_000).await;
        assert_eq!((a.node.registry().len(), b.node.registry().len()), (2, 1));
    }
    // A node that starts is given it, as it is given all; the others are not.
    b.kill().await;
    let b = Member::start(&net, "b:1", &AB).await;
    assert_eq!(b.node.registry().len(), 2);
    pass_ms(125_000).await;
    assert_eq!((a.node.registry().len(), b.node.registry().len()), (2, 1));
    assert_eq!(put_right([&a, &b]).1, 0);
}

#[tokio::test(start_paused = true)]
async fn what_two_nodes_find_because_a_third_could_not_tell_one_of_them_is_no_fault() {
    let net = Net::default();
    let nodes = trio(&net).await;
    let before = ["x", "y"];
    for id in before {
        nodes[0].register_for_long(id).await;
    }
    pass_ms(100).await;
    net.part("a:1", "b:1");
    nodes[0].register_for_long("new").await;
    nodes[0].cancel("x").await;
    nodes[0].set_status("y", "DOWN").await;
    pass_ms(125_000).await;
    for id in ["x", "y", "new"] {
        alike(&[&nodes[0], &nodes[1], &nodes[2]], id).await;
    }
    assert_eq!((nodes[1].shows("new").await, nodes[1].shows("y").await), ("UP".into(), "DOWN".into()));
    let (repaired, unexplained) = put_right(&nodes);
    assert!(repaired > 0 && unexplained == 0, "{repaired} {unexplained}");
    net.heal();
    pass_ms(125_000).await;
    assert_eq!(put_right(&nodes).1, 0);
}

#[tokio::test(start_paused = true)]
async fn in_quiet_minutes_no_request_between_nodes_carries_a_record() {
    let net = Net::default();
    let nodes = trio(&net).await;
    for n in 0..30 {
        let node = &nodes[n % 3];
        node.register(&format!("i-{n}"), 1000, "UP").await;
        if n % 7 == 0 {
            node.set_status(&format!("i-{n}"), "OUT_OF_SERVICE").await;
        }
    }
    nodes[0].cancel("i-4").await;
    pass_ms(5_000).await;
    let told =
        |to: &Member| net.delivered(&to.host).into_iter().map(|d| (d.path, d.body)).collect::<Vec<_>>();
    let before: Vec<usize> = nodes.iter().map(|node| told(node).len()).collect();
    for _ in 0..4 {
        for n in (0..30).filter(|n| *n != 4) {
            // Clients behind a balancer.
            assert_eq!(nodes[(n + 1) % 3].beat(&format!("i-{n}")).await, 200);
        }
        pass_ms(30_000).await;
    }
    for (node, before) in nodes.iter().zip(before) {
        let quiet = told(node).split_off(before);
        assert!(quiet.iter().any(|(path, _)| path.ends_with("/compare")), "they have compared");
        for (path, body) in quiet {
            let body: Value = serde_json::from_str(&body).unwrap();
            let keys = body["keys"].as_array().cloned().unwrap_or_default();
            assert!(keys.iter().all(|key| key.get("i").is_none()), "{path} {body}");
            assert!(!path.ends_with("/tell") || body["asks"] == false, "nobody asks: {body}");
            assert!(body["replicationList"].as_array().is_none_or(Vec::is_empty), "{path} {body}");
        }
    }
    assert_eq!(put_right(&nodes), (0, 0));
    for id in ["i-0", "i-4", "i-29"] {
        alike(&[&nodes[0], &nodes[1], &nodes[2]], id).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_full_node_refuses_is_no_fault_however_often_it_is_found() {
    for limit in ["instances", "instances-per-application"] {
        a_full_node_refuses(&format!("--eurekad.limits.{limit}=5")).await;
    }
}

async fn a_full_node_refuses(limit: &str) {
    let net = Net::default();
    let a = Member::new(&net, "a:1", &AB, &[]);
    let b = Member::new(&net, "b:1", &AB, &[limit]);
    tokio::join!(a.node.boot(), b.node.boot());
    pass_ms(6_000).await;
    for n in 0..8 {
        a.register_for_long(&format!("i-{n}")).await;
    }
    pass_ms(2_000).await;
    assert_eq!((b.node.registry().len(), a.peer("b:1").dropped), (5, 3));
    let before = net.attempts("b:1");
    pass_ms(400_000).await;
    assert_eq!((b.node.registry().len(), put_right([&a, &b]).1), (5, 0));
    assert!(net.attempts("b:1") - before < 300, "{}", net.attempts("b:1") - before);
    // There is room again.
    for n in 0..3 {
        b.cancel(&format!("i-{n}")).await;
    }
    pass_ms(70_000).await;
    assert_eq!((a.node.registry().len(), b.node.registry().len()), (5, 5));
    pass_ms(65_000).await;
    assert!(a.peer("b:1").compared.unwrap().equal);
}

#[tokio::test(start_paused = true)]
async fn what_a_full_node_refuses_is_said_with_its_words_and_not_counted_as_put_right() {
    let net = Net::default();
    let log = Log::default();
    let _logging = log.begin();
    let a = Member::new(&net, "a:1", &AB, &[]);
    let b = Member::new(&net, "b:1", &AB, &["--eurekad.limits.instances=5"]);
    tokio::join!(a.node.boot(), b.node.boot());
    pass_ms(6_000).await;
    for n in 0..8 {
        a.register_for_long(&format!("i-{n}")).await;
    }
    // The full node says so itself, and does not wait for a sum.
    pass_ms(1_000).await;
    let setting = "raise eurekad.limits.instances";
    let full = "registrations refused: raise eurekad.limits.instances";
    assert_eq!(log.lines_with(full).len(), 1);
    let refuses = log.lines_with("the peer refuses changes");
    assert!(refuses.len() == 1 && refuses[0].contains(setting), "{refuses:#?}");
    pass_ms(300_000).await;
    let sums = log.lines_with(full).len();
    assert!((2..=32).contains(&sums), "one in ten seconds: {sums}");
    assert!(log.lines_with("put right what differed").is_empty());
    assert_eq!(put_right([&a, &b]), (0, 0));
    // Both sides say what differs, and why, once a minute.
    for (words, peer) in
        [("the peer refuses 3 of", "http://b:1/"), ("3 of what the peer knows", "http://a:1/")]
    {
        let lines = log.lines_with(words);
        assert!((1..=7).contains(&lines.len()), "{lines:#?}");
        assert!(lines.iter().all(|line| line.contains(setting) && line.contains(peer)), "{lines:#?}");
    }
    // With room again they are put right, and that is counted.
    b.cancel("i-0").await;
    pass_ms(70_000).await;
    assert!(!log.lines_with("put right what differed").is_empty());
    assert_eq!(put_right([&a, &b]).1, 0);
}

#[tokio::test(start_paused = true)]
async fn in_a_large_registry_only_what_differs_is_put_right() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    for n in 0..30_000 {
        a.register_for_long(&format!("i-{n}")).await;
    }
    pass_ms(10_000).await;
    assert_eq!(b.node.registry().len(), 30_000);
    // Something in every bucket that the other never hears of but by comparing.
    let app = eurekad_wire::AppName::new("ORDERS");
    for n in (0..30_000).step_by(30) {
        a.node.registry().cancel(&app, &format!("i-{n}"), Origin::Replica);
    }
    pass_ms(130_000).await;
    assert_eq!((a.node.registry().len(), b.node.registry().len()), (29_000, 29_000));
    let (repaired, unexplained) = put_right([&a, &b]);
    assert!(repaired + unexplained <= 2_000, "{repaired} {unexplained}");
}
