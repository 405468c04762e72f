//! What one node tells the others, and what it does not.

use axum::http::Method;

use crate::net::{AB, Member, Net, instance, pair, pass_ms};

/// Catalog: C26
#[tokio::test(start_paused = true)]
async fn every_kind_of_change_reaches_the_other_node_within_milliseconds() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("x", 1000, "UP").await;
    pass_ms(20).await;
    assert_eq!(b.shows("x").await, "UP");
    a.set_status("x", "OUT_OF_SERVICE").await;
    pass_ms(20).await;
    assert_eq!(b.instance("x").await["overriddenStatus"], "OUT_OF_SERVICE");
    a.clear_status("x", "DOWN").await;
    pass_ms(20).await;
    let shown = b.instance("x").await;
    assert_eq!((&shown["status"], &shown["overriddenStatus"]), (&"DOWN".into(), &"UNKNOWN".into()));
    a.cancel("x").await;
    pass_ms(20).await;
    assert_eq!(b.shows("x").await, "");
}

/// Case: P071
#[tokio::test(start_paused = true)]
async fn metadata_that_is_added_later_reaches_the_other_node_with_the_old_keys() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    let mut body = instance("x", 1000, "UP");
    body["instance"]["metadata"] = serde_json::json!({"old": "1"});
    a.call(Method::POST, "/eureka/apps/ORDERS", Some(&body)).await;
    pass_ms(20).await;
    let path = "/eureka/apps/ORDERS/x/metadata?weight=40&zone=a";
    assert_eq!(a.call(Method::PUT, path, None).await.0, 200);
    pass_ms(20).await;
    assert_eq!(
        b.instance("x").await["metadata"],
        serde_json::json!({"old": "1", "weight": "40", "zone": "a"})
    );
}

#[tokio::test(start_paused = true)]
async fn heartbeats_at_one_node_keep_the_lease_at_the_other() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("x", 1000, "UP").await;
    for _ in 0..40 {
        pass_ms(30_000).await;
        assert_eq!(a.beat("x").await, 200);
    }
    pass_ms(1_000).await;
    assert_eq!(b.shows("x").await, "UP");
    assert_eq!(net.items("a:1", "b:1").iter().filter(|i| *i == "Heartbeat x").count(), 40);
}

/// Case: P057
#[tokio::test(start_paused = true)]
async fn a_change_is_told_once_and_never_passed_on() {
    let net = Net::default();
    let ring = [("a:1", "b:1"), ("b:1", "c:1"), ("c:1", "a:1")];
    let nodes: Vec<Member> = ring.iter().map(|(host, next)| Member::new(&net, host, &[next], &[])).collect();
    tokio::join!(nodes[0].node.boot(), nodes[1].node.boot(), nodes[2].node.boot());
    nodes[0].register("x", 1000, "UP").await;
    pass_ms(2_000).await;
    assert_eq!((nodes[1].shows("x").await, nodes[2].shows("x").await), ("UP".into(), String::new()));
    // What another server has told already is applied and not passed on either.
    let body = instance("y", 1000, "UP");
    let item = serde_json::json!({"appName": "ORDERS", "id": "y", "action": "Register",
        "instanceInfo": body["instance"]});
    let batch = serde_json::json!({"replicationList": [item]});
    nodes[0].call(Method::POST, "/eureka/peerreplication/batch/", Some(&batch)).await;
    pass_ms(2_000).await;
    assert_eq!((nodes[0].shows("y").await, nodes[1].shows("y").await), ("UP".into(), String::new()));
}

/// Case: P065
#[tokio::test(start_paused = true)]
async fn a_client_that_beats_fifty_times_a_second_delays_nobody() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("chatty", 1000, "UP").await;
    for n in 0..500 {
        a.beat("chatty").await;
        if n == 250 {
            a.register("y", 1000, "UP").await;
        }
        pass_ms(20).await;
        if n == 252 {
            assert_eq!(b.shows("y").await, "UP");
        }
    }
    let beats = net.items("a:1", "b:1").iter().filter(|i| *i == "Heartbeat chatty").count();
    assert!(beats <= 25, "heartbeats of one key go along once per half second: {beats}");
}

