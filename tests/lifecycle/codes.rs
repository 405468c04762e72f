//! Which status code a call on one instance is answered with, and what comes with it.

use serde_json::json;

use crate::support::*;

const ONE: &str = "/eureka/apps/ORDERS/n1:orders:8080";

fn orders() -> Instance {
    instance("ORDERS", "n1:orders:8080")
}

/// Fails unless an answer has this code, no body and no header that speaks of one.
fn assert_bare(answer: &Answer, status: u16, what: &str) {
    assert!(answer.is_empty_with(status), "{what}: {answer:?}");
    assert_ne!(answer.header("content-type"), Some("text/html"), "{what}");
    if status != 204 {
        assert!(answer.header("content-length").is_none_or(|n| n == "0"), "{what}: {answer:?}");
    }
}

/// Case: P032
#[tokio::test(start_paused = true)]
async fn the_calls_of_a_clients_life_are_answered_204_and_200_without_a_body() {
    let node = TestNode::start(&[]);
    assert_bare(&node.register(&orders()).await, 204, "register");
    assert_bare(&node.put(ONE).send().await, 200, "heartbeat");
    assert_bare(&node.put(&format!("{ONE}/status?value=DOWN")).send().await, 200, "status");
    assert_bare(&node.delete(&format!("{ONE}/status")).send().await, 200, "status removed");
    assert_bare(&node.put(&format!("{ONE}/metadata?a=b")).send().await, 200, "metadata");
    assert_bare(&node.register(&orders()).await, 204, "register again");
    assert_bare(&node.delete(ONE).send().await, 200, "cancel");
    assert_bare(&node.delete(ONE).send().await, 404, "cancel again");
}

/// Catalog: A19, A20, A31
/// Case: P046, P073
#[tokio::test(start_paused = true)]
async fn an_unknown_instance_is_404_whatever_is_asked_of_it() {
    let node = TestNode::start(&[]);
    node.register(&orders()).await;
    for unknown in
        ["/eureka/apps/ORDERS/none", "/eureka/apps/NONE/n1:orders:8080", "/eureka/apps/ORDERS/N1:orders:8080"]
    {
        let before = (node.registry().len(), node.registry().version());
        for rest in
            ["", "?status=UP&lastDirtyTimestamp=1700000000000", "/status?value=UP", "/status?value=SLEEPING"]
        {
            assert_bare(&node.put(&format!("{unknown}{rest}")).send().await, 404, rest);
        }
        for rest in ["/status", "/metadata?a=b", "/metadata", "/metadata?=b", "/status?lastDirtyTimestamp=1"]
        {
            assert_bare(&node.put(&format!("{unknown}{rest}")).send().await, 404, rest);
        }
        for rest in ["", "/status", "/status?value=UP", "/status?value=SLEEPING"] {
            assert_bare(&node.delete(&format!("{unknown}{rest}")).send().await, 404, rest);
        }
        assert_eq!((node.registry().len(), node.registry().version()), before);
    }
    // The same for calls that another server passes on.
    let none = "/eureka/apps/ORDERS/none";
    assert_bare(&node.put(none).replicated().send().await, 404, "heartbeat");
    assert_bare(&node.delete(none).replicated().send().await, 404, "cancel");
    assert_bare(&node.put(&format!("{none}/status?value=UP")).replicated().send().await, 404, "status");
}

