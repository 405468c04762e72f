//! What partitions, stalls, wrong clocks and broken peers must not do.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use serde_json::Value;
use tower::ServiceExt;

use crate::net::{AB, ABC, EPOCH, Member, Net, pair, pass_ms};

async fn both(a: &Member, b: &Member, id: &str) -> [String; 4] {
    let (x, y) = (a.instance(id).await, b.instance(id).await);
    let t = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    [t(&x["status"]), t(&x["overriddenStatus"]), t(&y["status"]), t(&y["overriddenStatus"])]
}

#[tokio::test(start_paused = true)]
async fn a_wrong_clock_does_not_lock_a_client_out_of_a_cluster() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("x", EPOCH + 3_600_000, "DOWN").await;
    pass_ms(100).await;
    // Its clock is right again.
    a.register("x", EPOCH + 5_000, "UP").await;
    pass_ms(100).await;
    assert_eq!(a.beat("x").await, 200);
    pass_ms(2_000).await;
    assert_eq!((a.shows("x").await, b.shows("x").await), ("UP".into(), "UP".into()));
}

#[tokio::test(start_paused = true)]
async fn a_cleared_override_leaves_none_behind_at_the_peer() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("x", 1000, "UP").await;
    a.set_status("x", "OUT_OF_SERVICE").await;
    pass_ms(100).await;
    net.part("a:1", "b:1");
    a.clear_status("x", "UP").await;
    a.register("x", 2000, "UP").await;
    pass_ms(1_000).await;
    net.heal();
    pass_ms(20_000).await;
    a.register("x", 3000, "DOWN").await;
    pass_ms(100).await;
    a.register("x", 4000, "OUT_OF_SERVICE").await;
    pass_ms(1000).await;
    let s = both(&a, &b, "x").await;
    assert_eq!((&s[0], &s[1]), (&s[2], &s[3]));
}

#[tokio::test(start_paused = true)]
async fn a_cleared_override_is_not_brought_back_by_a_peer_that_has_not_heard() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("x", 1000, "UP").await;
    a.set_status("x", "OUT_OF_SERVICE").await;
    pass_ms(100).await;
    // For a while b's front refuses what it is sent; b itself reaches a.
    net.place("b:1", Router::new().fallback(|| async { StatusCode::SERVICE_UNAVAILABLE }));
    assert_eq!(a.call(Method::DELETE, "/eureka/apps/ORDERS/x/status", None).await.0, 200);
    assert_eq!(b.beat("x").await, 200);
    pass_ms(3_000).await;
    net.place("b:1", b.node.router());
    pass_ms(20_000).await;
    assert_eq!(a.instance("x").await["overriddenStatus"], "UNKNOWN");
    assert_eq!(b.instance("x").await["overriddenStatus"], "UNKNOWN");
}

#[tokio::test(start_paused = true)]
async fn an_override_is_not_lost_because_the_lease_was_overdue_when_it_was_to_be_told() {
    let net = Net::default();
    let s = ["--eureka.server.eviction-interval-timer-in-ms=100000000"]; // as self-preservation does
    let (a, b) = (Member::new(&net, "a:1", &AB, &s), Member::new(&net, "b:1", &AB, &s));
    tokio::join!(a.node.boot(), b.node.boot());
    pass_ms(100).await;
    a.register("x", 1000, "UP").await;
    pass_ms(100).await;
    net.part("a:1", "b:1");
    a.set_status("x", "OUT_OF_SERVICE").await;
    for _ in 0..4 {
        pass_ms(30_000).await;
        assert_eq!(b.beat("x").await, 200);
    }
    // only a -> b works at first: a's backoff ends first
    net.heal();
    net.hold("b:1", "a:1", 3_000);
    pass_ms(40_000).await;
    for _ in 0..4 {
        b.beat("x").await;
        a.beat("x").await;
        pass_ms(30_000).await;
    }
    assert_eq!(b.shows("x").await, "OUT_OF_SERVICE");
}

#[tokio::test(start_paused = true)]
async fn a_full_change_log_does_not_resend_everything_for_ever() {
    let net = Net::default();
    let s = ["--eurekad.limits.changes=10"];
    let (a, b) = (Member::new(&net, "a:1", &AB, &s), Member::new(&net, "b:1", &AB, &s));
    tokio::join!(a.node.boot(), b.node.boot());
    pass_ms(100).await;
    for n in 0..30 {
        a.register(&format!("i-{n}"), 1000, "UP").await;
        pass_ms(200).await;
    }
    pass_ms(1000).await;
    let n = net.items("a:1", "b:1").len();
    assert!(n < 100, "{n}");
}

