//! Nodes of this kind beside Java servers: who tells what to whom, and whose word counts.

use eurekad::peers::PeerKind;
use serde_json::{Value, json};

use crate::foreign::{accepting, beside, java_registers, java_says, server};
use crate::net::{AB, Member, Net, alike, instance, pair, pass_ms};

/// Two nodes of this kind, of which the first has a Java server beside it too.
async fn with_java(net: &Net) -> (Member, Member) {
    net.place("java:1", server(accepting));
    let a = Member::new(net, "a:1", &["a:1", "b:1", "java:1"], &[]);
    let b = Member::new(net, "b:1", &AB, &[]);
    tokio::join!(a.node.boot(), b.node.boot());
    pass_ms(6_000).await;
    (a, b)
}

/// The items of one action that reached a Java server, each with its status.
fn statuses(net: &Net, action: &str) -> Vec<String> {
    let batches =
        net.delivered("java:1").into_iter().filter_map(|d| serde_json::from_str::<Value>(&d.body).ok());
    let items = batches.flat_map(|batch| batch["replicationList"].as_array().cloned().unwrap_or_default());
    let word = |item: &Value, field: &str| item[field].as_str().unwrap().to_owned();
    items
        .filter(|i| i["action"] == action)
        .map(|i| format!("{} {}", word(&i, "id"), word(&i, "status")))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn an_override_that_another_node_told_is_told_to_java_with_its_present_value() {
    let net = Net::default();
    let (a, b) = with_java(&net).await;
    a.register("x", 1000, "UP").await;
    pass_ms(100).await;
    b.set_status("x", "OUT_OF_SERVICE").await;
    pass_ms(500).await;
    assert_eq!(statuses(&net, "StatusUpdate"), ["x OUT_OF_SERVICE"]);
    assert_eq!(statuses(&net, "Register").len(), 1, "the record is for the node to tell that took it");
    // Two, one after the other while it cannot be reached: it hears of the last.
    net.cut("a:1", "java:1");
    b.set_status("x", "DOWN").await;
    pass_ms(100).await;
    b.set_status("x", "STARTING").await;
    pass_ms(1_000).await;
    net.heal();
    pass_ms(20_000).await;
    assert_eq!(statuses(&net, "StatusUpdate"), ["x OUT_OF_SERVICE", "x STARTING"]);
    b.clear_status("x", "UP").await;
    pass_ms(500).await;
    assert_eq!(statuses(&net, "DeleteStatusOverride"), ["x UP"]);
}

#[tokio::test(start_paused = true)]
async fn a_java_registration_that_lacks_the_override_that_is_set_here_gets_it_back() {
    let net = Net::default();
    let (a, b) = with_java(&net).await;
    a.register("x", 1000, "UP").await;
    a.set_status("x", "OUT_OF_SERVICE").await;
    pass_ms(500).await;
    let before = statuses(&net, "StatusUpdate").len();
    assert_eq!(java_registers(&a, "x", 2000, "UP").await, 200);
    pass_ms(500).await;
    assert_eq!(statuses(&net, "StatusUpdate").split_off(before), ["x OUT_OF_SERVICE"]);
    assert_eq!(alike(&[&a], "x").await["status"], "OUT_OF_SERVICE");
    assert_eq!(b.shows("x").await, "OUT_OF_SERVICE");
    // One that has it asks for nothing.
    let mut info = instance("x", 3000, "UP")["instance"].clone();
    info["overriddenStatus"] = "OUT_OF_SERVICE".into();
    java_says(&a, "Register", "x", json!({"lastDirtyTimestamp": 3000, "instanceInfo": info})).await;
    pass_ms(500).await;
    assert_eq!(statuses(&net, "StatusUpdate").len(), before + 1);
}

#[tokio::test(start_paused = true)]
async fn a_java_server_that_was_away_for_ten_seconds_is_told_of_all_that_clients_renew_here() {
    for (away, all) in [(4_000, false), (20_000, true)] {
        let net = Net::default();
        let (a, b) = with_java(&net).await;
        for n in 0..5 {
            a.register(&format!("i-{n}"), 1000, "UP").await;
        }
        b.register("at-b", 1000, "UP").await;
        pass_ms(2_000).await;
        net.remove("java:1");
        a.register("new", 1000, "UP").await;
        pass_ms(away).await;
        let before = net.items("a:1", "java:1").len();
        net.place("java:1", server(accepting));
        pass_ms(10_000).await;
        let mut told = net.items("a:1", "java:1").split_off(before);
        told.sort();
        let mut expected = vec!["Register new".to_owned()];
        if all {
            expected.push("Heartbeat new".to_owned());
            expected.extend((0..5).map(|n| format!("Heartbeat i-{n}")));
            expected.sort();
        }
        assert_eq!(told, expected, "away for {away} ms; what is renewed at another node that one tells");
    }
}

/// A node that leaves says so last, and is told of no heartbeat from then on. Nobody has to call it while it is gone.
#[tokio::test(start_paused = true)]
async fn who_takes_the_place_of_a_node_that_left_in_order_is_told_of_what_clients_renew() {
    for java in [true, false] {
        let net = Net::default();
        let (a, b) = pair(&net).await;
        a.register("x", 1000, "UP").await;
        pass_ms(1_000).await;
        b.node.leave().await;
        a.beat("x").await;
        pass_ms(1_000).await;
        b.kill().await;
        let before = net.items("a:1", "b:1").len();
        let _ours = if java {
            net.place("b:1", server(accepting));
            None
        } else {
            Some(Member::start(&net, "b:1", &AB).await)
        };
        // More often than a peer that has nothing to be told is asked how it is.
        for _ in 0..20 {
            a.beat("x").await;
            pass_ms(1_000).await;
        }
        let told = net.items("a:1", "b:1").split_off(before);
        assert!(told.iter().filter(|item| *item == "Heartbeat x").count() > 5, "java {java}: {told:?}");
        assert_eq!(a.peer("b:1").kind == PeerKind::Java, java);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_client_said_here_counts_over_what_java_brings_late() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("x", 1000, "UP").await;
    pass_ms(100).await;
    net.part("a:1", "b:1");
    pass_ms(60_000).await;
    a.register("x", 2000, "STARTING").await;
    pass_ms(5_000).await;
    // By its timestamp the newer one, but it may have been on its way for an interval.
    assert_eq!(java_registers(&b, "x", 3000, "DOWN").await, 200);
    assert_eq!(b.shows("x").await, "DOWN");
    net.heal();
    pass_ms(70_000).await;
    assert_eq!(alike(&[&a, &b], "x").await["status"], "STARTING");
    // An override from Java is at most half a minute late.
    net.part("a:1", "b:1");
    a.beat("x").await;
    a.set_status("x", "OUT_OF_SERVICE").await;
    pass_ms(5_000).await;
    java_says(&b, "StatusUpdate", "x", json!({"status": "DOWN", "lastDirtyTimestamp": 3000})).await;
    assert_eq!(b.shows("x").await, "DOWN");
    net.heal();
    pass_ms(70_000).await;
    assert_eq!(alike(&[&a, &b], "x").await["status"], "OUT_OF_SERVICE");
}

#[tokio::test(start_paused = true)]
async fn the_same_word_at_another_node_makes_no_new_version_there() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("x", 1000, "UP").await;
    pass_ms(100).await;
    let version = a.node.registry().version();
    b.register("x", 1000, "UP").await;
    pass_ms(1_000).await;
    assert_eq!(a.node.registry().version(), version, "clients need not fetch what they have");
    let stamp = |node: &Member| {
        node.node
            .registry()
            .key_state_named(&eurekad::registry::Key::new("ORDERS", "x"))
            .record
            .unwrap()
            .stamp
    };
    assert_eq!(stamp(&a), stamp(&b));
}

#[tokio::test(start_paused = true)]
async fn a_lease_keeps_its_doubling_until_it_is_renewed_when_the_last_java_peer_is_gone() {
    let net = Net::default();
    net.place("java:1", server(accepting));
    let a = beside(&net, server(accepting)).await;
    a.register("x", 1000, "UP").await;
    a.beat("x").await;
    a.register("renewed", 1000, "UP").await;
    a.beat("renewed").await;
    pass_ms(1_000).await;
    // It is replaced by one of ours.
    let b = Member::start(&net, "java:1", &["a:1"]).await;
    pass_ms(20_000).await;
    assert!(b.node.registry().len() <= 2);
    a.beat("renewed").await;
    pass_ms(100_000).await;
    assert_eq!((a.shows("x").await, a.shows("renewed").await), ("UP".into(), String::new()));
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_lives_twice_as_long_beside_java_is_not_brought_back_where_it_has_ended() {
    let net = Net::default();
    let (a, b) = with_java(&net).await;
    a.register("x", 1000, "UP").await;
    a.beat("x").await;
    pass_ms(160_000).await;
    assert_eq!((a.shows("x").await, b.node.registry().len()), ("UP".into(), 0));
    for _ in 0..20 {
        pass_ms(10_000).await;
        assert_eq!(b.node.registry().len(), 0);
    }
    assert_eq!(a.node.registry().len(), 0);
    for node in [&a, &b] {
        assert_eq!(node.node.metrics().peers.repaired_unexplained.get(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn what_java_brings_of_an_instance_whose_override_was_removed_is_the_same_everywhere_in_the_end() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("x", 1000, "UP").await;
    a.set_status("x", "OUT_OF_SERVICE").await;
    pass_ms(100).await;
    a.clear_status("x", "DOWN").await;
    pass_ms(100).await;
    // The same record by its timestamp, with what a metadata call changed at the Java server.
    let mut info = instance("x", 1000, "UP")["instance"].clone();
    info["metadata"] = json!({"weight": "7"});
    assert_eq!(
        java_says(&a, "Register", "x", json!({"lastDirtyTimestamp": 1000, "instanceInfo": info})).await,
        200
    );
    assert_eq!(a.shows("x").await, "DOWN", "the removal is newer");
    for _ in 0..5 {
        pass_ms(30_000).await;
        assert_eq!(a.beat("x").await, 200);
    }
    pass_ms(1_000).await;
    assert_eq!(alike(&[&a, &b], "x").await["metadata"]["weight"], "7");
    pass_ms(65_000).await;
    assert!(a.peer("b:1").compared.unwrap().equal);
}

#[tokio::test(start_paused = true)]
async fn of_two_overrides_that_two_java_servers_have_for_one_record_all_nodes_show_the_same() {
    for swapped in [false, true] {
        let net = Net::default();
        let (a, b) = pair(&net).await;
        a.register("x", 1000, "UP").await;
        pass_ms(100).await;
        let mut words = ["OUT_OF_SERVICE", "DOWN"];
        if swapped {
            words.reverse();
        }
        for (node, over) in [&a, &b].into_iter().zip(words) {
            // It counts as old as the record, and nothing says which of the two is later.
            let beat = json!({"lastDirtyTimestamp": 2000, "status": over, "overriddenStatus": over});
            assert_eq!(java_says(node, "Heartbeat", "x", beat).await, 404);
            assert_eq!(node.shows("x").await, over);
        }
        pass_ms(70_000).await;
        assert_eq!(alike(&[&a, &b], "x").await["status"], "OUT_OF_SERVICE");
    }
}
