//! What a stranger may say to a node without harm to the rest.

use axum::http::Method;
use eurekad::registry::Key;
use serde_json::{Value, json};

use crate::net::{AB, EPOCH, Member, Net, pair, pass_ms};

const HOUR: i64 = 3_600_000;

/// Whoever moves the clocks of a cluster must not move them so far that no node with a right clock can join.
#[tokio::test(start_paused = true)]
async fn however_far_ahead_strangers_say_to_be_a_node_with_a_right_clock_can_join() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    for days in 1..5 {
        let clock = format!("{}.0.00000000000000ff", EPOCH + days * 24 * HOUR);
        let headers = [("eurekad-node", "00000000000000ff"), ("eurekad-clock", clock.as_str())];
        a.post("/eureka/peerreplication/ours/compare", &headers, json!({"buckets": []}).to_string()).await;
    }
    a.register("x", 1000, "UP").await;
    pass_ms(6_000).await;
    assert_eq!(b.shows("x").await, "UP", "the two still take each other's word");
    b.kill().await;
    // Its clock begins here and not at the start of the test, as the others' did.
    let b = Member::with_skew(&net, "b:1", &AB, &[], 10_000);
    b.node.boot().await;
    assert_eq!(b.shows("x").await, "UP", "copied by a node whose clock is right");
    b.register("x", 2000, "DOWN").await;
    pass_ms(1_000).await;
    assert_eq!(a.shows("x").await, "DOWN");
}

fn floor(id: &str) -> Value {
    let stamp = format!("{EPOCH}.0.00000000000000ff");
    json!({"app": "ORDERS", "id": id, "f": {"stamp": stamp, "ageMs": 0, "lastDirty": i64::MAX,
        "intervalMs": u64::MAX / 2, "lifeMs": u64::MAX / 2}})
}

#[tokio::test(start_paused = true)]
async fn cancellations_of_what_is_not_here_push_out_none_of_what_was() {
    let net = Net::default();
    let (a, _b) = pair(&net).await;
    a.register("x", 1000, "UP").await;
    a.cancel("x").await;
    for n in 0..12 {
        let flood: Vec<Value> = (0..1_000).map(|k| floor(&format!("f-{n}-{k}"))).collect();
        assert_eq!(a.hears(json!(flood)).await.0, 200);
    }
    assert!(a.node.registry().was_cancelled(&Key::new("ORDERS", "x")));
    assert_eq!(a.node.registry().remembered().0, 10_001);
}

#[tokio::test(start_paused = true)]
async fn what_is_remembered_of_what_went_has_short_names_and_ends_within_days() {
    let net = Net::default();
    let (a, _b) = pair(&net).await;
    let answer = a.hears(json!([floor(&"n".repeat(2_000)), floor("x")])).await.1;
    assert_eq!(answer["refused"], json!([[0, 400]]));
    a.call(Method::DELETE, &format!("/eureka/apps/ORDERS/{}", "n".repeat(2_000)), None).await;
    assert_eq!(a.node.registry().remembered().0, 1);
    pass_ms(3 * 24 * 3_600_000).await;
    assert_eq!(a.node.registry().remembered().0, 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_with_more_keys_than_any_node_sends_is_refused_whole() {
    let net = Net::default();
    let (a, _b) = pair(&net).await;
    let keys: Vec<Value> = (0..100_001).map(|_| json!({"app": "A", "id": "a"})).collect();
    assert_eq!(a.hears(json!(keys)).await.0, 400);
}