#[tokio::test(start_paused = true)]
async fn an_overflowing_change_log_makes_no_overrides_that_nobody_set() {
    let net = Net::default();
    let s = ["--eurekad.limits.changes=10"];
    let (a, b) = (Member::new(&net, "a:1", &AB, &s), Member::new(&net, "b:1", &AB, &s));
    tokio::join!(a.node.boot(), b.node.boot());
    pass_ms(100).await;
    a.register("x", 1000, "UP").await;
    pass_ms(100).await;
    net.cut("b:1", "a:1"); // b's news do not come through
    b.register("x", 2000, "DOWN").await;
    for n in 0..12 {
        a.register(&format!("i-{n}"), 1000, "UP").await;
        pass_ms(10).await;
    }
    pass_ms(8000).await;
    assert_eq!(b.instance("x").await["overriddenStatus"], "UNKNOWN");
    assert_eq!(b.shows("x").await, "DOWN");
}

#[tokio::test(start_paused = true)]
async fn a_batch_in_flight_in_the_millisecond_of_sigterm() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("x", 1000, "UP").await;
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    a.node.stopper().cancel();
    pass_ms(100).await;
    a.node.leave().await;
    pass_ms(100).await;
    assert_eq!(b.shows("x").await, "UP");
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_arrives_after_its_time_out_does_not_undo_later_ones() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("x", 1000, "UP").await;
    a.register("y", 1000, "UP").await;
    pass_ms(100).await;
    net.late("b:1", 7_000); // b is stopped: what it is sent waits in its sockets
    a.set_status("x", "OUT_OF_SERVICE").await;
    pass_ms(100).await;
    a.clear_status("x", "UP").await;
    a.cancel("y").await;
    pass_ms(5_500).await;
    net.late("b:1", 0);
    pass_ms(20_000).await;
    a.register("x", 2000, "UP").await;
    pass_ms(20_000).await;
    assert_eq!(b.instance("x").await["overriddenStatus"], "UNKNOWN");
}

#[tokio::test(start_paused = true)]
async fn an_old_cancellation_does_not_take_out_a_newer_registration() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("x", 1000, "UP").await;
    pass_ms(100).await;
    net.part("a:1", "b:1");
    a.cancel("x").await;
    pass_ms(60_000).await;
    assert_eq!(b.register("x", EPOCH + 50_000, "UP").await, 204);
    let mut gone = 0;
    for n in 0..20 {
        if n == 5 {
            net.heal();
            net.hold("b:1", "a:1", 12_000);
        }
        pass_ms(1_000).await;
        if n % 10 == 9 {
            b.beat("x").await;
        }
        if b.shows("x").await.is_empty() {
            gone += 1;
        }
    }
    assert_eq!(gone, 0);
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_an_hour_old_does_not_take_out_a_newer_registration() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("x", 1000, "UP").await;
    pass_ms(100).await;
    net.part("a:1", "b:1");
    a.cancel("x").await;
    b.register("x", EPOCH + 50_000, "UP").await;
    for _ in 0..120 {
        pass_ms(30_000).await;
        assert_eq!(b.beat("x").await, 200);
    }
    net.heal();
    net.hold("b:1", "a:1", 60_000);
    let mut gone = 0;
    for _ in 0..550 {
        pass_ms(100).await;
        if b.shows("x").await.is_empty() {
            gone += 1;
        }
    }
    assert_eq!(gone, 0);
}

#[tokio::test(start_paused = true)]
async fn a_stranger_with_an_id_does_not_make_a_node_knock_at_a_dead_peer() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    b.kill().await;
    a.register("x", 1000, "UP").await;
    pass_ms(1000).await;
    let before = net.attempts("b:1");
    for n in 0..2000u32 {
        let request = Request::builder()
            .uri("/eureka/apps/NONE")
            .header("eurekad-node", format!("{n:x}"))
            .body(Body::empty())
            .unwrap();
        a.node.router().oneshot(request).await.unwrap();
        pass_ms(5).await;
    }
    assert!(net.attempts("b:1") - before < 100);
}

#[tokio::test(start_paused = true)]
async fn an_override_removed_with_out_of_service_ends_when_the_client_speaks_at_another_node() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("x", 1000, "UP").await;
    a.set_status("x", "OUT_OF_SERVICE").await;
    pass_ms(100).await;
    a.clear_status("x", "OUT_OF_SERVICE").await;
    pass_ms(100).await;
    b.kill().await;
    let b = Member::start(&net, "b:1", &AB).await;
    let mut dirty = 2000;
    for n in 0..10 {
        let node = if n % 2 == 0 { &b } else { &a };
        let said = node.beat("x").await;
        if said == 404 {
            node.register("x", dirty, "UP").await;
            dirty += 1000;
        }
        pass_ms(30_000).await;
    }
    // the client changes itself and registers again
    a.register("x", 9000, "UP").await;
    pass_ms(1000).await;
    assert_eq!((a.shows("x").await, b.shows("x").await), ("UP".into(), "UP".into()));
}

