//! Statuses set from outside, and what a client's own words do to them.

use axum::http::StatusCode;

use crate::support::{TestNode, instance};

const PATH: &str = "/eureka/apps/ORDERS/a";

async fn set(node: &TestNode, status: &str) -> StatusCode {
    node.put(&format!("{PATH}/status?value={status}")).send().await.status
}

async fn clear(node: &TestNode, query: &str) -> StatusCode {
    node.delete(&format!("{PATH}/status{query}")).send().await.status
}

async fn shown(node: &TestNode) -> (String, String) {
    let shown = node.instance(PATH).await;
    let word = |field: &str| shown[field].as_str().unwrap_or_default().to_owned();
    (word("status"), word("overriddenStatus"))
}

fn words(status: &str, over: &str) -> (String, String) {
    (status.to_owned(), over.to_owned())
}

/// Case: P033
#[tokio::test(start_paused = true)]
async fn a_status_on_the_instances_own_path_is_a_heartbeat_and_changes_nothing() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a")).await;
    assert_eq!(node.beat(&format!("{PATH}?status=DOWN")).await, 200);
    assert_eq!(shown(&node).await, words("UP", "UNKNOWN"));
    assert_eq!(set(&node, "DOWN").await, 200);
    assert_eq!(shown(&node).await, words("DOWN", "DOWN"));
}

/// Catalog: B8, B9
#[tokio::test(start_paused = true)]
async fn an_override_survives_a_newer_registration_until_it_is_removed() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a").dirty(1000)).await;
    set(&node, "OUT_OF_SERVICE").await;
    node.register(&instance("ORDERS", "a").dirty(2000)).await;
    assert_eq!(shown(&node).await, words("OUT_OF_SERVICE", "OUT_OF_SERVICE"));
    assert_eq!(clear(&node, "?value=DOWN").await, 200);
    assert_eq!(shown(&node).await, words("DOWN", "UNKNOWN"));
    node.register(&instance("ORDERS", "a").dirty(3000)).await;
    assert_eq!(shown(&node).await, words("UP", "UNKNOWN"));
}

/// Catalog: B10
#[tokio::test(start_paused = true)]
async fn a_heartbeat_neither_loses_nor_delays_an_override() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a")).await;
    set(&node, "OUT_OF_SERVICE").await;
    node.put(PATH).replicated().send().await;
    assert_eq!(node.beat(&format!("{PATH}?status=UP&lastDirtyTimestamp=1700000000000")).await, 200);
    assert_eq!(shown(&node).await, words("OUT_OF_SERVICE", "OUT_OF_SERVICE"));
}

/// Catalog: B11
#[tokio::test(start_paused = true)]
async fn a_client_that_is_starting_or_down_is_believed_over_an_override() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a").dirty(1000)).await;
    set(&node, "OUT_OF_SERVICE").await;
    for (dirty, status) in [(2000, "STARTING"), (3000, "DOWN")] {
        node.register(&instance("ORDERS", "a").status(status).dirty(dirty)).await;
        assert_eq!(shown(&node).await, words(status, "OUT_OF_SERVICE"));
    }
    node.register(&instance("ORDERS", "a").dirty(4000)).await;
    assert_eq!(shown(&node).await, words("OUT_OF_SERVICE", "OUT_OF_SERVICE"));
}

