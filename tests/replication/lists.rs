//! Lists of peers that change while nodes run.

use std::path::PathBuf;

use crate::foreign::{accepting, server};
use crate::log::Log;
use crate::net::{Member, Net, pass_ms};

const A: &str = "127.0.0.2:8761";
const B: &str = "127.0.0.3:8761";
const C: &str = "127.0.0.4:8761";
const D: &str = "127.0.0.5:8761";
const BY_NAME: &str = "--eureka.client.service-url.default-zone=dns+http://nodes.test:8761/eureka/";

/// A file of this test's own.
pub(crate) fn file(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// Case: P110
/// Catalog: H14
#[tokio::test(start_paused = true)]
async fn every_address_of_a_name_is_a_peer_and_changes_are_followed() {
    let net = Net::default();
    net.name("nodes.test", &[A]);
    let a = Member::start_with(&net, A, &[], &[BY_NAME]).await;
    a.register("x", 1000, "UP").await;
    assert_eq!(a.replicas("registered-replicas").await, "", "only itself");
    net.name("nodes.test", &[A, C, B]);
    let b = Member::start_with(&net, B, &[], &[BY_NAME]).await;
    assert_eq!(b.shows("x").await, "UP", "complete before it is ready");
    let c = Member::start_with(&net, C, &[], &[BY_NAME]).await;
    assert_eq!(c.shows("x").await, "UP");
    pass_ms(10_000).await;
    let both = format!("http://{B}/eureka/, http://{C}/eureka/");
    assert_eq!(a.replicas("registered-replicas").await, both);
    a.register("y", 1000, "UP").await;
    pass_ms(500).await;
    assert_eq!((b.shows("y").await, c.shows("y").await), ("UP".into(), "UP".into()));
    net.name("nodes.test", &[A, B]);
    pass_ms(10_000).await;
    let before = net.attempts(C);
    a.register("z", 1000, "UP").await;
    pass_ms(60_000).await;
    assert_eq!(net.attempts(C), before, "who left is not talked to");
    assert_eq!(b.shows("z").await, "UP");
}

/// Case: P110
#[tokio::test(start_paused = true)]
async fn what_changes_before_a_new_node_is_found_reaches_it_as_soon_as_it_is() {
    let net = Net::default();
    net.name("nodes.test", &[A]);
    let a = Member::start_with(&net, A, &[], &[BY_NAME]).await;
    a.register("gone", 1000, "UP").await;
    a.register("out", 1000, "UP").await;
    // The new one copies what there is, and is open, before the name has its address.
    let b = Member::start(&net, B, &[A]).await;
    assert_eq!(b.shows("gone").await, "UP");
    a.cancel("gone").await;
    a.set_status("out", "OUT_OF_SERVICE").await;
    a.register("new", 1000, "UP").await;
    pass_ms(1_000).await;
    assert_eq!(b.shows("new").await, "", "nobody has told it");
    net.name("nodes.test", &[A, B]);
    pass_ms(8_000).await;
    assert_eq!(b.shows("gone").await, "");
    assert_eq!(b.shows("out").await, "OUT_OF_SERVICE");
    assert_eq!(b.shows("new").await, "UP");
}

#[tokio::test(start_paused = true)]
async fn a_name_that_loses_a_node_which_had_not_said_that_it_stops_is_warned_of() {
    let net = Net::default();
    let log = Log::default();
    let _logging = log.begin();
    net.name("nodes.test", &[A, B, C, D]);
    let node = |host: &str| {
        let name = format!("--eureka.instance.hostname={}", host.replace([':', '.'], "-"));
        Member::new(&net, host, &[], &[BY_NAME, &name, "--eureka.client.register-with-eureka=true"])
    };
    let (a, b, c, d) = (node(A), node(B), node(C), node(D));
    tokio::join!(a.node.boot(), b.node.boot(), c.node.boot(), d.node.boot());
    pass_ms(10_000).await;
    // One stops in order, and is gone from the name before anybody has asked it anything more.
    c.node.leave().await;
    c.kill().await;
    net.name("nodes.test", &[A, B, D]);
    pass_ms(10_000).await;
    let changed = |level: &str, host: &str| {
        let lines = log.lines_with("the list of peers has changed").into_iter();
        lines.filter(|line| line.contains(level) && line.contains(&format!("left=\"http://{host}/"))).count()
    };
    assert_eq!((changed("INFO", C), changed("WARN", C)), (3, 0), "at all others");
    b.kill().await;
    net.name("nodes.test", &[A, D]);
    pass_ms(10_000).await;
    assert_eq!((changed("INFO", B), changed("WARN", B)), (0, 2), "at both others");
    drop((a, d));
}

#[tokio::test(start_paused = true)]
async fn a_name_that_does_not_resolve_for_an_hour_leaves_the_peers_as_they_were() {
    let net = Net::default();
    net.name("nodes.test", &[A, B]);
    let a = Member::new(&net, A, &[], &[BY_NAME]);
    let b = Member::new(&net, B, &[], &[BY_NAME]);
    tokio::join!(a.node.boot(), b.node.boot());
    net.name("nodes.test", &[]);
    pass_ms(3_600_000).await;
    a.register("x", 1000, "UP").await;
    pass_ms(500).await;
    assert_eq!(b.shows("x").await, "UP");
}

#[tokio::test(start_paused = true)]
async fn a_name_in_two_urls_that_does_not_resolve_leaves_both_peers_as_they_were() {
    let net = Net::default();
    net.place(B, server(accepting));
    net.name("one.test", &[B]);
    let two = "--eureka.client.service-url.default-zone=dns+http://one.test:8761/eureka/,dns+http://one.test:8761/v2/";
    let a = Member::start_with(&net, A, &[], &[two, "--eurekad.boot.sync-timeout-ms=0"]).await;
    let both = format!("http://{B}/eureka/, http://{B}/v2/");
    assert_eq!(a.replicas("registered-replicas").await, both);
    net.name("one.test", &[]);
    pass_ms(60_000).await;
    assert_eq!(a.replicas("registered-replicas").await, both);
}

/// Catalog: H15
#[tokio::test(start_paused = true)]
async fn a_name_that_does_not_resolve_yet_is_waited_for_at_start() {
    let net = Net::default();
    net.name("nodes.test", &[B]);
    let b = Member::start_with(&net, B, &[], &[BY_NAME]).await;
    b.register("x", 1000, "UP").await;
    net.name("nodes.test", &[]);
    let a = Member::new(&net, A, &[], &[BY_NAME]);
    a.boot();
    pass_ms(12_000).await;
    assert_eq!(a.call(axum::http::Method::GET, "/health/ready", None).await.0, 503);
    net.name("nodes.test", &[A, B]);
    pass_ms(7_000).await;
    assert_eq!(a.call(axum::http::Method::GET, "/health/ready", None).await.0, 200);
    assert_eq!(a.shows("x").await, "UP");
}

/// Case: P058, U03
#[tokio::test(start_paused = true)]
async fn a_file_is_read_again_and_again_and_may_become_empty_or_wrong() {
    let net = Net::default();
    let path = file("peers-of-a", "");
    let setting = format!("--eurekad.peers.file={}", path.display());
    let a = Member::start_with(&net, A, &[], &[&setting]).await;
    a.register("x", 1000, "UP").await;
    a.beat("x").await;
    let b = Member::start(&net, B, &[]).await;
    assert_eq!(b.shows("x").await, "");
    file("peers-of-a", &format!("# the other one\nhttp://{B}/eureka/\n"));
    pass_ms(6_000).await;
    assert_eq!(b.shows("x").await, "UP", "a new peer gets what clients renew here");
    assert_eq!(a.replicas("available-replicas").await, format!("http://{B}/eureka/,"));
    file("peers-of-a", "what is this");
    pass_ms(6_000).await;
    a.register("y", 1000, "UP").await;
    pass_ms(500).await;
    assert_eq!(b.shows("y").await, "UP", "a file that cannot be read changes nothing");
    file("peers-of-a", "");
    pass_ms(6_000).await;
    let before = net.attempts(B);
    a.register("z", 1000, "UP").await;
    pass_ms(60_000).await;
    assert_eq!((b.shows("z").await, net.attempts(B)), (String::new(), before));
    assert_eq!(a.replicas("registered-replicas").await, "");
}

#[tokio::test(start_paused = true)]
async fn the_list_is_read_at_once_when_that_is_asked_for() {
    let net = Net::default();
    let path = file("peers-at-once", "");
    let settings = [
        format!("--eurekad.peers.file={}", path.display()),
        "--eureka.server.peer-eureka-nodes-update-interval-ms=3600000".into(),
    ];
    let a = Member::start_with(&net, A, &[], &[&settings[0], &settings[1]]).await;
    file("peers-at-once", &format!("http://{B}/eureka/"));
    pass_ms(60_000).await;
    assert_eq!(a.replicas("registered-replicas").await, "");
    a.node.reloader().notify_one();
    pass_ms(1_000).await;
    assert_eq!(a.replicas("registered-replicas").await, format!("http://{B}/eureka/"));
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_leaves_and_comes_back_soon_keeps_what_waits_for_it() {
    let net = Net::default();
    net.name("nodes.test", &[A, B]);
    let a = Member::new(&net, A, &[], &[BY_NAME]);
    let b = Member::new(&net, B, &[], &[BY_NAME]);
    tokio::join!(a.node.boot(), b.node.boot());
    pass_ms(1_000).await;
    net.part(A, B);
    a.register("x", 1000, "UP").await;
    pass_ms(1_000).await;
    net.name("nodes.test", &[A]);
    pass_ms(25_000).await;
    net.name("nodes.test", &[A, B]);
    pass_ms(10_000).await;
    net.heal();
    pass_ms(40_000).await;
    assert_eq!(b.shows("x").await, "UP");
}

/// Case: P051
#[tokio::test(start_paused = true)]
async fn two_urls_of_one_other_node_are_one_peer() {
    let net = Net::default();
    let b = Member::start(&net, B, &[]).await;
    net.place("alias-of-b:1", b.node.router());
    let a = Member::start(&net, A, &[B, "alias-of-b:1"]).await;
    pass_ms(1_000).await;
    assert_eq!(a.replicas("registered-replicas").await, format!("http://{B}/eureka/"));
    a.register("x", 1000, "UP").await;
    a.beat("x").await;
    pass_ms(2_000).await;
    let told = [net.items(A, B), net.items(A, "alias-of-b:1")].concat();
    assert_eq!(told.iter().filter(|item| *item == "Register x").count(), 1, "{told:?}");
}

/// Catalog: H25, I12, I13, I14
#[tokio::test(start_paused = true)]
async fn of_the_peers_that_are_shown_nothing_but_their_passwords_is_left_out() {
    let net = Net::default();
    ["java:1", "java:2"].iter().for_each(|host| net.place(host, server(accepting)));
    let peers = ["user:pass@java:1", "java:2", "u:p@java:3"];
    let a = Member::start_with(&net, A, &peers, &["--eurekad.boot.sync-timeout-ms=0"]).await;
    pass_ms(1_000).await;
    let [one, two, three] = [1, 2, 3].map(|n| format!("http://java:{n}/eureka/"));
    assert_eq!(a.replicas("registered-replicas").await, format!("{one}, {two}, {three}"));
    assert_eq!(a.replicas("available-replicas").await, format!("{one},{two},"));
    assert_eq!(a.replicas("unavailable-replicas").await, format!("{three},"));
}

/// Case: P107
#[tokio::test(start_paused = true)]
async fn peers_may_be_given_by_addresses_of_version_six() {
    let net = Net::default();
    let list = ["[::1]:8761", "[::1]:8762"];
    let (a, b) = (Member::new(&net, list[0], &list, &[]), Member::new(&net, list[1], &list, &[]));
    tokio::join!(a.node.boot(), b.node.boot());
    a.register("x", 1000, "UP").await;
    pass_ms(1_000).await;
    assert_eq!(b.shows("x").await, "UP");
    assert_eq!(b.replicas("available-replicas").await, "http://[::1]:8761/eureka/,");
}
