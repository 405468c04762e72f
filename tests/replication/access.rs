//! Nodes that ask for a password, among themselves.

use crate::log::Log;
use crate::net::{Member, Net, pass_ms};

const PASSWORD: &str = "--spring.security.user.password=p@ss:w/ö%!";
const RIGHT: &str = "user:p%40ss%3Aw%2F%C3%B6%25!";
const WRONG: &str = "user:s3cret";

/// Case: P090, P092
#[tokio::test(start_paused = true)]
async fn nodes_with_one_password_agree_by_the_credentials_in_their_urls() {
    let net = Net::default();
    let urls = ["a:1", "b:1"].map(|host| format!("{RIGHT}@{host}"));
    let peers = urls.each_ref().map(String::as_str);
    let a = Member::new(&net, "a:1", &peers, &[PASSWORD]);
    let b = Member::new(&net, "b:1", &peers, &[PASSWORD]);
    tokio::join!(a.node.boot(), b.node.boot());
    pass_ms(6_000).await;
    assert!(a.peer("b:1").available && b.peer("a:1").available, "{:?}", a.peer("b:1"));
    assert_eq!(a.register("x", 1000, "UP").await, 401, "a client without credentials");
}

/// Case: P092
#[tokio::test(start_paused = true)]
async fn a_wrong_password_for_a_peer_is_said_in_few_words_without_it_and_nothing_is_taken_as_told() {
    let net = Net::default();
    let log = Log::default();
    let _logging = log.begin();
    let b = Member::start_with(&net, "b:1", &[], &[PASSWORD]).await;
    let a = Member::new(&net, "a:1", &[&format!("{WRONG}@b:1")], &["--eurekad.boot.sync-timeout-ms=1000"]);
    a.node.boot().await;
    a.register("x", 1000, "UP").await;
    pass_ms(60_000).await;
    let view = a.peer("b:1");
    assert!(!view.available && view.last_error.as_deref().is_some_and(|e| e.contains("401")), "{view:?}");
    assert!(b.node.registry().is_empty());
    let refused = log.lines_with("401");
    assert!((1..=20).contains(&refused.len()), "{refused:#?}");
    assert!(log.lines_with("s3cret").is_empty() && log.lines_with("czNjcmV0").is_empty());
}

/// While a password is changed, each peer is listed twice: one of the two answers, and it is one peer.
#[tokio::test(start_paused = true)]
async fn a_peer_that_is_listed_with_two_passwords_is_one_that_answers() {
    let net = Net::default();
    let urls = ["a:1", "b:1"].map(|host| [format!("{WRONG}@{host}"), format!("{RIGHT}@{host}")]).concat();
    let peers: Vec<&str> = urls.iter().map(String::as_str).collect();
    let a = Member::new(&net, "a:1", &peers, &[PASSWORD]);
    let b = Member::new(&net, "b:1", &peers, &[PASSWORD]);
    tokio::join!(a.node.boot(), b.node.boot());
    pass_ms(60_000).await;
    for member in [&a, &b] {
        let views = member.node.peers();
        assert!(views.len() == 1 && views[0].available, "{views:?}");
    }
}