/// Catalog: B12, B13
/// Case: P041
#[tokio::test(start_paused = true)]
async fn a_clients_up_or_out_of_service_gives_way_to_an_existing_lease_that_is_either() {
    for (first, second) in [("UP", "OUT_OF_SERVICE"), ("OUT_OF_SERVICE", "UP")] {
        let node = TestNode::start(&[]);
        node.register(&instance("ORDERS", "a").status(first).dirty(1000)).await;
        for dirty in [2000, 3000] {
            node.register(&instance("ORDERS", "a").status(second).dirty(dirty)).await;
            assert_eq!(shown(&node).await, words(first, "UNKNOWN"));
        }

        let trusting = TestNode::start(&["--eurekad.overrides.trust-client-status=true"]);
        trusting.register(&instance("ORDERS", "a").status(first).dirty(1000)).await;
        trusting.register(&instance("ORDERS", "a").status(second).dirty(2000)).await;
        assert_eq!(shown(&trusting).await, words(second, "UNKNOWN"));
        set(&trusting, "DOWN").await;
        trusting.register(&instance("ORDERS", "a").dirty(3000)).await;
        assert_eq!(shown(&trusting).await, words("DOWN", "DOWN"), "an operator's override still pins");
    }
}

/// Case: P041
#[tokio::test(start_paused = true)]
async fn a_client_that_was_down_or_starting_comes_up() {
    for settings in [&[][..], &["--eurekad.overrides.trust-client-status=true"]] {
        for first in ["DOWN", "STARTING"] {
            let node = TestNode::start(settings);
            node.register(&instance("ORDERS", "a").status(first).dirty(1000)).await;
            node.register(&instance("ORDERS", "a").dirty(2000)).await;
            assert_eq!(shown(&node).await, words("UP", "UNKNOWN"));
        }
    }
}

/// Case: P037
/// Catalog: A21, A48
#[tokio::test(start_paused = true)]
async fn after_a_removal_the_client_registers_with_the_timestamp_it_always_had_and_is_up() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a").dirty(1000)).await;
    assert_eq!(set(&node, "OUT_OF_SERVICE").await, 200);
    assert_eq!(node.instance(PATH).await["lastDirtyTimestamp"], "1000", "a status call does not raise it");
    assert_eq!(clear(&node, "").await, 200);
    assert_eq!(shown(&node).await, words("UNKNOWN", "UNKNOWN"));
    assert_eq!(node.beat(&format!("{PATH}?status=UP&lastDirtyTimestamp=1000")).await, 404);
    assert_eq!(node.register(&instance("ORDERS", "a").dirty(1000)).await.status, 204);
    assert_eq!(shown(&node).await, words("UP", "UNKNOWN"));
    assert_eq!(node.beat(PATH).await, 200);
}

/// Case: P037
#[tokio::test(start_paused = true)]
async fn a_timestamp_that_a_status_call_brought_does_not_lock_the_client_out() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a").dirty(1000)).await;
    node.put(&format!("{PATH}/status?value=OUT_OF_SERVICE&lastDirtyTimestamp=5000")).send().await;
    assert_eq!(node.instance(PATH).await["lastDirtyTimestamp"], "5000");
    node.delete(&format!("{PATH}/status?lastDirtyTimestamp=6000")).send().await;
    assert_eq!(node.instance(PATH).await["lastDirtyTimestamp"], "6000");
    node.register(&instance("ORDERS", "a").dirty(1000)).await;
    assert_eq!(shown(&node).await, words("UP", "UNKNOWN"));
    assert_eq!(node.instance(PATH).await["lastDirtyTimestamp"], "1000");
}

/// Case: P037
#[tokio::test(start_paused = true)]
async fn an_instance_put_out_by_a_removal_comes_back_when_its_client_speaks() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a").dirty(1000)).await;
    set(&node, "DOWN").await;
    assert_eq!(clear(&node, "?value=OUT_OF_SERVICE").await, 200);
    assert_eq!(shown(&node).await, words("OUT_OF_SERVICE", "UNKNOWN"));
    assert_eq!(node.beat(PATH).await, 404);
    node.register(&instance("ORDERS", "a").dirty(1000)).await;
    assert_eq!(shown(&node).await, words("UP", "UNKNOWN"));
}

