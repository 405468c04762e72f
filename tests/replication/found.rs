//! Faults that the simulation has found, each as the shortest history that shows it.

use eurekad::peers::PeerKind;
use serde_json::json;

use crate::foreign::{java_registers, java_says};
use crate::net::{AB, Member, Net, pair, pass_ms};

/// Found by a node that was started while it was cut off, with its wall clock behind.
#[tokio::test(start_paused = true)]
async fn what_a_node_that_was_alone_and_behind_was_told_is_not_undone_by_older_words() {
    let net = Net::default();
    let a = Member::start_with(&net, "a:1", &AB, &["--eurekad.boot.sync-timeout-ms=0"]).await;
    a.register("gone", 1000, "UP").await;
    a.register("lives", 1000, "UP").await;
    a.cancel("gone").await;
    net.part("a:1", "b:1");
    let b = Member::with_skew(&net, "b:1", &AB, &["--eurekad.boot.sync-timeout-ms=0"], -3_600_000);
    b.node.boot().await;
    pass_ms(1_000).await;
    b.register("gone", 2000, "UP").await;
    b.register("lives", 2000, "DOWN").await;
    b.cancel("never-there").await;
    pass_ms(1_000).await;
    net.heal();
    pass_ms(15_000).await;
    for node in [&a, &b] {
        assert_eq!(node.shows("gone").await, "UP", "its second life is later than its cancellation");
        assert_eq!(node.shows("lives").await, "DOWN");
    }
}

/// Found by a question that the network delivered twice: the first answer took the knowledge along.
#[tokio::test(start_paused = true)]
async fn that_something_was_lost_is_told_to_everybody_who_asks_however_often() {
    let net = Net::default();
    let (a, _b) = pair(&net).await;
    net.cut("a:1", "b:1");
    a.register("x", 1000, "UP").await;
    pass_ms(10_000).await;
    net.heal();
    pass_ms(10_000).await;
    let PeerKind::Ours(b) = a.peer("b:1").kind else { panic!("B is known") };
    let b = b.to_string();
    for _ in 0..3 {
        let node = ("eurekad-node", b.as_str());
        let question = json!({"count": 0, "buckets": []}).to_string();
        let (status, headers, _) = a.post("/eureka/peerreplication/ours/compare", &[node], question).await;
        assert_eq!(status, 200);
        let lost: u64 = headers["eurekad-lost"].to_str().unwrap().parse().unwrap();
        assert!((1..20_000).contains(&lost), "{lost}");
    }
}

/// Found by a Java server whose client spoke to it alone: each of its heartbeats led to a registration, for ever.
#[tokio::test(start_paused = true)]
async fn what_a_removal_left_gives_way_to_a_java_servers_word_once_that_cannot_be_older() {
    let net = Net::default();
    let a = Member::start(&net, "a:1", &[]).await;
    assert_eq!(java_registers(&a, "x", 1000, "UP").await, 200);
    a.set_status("x", "OUT_OF_SERVICE").await;
    a.clear_status("x", "OUT_OF_SERVICE").await;
    let beat = || java_says(&a, "Heartbeat", "x", json!({"lastDirtyTimestamp": 1000, "status": "UP"}));
    assert_eq!(beat().await, 404, "the client has to speak for itself");
    assert_eq!(java_registers(&a, "x", 1000, "UP").await, 200);
    assert_eq!(a.shows("x").await, "OUT_OF_SERVICE", "that may have been said before the removal");
    pass_ms(31_000).await;
    assert_eq!(beat().await, 404);
    assert_eq!(java_registers(&a, "x", 1000, "UP").await, 200);
    assert_eq!(a.shows("x").await, "UP");
    assert_eq!(beat().await, 200);
}

/// Found by a Java server that had not heard of a removal.
#[tokio::test(start_paused = true)]
async fn an_override_that_was_removed_here_is_not_taken_back_from_a_heartbeat() {
    let net = Net::default();
    let a = Member::start(&net, "a:1", &[]).await;
    a.register("x", 1000, "UP").await;
    a.set_status("x", "DOWN").await;
    a.clear_status("x", "UP").await;
    let more = json!({"lastDirtyTimestamp": 2000, "status": "DOWN", "overriddenStatus": "DOWN"});
    assert_eq!(java_says(&a, "Heartbeat", "x", more).await, 404, "it knows a newer record");
    assert_eq!(java_registers(&a, "x", 2000, "UP").await, 200);
    let x = a.instance("x").await;
    assert_eq!((&x["status"], &x["overriddenStatus"]), (&json!("UP"), &json!("UNKNOWN")));
}
