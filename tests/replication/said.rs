//! What a node says when it is not as whole as it looks: at its start, and at its end.

use crate::log::Log;
use crate::net::{AB, Member, Net, pass_ms};

#[tokio::test(start_paused = true)]
async fn a_copy_that_a_limit_cuts_short_is_said_at_once_with_the_setting() {
    let net = Net::default();
    let a = Member::start(&net, "a:1", &AB).await;
    for n in 0..20 {
        a.register(&format!("i-{n}"), 1000, "UP").await;
    }
    let log = Log::default();
    let _logging = log.begin();
    let b = Member::start_with(&net, "b:1", &AB, &["--eurekad.limits.instances=15"]).await;
    assert_eq!(b.node.registry().len(), 15);
    let said = log.lines_with("the copy is not whole");
    assert_eq!(said.len(), 1, "{said:#?}");
    assert!(
        said[0].contains("raise eurekad.limits.instances") && said[0].contains("http://a:1/"),
        "{said:#?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_node_that_opens_without_a_copy_says_of_each_peer_why() {
    let net = Net::default();
    let log = Log::default();
    let _logging = log.begin();
    let _b = Member::start_with(&net, "b:1", &[], &["--spring.security.user.password=secret"]).await;
    let a = Member::new(&net, "a:1", &["b:1", "c:1"], &["--eurekad.boot.sync-timeout-ms=3000"]);
    a.node.boot().await;
    let said = log.lines_with("nothing to copy");
    assert_eq!(said.len(), 1, "{said:#?}");
    assert!(
        said[0].contains("http://b:1/eureka/ answered 401") && said[0].contains("user and password"),
        "{said:#?}"
    );
    assert!(said[0].contains("http://c:1/eureka/ cannot be reached"), "{said:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_ends_says_whom_it_could_not_tell_what_happened_last() {
    let net = Net::default();
    let log = Log::default();
    let _logging = log.begin();
    let (a, b) = crate::net::pair(&net).await;
    net.cut("a:1", "b:1");
    a.register("x", 1000, "UP").await;
    pass_ms(1_000).await;
    a.node.leave().await;
    let said = log.lines_with("not every peer has heard all before the end");
    assert_eq!(said.len(), 1, "{said:#?}");
    assert!(said[0].contains("http://b:1/eureka/") && said[0].contains("news of"), "{said:#?}");
    b.node.leave().await;
}