/// Case: P038
/// Catalog: A22
#[tokio::test(start_paused = true)]
async fn a_removal_may_name_the_status_until_the_client_speaks() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a")).await;
    set(&node, "DOWN").await;
    assert_eq!(clear(&node, "?value=UP").await, 200);
    assert_eq!(shown(&node).await, words("UP", "UNKNOWN"));
    assert_eq!(node.beat(PATH).await, 200);
}

#[tokio::test(start_paused = true)]
async fn a_removal_without_an_override_changes_nothing() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a")).await;
    let version = node.registry().version();
    assert_eq!(clear(&node, "?value=DOWN").await, 200);
    assert_eq!(shown(&node).await, words("UP", "UNKNOWN"));
    assert_eq!(node.registry().version(), version);
}

/// Case: P044
#[tokio::test(start_paused = true)]
async fn an_override_shows_in_every_document_at_once() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a")).await;
    for path in ["/eureka/apps", "/eureka/apps/delta", "/eureka/apps/ORDERS", "/eureka/vips/orders"] {
        node.get(path).json().send().await;
    }
    set(&node, "OUT_OF_SERVICE").await;
    for path in ["/eureka/apps", "/eureka/apps/delta", "/eureka/apps/ORDERS", "/eureka/vips/orders"] {
        let text = node.get(path).json().send().await.text();
        assert!(
            text.contains(r#""status":"OUT_OF_SERVICE","overriddenStatus":"OUT_OF_SERVICE""#),
            "{path}: {text}"
        );
    }
}

/// Case: U01
#[tokio::test(start_paused = true)]
async fn two_applications_with_one_instance_id_have_each_its_own_override() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "i-1")).await;
    node.register(&instance("BILLING", "i-1")).await;
    node.put("/eureka/apps/ORDERS/i-1/status?value=OUT_OF_SERVICE").send().await;
    assert_eq!(node.status("/eureka/apps/BILLING/i-1").await, "UP");
    node.delete("/eureka/apps/BILLING/i-1").send().await;
    node.register(&instance("ORDERS", "i-1").dirty(1_700_000_000_001)).await;
    assert_eq!(node.status("/eureka/apps/ORDERS/i-1").await, "OUT_OF_SERVICE");
}

/// Case: U02
#[tokio::test(start_paused = true)]
async fn an_override_lives_as_long_as_the_lease() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a")).await;
    set(&node, "OUT_OF_SERVICE").await;
    for _ in 0..(26 * 60) {
        crate::support::pass_secs(60).await;
        assert_eq!(node.beat(PATH).await, 200);
    }
    node.register(&instance("ORDERS", "a")).await;
    assert_eq!(shown(&node).await, words("OUT_OF_SERVICE", "OUT_OF_SERVICE"));
    node.delete(PATH).send().await;
    node.register(&instance("ORDERS", "a")).await;
    assert_eq!(shown(&node).await, words("UP", "UNKNOWN"), "a cancellation ends it");
}

/// Case: U07
#[tokio::test(start_paused = true)]
async fn a_status_that_is_shown_already_is_not_stored_as_an_override() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a")).await;
    assert_eq!(set(&node, "UP").await, 200);
    assert_eq!(shown(&node).await, words("UP", "UNKNOWN"));
}

/// Case: P002
#[tokio::test(start_paused = true)]
async fn an_override_in_a_registration_counts_in_either_spelling_where_none_is_set() {
    let node = TestNode::start(&[]);
    let camel =
        instance("ORDERS", "a").without("overriddenstatus").with("overriddenStatus", "OUT_OF_SERVICE");
    node.register(&camel).await;
    node.register(&instance("ORDERS", "b").with("overriddenstatus", "OUT_OF_SERVICE")).await;
    assert_eq!(node.status("/eureka/apps/ORDERS/a").await, "OUT_OF_SERVICE");
    assert_eq!(node.status("/eureka/apps/ORDERS/b").await, "OUT_OF_SERVICE");
    node.put("/eureka/apps/ORDERS/a/status?value=DOWN").send().await;
    node.register(&camel).await;
    assert_eq!(node.status("/eureka/apps/ORDERS/a").await, "DOWN", "the one set here stays");
}

