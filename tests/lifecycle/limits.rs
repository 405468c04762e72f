//! What a registry has room for, and what goes on when there is none.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use futures_util::StreamExt;
use futures_util::stream;
use serde_json::json;
use tower::ServiceExt;

use crate::support::{TestNode, gzip, instance};

/// What is refused, in both ways that registrations come, with the setting that would make room.
async fn is_refused(node: &TestNode, app: &str, id: &str, setting: &str) {
    let one = instance(app, id);
    let answer = node.register(&one).await;
    assert_eq!(answer.status, 503, "{app}/{id}");
    assert!(answer.header("retry-after").is_some());
    assert!(answer.text().contains(setting), "{}", answer.text());
    let item = json!([{"appName": app, "id": id, "action": "Register", "instanceInfo": one.fields}]);
    assert_eq!(node.batch(&item).await, [503]);
    assert_eq!(node.get(&one.path()).send().await.status, 404);
}

/// What is there goes on: it is renewed, replaced, and its status set.
async fn lives_on(node: &TestNode, app: &str, id: &str) {
    let one = instance(app, id);
    assert_eq!(node.beat(&one.path()).await, 200);
    assert_eq!(node.register(&one.clone().dirty(1_700_000_000_001)).await.status, 204);
    assert_eq!(node.put(&format!("{}/status?value=DOWN", one.path())).send().await.status, 200);
    assert_eq!(node.status(&one.path()).await, "DOWN");
}

#[tokio::test(start_paused = true)]
async fn one_application_too_many_is_503_and_those_that_are_there_may_grow() {
    let node = TestNode::start(&["--eurekad.limits.applications=2"]);
    for app in ["ORDERS", "BILLING"] {
        assert_eq!(node.register(&instance(app, "a")).await.status, 204);
    }
    is_refused(&node, "OTHER", "a", "eurekad.limits.applications").await;
    assert_eq!(node.reached("eurekad.limits.applications").await, 2);
    lives_on(&node, "ORDERS", "a").await;
    assert_eq!(node.register(&instance("ORDERS", "b")).await.status, 204);
    // An application goes with its last instance, and leaves room for another.
    assert_eq!(node.delete("/eureka/apps/BILLING/a").send().await.status, 200);
    assert_eq!(node.register(&instance("OTHER", "a")).await.status, 204);
}

#[tokio::test(start_paused = true)]
async fn an_application_that_is_full_is_503_and_others_are_not() {
    let node = TestNode::start(&["--eurekad.limits.instances-per-application=2"]);
    for id in ["a", "b"] {
        assert_eq!(node.register(&instance("ORDERS", id)).await.status, 204);
    }
    is_refused(&node, "ORDERS", "c", "eurekad.limits.instances-per-application").await;
    assert_eq!(node.reached("eurekad.limits.instances-per-application").await, 2);
    lives_on(&node, "ORDERS", "a").await;
    assert_eq!(node.register(&instance("BILLING", "c")).await.status, 204);
    assert_eq!(node.delete("/eureka/apps/ORDERS/a").send().await.status, 200);
    assert_eq!(node.register(&instance("ORDERS", "c")).await.status, 204);
}

/// Sends a registration of which so many bytes come and no more.
fn send_part(node: &TestNode, path: &str, bytes: usize) -> tokio::task::JoinHandle<u16> {
    let begun = stream::iter([Ok::<_, std::io::Error>(vec![b' '; bytes])]);
    let body = Body::from_stream(begun.chain(stream::pending()));
    let request = Request::post(path).header("content-type", "application/json").body(body).unwrap();
    let router = node.node.router();
    tokio::spawn(async move { router.oneshot(request).await.unwrap().status().as_u16() })
}

#[tokio::test(start_paused = true)]
async fn bodies_beyond_those_that_fit_are_503_and_heartbeats_are_not() {
    let node = TestNode::start(&["--eurekad.limits.bytes-in-flight=1000000"]);
    assert_eq!(node.register(&instance("ORDERS", "a")).await.status, 204);
    let begun: Vec<_> = (0..4).map(|_| send_part(&node, "/eureka/apps/ORDERS", 249_950)).collect();
    tokio::time::sleep(Duration::from_millis(1)).await;
    let answer = node.register(&instance("ORDERS", "b")).await;
    assert_eq!(answer.status, 503);
    assert!(answer.header("retry-after").is_some());
    assert!(answer.text().contains("eurekad.limits.bytes-in-flight"));
    assert_eq!(node.reached("eurekad.limits.bytes-in-flight").await, 1);
    assert_eq!(node.beat("/eureka/apps/ORDERS/a").await, 200);
    let with_body = node.put("/eureka/apps/ORDERS/a").json_body(&json!({})).send().await;
    assert_eq!(with_body.status, 200);
    for one in begun {
        assert_eq!(one.await.unwrap(), 408);
    }
    assert_eq!(node.register(&instance("ORDERS", "b")).await.status, 204);
    assert_eq!(node.metrics_of("eurekad_bodies_in_flight_bytes").await, 0);
}

