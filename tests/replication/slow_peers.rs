//! Peers that hang, that stop, or that take only so much at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use eurekad::peers::PeerKind;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::net::{AB, Member, Net, TELL, instance, pair, pass_ms, trio};

#[tokio::test(start_paused = true)]
async fn a_node_that_is_about_to_stop_is_told_of_changes_and_of_no_heartbeats() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    a.register("x", 1000, "UP").await;
    pass_ms(6_000).await;
    b.node.leave().await;
    a.register("y", 1000, "UP").await;
    pass_ms(1_000).await;
    let before = net.items("a:1", "b:1").len();
    a.beat("x").await;
    pass_ms(2_000).await;
    assert_eq!(net.items("a:1", "b:1").len(), before);
    a.beat("y").await;
    a.register("z", 1000, "UP").await;
    a.cancel("x").await;
    pass_ms(2_000).await;
    let mut told = net.items("a:1", "b:1").split_off(before);
    told.sort();
    assert_eq!(told, ["Cancel x", "Register z"]);
    assert_eq!((b.shows("y").await, b.shows("z").await, a.peer("b:1").queued), ("UP".into(), "UP".into(), 0));
}

#[tokio::test(start_paused = true)]
async fn in_an_hour_beside_a_peer_that_hangs_the_queue_has_each_instance_once_and_others_wait_for_nothing() {
    let net = Net::default();
    let nodes = trio(&net).await;
    // A process that stands still calls nobody either.
    net.hang("c:1");
    AB.iter().for_each(|host| net.cut("c:1", host));
    for n in 0..200 {
        nodes[n % 2].register(&format!("i-{n}"), 1000, "UP").await;
    }
    let before = net.attempts("c:1");
    for minute in 0..60 {
        for _ in 0..2 {
            for n in 0..200 {
                assert_eq!(nodes[n % 2].beat(&format!("i-{n}")).await, 200);
            }
            pass_ms(30_000).await;
        }
        let id = format!("i-{minute}");
        nodes[0].set_status(&id, "OUT_OF_SERVICE").await;
        nodes[1].register(&format!("new-{minute}"), 1000, "UP").await;
        nodes[1].cancel(&format!("new-{minute}")).await;
        pass_ms(20).await;
        assert_eq!(nodes[1].shows(&id).await, "OUT_OF_SERVICE", "told at once");
        for node in &nodes[..2] {
            let view = node.peer("c:1");
            assert!(view.queued <= 200 + 60 && view.dropped == 0 && !view.available, "{view:?}");
        }
    }
    // Six seconds of time-out and half a minute's wait, less by chance, for each of two nodes; and when they compare.
    let attempts = net.attempts("c:1") - before;
    assert!(attempts < 2 * 3600 / 15, "{attempts}");
    assert_eq!((nodes[0].peer("b:1").queued, nodes[1].peer("a:1").queued), (0, 0));
}