#[tokio::test(start_paused = true)]
async fn a_copy_is_not_taken_from_a_stale_cache() {
    let net = Net::default();
    let s = [
        "--eureka.server.use-read-only-response-cache=true",
        "--eureka.server.response-cache-update-interval-ms=1000",
    ];
    let (a, c) = (Member::new(&net, "a:1", &ABC, &s), Member::new(&net, "c:1", &ABC, &s));
    let b = Member::new(&net, "b:1", &ABC, &s);
    tokio::join!(a.node.boot(), b.node.boot(), c.node.boot());
    for id in ["x", "y", "z"] {
        a.register(id, 1000, "UP").await;
    }
    c.set_status("x", "OUT_OF_SERVICE").await;
    pass_ms(100).await;
    c.set_status("x", "OUT_OF_SERVICE").await;
    pass_ms(1900).await;
    assert_eq!(a.shows("x").await, "OUT_OF_SERVICE");
    a.call(Method::GET, "/eureka/apps/", None).await; // a client fetched: it is cached
    c.call(Method::GET, "/eureka/apps/", None).await;
    b.kill().await;
    pass_ms(1100).await;
    // a moment after the caches were renewed
    c.clear_status("x", "UP").await;
    c.cancel("y").await;
    pass_ms(20).await;
    let b = Member::new(&net, "b:1", &ABC, &s);
    b.boot();
    for _ in 0..40 {
        pass_ms(1_000).await;
    }
    assert_eq!(b.instance("x").await["overriddenStatus"], "UNKNOWN");
    assert_eq!(b.shows("y").await, "");
}

#[tokio::test(start_paused = true)]
async fn boot_does_not_wait_for_a_peer_that_waits_itself() {
    let net = Net::default();
    let s = ["--eureka.instance.registry.default-open-for-traffic-count=0"];
    let a = Member::start_with(&net, "a:1", &AB, &s).await;
    let clock = eurekad::clock::Clock::simulated(0);
    let t = clock.tick();
    let _b = Member::start_with(&net, "b:1", &AB, &s).await;
    let _ = a;
    assert!(clock.tick().since(t) < Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn an_overflowing_change_log_starts_no_storm_between_nodes() {
    let net = Net::default();
    let s = ["--eurekad.limits.changes=10"];
    let (a, b) = (Member::new(&net, "a:1", &AB, &s), Member::new(&net, "b:1", &AB, &s));
    tokio::join!(a.node.boot(), b.node.boot());
    pass_ms(100).await;
    for n in 0..12 {
        a.register(&format!("i-{n}"), 1000, "UP").await;
    }
    pass_ms(10_000).await;
    let said = || net.items("a:1", "b:1").len() + net.items("b:1", "a:1").len();
    let before = said();
    pass_ms(2_000).await;
    assert_eq!(said(), before, "nodes whose log overflows do not tell each other everything for ever");
}

#[tokio::test(start_paused = true)]
async fn what_was_cancelled_or_cleared_while_a_node_booted_stays_so() {
    let net = Net::default();
    let abcd = ["a:1", "b:1", "d:1"];
    let a = Member::start_with(&net, "a:1", &["b:1"], &["--eurekad.boot.sync-timeout-ms=0"]).await;
    net.hang("d:1");
    a.register("x", 1000, "UP").await;
    a.register("y", 1000, "UP").await;
    a.set_status("x", "OUT_OF_SERVICE").await;
    pass_ms(20_000).await;
    let b = Member::new(&net, "b:1", &abcd, &[]);
    b.boot();
    pass_ms(3_000).await;
    a.cancel("y").await;
    a.clear_status("x", "UP").await;
    pass_ms(1_000).await;
    assert_eq!(b.call(Method::GET, "/health/ready", None).await.0, 200, "one that hangs is not waited for");
    for _ in 0..2 {
        pass_ms(30_000).await;
        a.beat("x").await;
    }
    pass_ms(1000).await;
    assert_eq!(b.instance("x").await["overriddenStatus"], "UNKNOWN");
    assert_eq!(b.shows("y").await, "");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_went_down_after_an_override_is_down_everywhere() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("x", 1000, "STARTING").await;
    pass_ms(100).await;
    net.part("a:1", "b:1");
    a.set_status("x", "UP").await;
    a.register("x", 2000, "DOWN").await;
    pass_ms(3_000).await;
    net.heal();
    for _ in 0..5 {
        pass_ms(30_000).await;
        a.beat("x").await;
    }
    assert_eq!((a.shows("x").await, b.shows("x").await), ("DOWN".into(), "DOWN".into()));
}
