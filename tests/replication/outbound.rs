//! What a real Java server tells its peer, as `tests/golden/outbound` has it recorded, told to a node.

use std::path::PathBuf;

use axum::body::Body;
use axum::http::{Method, Request};
use flate2::read::GzDecoder;
use http_body_util::BodyExt;
use serde_json::Value;
use tower::ServiceExt;

use crate::foreign::{accepting, beside, server};
use crate::net::{Member, Net, pass_ms};

/// The recorded requests, each with the call at the Java server that caused it, in the order of their recording.
fn recorded() -> Vec<(String, Value)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/outbound");
    let mut files: Vec<PathBuf> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = files.iter().map(|file| {
        let exchange: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
        (exchange["after"].as_str().unwrap().to_owned(), exchange["request"].clone())
    });
    read.collect()
}

/// Sends a recorded request, headers and all, and returns the codes of its items.
async fn replay(node: &Member, recorded: &Value) -> Vec<u64> {
    let word = |field: &str| recorded[field].as_str().unwrap();
    let mut request = Request::builder().method(word("method")).uri(word("path"));
    for (name, value) in recorded["headers"].as_object().unwrap() {
        // How the body went over the wire is not in the record.
        if !["connection", "content-encoding", "content-length", "transfer-encoding"].contains(&name.as_str())
        {
            request = request.header(name, value.as_str().unwrap());
        }
    }
    let request = request.body(Body::from(word("body").to_owned())).unwrap();
    let answer = node.node.router().oneshot(request).await.unwrap();
    assert_eq!(answer.status(), 200);
    let packed = answer.headers().get("content-encoding").is_some_and(|coding| coding == "gzip");
    assert!(packed, "it asks for gzip");
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let body: Value = serde_json::from_reader(GzDecoder::new(&body[..])).unwrap();
    let codes = body["responseList"].as_array().unwrap().iter();
    codes.map(|item| item["statusCode"].as_u64().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn everything_that_a_java_server_tells_its_peer_is_taken_and_passed_on_to_nobody() {
    let net = Net::default();
    let a = beside(&net, server(accepting)).await;
    let mut before = Value::Null;
    let mut seen = Vec::new();
    for (after, request) in recorded() {
        pass_ms(2_000).await;
        let items = serde_json::from_str::<Value>(request["body"].as_str().unwrap()).unwrap();
        let items = items["replicationList"].as_array().unwrap().len();
        assert_eq!(replay(&a, &request).await, vec![200; items], "{after}");
        let shown = a.call(Method::GET, "/eureka/apps/GOLD-R/r-1", None).await.1["instance"].clone();
        let word = |field: &str| shown[field].as_str().unwrap_or_default();
        let renewed = |of: &Value| of["leaseInfo"]["lastRenewalTimestamp"].as_i64().unwrap_or(0);
        let state = (word("status"), word("overriddenStatus"), word("lastDirtyTimestamp"));
        match after.as_str() {
            "register" => {
                assert_eq!(state, ("UP", "UNKNOWN", "1700000000000"));
                let text = ["vipAddress", "secureVipAddress", "ipAddr", "homePageUrl"].map(word);
                assert_eq!(text, ["gold-r", "gold-r-secure", "127.0.0.11", "http://host-1.example:8080/"]);
            }
            "heartbeat" | "heartbeat-bare" => assert!(renewed(&shown) >= renewed(&before) + 2_000, "{after}"),
            "status-put" => assert_eq!(state, ("OUT_OF_SERVICE", "OUT_OF_SERVICE", "1700000000003")),
            "heartbeat-overridden" => {
                assert_eq!(state, ("OUT_OF_SERVICE", "OUT_OF_SERVICE", "1700000000003"));
                assert!(renewed(&shown) >= renewed(&before) + 2_000);
            }
            "status-delete" => assert_eq!(state, ("UP", "UNKNOWN", "1700000000004")),
            "metadata-put" => {
                assert_eq!(shown["metadata"], serde_json::json!({"colour": "blue", "zone": "zone-a"}));
                assert_eq!(state, ("UP", "UNKNOWN", "1700000000004"));
            }
            "register-again" => {
                assert_eq!(shown["metadata"], serde_json::json!({"zone": "zone-a"}));
                assert_eq!(state, ("UP", "UNKNOWN", "1700000000009"));
            }
            "cancel" => assert_eq!(shown, Value::Null),
            other => panic!("{other}: say here what it does"),
        }
        before = shown;
        seen.push(after);
    }
    assert!(seen.len() >= 9 && seen.last().unwrap() == "cancel", "{seen:?}");
    pass_ms(2_000).await;
    assert_eq!(net.items("a:1", "java:1"), Vec::<String>::new());
}
