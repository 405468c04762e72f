//! The model beside what a Java server was recorded to say.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::{HeaderName, Request};
use bytes::Bytes;
use eurekad::clock::Clock;
use eurekad::peers::Transport;
use serde_json::{Value, json};

use super::{EPOCH, Wires, pass_ms};
use crate::java::Java;

/// The recorded exchanges about what is modelled, by number. The others are about XML, reads of other kinds, and what
/// Java's decoders make of odd bodies.
const MODELLED: &str = "013-026 028-029 031-040 046-049 068-073 075-082 103-124 126-136 146-151 208 210-231";

fn recorded(folder: &str) -> Vec<(String, Value)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(folder);
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut cases: Vec<(String, Value)> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
        })
        .collect();
    cases.sort_by(|a, b| a.0.cmp(&b.0));
    cases
}

fn is_modelled(name: &str) -> bool {
    MODELLED.split(' ').any(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        (first..=last).contains(&&name[..3])
    })
}

/// Of a document: codes, statuses and the clients' timestamps. A server's own are younger than these.
fn matters(body: &Value) -> Value {
    let told = ["status", "overriddenStatus", "lastDirtyTimestamp", "statusCode", "apps__hashcode"];
    let inner = ["instance", "responseList", "responseEntity"];
    let own =
        |value: &Value| value.as_str().is_some_and(|text| text.parse().is_ok_and(|at: i64| at >= EPOCH));
    match body {
        Value::Array(list) => list.iter().map(matters).collect(),
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| told.contains(&name.as_str()) || inner.contains(&name.as_str()))
            .filter(|(_, value)| !own(value))
            .map(|(name, value)| (name.clone(), matters(value)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => body.clone(),
    }
}

fn request(recorded: &Value) -> Request<Bytes> {
    let text = |field: &str| recorded[field].as_str().unwrap_or_default().to_owned();
    let uri = format!("http://j:1/eureka{}", text("path"));
    let mut request =
        Request::builder().method(text("method").as_str()).uri(uri).body(text("body").into()).unwrap();
    for (name, value) in recorded["headers"].as_object().unwrap() {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        request.headers_mut().insert(name, value.as_str().unwrap().parse().unwrap());
    }
    request
}

#[tokio::test(start_paused = true)]
async fn a_model_answers_as_a_java_server_was_recorded_to() {
    let cases: Vec<_> = recorded("").into_iter().filter(|(name, _)| is_modelled(name)).collect();
    assert!(cases.len() > 90, "{}", cases.len());
    for (name, case) in cases {
        let net = Wires::default();
        let java = Java::new(Vec::new(), Arc::new(net.clone()), Clock::simulated(EPOCH));
        net.place("j:1", java.router());
        for before in case["setup"].as_array().unwrap() {
            net.send(request(before)).await.unwrap();
        }
        let answer = net.send(request(&case["request"])).await.unwrap();
        assert_eq!(answer.status().as_u16(), case["response"]["status"], "{name}");
        if answer.status().is_success() {
            let matters = |body: &[u8]| matters(&serde_json::from_slice(body).unwrap_or_default());
            let expected = case["response"]["body"].as_str().unwrap_or_default();
            assert_eq!(matters(answer.body()), matters(expected.as_bytes()), "{name}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_tells_its_peers_what_a_java_server_was_recorded_to() {
    let net = Wires::default();
    let told = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&told);
    let peer = async move |body: String| {
        hears.lock().unwrap().push(body);
        r#"{"responseList": [{"statusCode": 200}]}"#
    };
    net.place("k:1", Router::new().fallback(peer));
    let _java = net.running_java("j:1", "k:1").await;
    told.lock().unwrap().clear();
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap()["replicationList"][0].clone();
    let mut expected: Vec<Value> = recorded("outbound")
        .iter()
        // A change of metadata is not modelled.
        .filter(|(name, _)| !name.contains("metadata"))
        .map(|(_, case)| read(case["request"]["body"].as_str().unwrap()))
        .collect();
    let again = expected.iter().rfind(|item| item["action"] == "Register").unwrap()["instanceInfo"].clone();
    let calls = [
        ("POST", "", Some(expected[0]["instanceInfo"].clone())),
        ("PUT", "/r-1?status=UP&lastDirtyTimestamp=1700000000000", None),
        ("PUT", "/r-1", None),
        ("PUT", "/r-1/status?value=OUT_OF_SERVICE&lastDirtyTimestamp=1700000000003", None),
        ("PUT", "/r-1", None),
        ("DELETE", "/r-1/status?value=UP&lastDirtyTimestamp=1700000000004", None),
        ("POST", "", Some(again)),
        ("DELETE", "/r-1", None),
    ];
    for (method, path, instance) in calls {
        let body = instance.map(|instance| json!({ "instance": instance }));
        net.call(method, &format!("j:1/eureka/apps/GOLD-R{path}"), body.as_ref()).await;
        pass_ms(1_000).await;
    }
    let mut told: Vec<Value> = told.lock().unwrap().iter().map(|body| read(body)).collect();
    for item in told.iter_mut().chain(&mut expected) {
        if let Some(info) = item.get_mut("instanceInfo") {
            *info = matters(info);
        }
    }
    assert_eq!(told, expected);
}
