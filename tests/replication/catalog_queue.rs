//! What the Java servers' own suites ask of the queue for a peer, asked of a node beside Java peers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde_json::Value;

use crate::catalog::batches;
use crate::foreign::{accepting, beside, server};
use crate::net::{Member, Net, pass_ms};

/// Catalog: C18
#[tokio::test(start_paused = true)]
async fn no_batch_to_a_java_server_has_more_than_250_items() {
    let net = Net::default();
    let a = beside(&net, server(accepting)).await;
    net.cut("a:1", "java:1");
    for n in 0..600 {
        a.register(&format!("i-{n:03}"), 1000, "UP").await;
    }
    pass_ms(1_000).await;
    net.heal();
    pass_ms(60_000).await;
    let sizes: Vec<usize> = batches(&net, "java:1").iter().map(Vec::len).collect();
    assert_eq!((sizes.iter().sum::<usize>(), sizes.iter().max()), (600, Some(&250)), "{sizes:?}");
}

/// Catalog: C19
#[tokio::test(start_paused = true)]
async fn of_two_changes_of_one_instance_that_wait_only_the_newer_is_told() {
    let net = Net::default();
    let a = beside(&net, server(accepting)).await;
    net.cut("a:1", "java:1");
    a.register("x", 1000, "DOWN").await;
    a.register("x", 2000, "UP").await;
    pass_ms(1_000).await;
    net.heal();
    pass_ms(20_000).await;
    assert_eq!(batches(&net, "java:1"), [["Register x"]]);
    let told = net.delivered("java:1").into_iter().map(|d| d.body).filter(|body| body.contains("Register"));
    let told: Vec<Value> = told.map(|body| serde_json::from_str(&body).unwrap()).collect();
    assert_eq!(told[0]["replicationList"][0]["lastDirtyTimestamp"], 2000);
}

/// Catalog: C20
#[tokio::test(start_paused = true)]
async fn what_could_not_be_told_goes_again_before_what_came_after_it() {
    let net = Net::default();
    let calls = Arc::new(AtomicU32::new(0));
    let java = server({
        let calls = Arc::clone(&calls);
        move |items| match items {
            [] => accepting(items),
            _ if calls.fetch_add(1, Ordering::Relaxed) == 0 => {
                StatusCode::SERVICE_UNAVAILABLE.into_response()
            }
            _ => accepting(items),
        }
    });
    let a = beside(&net, java).await;
    a.register("first", 1000, "UP").await;
    pass_ms(10).await;
    a.register("second", 1000, "UP").await;
    pass_ms(20_000).await;
    assert_eq!(batches(&net, "java:1").concat(), ["Register first", "Register first", "Register second"]);
}

/// Catalog: C21
#[tokio::test(start_paused = true)]
async fn a_full_queue_drops_the_oldest_change_and_counts_it() {
    let net = Net::default();
    net.place("java:1", server(accepting));
    let settings = ["--eurekad.boot.sync-timeout-ms=0", "--eurekad.limits.replication-queue=3"];
    let a = Member::start_with(&net, "a:1", &["java:1"], &settings).await;
    pass_ms(500).await;
    net.cut("a:1", "java:1");
    for n in 0..4 {
        a.register(&format!("i-{n}"), 1000, "UP").await;
    }
    pass_ms(60_000).await;
    assert_eq!(a.node.peers().remove(0).queued, 3);
    net.heal();
    pass_ms(40_000).await;
    let view = a.node.peers().remove(0);
    assert_eq!(view.queued, 0);
    assert!(view.dropped >= 1);
    let mut told = batches(&net, "java:1").concat();
    told.sort();
    // It was away for long: it is asked by a heartbeat of each instance too, as far as there is room.
    told.retain(|item| !item.starts_with("Heartbeat"));
    assert_eq!(told, ["Register i-1", "Register i-2", "Register i-3"]);
}

/// Catalog: C22
#[tokio::test(start_paused = true)]
async fn what_comes_within_the_linger_goes_along() {
    let net = Net::default();
    net.place("java:1", server(accepting));
    let settings = ["--eurekad.boot.sync-timeout-ms=0", "--eurekad.replication.linger-ms=500"];
    let a = Member::start_with(&net, "a:1", &["java:1"], &settings).await;
    pass_ms(500).await;
    a.register("x", 1000, "UP").await;
    pass_ms(200).await;
    a.register("y", 1000, "UP").await;
    pass_ms(1_000).await;
    assert_eq!(batches(&net, "java:1"), [["Register x", "Register y"]]);
}