/// Case: P043
#[tokio::test(start_paused = true)]
async fn of_two_racing_registrations_the_newer_timestamp_wins_and_of_equal_ones_the_later() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a").status("STARTING").dirty(2000)).await;
    node.register(&instance("ORDERS", "a").status("UP").dirty(1999)).await;
    assert_eq!(node.status(PATH).await, "STARTING");
    node.register(&instance("ORDERS", "a").status("UP").dirty(2000)).await;
    assert_eq!(node.status(PATH).await, "UP");
}

/// Catalog: B19, B20
#[tokio::test(start_paused = true)]
async fn a_replica_with_an_older_record_loses_and_one_with_a_newer_record_wins() {
    let older = instance("ORDERS", "a").status("STARTING").dirty(11_111);
    let newer = instance("ORDERS", "a").status("UP").dirty(22_222);
    for (first, second) in [(&newer, &older), (&older, &newer)] {
        let node = TestNode::start(&[]);
        node.register(first).await;
        node.post("/eureka/apps/ORDERS").replicated().json_body(&second.wrapped()).send().await;
        assert_eq!(node.status(PATH).await, "UP");
        assert_eq!(node.instance(PATH).await["lastDirtyTimestamp"], "22222");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_whose_clock_was_far_ahead_is_not_locked_out_once_it_is_right() {
    let node = TestNode::start(&[]);
    let ahead = crate::support::EPOCH + 3_600_000;
    node.register(&instance("ORDERS", "a").status("DOWN").dirty(ahead)).await;
    node.register(&instance("ORDERS", "b").status("DOWN").dirty(ahead)).await;
    let right = crate::support::EPOCH + 1_000;
    node.register(&instance("ORDERS", "a").dirty(right)).await;
    assert_eq!(node.status(PATH).await, "UP");
    // Nor by a peer that still has the record from the future, nor when the peer brings the right one.
    let b = instance("ORDERS", "b").dirty(right).wrapped();
    node.post("/eureka/apps/ORDERS").replicated().json_body(&b).send().await;
    assert_eq!(node.status("/eureka/apps/ORDERS/b").await, "UP");
    let back = instance("ORDERS", "a").status("DOWN").dirty(ahead + 1).wrapped();
    node.post("/eureka/apps/ORDERS").replicated().json_body(&back).send().await;
    assert_eq!(node.status(PATH).await, "DOWN", "one from the future replaces one that is not");
}

/// Case: P045
#[tokio::test(start_paused = true)]
async fn a_removed_instance_is_asked_to_register_and_does() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a")).await;
    assert_eq!(node.delete(PATH).send().await.status, 200);
    assert!(node.put(PATH).json().send().await.is_empty_with(404));
    assert_eq!(node.register(&instance("ORDERS", "a")).await.status, 204);
}

/// Case: P071
#[tokio::test(start_paused = true)]
async fn a_metadata_call_merges_keys_and_keeps_status_and_timestamp() {
    let node = TestNode::start(&[]);
    node.register(
        &instance("ORDERS", "a").dirty(1000).with("metadata", serde_json::json!({"old": "1", "zone": "x"})),
    )
    .await;
    node.put(&format!("{PATH}/status?value=DOWN&lastDirtyTimestamp=2000")).send().await;
    node.delete(&format!("{PATH}/status?value=UP&lastDirtyTimestamp=3000")).send().await;
    assert_eq!(node.put(&format!("{PATH}/metadata?weight=40&zone=a")).send().await.status, 200);
    let shown = node.instance(PATH).await;
    assert_eq!(shown["metadata"], serde_json::json!({"old": "1", "weight": "40", "zone": "a"}));
    assert_eq!((shown["status"].as_str(), shown["lastDirtyTimestamp"].as_str()), (Some("UP"), Some("3000")));
}
