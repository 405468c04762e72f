//! Peers of another kind, and peers that misbehave.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Value, json};

use crate::net::{Member, Net, instance, pass_ms};

/// A server whose answer to every batch is made by `answer` from its items.
pub(crate) fn server(answer: impl Fn(&[Value]) -> Response + Clone + Send + Sync + 'static) -> Router {
    Router::new().fallback(move |body: String| {
        let answer = answer.clone();
        async move {
            let batch: Value = serde_json::from_str(&body).unwrap_or_default();
            let items = batch["replicationList"].as_array().cloned().unwrap_or_default();
            answer(&items)
        }
    })
}

/// An answer in JSON.
pub(crate) fn answered(body: &Value) -> Response {
    ([("content-type", "application/json")], body.to_string()).into_response()
}

/// A Java server that takes everything.
pub(crate) fn accepting(items: &[Value]) -> Response {
    let answers: Vec<Value> = items.iter().map(|_| json!({"statusCode": 200})).collect();
    answered(&json!({ "responseList": answers }))
}

/// A registry with these instances of ORDERS.
pub(crate) fn apps_with(instances: &[Value]) -> Value {
    json!({"applications": {"versions__delta": "1", "apps__hashcode": "",
        "application": [{"name": "ORDERS", "instance": instances}]}})
}

/// A Java server that has these instances of ORDERS.
pub(crate) fn java_with(instances: &[Value]) -> Router {
    let apps = apps_with(instances);
    server(accepting).route("/eureka/apps/", get(move || async move { answered(&apps) }))
}

/// What a node answers to one item of a Java server's batch.
pub(crate) async fn java_says(to: &Member, action: &str, id: &str, more: Value) -> u64 {
    let mut item = json!({"appName": "ORDERS", "id": id, "action": action});
    more.as_object().unwrap().iter().for_each(|(name, value)| item[name] = value.clone());
    let batch = json!({ "replicationList": [item] }).to_string();
    let (status, _, answer) = to.post("/eureka/peerreplication/batch/", &[], batch).await;
    assert_eq!(status, 200);
    answer["responseList"][0]["statusCode"].as_u64().unwrap()
}

/// What a node answers to a registration that a Java server tells.
pub(crate) async fn java_registers(to: &Member, id: &str, dirty: i64, status: &str) -> u64 {
    let info = instance(id, dirty, status)["instance"].clone();
    java_says(to, "Register", id, json!({"lastDirtyTimestamp": dirty, "instanceInfo": info})).await
}

/// A node whose one peer is this server, which it does not copy from.
pub(crate) async fn beside(net: &Net, java: Router) -> Member {
    net.place("java:1", java);
    let a = Member::start_with(net, "a:1", &["java:1"], &["--eurekad.boot.sync-timeout-ms=0"]).await;
    pass_ms(500).await;
    a
}

/// Catalog: C4
#[tokio::test(start_paused = true)]
async fn a_java_server_gets_exactly_eurekas_messages() {
    let net = Net::default();
    let a = beside(&net, server(accepting)).await;
    a.register("x", 1000, "UP").await;
    pass_ms(50).await;
    a.beat("x").await;
    pass_ms(1_000).await;
    a.set_status("x", "OUT_OF_SERVICE").await;
    pass_ms(50).await;
    a.beat("x").await;
    pass_ms(1_000).await;
    a.clear_status("x", "UP").await;
    pass_ms(50).await;
    a.cancel("x").await;
    pass_ms(50).await;
    let bodies: Vec<Value> = net
        .delivered("java:1")
        .iter()
        .filter_map(|d| serde_json::from_str::<Value>(&d.body).ok())
        .flat_map(|b| b["replicationList"].as_array().cloned().unwrap_or_default())
        .collect();
    let mut register = bodies[0].clone();
    assert_eq!(register["instanceInfo"]["lastDirtyTimestamp"], "1000");
    register.as_object_mut().unwrap().remove("instanceInfo");
    let x = |more: Value| {
        let mut item = json!({"appName": "ORDERS", "id": "x"});
        more.as_object().unwrap().iter().for_each(|(k, v)| item[k] = v.clone());
        item
    };
    let expected = [
        x(json!({"lastDirtyTimestamp": 1000, "status": "UP", "action": "Register"})),
        x(json!({"lastDirtyTimestamp": 1000, "status": "UP", "action": "Heartbeat"})),
        x(json!({"lastDirtyTimestamp": 1000, "status": "OUT_OF_SERVICE", "action": "StatusUpdate"})),
        x(json!({"lastDirtyTimestamp": 1000, "status": "OUT_OF_SERVICE", "action": "Heartbeat",
            "overriddenStatus": "OUT_OF_SERVICE"})),
        // Of a removal a server that never heard of the override would make nothing: it hears of both.
        x(json!({"lastDirtyTimestamp": 1000, "status": "UP", "action": "StatusUpdate"})),
        x(json!({"lastDirtyTimestamp": 1000, "status": "UP", "action": "DeleteStatusOverride"})),
        x(json!({"action": "Cancel"})),
    ];
    assert_eq!(register, expected[0]);
    assert_eq!(bodies[1..], expected[1..]);
}

/// Case: U07
#[tokio::test(start_paused = true)]
async fn a_status_call_that_changes_nothing_is_told_to_a_java_server_all_the_same() {
    let net = Net::default();
    let a = beside(&net, server(accepting)).await;
    a.register("x", 1000, "UP").await;
    pass_ms(50).await;
    a.set_status("x", "UP").await;
    pass_ms(300).await;
    assert_eq!(net.items("a:1", "java:1"), ["Register x", "StatusUpdate x"]);
    a.clear_status("x", "DOWN").await;
    pass_ms(300).await;
    let told = net.items("a:1", "java:1");
    assert_eq!(
        told[2..],
        ["DeleteStatusOverride x"],
        "a status would be set where the client says another by now"
    );
}

