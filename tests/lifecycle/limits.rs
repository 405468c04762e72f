//! What a registry has room for, and what goes on when there is none.

use serde_json::json;

use crate::support::{TestNode, instance};

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
    assert_eq!(node.metrics_of("eurekad_applications_refused_total").await, 2);
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
    assert_eq!(node.metrics_of("eurekad_registrations_refused_by_application_total").await, 2);
    lives_on(&node, "ORDERS", "a").await;
    assert_eq!(node.register(&instance("BILLING", "c")).await.status, 204);
    assert_eq!(node.delete("/eureka/apps/ORDERS/a").send().await.status, 200);
    assert_eq!(node.register(&instance("ORDERS", "c")).await.status, 204);
}
