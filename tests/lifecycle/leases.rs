//! How long an instance stays without a word from its client.

use axum::http::StatusCode;
use serde_json::json;

use crate::support::{EPOCH, TestNode, ids, instance, pass, pass_secs};
use std::time::Duration;

const PATH: &str = "/eureka/apps/ORDERS/a";
const EVICT_OFTEN: &str = "--eureka.server.eviction-interval-timer-in-ms=500";
const UNPROTECTED: &str = "--eureka.server.enable-self-preservation=false";

/// The first whole half second after the last beat at which the instance is gone.
async fn gone_after(node: &TestNode) -> u64 {
    for halves in 1..40 {
        pass(Duration::from_millis(500)).await;
        if node.registry().is_empty() {
            return halves * 500;
        }
    }
    panic!("it is never evicted");
}

/// Case: P080
#[tokio::test(start_paused = true)]
async fn a_renewed_lease_lives_its_duration_and_twice_that_where_java_is_to_be_matched() {
    for (doubling, renewed_for) in
        [("auto", 3_000..=4_500), ("false", 3_000..=4_500), ("true", 6_000..=7_500)]
    {
        let setting = format!("--eurekad.lease.duration-doubling={doubling}");
        let node = TestNode::start(&[&setting, EVICT_OFTEN, UNPROTECTED]);
        node.register(&instance("ORDERS", "a").lease(1, 3)).await;
        let never_renewed = gone_after(&node).await;
        assert!((3_000..=4_000).contains(&never_renewed), "{doubling}: {never_renewed}");

        node.register(&instance("ORDERS", "a").lease(1, 3)).await;
        pass_secs(1).await;
        assert_eq!(node.beat(PATH).await, 200);
        let renewed = gone_after(&node).await;
        assert!(renewed_for.contains(&renewed), "{doubling}: {renewed}");
    }
}

/// Case: P087
#[tokio::test(start_paused = true)]
async fn an_instance_without_heartbeats_goes_when_its_lease_ends() {
    let node = TestNode::start(&[EVICT_OFTEN]);
    node.register(&instance("ORDERS", "a").lease(30, 5)).await;
    pass_secs(5).await;
    assert_eq!(node.status(PATH).await, "UP");
    pass_secs(1).await;
    assert_eq!(node.get(PATH).send().await.status, StatusCode::NOT_FOUND);
    assert_eq!(node.registry().recent_cancellations().len(), 1);
    assert_eq!(node.node.metrics().registry.evictions.get(), 1);
    let delta = node.delta().await;
    assert_eq!(delta["application"][0]["instance"][0]["actionType"], "DELETED");
}

