//! Who is who: nodes are known by their ids, never by their names.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request};
use http_body_util::BodyExt;
use tower::ServiceExt;

use crate::log::Log;
use crate::metrics::scrape;
use crate::net::{AB, Member, Net, alike, instance, pair, pass_ms, put_right};

/// Case: P051
#[tokio::test(start_paused = true)]
async fn a_node_finds_itself_in_its_list_under_any_name_and_does_not_talk_to_itself() {
    let net = Net::default();
    // The same list at all three; the first node is in it under two names.
    let list = ["a:1", "alias-of-a:1", "b:1", "c:1"];
    let nodes: Vec<Member> = ["a:1", "b:1", "c:1"].iter().map(|h| Member::new(&net, h, &list, &[])).collect();
    net.place("alias-of-a:1", nodes[0].node.router());
    tokio::join!(nodes[0].node.boot(), nodes[1].node.boot(), nodes[2].node.boot());
    pass_ms(500).await;
    let replicas = nodes[0].replicas("registered-replicas").await;
    assert_eq!(replicas, "http://b:1/eureka/, http://c:1/eureka/");
    nodes[0].register("x", 1000, "UP").await;
    pass_ms(1_000).await;
    let renewals = || nodes[0].node.metrics().registry.renewals.get();
    let before = renewals();
    nodes[0].beat("x").await;
    pass_ms(2_000).await;
    assert_eq!(renewals(), before + 1, "its own heartbeat does not come back to it");
}

#[tokio::test(start_paused = true)]
async fn the_page_says_which_node_it_is_and_which_instance_each_peer_is() {
    let net = Net::default();
    let node = |host: &str, name: &str| {
        let name = format!("--eureka.instance.hostname={name}");
        Member::new(&net, host, &AB, &[&name, "--eureka.client.register-with-eureka=true"])
    };
    let (a, b) = (node("a:1", "first<i>"), node("b:1", "second"));
    tokio::join!(a.node.boot(), b.node.boot());
    pass_ms(6_000).await;
    let page = page(&a).await;
    let itself = format!(
        "This is <strong>first&#60;i&#62;</strong>, instance <code>first&#60;i&#62;:eureka:8761</code>, node <code>{}</code>, in\n\
         the list of peers as <code>http://a:1/eureka/</code>.",
        a.node.id()
    );
    assert!(page.contains(&itself), "{page}");
    let peer =
        format!("<code>http://b:1/eureka/</code><br>second (second:eureka:8761), node {}", b.node.id());
    assert!(page.contains(&peer), "{page}");
    assert!(page.contains("<code>first&#60;i&#62;:eureka:8761</code> (this node)"), "{page}");
    assert_eq!(page.matches("(this node)").count(), 1);
    let build =
        scrape(&a).await.lines().find(|line| line.starts_with("eurekad_build_info{")).map(str::to_owned);
    let named = format!("node=\"{}\",host=\"first<i>\"", a.node.id());
    assert!(build.as_ref().is_some_and(|build| build.contains(&named)), "{build:?}");
    // Who registers under the servers' name at a node may be anybody: then no name is given, only the node's id.
    let mut java = instance("java", 1000, "UP");
    java["instance"]["app"] = "EUREKA".into();
    assert_eq!(b.call(Method::POST, "/eureka/apps/EUREKA", Some(&java)).await.0, 204);
    pass_ms(1_000).await;
    let unnamed = format!("<code>http://b:1/eureka/</code><br>node {}<", b.node.id());
    let page = self::page(&a).await;
    assert!(page.contains(&unnamed), "{page}");
}

async fn page(member: &Member) -> String {
    let request = Request::get("/").body(Body::empty()).unwrap();
    let answer = member.node.router().oneshot(request).await.unwrap();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(body.to_vec()).unwrap()
}

/// Case: P051
#[tokio::test(start_paused = true)]
async fn a_node_that_looks_again_who_answers_at_its_own_url_is_no_peer_of_its_own_meanwhile() {
    let net = Net::default();
    let list = ["a:1", "b:1"];
    let nodes = list.map(|host| Member::new(&net, host, &list, &[]));
    tokio::join!(nodes[0].node.boot(), nodes[1].node.boot());
    pass_ms(500).await;
    net.hold("a:1", "a:1", 400);
    for _ in 0..400 {
        pass_ms(200).await;
        assert_eq!(nodes[0].replicas("registered-replicas").await, "http://b:1/eureka/");
    }
    // Another node has taken the address over.
    net.hold("a:1", "a:1", 0);
    let c = Member::new(&net, "a:1", &list, &[]);
    c.node.boot().await;
    pass_ms(40_000).await;
    assert_eq!(nodes[0].replicas("registered-replicas").await, "http://a:1/eureka/, http://b:1/eureka/");
}

/// Case: P052
#[tokio::test(start_paused = true)]
async fn two_nodes_on_one_host_are_two_nodes() {
    let net = Net::default();
    let list = ["host:8761", "host:8762"];
    let (a, b) = (Member::new(&net, "host:8761", &list, &[]), Member::new(&net, "host:8762", &list, &[]));
    tokio::join!(a.node.boot(), b.node.boot());
    a.register("x", 1000, "UP").await;
    pass_ms(1_000).await;
    assert_eq!(b.shows("x").await, "UP");
}

