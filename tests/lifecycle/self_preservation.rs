//! When eviction stops, and that everybody agrees on it.

use eurekad::registry::SelfPreservationState::{Armed, Disabled, Protecting, TooFewLeases};

use crate::support::{TestNode, ids, instance, pass_secs};

const EVICT_OFTEN: &str = "--eureka.server.eviction-interval-timer-in-ms=500";

/// Registers `count` instances of one application with such leases.
async fn fleet(node: &TestNode, count: u32, interval: u32, duration: u32) {
    for n in 0..count {
        node.register(&instance("FLEET", &format!("i-{n:02}")).lease(interval, duration)).await;
    }
}

/// Lets the first `count` of the fleet beat every `interval` seconds for so long.
async fn beats(node: &TestNode, count: u32, interval: u64, seconds: u64) {
    for _ in 0..seconds / interval {
        pass_secs(interval).await;
        for n in 0..count {
            node.beat(&format!("/eureka/apps/FLEET/i-{n:02}")).await;
        }
    }
}

async fn status_says(node: &TestNode, name: &str) -> String {
    let status = node.get("/eureka/status").json().send().await.json();
    status["generalStats"][name].as_str().unwrap_or_default().to_owned()
}

/// Case: P081
#[tokio::test(start_paused = true)]
async fn the_threshold_follows_each_leases_own_interval() {
    let node = TestNode::start(&[]);
    fleet(&node, 10, 5, 15).await;
    assert_eq!(status_says(&node, "renews-per-minute-expected").await, "120.0");
    assert_eq!(status_says(&node, "renews-per-minute-threshold").await, "102");
    for n in 0..10 {
        node.register(&instance("SLOW", &n.to_string())).await;
    }
    assert_eq!(status_says(&node, "renews-per-minute-expected").await, "140.0");
    assert_eq!(status_says(&node, "renews-per-minute-threshold").await, "119");
}

/// Case: P082
#[tokio::test(start_paused = true)]
async fn a_lone_node_evicts_one_silent_instance_of_ten() {
    let node = TestNode::start(&[EVICT_OFTEN]);
    fleet(&node, 10, 30, 3).await;
    beats(&node, 10, 1, 65).await;
    assert_eq!(node.registry().len(), 10);
    beats(&node, 9, 1, 10).await;
    assert_eq!(node.registry().len(), 9);
    beats(&node, 9, 1, 120).await;
    assert_eq!(node.registry().len(), 9, "the others stay");
}

/// Case: P085
#[tokio::test(start_paused = true)]
async fn a_third_of_a_tiny_registry_may_go() {
    let node = TestNode::start(&[EVICT_OFTEN]);
    fleet(&node, 3, 2, 6).await;
    beats(&node, 3, 2, 70).await;
    beats(&node, 2, 2, 20).await;
    assert_eq!(node.registry().len(), 2);
    assert_eq!(node.registry().self_preservation().state, TooFewLeases { arms_at: 10 });
}

/// Case: P085
#[tokio::test(start_paused = true)]
async fn a_fifth_of_a_fleet_that_falls_silent_at_once_is_kept_and_listed_as_overdue() {
    let node = TestNode::start(&[]);
    fleet(&node, 50, 30, 90).await;
    beats(&node, 50, 30, 120).await;
    assert_eq!(node.registry().self_preservation().state, Armed);
    // The lease of 90 s ends well after a whole minute without the ten's renewals.
    beats(&node, 40, 30, 300).await;
    assert_eq!(node.registry().self_preservation().state, Protecting);
    assert_eq!(node.registry().len(), 50);
    assert_eq!(status_says(&node, "overdue-leases").await, "10");
    assert!(status_says(&node, "overdue-instances").await.contains("FLEET/i-49"));
    // Back again: protection ends by itself.
    beats(&node, 50, 30, 120).await;
    assert_eq!(node.registry().self_preservation().state, Armed);
}