#[tokio::test(start_paused = true)]
async fn what_happens_during_an_outage_arrives_after_it_as_it_is_then() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("stays", 1000, "UP").await;
    a.register("goes", 1000, "UP").await;
    pass_ms(50).await;
    net.part("a:1", "b:1");
    a.cancel("goes").await;
    a.register("comes", 1000, "STARTING").await;
    a.register("comes", 2000, "UP").await;
    a.set_status("stays", "OUT_OF_SERVICE").await;
    a.register("flits", 1000, "UP").await;
    a.cancel("flits").await;
    pass_ms(60_000).await;
    assert_eq!(b.shows("goes").await, "UP");
    net.heal();
    pass_ms(10_000).await;
    let shown = |id| b.shows(id);
    assert_eq!(shown("goes").await, "");
    assert_eq!(shown("comes").await, "UP");
    assert_eq!(shown("stays").await, "OUT_OF_SERVICE");
    assert_eq!(shown("flits").await, "");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_lost_makes_the_change_go_again_and_does_no_harm() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    net.cut("b:1", "a:1");
    a.register("x", 1000, "UP").await;
    pass_ms(100).await;
    assert_eq!(b.shows("x").await, "UP");
    net.heal();
    pass_ms(15_000).await;
    a.set_status("x", "DOWN").await;
    pass_ms(100).await;
    assert_eq!(b.shows("x").await, "DOWN");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_hangs_delays_neither_clients_nor_other_peers_and_the_queue_stays_bounded() {
    let net = Net::default();
    let all = ["a:1", "b:1", "c:1"];
    let nodes: Vec<Member> = all.iter().map(|host| Member::new(&net, host, &all, &[])).collect();
    tokio::join!(nodes[0].node.boot(), nodes[1].node.boot(), nodes[2].node.boot());
    pass_ms(200).await;
    net.hang("c:1");
    for n in 0..100 {
        nodes[0].register(&format!("i-{n}"), 1000, "UP").await;
    }
    pass_ms(100).await;
    assert_eq!(nodes[1].shows("i-99").await, "UP");
    // An hour of heartbeats: one entry a key, whatever happens to it.
    for _ in 0..120 {
        for n in 0..100 {
            nodes[0].beat(&format!("i-{n}")).await;
        }
        pass_ms(30_000).await;
    }
    let view = nodes[0].node.peers().into_iter().find(|view| view.url.contains("c:1")).unwrap();
    assert_eq!((view.queued, view.available), (100, false));
    assert!(view.last_error.unwrap().contains("did not answer in time"));
    net.heal();
    pass_ms(40_000).await;
    assert_eq!(nodes[2].shows("i-42").await, "UP");
}

/// Case: P050
#[tokio::test(start_paused = true)]
async fn a_peer_that_restarted_empty_is_given_what_it_lost() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("x", 1000, "UP").await;
    pass_ms(50).await;
    b.kill().await;
    pass_ms(5_000).await;
    // It cannot copy at its start: the link back is cut until it has opened without data.
    net.cut("b:1", "a:1");
    let b = Member::start(&net, "b:1", &AB).await;
    assert_eq!(b.shows("x").await, "");
    net.heal();
    assert_eq!(a.beat("x").await, 200);
    pass_ms(10_000).await;
    assert_eq!(b.shows("x").await, "UP", "a heartbeat was answered 404, and the record followed");
}