/// Case: P053, P056
#[tokio::test(start_paused = true)]
async fn a_peer_is_available_when_it_answered_last_time_whatever_it_is_called() {
    let net = Net::default();
    let list = ["127.0.0.2:8761", "127.0.0.3:8761"];
    let a = Member::new(&net, list[0], &list, &[]);
    let b = Member::new(&net, list[1], &list, &[]);
    tokio::join!(a.node.boot(), b.node.boot());
    pass_ms(500).await;
    assert_eq!(a.replicas("available-replicas").await, "http://127.0.0.3:8761/eureka/,");
    assert_eq!(a.replicas("unavailable-replicas").await, "");
    b.kill().await;
    pass_ms(10_000).await;
    assert_eq!(a.replicas("available-replicas").await, "");
    assert_eq!(a.replicas("unavailable-replicas").await, "http://127.0.0.3:8761/eureka/,");
    let _b = Member::start(&net, list[1], &list).await;
    pass_ms(10_000).await;
    assert_eq!(a.replicas("available-replicas").await, "http://127.0.0.3:8761/eureka/,");
}

/// Case: P090, P092
/// Catalog: H3
#[tokio::test(start_paused = true)]
async fn credentials_of_a_peers_url_are_sent_and_never_shown() {
    let net = Net::default();
    let b = Member::start(&net, "b:1", &[]).await;
    let a = Member::start(&net, "a:1", &["u:p%40ss@b:1"]).await;
    pass_ms(500).await;
    a.register("x", 1000, "UP").await;
    pass_ms(500).await;
    assert_eq!(b.shows("x").await, "UP");
    let sent = net.delivered("b:1");
    assert!(sent.iter().all(|d| d.authorization.as_deref() == Some("Basic dTpwQHNz")), "{sent:?}");
    for path in ["/", "/eureka/status", "/metrics"] {
        let shown = format!("{:?}", a.call(axum::http::Method::GET, path, None).await);
        assert!(!shown.contains("p@ss") && !shown.contains("p%40ss"), "{path}: {shown}");
    }
}

/// One URL behind which several take turns, request by request.
fn balancer(behind: &[&Member]) -> Router {
    let (behind, turn): (Vec<Router>, _) =
        (behind.iter().map(|member| member.node.router()).collect(), Arc::new(AtomicUsize::new(0)));
    Router::new().fallback(move |request: Request<Body>| {
        let to = behind[turn.fetch_add(1, Ordering::Relaxed) % behind.len()].clone();
        async move { to.oneshot(request).await.unwrap() }
    })
}

#[tokio::test(start_paused = true)]
async fn a_balancer_in_the_list_is_warned_of_once_and_everything_gets_everywhere_all_the_same() {
    let net = Net::default();
    let log = Log::default();
    let _logged = log.begin();
    let a = Member::new(&net, "a:1", &["balancer:1"], &[]);
    let (b, c) =
        (Member::new(&net, "b:1", &["a:1", "c:1"], &[]), Member::new(&net, "c:1", &["a:1", "b:1"], &[]));
    net.place("balancer:1", balancer(&[&b, &c]));
    tokio::join!(a.node.boot(), b.node.boot(), c.node.boot());
    pass_ms(5_000).await;
    for n in 0..20 {
        a.register_for_long(&format!("i-{n}")).await;
        pass_ms(500).await;
    }
    a.cancel("i-3").await;
    pass_ms(30).await;
    a.set_status("i-4", "OUT_OF_SERVICE").await;
    b.register_for_long("at-b").await;
    pass_ms(130_000).await;
    for id in ["i-0", "i-1", "i-3", "i-4", "i-19", "at-b"] {
        alike(&[&a, &b, &c], id).await;
    }
    assert_eq!((c.shows("i-3").await, c.shows("i-4").await), (String::new(), "OUT_OF_SERVICE".into()));
    assert_eq!([&a, &b, &c].map(|node| node.node.registry().len()), [20; 3]);
    let warned = log.lines_with("take turns");
    assert_eq!(warned.len(), 1, "{warned:#?}");
    assert!(warned[0].contains("balancer:1"), "{warned:#?}");
    assert_eq!(put_right([&a, &b, &c]).1, 0);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_was_started_again_is_no_balancer_gets_no_old_heartbeats_and_is_compared_with() {
    let net = Net::default();
    let log = Log::default();
    let _logged = log.begin();
    let (a, b) = pair(&net).await;
    for n in 0..20 {
        a.register_for_long(&format!("i-{n}")).await;
    }
    pass_ms(1_000).await;
    b.kill().await;
    for n in 0..20 {
        a.beat(&format!("i-{n}")).await;
    }
    pass_ms(20_000).await;
    assert_eq!(a.peer("b:1").queued, 20);
    let before = net.delivered("b:1").len();
    let b = Member::start(&net, "b:1", &AB).await;
    pass_ms(10_000).await;
    assert_eq!((a.peer("b:1").queued, b.node.registry().len()), (0, 20));
    let beats = net.delivered("b:1").split_off(before);
    assert!(beats.iter().all(|d| !d.path.ends_with("/tell")), "it copies what they say: {beats:#?}");
    assert!(beats.iter().any(|d| d.path.ends_with("/compare")), "{beats:#?}");
    assert_eq!(log.lines_with("take turns"), Vec::<String>::new());
    assert_eq!(log.lines_with("another process than before").len(), 1);
}
