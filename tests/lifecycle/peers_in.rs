//! What another server tells this one: batches, and calls that bear the replication header.

use serde_json::{Value, json};

use crate::support::*;

const ONE: &str = "/eureka/apps/ORDERS/a";

fn orders() -> Instance {
    instance("ORDERS", "a").dirty(2000)
}

/// An item of a batch about that instance.
fn item(action: &str, more: Value) -> Value {
    let Value::Object(mut item) = more else { panic!("{more} is no object") };
    for (key, value) in [("appName", "ORDERS"), ("id", "a"), ("action", action)] {
        item.insert(key.to_owned(), value.into());
    }
    Value::Object(item)
}

async fn with_orders() -> TestNode {
    let node = TestNode::start(&[]);
    node.register(&orders()).await;
    node
}

/// Catalog: A23, A34
#[tokio::test(start_paused = true)]
async fn a_batch_registers() {
    for path in
        ["/eureka/peerreplication/batch/", "/eureka/v2/peerreplication/batch", "/v2/peerreplication/batch/"]
    {
        let node = TestNode::start(&[]);
        let register = item(
            "Register",
            json!({"lastDirtyTimestamp": 2000, "status": "UP", "instanceInfo": orders().fields}),
        );
        let call = node.post(path).json().json_body(&json!({"replicationList": [register]}));
        let answer = call.send().await;
        assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, Some("application/json")));
        assert_eq!(answer.text(), r#"{"responseList":[{"statusCode":200}]}"#);
        assert_eq!(node.instance(ONE).await["lastDirtyTimestamp"], "2000");
    }
    // A copy says what the instance is, even where a client's own word would count for less.
    let node = TestNode::start(&[]);
    node.register(&orders().status("OUT_OF_SERVICE")).await;
    let up = item("Register", json!({"instanceInfo": orders().dirty(3000).fields}));
    assert_eq!(node.batch(&json!([up])).await, [200]);
    assert_eq!(node.status(ONE).await, "UP");
}

/// Catalog: A24
#[tokio::test(start_paused = true)]
async fn a_batch_cancels() {
    let node = with_orders().await;
    assert_eq!(node.batch(&json!([item("Cancel", json!({}))])).await, [200]);
    assert_eq!(node.registry().len(), 0);
    assert_eq!(node.batch(&json!([item("Cancel", json!({"lastDirtyTimestamp": 1}))])).await, [404]);
}

/// Catalog: A25
#[tokio::test(start_paused = true)]
async fn a_batch_renews() {
    let node = with_orders().await;
    let at_first = node.instance(ONE).await["leaseInfo"]["lastRenewalTimestamp"].as_i64().unwrap();
    pass_secs(20).await;
    for beat in [
        json!({"lastDirtyTimestamp": 2000, "status": "UP", "overriddenStatus": "UNKNOWN"}),
        json!({"lastDirtyTimestamp": 2000, "status": "DOWN"}),
        json!({"status": "UP"}),
        json!({}),
        json!({"lastDirtyTimestamp": null, "status": null, "overriddenStatus": null, "instanceInfo": null}),
    ] {
        assert_eq!(node.batch(&json!([item("Heartbeat", beat.clone())])).await, [200], "{beat}");
    }
    let renewed = node.instance(ONE).await;
    assert!(renewed["leaseInfo"]["lastRenewalTimestamp"].as_i64().unwrap() >= at_first + 20_000);
    assert_eq!(renewed["status"], "UP", "a renewal changes no status");
}

