//! What the Java servers' own suites ask of the list of peers and of replication, asked of a node beside Java peers.

use std::sync::Arc;
use std::sync::Mutex;

use axum::Router;
use axum::http::request::Parts;
use axum::http::{Method, Request, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::foreign::{accepting, answered, beside, server};
use crate::log::Log;
use crate::net::{Member, Net, pass_ms};

/// The actions and ids of each batch that reached a server, without those that held nothing.
pub(crate) fn batches(net: &Net, to: &str) -> Vec<Vec<String>> {
    let bodies = net.delivered(to).into_iter().filter_map(|d| serde_json::from_str::<Value>(&d.body).ok());
    let items = bodies.map(|body| {
        let items = body["replicationList"].as_array().cloned().unwrap_or_default();
        let word = |item: &Value, field: &str| item[field].as_str().unwrap().to_owned();
        items.iter().map(|item| format!("{} {}", word(item, "action"), word(item, "id"))).collect::<Vec<_>>()
    });
    items.filter(|items| !items.is_empty()).collect()
}

/// Catalog: C1
#[tokio::test(start_paused = true)]
async fn a_peer_is_talked_to_from_the_start_and_never_after_the_end() {
    let net = Net::default();
    let a = beside(&net, server(accepting)).await;
    assert_eq!(a.replicas("available-replicas").await, "http://java:1/eureka/,");
    let at_first = net.attempts("java:1");
    pass_ms(60_000).await;
    assert!(net.attempts("java:1") > at_first, "it is asked how it is");
    a.kill().await;
    let at_last = net.attempts("java:1");
    pass_ms(600_000).await;
    assert_eq!(net.attempts("java:1"), at_last);
}

/// Catalog: C4
#[tokio::test(start_paused = true)]
async fn each_change_goes_to_a_java_server_in_a_batch_of_its_own() {
    let net = Net::default();
    let a = beside(&net, server(accepting)).await;
    a.register("x", 1000, "UP").await;
    pass_ms(1_000).await;
    a.beat("x").await;
    pass_ms(1_000).await;
    a.set_status("x", "OUT_OF_SERVICE").await;
    pass_ms(1_000).await;
    a.clear_status("x", "UP").await;
    pass_ms(1_000).await;
    a.cancel("x").await;
    pass_ms(1_000).await;
    let expected: [&[&str]; 5] = [
        &["Register x"],
        &["Heartbeat x"],
        &["StatusUpdate x"],
        &["StatusUpdate x", "DeleteStatusOverride x"],
        &["Cancel x"],
    ];
    assert_eq!(batches(&net, "java:1"), expected);
}

/// A way in which a request fails: what the server answers, or what the network does.
#[derive(Clone, Copy, Debug)]
enum Way {
    Answers(StatusCode),
    ReadTimeout,
    NoConnection,
}

/// Catalog: C8, C9, C10, C11, C12, C13, C14, C15, C23, C24, C25, C29
#[tokio::test(start_paused = true)]
async fn what_a_java_server_takes_is_told_once_and_what_it_does_not_take_until_it_does() {
    let ways = [
        Way::Answers(StatusCode::OK),
        Way::Answers(StatusCode::SERVICE_UNAVAILABLE),
        Way::Answers(StatusCode::NOT_ACCEPTABLE),
        Way::ReadTimeout,
        Way::NoConnection,
    ];
    for (way, changes) in ways.into_iter().flat_map(|way| [(way, 1_usize), (way, 3)]) {
        let net = Net::default();
        let failing = Arc::new(Mutex::new(None::<StatusCode>));
        let java = server({
            let failing = Arc::clone(&failing);
            move |items| match *failing.lock().unwrap() {
                Some(code) => code.into_response(),
                None => accepting(items),
            }
        });
        let a = beside(&net, java.clone()).await;
        match way {
            Way::Answers(StatusCode::OK) => {}
            Way::Answers(code) => *failing.lock().unwrap() = Some(code),
            Way::ReadTimeout => net.hang("java:1"),
            Way::NoConnection => net.remove("java:1"),
        }
        let told: Vec<String> = (0..changes).map(|n| format!("Register i-{n}")).collect();
        for n in 0..changes {
            a.register(&format!("i-{n}"), 1000, "UP").await;
        }
        pass_ms(60_000).await;
        let view = a.node.peers().remove(0);
        if matches!(way, Way::Answers(StatusCode::OK)) {
            assert_eq!((view.queued, view.dropped, view.available), (0, 0, true), "{way:?}, {changes}");
            assert_eq!(batches(&net, "java:1").concat(), told, "{way:?}: once");
            a.beat("i-0").await;
            pass_ms(1_000).await;
            assert_eq!(batches(&net, "java:1").last().unwrap(), &["Heartbeat i-0"]);
            assert_eq!(
                a.instance("i-0").await["lastDirtyTimestamp"],
                "1000",
                "there is nothing to take over"
            );
            continue;
        }
        assert_eq!((view.queued, view.dropped, view.available), (changes, 0, false), "{way:?}, {changes}");
        let before = batches(&net, "java:1").len();
        *failing.lock().unwrap() = None;
        net.heal();
        net.place("java:1", java);
        pass_ms(40_000).await;
        let view = a.node.peers().remove(0);
        assert_eq!((view.queued, view.dropped, view.available), (0, 0, true), "{way:?}, {changes}");
        let mut last = batches(&net, "java:1").split_off(before).concat();
        last.sort();
        // A server that was away for long may have lost all: it is asked by a heartbeat of each instance too.
        last.retain(|item| !item.starts_with("Heartbeat"));
        assert_eq!(last, told, "{way:?}: once more, and once only");
    }
}

/// Catalog: C16
/// Case: P049
#[tokio::test(start_paused = true)]
async fn an_item_that_a_java_server_refuses_is_dropped_and_named_and_costs_no_other() {
    let net = Net::default();
    let java = server(|items| {
        let code = |item: &Value| if item["id"] == "bad" { 400 } else { 200 };
        let answers: Vec<Value> = items.iter().map(|item| json!({"statusCode": code(item)})).collect();
        answered(&json!({ "responseList": answers }))
    });
    let log = Log::default();
    let _logging = log.begin();
    let a = beside(&net, java).await;
    net.cut("a:1", "java:1");
    for id in ["first", "bad", "last"] {
        a.register(id, 1000, "UP").await;
    }
    pass_ms(1_000).await;
    net.heal();
    pass_ms(60_000).await;
    let view = a.node.peers().remove(0);
    assert_eq!((view.queued, view.dropped, view.available), (0, 1, true));
    let mut told = batches(&net, "java:1").concat();
    told.sort();
    assert_eq!(told, ["Register bad", "Register first", "Register last"], "each once");
    let lines = log.lines_with("refuses");
    let named = ["http://java:1/eureka/", "ORDERS", "bad", "400", "Register"];
    assert!(lines.len() == 1 && named.iter().all(|word| lines[0].contains(word)), "{lines:?}");
}

/// A server that takes everything, and what it was asked.
fn recorder() -> (Router, Arc<Mutex<Vec<Parts>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let router = Router::new().fallback({
        let asked = Arc::clone(&asked);
        move |request: Request<axum::body::Body>| async move {
            let (parts, body) = request.into_parts();
            let is_read = parts.method == Method::GET;
            asked.lock().unwrap().push(parts);
            let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
            let batch: Value = serde_json::from_slice(&body).unwrap_or_default();
            let items = batch["replicationList"].as_array().cloned().unwrap_or_default();
            let empty =
                json!({"applications": {"versions__delta": "1", "apps__hashcode": "", "application": []}});
            let answer: Response = if is_read { answered(&empty) } else { accepting(&items) };
            answer
        }
    });
    (router, asked)
}

/// Catalog: C28
#[tokio::test(start_paused = true)]
async fn a_java_server_is_asked_as_a_java_server_asks() {
    let net = Net::default();
    let (java, asked) = recorder();
    net.place("java:1", java);
    let a = Member::start(&net, "a:1", &["java:1"]).await;
    a.register("x", 1000, "UP").await;
    pass_ms(1_000).await;
    let recorded = include_str!("../golden/outbound/001-register.json");
    let recorded: Value = serde_json::from_str(recorded).unwrap();
    let asked = asked.lock().unwrap();
    let reads = asked.iter().filter(|parts| parts.method == Method::GET);
    let batches: Vec<&Parts> = asked.iter().filter(|parts| parts.method == Method::POST).collect();
    assert_eq!(reads.map(|parts| parts.uri.path()).collect::<Vec<_>>(), ["/eureka/apps/"]);
    assert!(!batches.is_empty());
    for batch in batches {
        assert_eq!(batch.uri.path(), recorded["request"]["path"].as_str().unwrap());
        for name in ["accept", "content-type", "discoveryidentity-name", "discoveryidentity-version"] {
            let sent = batch.headers.get(name).and_then(|value| value.to_str().ok());
            assert_eq!(sent, recorded["request"]["headers"][name].as_str(), "{name}");
        }
    }
}