/// A front that takes no more than so many bytes.
fn narrow(member: &Member, most: usize, refused: &Arc<AtomicUsize>) -> Router {
    let (to, refused) = (member.node.router(), Arc::clone(refused));
    Router::new().fallback(move |request: Request<Body>| {
        let (to, refused) = (to.clone(), Arc::clone(&refused));
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            if body.len() > most {
                refused.fetch_add(1, Ordering::Relaxed);
                return StatusCode::PAYLOAD_TOO_LARGE.into_response();
            }
            to.oneshot(Request::from_parts(parts, Body::from(body))).await.unwrap()
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_front_that_takes_only_small_requests_costs_nothing_but_what_is_larger_by_itself() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    let refused = Arc::new(AtomicUsize::new(0));
    net.place("b:1", narrow(&b, 16_000, &refused));
    net.part("a:1", "b:1");
    for n in 0..100 {
        a.register(&format!("i-{n}"), 1000, "UP").await;
    }
    let mut large = instance("large", 1000, "UP");
    large["instance"]["metadata"] = json!({"text": "x".repeat(20_000)});
    a.call(Method::POST, "/eureka/apps/ORDERS", Some(&large)).await;
    net.heal();
    // Its comparisons ask for less.
    pass_ms(20_000).await;
    assert_eq!(b.node.registry().len(), 100);
    let view = a.peer("b:1");
    assert_eq!((view.queued, view.dropped, view.available), (0, 1, true), "{view:?}");
    assert!(refused.load(Ordering::Relaxed) > 0);
}

#[tokio::test(start_paused = true)]
async fn one_request_to_a_node_of_ours_tells_of_a_thousand_keys_at_most() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    net.part("a:1", "b:1");
    for n in 0..2_500 {
        a.register(&format!("i-{n}"), 1000, "UP").await;
    }
    pass_ms(1_000).await;
    net.heal();
    pass_ms(15_000).await;
    assert_eq!(b.node.registry().len(), 2_500);
    let bodies = net.delivered("b:1").into_iter().filter(|d| d.path == TELL).map(|d| d.body);
    let sizes: Vec<usize> = bodies
        .map(|b| serde_json::from_str::<Value>(&b).unwrap()["keys"].as_array().unwrap().len())
        .collect();
    assert!(sizes.iter().max() == Some(&1000) && sizes.iter().sum::<usize>() >= 2_500, "{sizes:?}");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_lost_to_a_node_of_ours_behind_a_front_that_fails_for_a_while_in_whatever_way() {
    let ways: [fn() -> Response; 8] = [
        || StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        || StatusCode::BAD_GATEWAY.into_response(),
        || StatusCode::SERVICE_UNAVAILABLE.into_response(),
        || StatusCode::UNAUTHORIZED.into_response(),
        || StatusCode::NOT_FOUND.into_response(),
        || StatusCode::TOO_MANY_REQUESTS.into_response(),
        || axum::response::Html("<html>in a moment</html>").into_response(),
        || "{ half a".into_response(),
    ];
    for (n, way) in ways.into_iter().enumerate() {
        let net = Net::default();
        // Comparisons would put it right as well.
        let settings = ["--eurekad.repair.interval-ms=0"];
        let (a, b) = (Member::new(&net, "a:1", &AB, &settings), Member::new(&net, "b:1", &AB, &settings));
        tokio::join!(a.node.boot(), b.node.boot());
        a.register("gone", 1000, "UP").await;
        a.register("set", 1000, "UP").await;
        pass_ms(6_000).await;
        net.place("b:1", Router::new().fallback(move || async move { way() }));
        a.register("new", 1000, "UP").await;
        a.cancel("gone").await;
        a.set_status("set", "OUT_OF_SERVICE").await;
        pass_ms(8_000).await;
        assert!(!a.peer("b:1").available, "way {n}");
        net.place("b:1", b.node.router());
        pass_ms(10_000).await;
        let view = a.peer("b:1");
        assert_eq!((view.queued, view.dropped, view.available), (0, 0, true), "way {n}");
        assert!(matches!(view.kind, PeerKind::Ours(_)), "way {n}");
        assert_eq!(
            [b.shows("gone").await, b.shows("set").await, b.shows("new").await],
            ["", "OUT_OF_SERVICE", "UP"]
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_two_urls_lead_to_is_told_through_the_one_that_answers() {
    let net = Net::default();
    let b = Member::start(&net, "b:1", &[]).await;
    net.place("alias-of-b:1", b.node.router());
    let a = Member::start(&net, "a:1", &["b:1", "alias-of-b:1"]).await;
    pass_ms(6_000).await;
    a.register("x", 1000, "UP").await;
    pass_ms(500).await;
    net.remove("b:1");
    // The first of these finds it out; what waits there, a comparison brings.
    a.register("y", 1000, "UP").await;
    pass_ms(10_000).await;
    a.register("z", 1000, "UP").await;
    pass_ms(500).await;
    assert_eq!(b.shows("z").await, "UP");
    pass_ms(60_000).await;
    assert_eq!(b.shows("y").await, "UP");
    assert_eq!(a.node.metrics().peers.repaired_unexplained.get(), 0);
}

/// An instance that renews every second and lives three.
async fn register_short(node: &Member) {
    let mut short = instance("x", 1000, "UP");
    short["instance"]["leaseInfo"] = json!({"renewalIntervalInSecs": 1, "durationInSecs": 3});
    node.call(Method::POST, "/eureka/apps/ORDERS", Some(&short)).await;
}

#[tokio::test(start_paused = true)]
async fn before_it_evicts_a_node_asks_the_others_whether_they_have_heard_the_client() {
    let net = Net::default();
    // Comparisons would put it right as well.
    let settings = ["--eureka.server.eviction-interval-timer-in-ms=1000", "--eurekad.repair.interval-ms=0"];
    let (a, b) = (Member::new(&net, "a:1", &AB, &settings), Member::new(&net, "b:1", &AB, &settings));
    tokio::join!(a.node.boot(), b.node.boot());
    pass_ms(100).await;
    // Until then each has heard that the other is open.
    pass_ms(6_000).await;
    register_short(&a).await;
    pass_ms(100).await;
    net.hold("a:1", "b:1", 4_500);
    for _ in 0..60 {
        pass_ms(1_000).await;
        assert_eq!(a.beat("x").await, 200);
        assert_eq!(b.node.registry().len(), 1);
    }
    assert!(b.node.metrics().peers.saved.get() > 0);
    assert_eq!((a.node.metrics().peers.saved.get(), b.node.metrics().registry.evictions.get()), (0, 0));
    // Silence is no objection, and is not waited for.
    net.hang("a:1");
    pass_ms(20_000).await;
    assert_eq!(b.node.metrics().registry.evictions.get(), 1);
}