/// Catalog: A26
/// Case: P048
#[tokio::test(start_paused = true)]
async fn a_heartbeat_older_than_the_record_is_answered_with_the_record() {
    let node = with_orders().await;
    for dirty in [1000, 1999, 0, i64::MIN] {
        for path in ["/eureka/peerreplication/batch/", "/eureka/v2/peerreplication/batch/"] {
            let beat = item("Heartbeat", json!({"lastDirtyTimestamp": dirty, "status": "UP"}));
            let call = node.post(path).json().json_body(&json!({"replicationList": [beat]}));
            let answer = call.send().await.json();
            assert_eq!(answer["responseList"][0]["statusCode"], 409, "{dirty}");
            let entity = &answer["responseList"][0]["responseEntity"];
            assert_eq!((&entity["instanceId"], &entity["lastDirtyTimestamp"]), (&json!("a"), &json!("2000")));
            assert!(entity["leaseInfo"].is_object() && entity.get("instance").is_none());
        }
    }
    let beat = item("Heartbeat", json!({"lastDirtyTimestamp": 1000}));
    let call =
        node.post("/eureka/peerreplication/batch/").xml().json_body(&json!({"replicationList": [beat]}));
    let xml = call.send().await;
    assert_eq!(xml.header("content-type"), Some("application/xml"));
    assert_well_formed(&xml.text());
    assert!(xml.text().contains("<statusCode>409</statusCode>"), "{}", xml.text());
    assert!(xml.text().contains("<lastDirtyTimestamp>2000</lastDirtyTimestamp>"), "{}", xml.text());
    // A newer one is answered 404 and the sender registers.
    let beat = item("Heartbeat", json!({"lastDirtyTimestamp": 2001}));
    assert_eq!(node.send_batch(&json!([beat])).await.text(), r#"{"responseList":[{"statusCode":404}]}"#);
}

/// Catalog: A27
#[tokio::test(start_paused = true)]
async fn a_batch_sets_a_status_and_passes_its_timestamp_on() {
    for (status, dirty, shown) in
        [("DOWN", 3000, "3000"), ("OUT_OF_SERVICE", 1000, "2000"), ("STARTING", 2000, "2000")]
    {
        let node = with_orders().await;
        let set = item("StatusUpdate", json!({"lastDirtyTimestamp": dirty, "status": status}));
        assert_eq!(node.batch(&json!([set])).await, [200]);
        let read = node.instance(ONE).await;
        assert_eq!((&read["status"], &read["overriddenStatus"]), (&json!(status), &json!(status)));
        assert_eq!(read["lastDirtyTimestamp"], shown);
    }
    let node = with_orders().await;
    assert_eq!(node.batch(&json!([item("StatusUpdate", json!({"status": "DOWN"}))])).await, [200]);
    assert_eq!(node.instance(ONE).await["lastDirtyTimestamp"], "2000");
}

/// Catalog: A28
/// Case: U05
#[tokio::test(start_paused = true)]
async fn a_batch_removes_a_status_with_or_without_a_timestamp() {
    for (more, shown) in [
        (json!({"lastDirtyTimestamp": 2000, "status": "DOWN"}), "DOWN"),
        (json!({"lastDirtyTimestamp": 2000}), "UNKNOWN"),
        (json!({"status": "STARTING"}), "STARTING"),
        (json!({"lastDirtyTimestamp": null, "status": null}), "UNKNOWN"),
        (json!({}), "UNKNOWN"),
    ] {
        let node = with_orders().await;
        node.put(&format!("{ONE}/status?value=OUT_OF_SERVICE")).send().await;
        assert_eq!(node.batch(&json!([item("DeleteStatusOverride", more.clone())])).await, [200], "{more}");
        let read = node.instance(ONE).await;
        assert_eq!(
            (&read["status"], &read["overriddenStatus"]),
            (&json!(shown), &json!("UNKNOWN")),
            "{more}"
        );
    }
}

/// Catalog: A46
#[tokio::test(start_paused = true)]
async fn an_override_told_with_a_newer_heartbeat_is_kept_and_shown_at_once() {
    let beat =
        json!({"lastDirtyTimestamp": 3000, "overriddenStatus": "OUT_OF_SERVICE", "status": "OUT_OF_SERVICE"});
    for batched in [true, false] {
        let node = with_orders().await;
        if batched {
            assert_eq!(node.batch(&json!([item("Heartbeat", beat.clone())])).await, [404]);
        } else {
            let path = format!(
                "{ONE}?lastDirtyTimestamp=3000&overriddenstatus=OUT_OF_SERVICE&status=OUT_OF_SERVICE"
            );
            assert!(node.put(&path).replicated().json().send().await.is_empty_with(404));
        }
        let read = node.instance(ONE).await;
        assert_eq!(
            (&read["status"], &read["overriddenStatus"]),
            (&json!("OUT_OF_SERVICE"), &json!("OUT_OF_SERVICE"))
        );
        assert_eq!(node.delta().await["application"][0]["instance"][0]["status"], "OUT_OF_SERVICE");
        assert_eq!(node.beat(ONE).await, 200);
        assert_eq!(node.status(ONE).await, "OUT_OF_SERVICE");
    }
    // Neither a client's own heartbeat nor one that is not newer brings an override, and UNKNOWN is none.
    let node = with_orders().await;
    let newer = format!("{ONE}?lastDirtyTimestamp=3000&overriddenstatus=DOWN");
    assert_eq!(node.beat(&newer).await, 404);
    let equal = json!({"lastDirtyTimestamp": 2000, "overriddenStatus": "DOWN"});
    assert_eq!(node.batch(&json!([item("Heartbeat", equal)])).await, [200]);
    let unknown = json!({"lastDirtyTimestamp": 3000, "overriddenStatus": "UNKNOWN"});
    assert_eq!(node.batch(&json!([item("Heartbeat", unknown)])).await, [404]);
    let read = node.instance(ONE).await;
    assert_eq!((&read["status"], &read["overriddenStatus"]), (&json!("UP"), &json!("UNKNOWN")));
    // A word that is no status is refused before anything happens.
    let path = format!("{ONE}?lastDirtyTimestamp=3000&overriddenstatus=SLEEPING");
    assert_eq!(node.put(&path).replicated().send().await.status, 400);
    let nonsense = json!({"lastDirtyTimestamp": 3000, "overriddenStatus": "SLEEPING"});
    assert_eq!(node.batch(&json!([item("Heartbeat", nonsense)])).await, [400]);
}

/// Catalog: A50
/// Case: P049
#[tokio::test(start_paused = true)]
async fn each_item_has_its_own_code_in_its_own_place() {
    let node = with_orders().await;
    let three = json!([
        item("Heartbeat", json!({"lastDirtyTimestamp": 2000})),
        {"appName": "ORDERS", "id": "b", "action": "Register"},
        {"appName": "ORDERS", "id": "none", "action": "Cancel"},
    ]);
    assert_eq!(node.batch(&three).await, [200, 400, 404]);
    let actionless = json!([
        {"appName": "ORDERS", "id": "a"},
        {"appName": "ORDERS", "id": "b", "action": "Register"},
        item("DeleteStatusOverride", json!({})),
        {"appName": "ORDERS", "id": "a", "action": null},
        item("Register", json!({"instanceInfo": null})),
        item("Heartbeat", json!({})),
    ]);
    assert_eq!(node.batch(&actionless).await, [400, 400, 200, 400, 400, 200]);
    assert_eq!(node.batch(&json!([])).await, [0_u64; 0]);
    // Application and id of an item are the key; a path of neither exists.
    let mismatched = item("Register", json!({"instanceInfo": instance("BILLING", "b").fields}));
    let lower = json!({"appName": "orders", "id": "a", "action": "Heartbeat"});
    assert_eq!(node.batch(&json!([mismatched, lower])).await, [400, 200]);
    assert_eq!(ids(&node.apps().await), ["a"]);
}

/// Catalog: A51
#[tokio::test(start_paused = true)]
async fn an_unknown_key_is_passed_over_and_an_unknown_word_costs_its_item_alone() {
    let node = with_orders().await;
    let items = json!([
        item("Heartbeat", json!({"foo": "bar", "more": {"deep": [1, {"er": null}]}})),
        item("Renew", json!({})),
        item("heartbeat", json!({})),
        item("Heartbeat", json!({})),
    ]);
    assert_eq!(node.batch(&items).await, [200, 400, 400, 200]);
    let body = json!({"foo": [{}], "replicationList": [item("Heartbeat", json!({}))], "bar": 1});
    let answer = node.post("/eureka/peerreplication/batch/").json().json_body(&body).send().await;
    assert_eq!(answer.text(), r#"{"responseList":[{"statusCode":200}]}"#);
    for body in [
        "{}",
        "[]",
        "null",
        "",
        "{\"replicationList\":null}",
        "{\"replicationList\":{}}",
        "{\"replicationList\":[",
        "{\"replicationlist\":[]}",
        "{\"replicationList\":[]} x",
        "<replicationList/>",
    ] {
        let call = node.post("/eureka/peerreplication/batch/").json().body("application/json", body);
        let answer = call.send().await;
        assert_eq!(answer.status, 400, "{body}");
        assert_eq!(answer.json()["error"], "cannot parse request body", "{body}");
        assert!(!answer.json()["detail"].as_str().unwrap().is_empty(), "{body}");
    }
    let xml = node.post("/eureka/peerreplication/batch/").body("application/xml", "<a/>").send().await;
    assert_eq!(xml.status, 400);
    assert_well_formed(&xml.text());
    let text = node.post("/eureka/peerreplication/batch/").body("text/plain", "{}").send().await;
    assert_eq!(text.status, 415);
}

/// Catalog: A52
/// Case: U04
#[tokio::test(start_paused = true)]
async fn a_registration_that_is_refused_is_reported_as_refused_and_adds_nothing() {
    let node = TestNode::start(&[]);
    let register = |instance: Instance| item("Register", json!({"instanceInfo": instance.fields}));
    let good = |id: &str| {
        let info = instance("ORDERS", id).fields;
        json!({"appName": "ORDERS", "id": id, "action": "Register", "instanceInfo": info})
    };
    let items = json!([
        register(orders().with("hostName", "")),
        good("first"),
        register(orders().without("hostName")),
        register(orders().without("ipAddr")),
        register(orders().with("app", "")),
        register(orders().without("app")),
        register(orders().with("app", "BILLING")),
        register(orders().without("dataCenterInfo")),
        register(orders().with("dataCenterInfo", json!({}))),
        register(orders().with("dataCenterInfo", json!({"name": "Elsewhere"}))),
        register(orders().with("port", json!("http"))),
        register(orders().with("metadata", json!({"k": {}}))),
        register(orders().with("metadata", json!({"k": "\u{0}"}))),
        register(orders().with("metadata", json!({"": "v"}))),
        register(orders().with("hostName", json!({}))),
        item("Register", json!({"instanceInfo": []})),
        item("Register", json!({"instanceInfo": "a"})),
        item("Register", json!({"instanceInfo": {"instance": orders().fields}})),
        json!({"appName": ["ORDERS"], "id": "a", "action": "Heartbeat"}),
        json!({"appName": "ORDERS", "action": "Cancel"}),
        json!({"id": "a", "action": "Cancel"}),
        json!({"appName": "ORDERS", "id": {}, "action": "Cancel"}),
        json!(null),
        json!([]),
        json!("Heartbeat"),
        json!(7),
        good("last"),
    ]);
    let codes = node.batch(&items).await;
    let expected: Vec<u64> = (0..27).map(|n| if n == 1 || n == 26 { 200 } else { 400 }).collect();
    assert_eq!(codes, expected);
    assert_eq!(ids(&node.apps().await), ["first", "last"]);
    assert_eq!(node.registry().version(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_item_about_an_unknown_instance_is_404_and_one_with_a_bad_status_400() {
    let node = with_orders().await;
    let before = node.registry().version();
    let unknown = |action: &str, status: &str| {
        let mut item = item(action, json!({"status": status}));
        item["id"] = "none".into();
        item
    };
    let items = json!([
        unknown("StatusUpdate", "UP"),
        unknown("StatusUpdate", "SLEEPING"),
        unknown("DeleteStatusOverride", "UP"),
        unknown("DeleteStatusOverride", "SLEEPING"),
        unknown("Heartbeat", "UP"),
        unknown("Cancel", "UP"),
        item("StatusUpdate", json!({"status": "SLEEPING"})),
        item("StatusUpdate", json!({"status": "up"})),
        item("StatusUpdate", json!({"status": null})),
        item("StatusUpdate", json!({})),
        item("DeleteStatusOverride", json!({"status": "SLEEPING"})),
        item("Heartbeat", json!({"lastDirtyTimestamp": "soon"})),
        item("Heartbeat", json!({"lastDirtyTimestamp": 1.5})),
        item("Heartbeat", json!({"lastDirtyTimestamp": true})),
        item("Heartbeat", json!({"lastDirtyTimestamp": 1e30})),
    ]);
    let codes = node.batch(&items).await;
    assert_eq!(codes, [404, 404, 404, 404, 404, 404, 400, 400, 400, 400, 400, 400, 400, 400, 400]);
    assert_eq!(node.registry().version(), before);
    let text = item("Heartbeat", json!({"lastDirtyTimestamp": "2000"}));
    assert_eq!(node.batch(&json!([text])).await, [200], "a number as text is a number");
}

#[tokio::test(start_paused = true)]
async fn a_long_batch_is_answered_item_by_item_in_order() {
    let node = TestNode::start(&[]);
    let items: Vec<Value> = (0..2000)
        .map(|n| match n % 4 {
            0 => {
                let id = format!("i-{n}");
                let info = instance("ORDERS", &id).fields;
                json!({"appName": "ORDERS", "id": id, "action": "Register", "instanceInfo": info})
            }
            1 => json!({"appName": "ORDERS", "id": format!("i-{}", n - 1), "action": "Heartbeat"}),
            2 => json!({"appName": "ORDERS", "id": "none", "action": "Heartbeat"}),
            _ => json!({"nonsense": n}),
        })
        .collect();
    let codes = node.batch(&json!(items)).await;
    let expected: Vec<u64> = [200, 200, 404, 400].into_iter().cycle().take(2000).collect();
    assert_eq!(codes, expected);
    assert_eq!(node.registry().len(), 500);
    // The same, packed, and the answer packed too.
    let body = gzip(json!({"replicationList": items}).to_string().as_bytes());
    let call = node.post("/eureka/peerreplication/batch/").json().body("application/json", body);
    let answer = call.header("content-encoding", "gzip").header("accept-encoding", "gzip").send().await;
    assert_eq!(answer.header("content-encoding"), Some("gzip"));
    let answer: Value = serde_json::from_str(&answer.unpacked()).unwrap();
    assert_eq!(answer["responseList"].as_array().unwrap().len(), 2000);
}