#[tokio::test(start_paused = true)]
async fn heartbeats_keep_an_instance_for_ever() {
    let node = TestNode::start(&[EVICT_OFTEN, UNPROTECTED]);
    node.register(&instance("ORDERS", "a").lease(2, 6)).await;
    for _ in 0..200 {
        pass_secs(5).await;
        assert_eq!(node.beat(PATH).await, 200);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stepped_wall_clock_evicts_nobody_and_keeps_nobody() {
    let node = TestNode::start(&[EVICT_OFTEN, UNPROTECTED]);
    node.register(&instance("ORDERS", "a").lease(2, 6)).await;
    node.clock.step(86_400_000);
    pass_secs(2).await;
    assert_eq!(node.status(PATH).await, "UP");
    node.clock.step(-2 * 86_400_000);
    pass_secs(5).await;
    assert!(node.registry().is_empty());
}

/// Catalog: B24
#[tokio::test(start_paused = true)]
async fn the_lease_in_a_document_tells_its_times() {
    let node = TestNode::start(&["--eurekad.lease.duration-doubling=true"]);
    node.register(&instance("ORDERS", "a").status("STARTING").lease(10, 40).dirty(1)).await;
    let lease = node.instance(PATH).await["leaseInfo"].clone();
    assert_eq!(lease["registrationTimestamp"], EPOCH);
    assert_eq!(lease["lastRenewalTimestamp"], EPOCH);
    assert_eq!(lease["serviceUpTimestamp"], 0);
    pass_secs(7).await;
    node.beat(PATH).await;
    let lease = node.instance(PATH).await["leaseInfo"].clone();
    assert_eq!(lease["lastRenewalTimestamp"], EPOCH + 7_000 + 40_000, "ahead by the duration, as in Java");
    pass_secs(1).await;
    node.register(&instance("ORDERS", "a").lease(10, 40).dirty(2)).await;
    pass_secs(1).await;
    node.register(&instance("ORDERS", "a").lease(10, 40).dirty(3)).await;
    let lease = node.instance(PATH).await["leaseInfo"].clone();
    assert_eq!(lease["registrationTimestamp"], EPOCH + 9_000, "a registration makes a new lease");
    assert_eq!(lease["serviceUpTimestamp"], EPOCH + 8_000, "which keeps when it was first up");
    assert_eq!(lease["evictionTimestamp"], 0);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_timestamp_on_a_heartbeat_still_renews_the_lease() {
    let node = TestNode::start(&[EVICT_OFTEN, UNPROTECTED]);
    node.register(&instance("ORDERS", "a").lease(2, 6).dirty(1000)).await;
    pass_secs(5).await;
    assert_eq!(node.beat(&format!("{PATH}?lastDirtyTimestamp=2000")).await, 404);
    pass_secs(5).await;
    assert_eq!(node.status(PATH).await, "UP");
}

/// Case: U06
#[tokio::test(start_paused = true)]
async fn a_timestamp_that_is_no_number_does_not_renew_the_lease() {
    let node = TestNode::start(&[EVICT_OFTEN, UNPROTECTED]);
    node.register(&instance("ORDERS", "a").lease(2, 6)).await;
    pass_secs(5).await;
    assert_eq!(node.beat(&format!("{PATH}?lastDirtyTimestamp=abc")).await, 400);
    pass_secs(2).await;
    assert!(node.registry().is_empty());
}

#[tokio::test(start_paused = true)]
async fn timestamps_are_not_compared_when_that_is_turned_off() {
    let node = TestNode::start(&["--eureka.server.sync-when-timestamp-differs=false"]);
    node.register(&instance("ORDERS", "a").dirty(1000)).await;
    assert_eq!(node.beat(&format!("{PATH}?lastDirtyTimestamp=2000")).await, 200);
}

/// Case: P106
#[tokio::test(start_paused = true)]
async fn after_all_beats_stop_as_many_passes_as_the_cap_gives_empty_the_registry() {
    let node = TestNode::start(&["--eureka.server.eviction-interval-timer-in-ms=1000", UNPROTECTED]);
    for app in 0..40 {
        for id in 0..10 {
            node.register(&instance(&format!("APP-{app}"), &id.to_string()).lease(1, 3)).await;
        }
    }
    let mut expected = node.registry().len();
    assert_eq!(expected, 400);
    pass(Duration::from_millis(3_500)).await;
    let mut passes = 0;
    while expected > 0 {
        pass_secs(1).await;
        expected = (expected as f64 * 0.85) as usize;
        passes += 1;
        assert_eq!(node.registry().len(), expected, "after {passes} passes");
    }
    assert!(node.registry().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_pass_picks_by_chance_and_not_by_the_order_of_registration() {
    let node = TestNode::start(&["--eureka.server.eviction-interval-timer-in-ms=10000", UNPROTECTED]);
    for n in 0..100 {
        node.register(&instance("ORDERS", &format!("i-{n:02}")).lease(1, 3)).await;
    }
    pass_secs(11).await;
    let left = ids(&node.apps().await);
    assert_eq!(left.len(), 85);
    assert!(left.iter().any(|id| id.as_str() < "i-15"), "not simply the first fifteen");
}

/// Case: P105
#[tokio::test(start_paused = true)]
async fn registering_again_and_again_takes_no_more_room() {
    let node = TestNode::start(&["--eureka.server.use-read-only-response-cache=true"]);
    let mut cached = 0;
    for round in 1..=1000 {
        for id in 0..18 {
            node.register(&instance("ORDERS", &id.to_string()).dirty(1_700_000_000_000 + round)).await;
        }
        // One of them also goes and comes back.
        node.delete("/eureka/apps/ORDERS/0").send().await;
        node.register(&instance("ORDERS", "0").dirty(1_700_000_000_000 + round)).await;
        pass(Duration::from_millis(100)).await;
        let (registry, bytes) = (node.registry(), node.node.cached_read_only_bytes());
        assert_eq!((registry.len(), registry.changes_held(), registry.changes_dropped()), (18, 18, 0));
        assert_eq!(registry.remembered().0, 0, "what came back is not remembered as gone");
        assert!(registry.recent_registrations().len() <= 1000);
        assert!(registry.recent_cancellations().len() <= 1000);
        // Documents are read all the time, and each takes the place of the one before.
        for path in ["/eureka/apps", "/eureka/apps/delta", "/eureka/apps/ORDERS", "/eureka/vips/orders"] {
            assert_eq!(node.get(path).send().await.status, 200);
        }
        if round == 100 {
            cached = bytes;
        }
        assert!(round < 100 || bytes <= cached + cached / 10, "{bytes} after {cached}");
    }
    assert!(cached > 0);
    assert_eq!(node.registry().recent_registrations().len(), 1000);
}

/// Case: P023
#[tokio::test(start_paused = true)]
async fn the_id_is_the_instances_own_or_amazons_or_the_host_name() {
    let node = TestNode::start(&[]);
    assert_eq!(node.register(&instance("ORDERS", "x").without("instanceId")).await.status, 204);
    let amazon = json!({
        "@class": "com.netflix.appinfo.AmazonInfo", "name": "Amazon", "metadata": {"instance-id": "i-9"}});
    node.register(&instance("ORDERS", "x").without("instanceId").with("dataCenterInfo", amazon)).await;
    assert_eq!(node.get("/eureka/apps/ORDERS/n1.test").send().await.status, 200);
    assert_eq!(node.get("/eureka/apps/ORDERS/i-9").send().await.status, 200);
    assert_eq!(node.beat("/eureka/apps/ORDERS/x").await, 404);
}

/// Catalog: B26
#[tokio::test(start_paused = true)]
async fn a_cancellation_of_an_unknown_instance_is_listed_among_the_last_ones() {
    let node = TestNode::start(&[]);
    assert_eq!(node.delete("/eureka/apps/ORDERS/nobody").send().await.status, 404);
    let recent = node.registry().recent_cancellations();
    assert_eq!((recent.len(), recent[0].key.id.as_str(), recent[0].at), (1, "nobody", EPOCH));
    assert!(node.get("/").send().await.text().contains("ORDERS(nobody)"));
}