/// Case: P048
#[tokio::test(start_paused = true)]
async fn a_node_with_an_older_record_takes_over_the_newer_one_of_its_peer() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    net.part("a:1", "b:1");
    a.register("x", 1000, "UP").await;
    pass_ms(10).await;
    b.register("x", 2000, "DOWN").await;
    pass_ms(100).await;
    // Both registrations are lost on their way; only the next heartbeat at the older side goes out.
    net.heal();
    pass_ms(20_000).await;
    assert_eq!(a.beat("x").await, 200);
    pass_ms(2_000).await;
    assert_eq!((a.shows("x").await, b.shows("x").await), ("DOWN".into(), "DOWN".into()));
}

#[tokio::test(start_paused = true)]
async fn an_eviction_is_each_nodes_own_and_told_to_nobody() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("x", 1000, "UP").await;
    pass_ms(91_000).await;
    assert_eq!((a.shows("x").await, b.shows("x").await), (String::new(), String::new()));
    pass_ms(120_000).await;
    assert!(!net.items("a:1", "b:1").iter().any(|item| item.starts_with("Cancel")));
}

#[tokio::test(start_paused = true)]
async fn a_node_that_stops_tells_what_was_not_told_yet() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("x", 1000, "UP").await;
    a.node.leave().await;
    assert_eq!(b.shows("x").await, "UP");
    assert_eq!(a.call(Method::GET, "/health/ready", None).await.0, 503);
    assert_eq!(a.call(Method::GET, "/health/live", None).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_is_down_is_not_knocked_at_each_time_another_one_calls() {
    let net = Net::default();
    let all = ["a:1", "b:1", "c:1"];
    let nodes: Vec<Member> = all.iter().map(|host| Member::new(&net, host, &all, &[])).collect();
    tokio::join!(nodes[0].node.boot(), nodes[1].node.boot(), nodes[2].node.boot());
    pass_ms(500).await;
    net.hang("c:1");
    nodes[0].register("x", 1000, "UP").await;
    let before = net.attempts("c:1");
    for n in 0..600 {
        nodes[1].register(&format!("i-{n}"), 1000, "UP").await;
        pass_ms(100).await;
    }
    let attempts = net.attempts("c:1") - before;
    // From two nodes, each 6 s of time-out and up to 2 s of waiting: about twenty in a minute, not hundreds.
    assert!(attempts <= 30, "{attempts}");
}

/// Case: P067
#[tokio::test(start_paused = true)]
async fn what_was_cancelled_here_is_not_brought_back_by_a_peer_that_has_not_heard_of_it() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("x", 1000, "UP").await;
    pass_ms(50).await;
    // The cancellation is held back on its way to B, and B hears a last heartbeat from the client.
    net.cut("a:1", "b:1");
    a.cancel("x").await;
    assert_eq!(b.beat("x").await, 200);
    pass_ms(1_000).await;
    assert_eq!((a.shows("x").await, b.shows("x").await), (String::new(), "UP".into()));
    net.heal();
    pass_ms(10_000).await;
    assert_eq!((a.shows("x").await, b.shows("x").await), (String::new(), String::new()));
    // A new life is taken, here and from there.
    b.register("x", 2000, "UP").await;
    pass_ms(100).await;
    assert_eq!((a.shows("x").await, b.shows("x").await), ("UP".into(), "UP".into()));
}

/// Case: P067
#[tokio::test(start_paused = true)]
async fn a_java_server_that_missed_a_cancellation_brings_nothing_back_at_any_node() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("x", 1000, "UP").await;
    pass_ms(50).await;
    a.cancel("x").await;
    pass_ms(50).await;
    assert_eq!(b.shows("x").await, "");
    // A Java server that still believes in it tells B, where it was not cancelled.
    let item = serde_json::json!({"appName": "ORDERS", "id": "x", "action": "Register",
        "instanceInfo": instance("x", 1000, "UP")["instance"]});
    let batch = serde_json::json!({ "replicationList": [item] });
    b.call(Method::POST, "/eureka/peerreplication/batch/", Some(&batch)).await;
    pass_ms(2_000).await;
    assert_eq!((a.shows("x").await, b.shows("x").await), (String::new(), String::new()));
}