/// Case: P080
#[tokio::test(start_paused = true)]
async fn renewed_leases_live_twice_their_duration_while_a_java_server_is_a_peer() {
    let net = Net::default();
    let a = beside(&net, server(accepting)).await;
    a.register("x", 1000, "UP").await;
    a.beat("x").await;
    pass_ms(120_000).await;
    assert_eq!(a.shows("x").await, "UP");
    pass_ms(61_000).await;
    assert_eq!(a.shows("x").await, "");
}

/// Catalog: C5
#[tokio::test(start_paused = true)]
async fn a_heartbeat_that_a_peer_answers_404_is_followed_by_the_record() {
    let net = Net::default();
    let known = Arc::new(AtomicU32::new(0));
    let a = beside(
        &net,
        server({
            let known = Arc::clone(&known);
            move |items| {
                let answers = items.iter().map(|item| match item["action"].as_str() {
                    Some("Register") => {
                        known.fetch_add(1, Ordering::Relaxed);
                        json!({"statusCode": 200})
                    }
                    _ if known.load(Ordering::Relaxed) < 2 => json!({"statusCode": 404}),
                    _ => json!({"statusCode": 200}),
                });
                answered(&json!({"responseList": answers.collect::<Vec<_>>()}))
            }
        }),
    )
    .await;
    a.register("x", 1000, "UP").await;
    pass_ms(50).await;
    a.beat("x").await;
    pass_ms(2_000).await;
    assert_eq!(net.items("a:1", "java:1"), ["Register x", "Heartbeat x", "Register x"]);
}

/// Case: P048
/// Catalog: C6
#[tokio::test(start_paused = true)]
async fn a_newer_record_that_comes_with_409_is_taken_over_and_another_instances_is_not() {
    for (theirs, status, shown) in [("x", "DOWN", "DOWN"), ("someone-else", "DOWN", "UP")] {
        let net = Net::default();
        let entity = instance(theirs, 2000, status)["instance"].clone();
        let a = beside(
            &net,
            server(move |items| {
                let answers = items.iter().map(|item| match item["action"].as_str() {
                    Some("Heartbeat") => json!({"statusCode": 409, "responseEntity": entity}),
                    _ => json!({"statusCode": 200}),
                });
                answered(&json!({"responseList": answers.collect::<Vec<_>>()}))
            }),
        )
        .await;
        a.register("x", 1000, "UP").await;
        pass_ms(50).await;
        a.beat("x").await;
        pass_ms(2_000).await;
        assert_eq!(a.shows("x").await, shown);
        assert_eq!(a.node.registry().len(), 1);
    }
}

/// Case: U14, P064
#[tokio::test(start_paused = true)]
async fn nothing_is_lost_to_a_peer_that_fails_for_a_while_in_whatever_way() {
    let ways: [fn() -> Response; 7] = [
        || StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        || StatusCode::SERVICE_UNAVAILABLE.into_response(),
        || StatusCode::UNAUTHORIZED.into_response(),
        || StatusCode::NOT_FOUND.into_response(),
        || StatusCode::TOO_MANY_REQUESTS.into_response(),
        || axum::response::Html("<html>502</html>").into_response(),
        || "{ half a".into_response(),
    ];
    for (n, way) in ways.into_iter().enumerate() {
        let net = Net::default();
        let failures = Arc::new(AtomicU32::new(0));
        let a = beside(
            &net,
            server({
                let failures = Arc::clone(&failures);
                move |items| match failures.fetch_add(1, Ordering::Relaxed) {
                    1..=4 => way(),
                    _ => accepting(items),
                }
            }),
        )
        .await;
        a.register("x", 1000, "UP").await;
        a.register("y", 1000, "UP").await;
        pass_ms(20_000).await;
        let view = a.node.peers().remove(0);
        assert_eq!((view.queued, view.dropped, view.available), (0, 0, true), "way {n}");
        let mut told = net.items("a:1", "java:1");
        told.sort();
        told.dedup();
        assert_eq!(told, ["Register x", "Register y"], "way {n}");
    }
}

/// Case: P049
#[tokio::test(start_paused = true)]
async fn of_a_batch_that_a_peer_cannot_take_only_the_item_to_blame_is_dropped() {
    let net = Net::default();
    let a = beside(
        &net,
        server(|items| {
            if items.iter().any(|item| item["id"] == "poison") {
                StatusCode::BAD_REQUEST.into_response()
            } else {
                accepting(items)
            }
        }),
    )
    .await;
    net.cut("a:1", "java:1");
    for n in 0..20 {
        a.register(&format!("i-{n:02}"), 1000, "UP").await;
        if n == 13 {
            a.register("poison", 1000, "UP").await;
        }
    }
    pass_ms(1_000).await;
    net.heal();
    pass_ms(60_000).await;
    let view = a.node.peers().remove(0);
    assert_eq!((view.queued, view.dropped), (0, 1));
    let told = net.items("a:1", "java:1");
    assert!((0..20).all(|n| told.contains(&format!("Register i-{n:02}"))), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_another_length_than_the_batch_is_not_misread() {
    let net = Net::default();
    let a = beside(&net, server(|_| answered(&json!({"responseList": [{"statusCode": 404}]})))).await;
    a.register("x", 1000, "UP").await;
    a.register("y", 1000, "UP").await;
    pass_ms(5_000).await;
    let view = a.node.peers().remove(0);
    assert_eq!((view.queued, view.available), (2, false), "kept, not taken for told");
    assert!(view.last_error.unwrap().contains("answered 1 items of"));
}