#[tokio::test(start_paused = true)]
async fn batches_leave_room_for_registrations() {
    let node = TestNode::start(&["--eurekad.limits.bytes-in-flight=8000000"]);
    let begun = send_part(&node, "/eureka/peerreplication/batch/", 5_990_000);
    tokio::time::sleep(Duration::from_millis(1)).await;
    let large =
        node.send_batch(&json!([{"appName": "A", "id": "x".repeat(20_000), "action": "Cancel"}])).await;
    assert_eq!(large.status, 503);
    assert_eq!(node.register(&instance("ORDERS", "a")).await.status, 204);
    begun.abort();
}

#[tokio::test(start_paused = true)]
async fn what_a_body_unpacks_to_counts_too() {
    let node = TestNode::start(&["--eurekad.limits.bytes-in-flight=4000000"]);
    let blank = gzip(&vec![b' '; 3_500_000]);
    let call = node.post("/eureka/peerreplication/batch/").header("content-encoding", "gzip");
    let answer = call.body("application/json", blank).send().await;
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert_eq!(node.metrics_of("eurekad_bodies_in_flight_bytes").await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_takes_longer_than_it_may_is_503() {
    let node = TestNode::start(&["--eurekad.limits.request-timeout-ms=2000"]);
    let began = tokio::time::sleep(Duration::from_millis(2500));
    let slow = send_part(&node, "/eureka/apps/ORDERS", 10);
    tokio::select! {
        () = began => panic!("it is still at it"),
        status = slow => assert_eq!(status.unwrap(), 503),
    }
    assert_eq!(node.reached("eurekad.limits.request-timeout-ms").await, 1);
}

/// Case: U12
#[tokio::test(start_paused = true)]
async fn fetches_beyond_the_rate_are_503_and_heartbeats_and_privileged_clients_are_not() {
    let node = TestNode::start(&[
        "--eureka.server.rate-limiter-enabled=true",
        "--eureka.server.rate-limiter-burst-size=5",
        "--eureka.server.rate-limiter-registry-fetch-average-rate=5",
        "--eureka.server.rate-limiter-full-fetch-average-rate=1",
        "--eureka.server.rate-limiter-privileged-clients=dashboard, other",
    ]);
    node.register(&instance("ORDERS", "a")).await;
    let mut refused = 0;
    for _ in 0..20 {
        let answer = node.get("/eureka/apps/").send().await;
        if answer.status == 503 {
            assert!(answer.header("retry-after").is_some());
            refused += 1;
        }
        assert_eq!(node.beat("/eureka/apps/ORDERS/a").await, 200);
        assert_eq!(node.get("/eureka/apps/ORDERS/a").send().await.status, 200);
        assert_eq!(node.get("/eureka/vips/orders").send().await.status, 200);
        for name in ["DefaultClient", "DefaultServer", "dashboard", "other"] {
            let call = node.get("/eureka/apps").header("discoveryidentity-name", name);
            assert_eq!(call.send().await.status, 200, "{name}");
        }
    }
    assert_eq!(refused, 15);
    assert_eq!(node.metrics_of("eurekad_rate_limited_requests_total").await, 15);
    assert_eq!(node.metrics_of("eurekad_rate_limited_full_fetches_total").await, 15);
    // After a second there are five fetches again, of which one may be for everything.
    tokio::time::advance(Duration::from_secs(1)).await;
    let mut seen = Vec::new();
    for path in
        ["/eureka/apps", "/eureka/apps", "/v2/apps/delta", "/eureka/apps/ORDERS", "/eureka/v2/apps/delta"]
    {
        seen.push(node.get(path).send().await.status.as_u16());
    }
    assert_eq!(seen, [200, 503, 200, 200, 200]);
    assert_eq!(node.get("/eureka/apps/delta").send().await.status, 503);
    assert_eq!(node.metrics_of("eurekad_rate_limited_full_fetches_total").await, 16);
    assert_eq!(node.metrics_of("eurekad_rate_limited_requests_total").await, 17);
}

#[tokio::test(start_paused = true)]
async fn while_the_limiter_is_off_fetches_beyond_the_rate_are_only_counted() {
    let node = TestNode::start(&["--eureka.server.rate-limiter-burst-size=2"]);
    for _ in 0..5 {
        assert_eq!(node.get("/eureka/apps").send().await.status, 200);
    }
    assert_eq!(node.get("/eureka/apps/delta").send().await.status, 200);
    assert_eq!(node.metrics_of("eurekad_rate_limited_request_candidates_total").await, 4);
    assert_eq!(node.metrics_of("eurekad_rate_limited_full_fetch_candidates_total").await, 3);
    assert_eq!(node.metrics_of("eurekad_rate_limited_requests_total").await, 0);
}
