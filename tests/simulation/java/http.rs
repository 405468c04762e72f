//! A Java server's HTTP interface, as far as peers and simulated clients use it.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Java;
use super::queue::Action;
use super::registry::{Key, STATUS, UNKNOWN};

/// An item of a batch. Java's decoder refuses a whole batch for a field that it does not know.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Item {
    app_name: String,
    id: String,
    last_dirty_timestamp: Option<i64>,
    overridden_status: Option<String>,
    status: Option<String>,
    instance_info: Option<Value>,
    action: Option<Action>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Batch {
    replication_list: Option<Vec<Item>>,
}

pub(super) async fn answer(
    State(java): State<Arc<Java>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: String,
) -> Response {
    let asked = Query::<BTreeMap<String, String>>::try_from_uri(&uri).unwrap().0;
    let word = |name: &str| asked.get(name).map(String::as_str);
    let Ok(dirty) = word("lastDirtyTimestamp").map(str::parse).transpose() else { return plain(500) };
    let replica = headers.get("x-netflix-discovery-replication").is_some_and(|value| value == "true");
    let parts = uri.path().trim_end_matches('/').split('/').skip(1);
    let parts: Vec<String> =
        parts.map(|part| percent_decode_str(part).decode_utf8_lossy().into_owned()).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let key = |app: &str, id: &str| (app.to_uppercase(), id.to_owned());
    match (method.as_str(), parts.as_slice()) {
        ("GET", ["eureka", "apps"]) => document(200, &all(&java)),
        ("GET", ["eureka", "apps", app, id]) => match java.registry().live(&key(app, id)) {
            Some(info) => document(200, &json!({"instance": info.document()})),
            None => plain(404),
        },
        ("POST", ["eureka", "apps", app]) => {
            let mut body: Value = serde_json::from_str(&body).unwrap_or_default();
            let instance = body.get_mut("instance").map(Value::take).unwrap_or_default();
            plain(java.read(instance).map_or(400, |info| java.register(&app.to_uppercase(), &info, replica)))
        }
        ("PUT", ["eureka", "apps", app, id]) => {
            match java.heartbeat(&key(app, id), dirty, word("overriddenstatus"), replica) {
                (code, Some(newer)) => document(code, &json!({ "instance": newer })),
                (code, None) => plain(code),
            }
        }
        ("DELETE", ["eureka", "apps", app, id]) => plain(java.cancel(&key(app, id), replica)),
        ("PUT", ["eureka", "apps", app, id, "status"]) => {
            plain(java.change_status(Action::StatusUpdate, &key(app, id), word("value"), dirty, replica))
        }
        ("DELETE", ["eureka", "apps", app, id, "status"]) => {
            let value = word("value").or(Some(UNKNOWN));
            plain(java.change_status(Action::DeleteStatusOverride, &key(app, id), value, dirty, replica))
        }
        ("POST", ["eureka", "peerreplication", "batch"]) => batch(&java, &body),
        _ => plain(404),
    }
}

fn batch(java: &Java, body: &str) -> Response {
    match serde_json::from_str::<Batch>(body) {
        Ok(Batch { replication_list: Some(items) }) => {
            // One that cannot be read makes the whole unreadable, before anything of it is applied.
            if items
                .iter()
                .filter_map(|item| item.instance_info.clone())
                .any(|info| java.read(info).is_none())
            {
                return plain(400);
            }
            let answers: Vec<Value> = items.into_iter().map(|item| apply(java, item)).collect();
            document(200, &json!({ "responseList": answers }))
        }
        Ok(Batch { replication_list: None }) => plain(500),
        Err(_) => plain(400),
    }
}

fn apply(java: &Java, item: Item) -> Value {
    let key: Key = (item.app_name.to_uppercase(), item.id);
    let (dirty, status) = (item.last_dirty_timestamp, item.status.as_deref());
    let code = match item.action {
        None => 500,
        Some(Action::Register) => match item.instance_info.and_then(|info| java.read(info)) {
            Some(info) => {
                // Whether it was a valid one is not told.
                java.register(&key.0, &info, true);
                200
            }
            None => 500,
        },
        Some(Action::Heartbeat) => {
            match java.heartbeat(&key, dirty, item.overridden_status.as_deref(), true) {
                (code, Some(newer)) => return json!({"statusCode": code, "responseEntity": newer}),
                (code, None) => code,
            }
        }
        Some(Action::Cancel) => java.cancel(&key, true),
        Some(Action::DeleteStatusOverride) if dirty.is_none() => 500,
        Some(action @ Action::DeleteStatusOverride) => {
            java.change_status(action, &key, status.or(Some(UNKNOWN)), dirty, true)
        }
        Some(action @ Action::StatusUpdate) => java.change_status(action, &key, status, dirty, true),
    };
    json!({"statusCode": code})
}

fn all(java: &Java) -> Value {
    let (mut apps, mut counts) = (BTreeMap::<String, Vec<Value>>::new(), BTreeMap::<String, u32>::new());
    for (key, info) in java.registry().all() {
        apps.entry(key.0.clone()).or_default().push(info.document());
        *counts.entry(info.text(STATUS)).or_default() += 1;
    }
    let app = |(name, instances)| json!({"name": name, "instance": instances});
    let hash: String = counts.iter().map(|(status, count)| format!("{status}_{count}_")).collect();
    json!({"applications": {"versions__delta": "1", "apps__hashcode": hash,
        "application": apps.into_iter().map(app).collect::<Vec<Value>>()}})
}

fn plain(code: u16) -> Response {
    StatusCode::from_u16(code).unwrap().into_response()
}

fn document(code: u16, body: &Value) -> Response {
    (StatusCode::from_u16(code).unwrap(), [("content-type", "application/json")], body.to_string())
        .into_response()
}