/// Case: P016, P017
#[tokio::test(start_paused = true)]
async fn a_404_is_empty_on_every_path_whatever_the_client_accepts() {
    let node = TestNode::start(&[]);
    let calls = [
        ("PUT", format!("{ONE}?status=UP&lastDirtyTimestamp=1700000000000")),
        ("PUT", ONE.to_owned()),
        ("DELETE", ONE.to_owned()),
        ("GET", ONE.to_owned()),
        ("GET", "/eureka/apps/ORDERS".to_owned()),
        ("GET", "/eureka/instances/none".to_owned()),
        ("PUT", format!("{ONE}/status?value=UP")),
        ("DELETE", format!("{ONE}/status")),
        ("PUT", format!("{ONE}/metadata?a=b")),
        ("GET", "/eureka/nothing/here".to_owned()),
        ("GET", "/eureka/v1/apps".to_owned()),
        ("POST", "/eureka/nothing".to_owned()),
        ("PUT", "/eureka/apps/ORDERS/a/b/c".to_owned()),
    ];
    let accepts = [
        "application/json",
        "application/xml",
        "*/*",
        "application/json, application/*+json",
        "text/html,*/*",
        "",
    ];
    for (method, path) in &calls {
        for accept in accepts {
            for encoding in ["gzip", "identity"] {
                let call = node.call(method.parse().unwrap(), path);
                let answer = call.header("accept", accept).header("accept-encoding", encoding).send().await;
                assert_bare(&answer, 404, &format!("{method} {path} {accept}"));
            }
        }
    }
    // Java's newer client sends its heartbeats like this.
    let call = node.put(ONE).json().body("application/json", "{}").header("accept-encoding", "gzip");
    assert_bare(&call.send().await, 404, "a heartbeat with a body");
    // A client that takes HTML alone cannot be answered an instance, but a heartbeat it can.
    assert_bare(&node.put(ONE).header("accept", "text/html").send().await, 404, "text/html");
    // And so it comes back.
    assert_bare(&node.register(&orders()).await, 204, "register");
    let call = node.put(&format!("{ONE}?status=UP&lastDirtyTimestamp=1700000000000"));
    assert_bare(&call.json().send().await, 200, "heartbeat");
    // So it is for the members of a batch.
    let unknown = json!([
        {"appName": "ORDERS", "id": "none", "action": "Heartbeat"},
        {"appName": "ORDERS", "id": "none", "action": "Cancel"},
    ]);
    let answer = node.send_batch(&unknown).await;
    assert_eq!(answer.text(), r#"{"responseList":[{"statusCode":404},{"statusCode":404}]}"#);
}

/// Case: P015
#[tokio::test(start_paused = true)]
async fn an_empty_answer_is_never_packed() {
    let node = TestNode::start(&[]);
    let gzip = |method: &str, path: &str| {
        node.call(method.parse().unwrap(), path).json().header("accept-encoding", "gzip")
    };
    let register = || gzip("POST", "/eureka/apps/ORDERS").json_body(&orders().wrapped());
    assert_bare(&gzip("PUT", ONE).send().await, 404, "heartbeat before");
    assert_bare(&register().send().await, 204, "register");
    assert_bare(&gzip("PUT", ONE).send().await, 200, "heartbeat");
    assert_bare(&gzip("PUT", &format!("{ONE}/status?value=DOWN")).send().await, 200, "status");
    assert_bare(&gzip("DELETE", &format!("{ONE}/status")).send().await, 200, "status removed");
    assert_bare(&gzip("PUT", &format!("{ONE}/metadata?a=b")).send().await, 200, "metadata");
    assert_bare(&gzip("DELETE", ONE).send().await, 200, "cancel");
    assert_bare(&gzip("DELETE", ONE).send().await, 404, "cancel again");
    assert_bare(&gzip("GET", ONE).send().await, 404, "show");
    assert_bare(&gzip("GET", "/eureka/apps/ORDERS").send().await, 404, "application");
}

/// Catalog: A30
#[tokio::test(start_paused = true)]
async fn a_replicated_heartbeat_is_answered_200_without_an_instance() {
    let node = TestNode::start(&[]);
    node.register(&orders()).await;
    for query in ["", "?status=UP&lastDirtyTimestamp=1700000000000", "?status=DOWN&overriddenstatus=UNKNOWN"]
    {
        assert_bare(&node.put(&format!("{ONE}{query}")).json().replicated().send().await, 200, query);
    }
    assert_eq!(node.status(ONE).await, "UP");
}

/// Catalog: A32
#[tokio::test(start_paused = true)]
async fn a_cancelled_instance_is_gone_and_cannot_be_cancelled_again() {
    let node = TestNode::start(&[]);
    for again in ["/eureka/apps/ORDERS/n1:orders:8080", "/eureka/v2/apps/orders/n1%3Aorders%3A8080/"] {
        node.register(&orders()).await;
        assert_bare(&node.delete(again).send().await, 200, again);
        assert_bare(&node.delete(again).send().await, 404, again);
        assert_bare(&node.get(ONE).json().send().await, 404, again);
        assert_bare(&node.get("/eureka/apps/ORDERS").json().send().await, 404, again);
        assert_bare(&node.put(ONE).send().await, 404, again);
        assert_eq!(node.apps().await["application"], json!([]));
    }
}

/// Catalog: A33, A21
#[tokio::test(start_paused = true)]
async fn a_status_that_was_set_is_shown_and_unknown_is_when_it_is_removed() {
    for (status, of_client) in [("DOWN", "UP"), ("OUT_OF_SERVICE", "UP"), ("STARTING", "UP"), ("UP", "DOWN")]
    {
        let node = TestNode::start(&[]);
        node.register(&orders().status(of_client)).await;
        assert_bare(&node.put(&format!("{ONE}/status?value={status}")).send().await, 200, status);
        let shown = node.instance(ONE).await;
        assert_eq!((&shown["status"], &shown["overriddenStatus"]), (&json!(status), &json!(status)));
        assert_bare(&node.delete(&format!("{ONE}/status")).send().await, 200, status);
        let shown = node.instance(ONE).await;
        assert_eq!((&shown["status"], &shown["overriddenStatus"]), (&json!("UNKNOWN"), &json!("UNKNOWN")));
    }
}

/// Catalog: A22
#[tokio::test(start_paused = true)]
async fn a_status_is_removed_with_another_in_its_place() {
    for instead in ["DOWN", "UP", "STARTING", "OUT_OF_SERVICE", "UNKNOWN"] {
        let node = TestNode::start(&[]);
        node.register(&orders()).await;
        node.put(&format!("{ONE}/status?value=OUT_OF_SERVICE")).send().await;
        let removed = node.delete(&format!("{ONE}/status?value={instead}")).send().await;
        assert_bare(&removed, 200, instead);
        let shown = node.instance(ONE).await;
        assert_eq!((&shown["status"], &shown["overriddenStatus"]), (&json!(instead), &json!("UNKNOWN")));
    }
}

/// Case: P033
#[tokio::test(start_paused = true)]
async fn a_status_on_the_instances_own_path_is_a_heartbeat_and_changes_nothing() {
    let node = TestNode::start(&[]);
    node.register(&orders()).await;
    for word in ["DOWN", "OUT_OF_SERVICE", "SLEEPING", ""] {
        assert_bare(&node.put(&format!("{ONE}?status={word}")).send().await, 200, word);
        assert_bare(&node.put(&format!("{ONE}?value={word}")).send().await, 200, word);
        assert_eq!(node.status(ONE).await, "UP");
    }
    assert_bare(&node.put(&format!("{ONE}/status?value=DOWN")).send().await, 200, "the right path");
    assert_eq!(node.status(ONE).await, "DOWN");
}

/// Catalog: A44
#[tokio::test(start_paused = true)]
async fn a_heartbeat_is_answered_by_its_timestamp() {
    let node = TestNode::start(&[]);
    node.register(&orders().dirty(2000)).await;
    let beat = |dirty: i64| node.put(&format!("{ONE}?status=UP&lastDirtyTimestamp={dirty}")).json();
    for newer in [2001, 2_000_000_000_000, i64::MAX] {
        assert_bare(&beat(newer).send().await, 404, "newer");
        assert_bare(&beat(newer).replicated().send().await, 404, "newer, replicated");
    }
    assert_bare(&beat(2000).send().await, 200, "equal");
    assert_bare(&beat(2000).replicated().send().await, 200, "equal, replicated");
    for older in [1999, 0, -1, i64::MIN] {
        assert_bare(&beat(older).send().await, 200, "older");
        assert_bare(&beat(older).header("x-netflix-discovery-replication", "TRUE").send().await, 200, "TRUE");
        let conflict = beat(older).replicated().send().await;
        assert_eq!(conflict.status, 409);
        assert_eq!(conflict.json()["instance"]["lastDirtyTimestamp"], "2000");
        assert_eq!(conflict.json()["instance"]["instanceId"], "n1:orders:8080");
        let call = node.put(&format!("{ONE}?lastDirtyTimestamp={older}")).replicated();
        let xml = call.xml().header("accept-encoding", "gzip").send().await;
        assert_eq!((xml.status.as_u16(), xml.header("content-type")), (409, Some("application/xml")));
        assert!(xml.unpacked().contains("<lastDirtyTimestamp>2000</lastDirtyTimestamp>"));
    }
    let node = TestNode::start(&["--eureka.server.sync-when-timestamp-differs=false"]);
    node.register(&orders().dirty(2000)).await;
    for dirty in [1, 2000, 3000] {
        let path = format!("{ONE}?lastDirtyTimestamp={dirty}");
        assert_bare(&node.put(&path).replicated().send().await, 200, "not compared");
    }
}

/// Catalog: A45
/// Case: U06
#[tokio::test(start_paused = true)]
async fn a_timestamp_that_is_no_number_is_400_and_does_not_renew() {
    let node = TestNode::start(&[]);
    node.register(&orders()).await;
    pass_secs(10).await;
    let before = node.instance(ONE).await;
    for word in
        ["abc", "", "1.5", "1e3", "0x10", "9223372036854775808", "%201", "1%00", "null", "--1", "%D9%A1"]
    {
        for call in [
            node.put(&format!("{ONE}?status=UP&lastDirtyTimestamp={word}")),
            node.put(&format!("{ONE}?lastDirtyTimestamp={word}")).replicated(),
            node.put(&format!("{ONE}/status?value=DOWN&lastDirtyTimestamp={word}")),
            node.delete(&format!("{ONE}/status?lastDirtyTimestamp={word}")),
        ] {
            let answer = call.json().send().await;
            assert_eq!(answer.status, 400, "{word}");
            assert!(answer.json()["detail"].as_str().unwrap().contains("lastDirtyTimestamp"), "{word}");
        }
    }
    assert_eq!(node.instance(ONE).await, before, "lease and status are untouched");
}

/// Catalog: A47
/// Case: P046
#[tokio::test(start_paused = true)]
async fn a_status_that_is_none_is_400_with_those_that_are() {
    let node = TestNode::start(&[]);
    node.register(&orders()).await;
    let before = node.instance(ONE).await;
    for query in
        ["?value=SLEEPING", "?value=up", "?value=Up", "?value=", "?value", "?value=UP%20", "?value=%00"]
    {
        for call in [node.put(&format!("{ONE}/status{query}")), node.delete(&format!("{ONE}/status{query}"))]
        {
            let answer = call.json().send().await;
            assert_eq!(answer.status, 400, "{query}");
            assert_eq!(answer.header("content-type"), Some("application/json"));
            for word in ["UP", "DOWN", "STARTING", "OUT_OF_SERVICE", "UNKNOWN"] {
                assert!(
                    answer.json()["detail"].as_str().unwrap().contains(word),
                    "{query}: {}",
                    answer.text()
                );
            }
        }
    }
    for query in ["", "?", "?status=DOWN", "?Value=DOWN"] {
        let answer = node.put(&format!("{ONE}/status{query}")).send().await;
        assert_eq!(answer.status, 400, "{query}");
        assert_well_formed(&answer.text());
    }
    assert_eq!(node.instance(ONE).await, before);
}

/// Catalog: A48
#[tokio::test(start_paused = true)]
async fn after_a_status_was_removed_the_client_has_to_register() {
    let node = TestNode::start(&[]);
    node.register(&orders()).await;
    node.put(&format!("{ONE}/status?value=OUT_OF_SERVICE")).send().await;
    assert_eq!(node.beat(ONE).await, 200);
    node.delete(&format!("{ONE}/status")).send().await;
    assert_bare(&node.put(ONE).send().await, 404, "unknown");
    let path = format!("{ONE}?status=UP&lastDirtyTimestamp=1700000000000");
    assert_bare(&node.put(&path).send().await, 404, "unknown");
    assert_eq!(node.register(&orders()).await.status, 204);
    assert_eq!(node.status(ONE).await, "UP");
    assert_eq!(node.beat(ONE).await, 200);
}

/// Catalog: A49
#[tokio::test(start_paused = true)]
async fn metadata_is_added_to_what_is_there_and_the_lease_begins_anew() {
    let node = TestNode::start(&[]);
    node.register(&orders().with("metadata", json!({"old": "kept", "a": "0"}))).await;
    pass_secs(5).await;
    assert_bare(&node.put(&format!("{ONE}/metadata?a=1&b=2&a=3")).send().await, 200, "put");
    let shown = node.instance(ONE).await;
    assert_eq!(shown["metadata"], json!({"old": "kept", "a": "1", "b": "2"}), "the first of equal keys");
    assert_eq!(shown["leaseInfo"]["registrationTimestamp"], json!(EPOCH + 5000));
    assert_eq!(shown["lastDirtyTimestamp"], "1700000000000");
    assert_eq!(shown["actionType"], "ADDED");
    pass_secs(5).await;
    assert_bare(&node.put(&format!("{ONE}/metadata?c")).send().await, 200, "put");
    assert_bare(&node.put(&format!("{ONE}/metadata?d=&x%20y=%C3%BC%26+z&e=a=b")).send().await, 200, "put");
    let shown = node.instance(ONE).await;
    assert_eq!(
        shown["metadata"],
        json!({"old": "kept", "a": "1", "b": "2", "c": "", "d": "", "x y": "ü& z", "e": "a=b"})
    );
    assert_eq!(shown["leaseInfo"]["registrationTimestamp"], json!(EPOCH + 10_000));
    assert_bare(&node.put(&format!("{ONE}/metadata")).send().await, 200, "nothing to put");
    assert_bare(&node.put(&format!("{ONE}/metadata?r=1")).replicated().send().await, 200, "replicated");
    assert_eq!(node.instance(ONE).await["metadata"]["r"], "1");
    assert_eq!(node.status(ONE).await, "UP");
    let xml = node.get(ONE).xml().send().await.text();
    assert_well_formed(&xml);
    assert!(xml.contains("<x_.0020y>ü&amp; z</x_.0020y>"), "{xml}");
}

/// Catalog: A54
#[tokio::test(start_paused = true)]
async fn auto_scaling_groups_are_not_kept_here() {
    let node = TestNode::start(&[]);
    for query in ["?value=DISABLED", "?value=ENABLED", "", "?value=x"] {
        assert_eq!(node.put(&format!("/eureka/asg/asg-1/status{query}")).send().await.status, 400);
        assert_eq!(
            node.put(&format!("/eureka/v2/asg/a/status{query}")).replicated().send().await.status,
            400
        );
    }
}

/// Case: P020
#[tokio::test(start_paused = true)]
async fn doubled_slashes_are_one() {
    let node = TestNode::start(&[]);
    let body = orders().wrapped();
    assert_eq!(node.post("/eureka//apps/ORDERS").json_body(&body).send().await.status, 204);
    assert_eq!(node.beat("/eureka//apps/ORDERS/n1:orders:8080").await, 200);
    assert_eq!(node.post("//eureka///v2//apps////ORDERS//").json_body(&body).send().await.status, 204);
    assert_eq!(node.beat("//eureka/apps//ORDERS//n1:orders:8080//").await, 200);
    assert_eq!(node.put("/eureka//apps/ORDERS//n1:orders:8080//status?value=DOWN").send().await.status, 200);
    assert_eq!(node.get("/eureka//apps//delta").send().await.status, 200);
    let batch =
        node.post("/eureka//peerreplication//batch//").json().json_body(&json!({"replicationList": []}));
    assert_eq!(batch.send().await.status, 200);
    assert_eq!(node.delete("/eureka/apps/ORDERS///n1:orders:8080").send().await.status, 200);
    assert_eq!(node.registry().len(), 0);
    // Slashes in a query are data.
    node.register(&orders()).await;
    node.put(&format!("{ONE}/metadata?url=http://a//b/")).send().await;
    assert_eq!(node.instance(ONE).await["metadata"]["url"], "http://a//b/");
}

/// Case: P022
#[tokio::test(start_paused = true)]
async fn a_slash_in_an_id_is_data_when_it_is_encoded_and_no_path_when_it_is_not() {
    let node = TestNode::start(&[]);
    for id in ["orders/10.9.0.1:8080", "/", "//", "a//b/", "/status", "x/status", "x/metadata"] {
        assert_eq!(node.register(&instance("ORDERS", id)).await.status, 204);
        let path = format!("/eureka/apps/ORDERS/{}", id.replace('/', "%2F"));
        assert_eq!(node.beat(&path).await, 200, "{id}");
        assert_eq!(node.beat(&path.replace("%2F", "%2f")).await, 200, "{id}");
        assert_eq!(node.instance(&path).await["instanceId"], id);
        assert_eq!(node.put(&format!("{path}/status?value=DOWN")).send().await.status, 200, "{id}");
        assert_eq!(node.put(&format!("{path}/metadata?a=b")).send().await.status, 200, "{id}");
        assert_eq!(node.status(&path).await, "DOWN");
        assert_eq!(node.delete(&path).send().await.status, 200, "{id}");
    }
    node.register(&instance("ORDERS", "orders/10.9.0.1:8080")).await;
    for raw in ["orders/10.9.0.1:8080", "orders/10.9.0.1:8080/status", "orders%252F10.9.0.1:8080"] {
        let path = format!("/eureka/apps/ORDERS/{raw}");
        assert_bare(&node.put(&path).send().await, 404, raw);
        assert_bare(&node.delete(&path).send().await, 404, raw);
        assert_bare(&node.get(&path).json().send().await, 404, raw);
    }
    assert_eq!(node.registry().len(), 1);
}
