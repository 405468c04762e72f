//! What a node says when it is not as whole as it looks: at its start, and at its end.

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::response::IntoResponse;
use serde_json::{Value, json};
use tower::ServiceExt;

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

/// What a peer names cannot write lines of the log, nor fill it.
#[tokio::test(start_paused = true)]
async fn a_name_in_a_copy_that_cannot_be_read_is_shown_in_quotes_and_cut() {
    let net = Net::default();
    let a = Member::start(&net, "a:1", &AB).await;
    let evil = json!({"app": format!("EVIL\nINFO all is fine {}", "x".repeat(100_000)), "id": "i\u{1b}[2J\r", "r": "bad"});
    net.place("a:1", answers_copies(&a, evil));
    let log = Log::default();
    let _logging = log.begin();
    let _b = Member::start(&net, "b:1", &AB).await;
    let said = log.lines_with("the copy is not whole");
    assert_eq!(said.len(), 1, "{said:#?}");
    assert!(said[0].len() < 1000 && said[0].contains(r"EVIL\nINFO"), "{said:#?}");
    assert!(log.lines_with("INFO all is fine").len() == 1);
}

/// A node from which one key can be copied, which is this.
fn answers_copies(member: &Member, key: Value) -> Router {
    let to = member.node.router();
    Router::new().fallback(move |request: Request<Body>| {
        let (to, key) = (to.clone(), key.clone());
        async move {
            let copy = request.uri().path().ends_with("/ours/copy");
            let answer = to.oneshot(request).await.unwrap();
            if !copy {
                return answer;
            }
            let (parts, _) = answer.into_parts();
            let mut headers = parts.headers.clone();
            headers.remove("content-length");
            let mut answer = json!({"known": [key]}).to_string().into_response();
            headers.into_iter().for_each(|(name, value)| {
                answer.headers_mut().insert(name.unwrap(), value);
            });
            answer
        }
    })
}

#[tokio::test(start_paused = true)]
async fn news_for_a_peer_that_has_just_left_the_list_is_not_forgotten_at_the_end() {
    let net = Net::default();
    let log = Log::default();
    let _logging = log.begin();
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("peers");
    std::fs::write(&list, "http://b:1/eureka/\n").unwrap();
    let file = format!("--eurekad.peers.file={}", list.display());
    let a = Member::new(&net, "a:1", &[], &[&file, "--eurekad.boot.sync-timeout-ms=1000"]);
    a.node.boot().await;
    a.register("x", 1000, "UP").await;
    pass_ms(1_000).await;
    std::fs::write(&list, "").unwrap();
    a.node.reloader().notify_one();
    // The file is read by a thread, which virtual time does not wait for.
    for _ in 0..200 {
        if a.node.peers().is_empty() {
            break;
        }
        tokio::task::spawn_blocking(|| std::thread::sleep(std::time::Duration::from_millis(10)))
            .await
            .unwrap();
        pass_ms(10).await;
    }
    assert!(a.node.peers().is_empty());
    a.node.leave().await;
    assert_eq!(log.lines_with("not every peer has heard all before the end").len(), 1);
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
async fn that_a_node_opened_without_a_copy_is_shown_until_it_has_seen_what_every_peer_has() {
    let net = Net::default();
    let shown = |node: &Member| node.node.metrics().peers.opened_without_copy.get();
    let abc = ["a:1", "b:1", "c:1"];
    let soon = ["--eurekad.boot.sync-timeout-ms=3000"];
    let c = Member::start_with(&net, "c:1", &[], &["--spring.security.user.password=secret"]).await;
    assert_eq!(shown(&c), 0);
    let (a, b) = (Member::new(&net, "a:1", &abc, &soon), Member::new(&net, "b:1", &abc, &soon));
    tokio::join!(a.node.boot(), b.node.boot());
    assert_eq!(shown(&a), 1);
    // It agrees with another that has nothing either, and the third one still refuses both.
    pass_ms(130_000).await;
    assert!(a.peer("b:1").compared.unwrap().equal);
    assert_eq!(shown(&a), 1);
    c.kill().await;
    let c = Member::start(&net, "c:1", &abc).await;
    assert_eq!(shown(&c), 0);
    pass_ms(130_000).await;
    assert_eq!(shown(&a), 0);
    // One that finds somebody to copy from opens with a copy.
    b.kill().await;
    let b = Member::start_with(&net, "b:1", &abc, &soon).await;
    assert_eq!(shown(&b), 0);
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