/// Case: P084
#[tokio::test(start_paused = true)]
async fn at_exactly_the_threshold_evictor_status_and_page_say_the_same() {
    // 20 leases of 30 s: 40 renewals expected, threshold 34. 17 clients beat: 34 renewals.
    let node = TestNode::start(&[]);
    fleet(&node, 20, 30, 90).await;
    beats(&node, 17, 30, 240).await;
    let decided = node.registry().self_preservation();
    assert_eq!((decided.renewals, decided.threshold, decided.state), (34, 34, Protecting));
    assert_eq!(node.registry().len(), 20, "the evictor");
    assert!(status_says(&node, "self-preservation").await.starts_with("protecting"), "the status document");
    assert!(node.get("/").send().await.text().contains("Self-preservation is protecting"), "the page");
    let metrics = node.get("/metrics").send().await.text();
    let states: Vec<&str> =
        metrics.lines().filter_map(|l| l.strip_prefix("eurekad_self_preservation{")).collect();
    assert!(states.contains(&r#"state="protecting",reason="too-few-renewals"} 1"#), "the metric: {states:?}");
    assert_eq!(states.iter().filter(|state| state.ends_with("} 0")).count(), 4, "the metric: {states:?}");
    assert!(metrics.contains("eurekad_self_preservation_protecting 1\n"), "{metrics}");
}

#[tokio::test(start_paused = true)]
async fn a_chatty_client_does_not_hide_the_silent_ones() {
    let node = TestNode::start(&[]);
    fleet(&node, 20, 30, 90).await;
    for _ in 0..300 {
        pass_secs(1).await;
        node.beat("/eureka/apps/FLEET/i-00").await;
    }
    assert_eq!(node.registry().self_preservation().state, Protecting);
    assert_eq!(node.registry().self_preservation().renewals, 2);
}

/// Catalog: B25
#[tokio::test(start_paused = true)]
async fn as_java_counts_one_expired_lease_of_four_goes_when_enough_renewals_came_in() {
    let node = TestNode::start(&[
        "--eurekad.renewals.accounting=global-interval",
        "--eurekad.self-preservation.min-leases=0",
        "--eurekad.lease.duration-doubling=true",
    ]);
    for (id, duration) in [("a", 300), ("b", 300), ("c", 300), ("d", 20)] {
        node.register(&instance("FOUR", id).lease(30, duration)).await;
    }
    // Four clients and the one that is expected from the start: 10 renewals, threshold 8.
    assert_eq!(node.registry().self_preservation().threshold, 8);
    for _ in 0..2 {
        for n in 0..10 {
            node.beat(&format!("/eureka/apps/FOUR/{}", ["a", "b", "c"][n % 3])).await;
        }
        pass_secs(60).await;
    }
    pass_secs(1).await;
    assert_eq!(ids(&node.apps().await), ["a", "b", "c"]);
    let delta = node.delta().await.to_string();
    assert_eq!(delta.matches("DELETED").count(), 1);
}

/// Catalog: B18
#[tokio::test(start_paused = true)]
async fn as_java_counts_silent_leases_go_only_after_a_minute_with_enough_renewals() {
    let node = TestNode::start(&[
        "--eurekad.renewals.accounting=global-interval",
        "--eurekad.self-preservation.min-leases=0",
        "--eurekad.lease.duration-doubling=true",
        "--eureka.instance.registry.expected-number-of-clients-sending-renews=0",
        "--eureka.server.eviction-interval-timer-in-ms=10000",
        "--eureka.server.renewal-threshold-update-interval-ms=15000",
    ]);
    fleet(&node, 50, 30, 30).await;
    beats(&node, 45, 20, 40).await;
    let decided = node.registry().self_preservation();
    assert!(!decided.allows_eviction());
    assert_eq!((decided.renewals, node.registry().len()), (0, 50));
    beats(&node, 45, 20, 40).await;
    let decided = node.registry().self_preservation();
    assert!(decided.allows_eviction());
    // The beat at the very end of the minute may fall on either side of it.
    assert!([90, 135].contains(&decided.renewals), "{}", decided.renewals);
    assert_eq!(node.registry().len(), 45);
    for n in 0..106 {
        node.register(&instance("MORE", &n.to_string())).await;
    }
    pass_secs(16).await;
    assert_eq!(node.registry().self_preservation().threshold, 256);
}

#[tokio::test(start_paused = true)]
async fn turned_off_it_protects_nobody() {
    let node = TestNode::start(&["--eureka.server.enable-self-preservation=false"]);
    fleet(&node, 20, 30, 90).await;
    assert_eq!(node.registry().self_preservation().state, Disabled);
    pass_secs(90 + 20 * 60).await;
    assert!(node.registry().is_empty());
}
