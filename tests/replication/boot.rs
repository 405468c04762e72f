//! What a node does before it opens.

use axum::http::Method;

use crate::net::{AB, Member, Net, instance, pass_ms};

/// Case: P040
#[tokio::test(start_paused = true)]
async fn a_restarted_node_has_the_registry_with_its_overrides_before_it_opens() {
    let net = Net::default();
    let (a, b) = (Member::new(&net, "a:1", &AB, &[]), Member::new(&net, "b:1", &AB, &[]));
    tokio::join!(a.node.boot(), b.node.boot());
    a.register("x", 1000, "UP").await;
    a.register("y", 1000, "UP").await;
    a.set_status("x", "OUT_OF_SERVICE").await;
    pass_ms(100).await;
    b.kill().await;
    let b = Member::start(&net, "b:1", &AB).await;
    let shown = b.instance("x").await;
    assert_eq!(
        (&shown["status"], &shown["overriddenStatus"]),
        (&"OUT_OF_SERVICE".into(), &"OUT_OF_SERVICE".into())
    );
    assert_eq!(b.node.registry().self_preservation().expected, 4.0, "two leases of 30 s");
    a.kill().await;
    let a = Member::start(&net, "a:1", &AB).await;
    assert_eq!(a.shows("x").await, "OUT_OF_SERVICE");
    assert_eq!(a.node.registry().changes_since(0).len(), 2, "its first deltas carry its whole registry");
    pass_ms(1_000).await;
    assert_eq!(
        net.items("b:1", "a:1").iter().filter(|i| i.starts_with("Register")).count(),
        0,
        "a copy is told to nobody"
    );
}

#[tokio::test(start_paused = true)]
async fn nodes_that_start_together_do_not_wait_for_each_other() {
    let net = Net::default();
    let all = ["a:1", "b:1", "c:1"];
    let nodes: Vec<Member> = all.iter().map(|host| Member::new(&net, host, &all, &[])).collect();
    let clock = eurekad::clock::Clock::simulated(0);
    tokio::join!(nodes[0].node.boot(), nodes[1].node.boot(), nodes[2].node.boot());
    assert!(clock.tick().since(eurekad::clock::Tick::START).as_millis() < 2_000);
}

#[tokio::test(start_paused = true)]
async fn a_node_whose_only_peer_is_silent_opens_when_its_time_is_up() {
    let net = Net::default();
    net.hang("b:1");
    let a = Member::new(&net, "a:1", &AB, &["--eurekad.boot.sync-timeout-ms=20000"]);
    a.boot();
    pass_ms(15_000).await;
    assert_eq!(a.call(Method::GET, "/health/ready", None).await.0, 503);
    pass_ms(15_000).await;
    assert_eq!(a.call(Method::GET, "/health/ready", None).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn until_it_opens_a_node_takes_changes_but_answers_neither_reads_nor_unknown_heartbeats() {
    let net = Net::default();
    net.hang("b:1");
    let a = Member::new(&net, "a:1", &AB, &[]);
    a.boot();
    pass_ms(1_000).await;
    assert_eq!(a.call(Method::GET, "/eureka/apps", None).await.0, 403);
    assert_eq!(a.beat("x").await, 503, "a 404 would make a whole fleet register");
    assert_eq!(a.register("y", 1000, "UP").await, 204);
    assert_eq!(a.beat("y").await, 200);
    assert_eq!(a.cancel("y").await, 200);
    let item = serde_json::json!({"appName": "ORDERS", "id": "z", "action": "Register",
        "instanceInfo": instance("z", 1, "UP")["instance"]});
    let unknown = serde_json::json!({"appName": "ORDERS", "id": "u", "action": "Heartbeat"});
    let batch = serde_json::json!({ "replicationList": [item, unknown] });
    let answer = a.call(Method::POST, "/eureka/peerreplication/batch/", Some(&batch)).await.1;
    assert_eq!(answer["responseList"][0]["statusCode"], 200);
    assert_eq!(answer["responseList"][1]["statusCode"], 404);
    net.heal();
    let _b = Member::start(&net, "b:1", &[]).await;
    pass_ms(10_000).await;
    assert_eq!(a.call(Method::GET, "/eureka/apps", None).await.0, 200);
    assert_eq!(a.beat("x").await, 404);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_boots_is_no_source_until_it_has_something() {
    let net = Net::default();
    let all = ["a:1", "b:1", "c:1"];
    let a = Member::start(&net, "a:1", &[]).await;
    a.register("x", 1000, "UP").await;
    // B reaches A, C reaches only B: it waits for B to have copied, instead of opening empty.
    net.part("c:1", "a:1");
    let (b, c) = (Member::new(&net, "b:1", &all, &[]), Member::new(&net, "c:1", &all, &[]));
    tokio::join!(b.node.boot(), c.node.boot());
    assert_eq!((b.shows("x").await, c.shows("x").await), ("UP".into(), "UP".into()));
}

#[tokio::test(start_paused = true)]
async fn a_node_registers_itself_when_it_has_peers_and_takes_itself_out_when_it_stops() {
    let net = Net::default();
    let own = |host: &str| format!("--eureka.instance.hostname={host}");
    let itself = "--eureka.client.register-with-eureka=auto";
    let a = Member::new(&net, "a:1", &AB, &[&own("a"), itself]);
    let b = Member::new(&net, "b:1", &AB, &[&own("b"), itself]);
    tokio::join!(a.node.boot(), b.node.boot());
    pass_ms(500).await;
    let seen = async |node: &Member| node.call(Method::GET, "/eureka/apps/EUREKA", None).await.1.to_string();
    assert!(seen(&b).await.contains("a:eureka:8761") && seen(&a).await.contains("b:eureka:8761"));
    for _ in 0..10 {
        pass_ms(60_000).await;
    }
    assert!(seen(&b).await.contains("a:eureka:8761"), "it renews its own lease");
    a.node.leave().await;
    assert!(!seen(&b).await.contains("a:eureka:8761"));
}
