//! Peers whose answers are broken: replication goes on around them, and nothing is repeated without end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::response::IntoResponse;
use serde_json::json;
use tower::ServiceExt;

use crate::foreign::{accepting, answered, beside, java_with, server};
use crate::net::{Member, Net, instance, pair, pass_ms};

/// Requests arrive, answers are made into an HTML page on their way.
fn mangled(to: Router, on: Arc<AtomicBool>) -> Router {
    Router::new().fallback(move |request: Request<Body>| {
        let (to, on) = (to.clone(), Arc::clone(&on));
        async move {
            let answer = to.oneshot(request).await.unwrap();
            if on.load(Ordering::Relaxed) { axum::response::Html("<html>").into_response() } else { answer }
        }
    })
}

#[tokio::test(start_paused = true)]
async fn two_nodes_whose_answers_are_mangled_do_not_call_each_other_without_pause() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    let on = Arc::new(AtomicBool::new(true));
    net.place("a:1", mangled(a.node.router(), Arc::clone(&on)));
    net.place("b:1", mangled(b.node.router(), Arc::clone(&on)));
    a.register("x", 1000, "UP").await;
    b.register("y", 1000, "UP").await;
    let before = net.attempts("a:1") + net.attempts("b:1");
    pass_ms(60_000).await;
    let calls = net.attempts("a:1") + net.attempts("b:1") - before;
    assert!(calls < 400, "{calls}");
}

#[tokio::test(start_paused = true)]
async fn one_unreadable_instance_of_a_java_peer_does_not_cost_the_whole_copy() {
    let net = Net::default();
    let mut bad = instance("bad", 1000, "UP")["instance"].clone();
    bad["metadata"] = json!({"banner": "\u{1b}[1mhello"});
    let good = instance("good", 1000, "UP")["instance"].clone();
    net.place("java:1", java_with(&[good, bad]));
    let a = Member::start(&net, "a:1", &["java:1"]).await;
    assert_eq!(a.shows("good").await, "UP");
}

#[tokio::test(start_paused = true)]
async fn one_unreadable_record_in_an_answer_does_not_stop_replication() {
    let net = Net::default();
    let java = server(|items| {
        let answers = items.iter().map(|item| {
            if item["id"] == "x" && item["action"] == "Heartbeat" {
                let mut theirs = instance("x", 2000, "UP")["instance"].clone();
                theirs["metadata"] = json!({"banner": "\u{1b}[1mhello"});
                json!({"statusCode": 409, "responseEntity": theirs})
            } else {
                json!({"statusCode": 200})
            }
        });
        answered(&json!({"responseList": answers.collect::<Vec<_>>()}))
    });
    let a = beside(&net, java).await;
    a.register("x", 1000, "UP").await;
    pass_ms(100).await;
    a.beat("x").await;
    for n in 0..300 {
        a.register(&format!("i-{n}"), 1000, "UP").await;
    }
    for _ in 0..20 {
        pass_ms(30_000).await;
        a.beat("x").await;
        for n in 0..300 {
            a.beat(&format!("i-{n}")).await;
        }
    }
    pass_ms(1000).await;
    let v = a.node.peers().remove(0);
    assert_eq!(v.queued, 0);
    assert!(v.available);
}

#[tokio::test(start_paused = true)]
async fn an_item_that_a_peer_cannot_take_is_found_under_traffic() {
    let net = Net::default();
    let java = server(|items| {
        if items.iter().any(|item| item["id"] == "poison") {
            return StatusCode::BAD_REQUEST.into_response();
        }
        accepting(items)
    });
    let a = beside(&net, java).await;
    for n in 0..3000 {
        a.register(&format!("i-{n}"), 1000, "UP").await;
    }
    pass_ms(10_000).await;
    a.register("poison", 1000, "UP").await;
    for s in 0..300 {
        for n in 0..300 {
            a.beat(&format!("i-{}", (s * 300 + n) % 3000)).await;
        }
        pass_ms(300).await;
    }
    let view = a.node.peers().remove(0);
    assert_eq!(view.dropped, 1);
}
