//! A list of Java peers in a file that changes while a node runs: who is kept, who leaves, who is new.

use crate::foreign::{accepting, server};
use crate::lists::file;
use crate::net::{Member, Net, pass_ms};

const A: &str = "a:1";

/// A node that is told its peers by a file of this name, with Java servers at three hosts.
async fn told_by_file(net: &Net, name: &str, list: &str) -> Member {
    ["java:1", "java:2", "java:3"].iter().for_each(|host| net.place(host, server(accepting)));
    let setting = format!("--eurekad.peers.file={}", file(name, list).display());
    let a = Member::start_with(net, A, &[], &[&setting, "--eurekad.boot.sync-timeout-ms=0"]).await;
    pass_ms(1_000).await;
    a
}

/// Catalog: C2, H23
#[tokio::test(start_paused = true)]
async fn a_list_that_says_the_same_in_another_order_leaves_the_peers_and_what_waits_for_them_alone() {
    let net = Net::default();
    let a = told_by_file(&net, "peers-same", "http://java:1/eureka/\nhttp://java:2/eureka/").await;
    net.cut(A, "java:1");
    a.register("x", 1000, "UP").await;
    pass_ms(1_000).await;
    for text in
        ["http://java:2/eureka/, http://java:1/eureka", "# a\nhttp://java:1/eureka/\nhttp://java:2/eureka/"]
    {
        file("peers-same", text);
        pass_ms(10_000).await;
        let queued: Vec<(String, usize)> =
            a.node.peers().into_iter().map(|view| (view.url, view.queued)).collect();
        assert!(queued.contains(&("http://java:1/eureka/".into(), 1)), "{queued:?}");
        assert!(queued.contains(&("http://java:2/eureka/".into(), 0)), "{queued:?}");
    }
    net.heal();
    pass_ms(40_000).await;
    for host in ["java:1", "java:2"] {
        let told = net.items(A, host);
        let records = told.iter().filter(|item| *item == "Register x").count();
        assert_eq!(records, 1, "{host}: {told:?}");
    }
}

/// Catalog: C3, H26, I20
#[tokio::test(start_paused = true)]
async fn after_each_reading_exactly_those_in_the_list_are_peers() {
    let net = Net::default();
    let url = |n: u32| format!("http://java:{n}/eureka/");
    let a = told_by_file(&net, "peers-in-turn", &url(1)).await;
    assert_eq!(a.replicas("registered-replicas").await, url(1));
    file("peers-in-turn", &format!("{}\n{}", url(1), url(2)));
    pass_ms(10_000).await;
    assert_eq!(a.replicas("registered-replicas").await, format!("{}, {}", url(1), url(2)));
    file("peers-in-turn", &format!("{}\n{}", url(2), url(3)));
    pass_ms(10_000).await;
    assert_eq!(a.replicas("registered-replicas").await, format!("{}, {}", url(2), url(3)));
    let before = net.attempts("java:1");
    a.register("x", 1000, "UP").await;
    pass_ms(60_000).await;
    assert_eq!(net.attempts("java:1"), before, "who left is not talked to");
    assert_eq!(
        (net.items(A, "java:2"), net.items(A, "java:3")),
        (vec!["Register x".into()], vec!["Register x".into()])
    );
}

/// Case: P058
#[tokio::test(start_paused = true)]
async fn a_peer_that_was_out_of_the_list_for_long_is_a_new_one_when_it_is_back() {
    let net = Net::default();
    let url = "http://java:1/eureka/";
    let a = told_by_file(&net, "peers-for-long", url).await;
    a.register("renewed", 1000, "UP").await;
    pass_ms(1_000).await;
    net.cut(A, "java:1");
    for id in ["waits", "goes"] {
        a.register(id, 1000, "UP").await;
    }
    a.cancel("goes").await;
    pass_ms(1_000).await;
    file("peers-for-long", "");
    for _ in 0..20 {
        a.beat("renewed").await;
        pass_ms(30_000).await;
    }
    net.heal();
    let (attempts, items) = (net.attempts("java:1"), net.items(A, "java:1").len());
    pass_ms(60_000).await;
    assert_eq!(net.attempts("java:1"), attempts, "nobody knocks there any more");
    a.beat("renewed").await;
    file("peers-for-long", url);
    pass_ms(20_000).await;
    let told = net.items(A, "java:1").split_off(items);
    assert_eq!(told, ["Heartbeat renewed"], "what clients renew here, and nothing of what waited");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_is_back_in_the_list_is_told_at_once_what_waits_however_long_it_was_silent() {
    let net = Net::default();
    let url = "http://java:1/eureka/";
    // Pauses after failures differ by chance. One of them would be over in time now and then, five are not.
    for round in 0..5 {
        let a = told_by_file(&net, "peers-back", url).await;
        net.cut(A, "java:1");
        a.register(&format!("waits-{round}"), 1000, "UP").await;
        file("peers-back", "");
        // Long enough for pauses of half a minute, and shorter than the lease.
        pass_ms(70_000).await;
        net.heal();
        file("peers-back", url);
        // The file is read every five seconds, and no pause ends within its first second.
        pass_ms(7_000).await;
        let told = net.items(A, "java:1");
        assert!(told.contains(&format!("Register waits-{round}")), "round {round}: {told:?}");
    }
}
