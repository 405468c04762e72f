//! What users report of clusters, where it needs more than one node to show.

use axum::body::Body;
use axum::http::{Method, Request};
use eurekad::registry::Key;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::net::{AB, Member, Net, alike, instance, pair, pass_ms, put_right};

/// Case: P007
#[tokio::test(start_paused = true)]
async fn whether_each_port_is_enabled_is_kept_on_the_way_to_another_node() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    let ports = [("plain", "true", "false"), ("secure", "false", "true"), ("none", "false", "false")];
    for (id, plain, secure) in ports {
        let mut body = instance(id, 1000, "UP");
        body["instance"]["port"] = json!({"$": 8080, "@enabled": plain});
        body["instance"]["securePort"] = json!({"$": 8443, "@enabled": secure});
        a.call(Method::POST, "/eureka/apps/ORDERS", Some(&body)).await;
    }
    pass_ms(1_000).await;
    for (id, plain, secure) in ports {
        let shown = b.instance(id).await;
        assert_eq!(shown["port"], json!({"$": 8080, "@enabled": plain}), "{id}");
        assert_eq!(shown["securePort"], json!({"$": 8443, "@enabled": secure}), "{id}");
    }
}

/// Case: P050
#[tokio::test(start_paused = true)]
async fn two_nodes_that_list_themselves_list_each_other_again_after_one_was_gone_for_long() {
    let net = Net::default();
    let settings = |host: &str| {
        [format!("--eureka.instance.hostname={host}"), "--eureka.client.register-with-eureka=auto".into()]
    };
    let member = |host: &str, url: &str| {
        let own = settings(host);
        Member::new(&net, url, &AB, &own.each_ref().map(String::as_str))
    };
    let (a, b) = (member("a", "a:1"), member("b", "b:1"));
    tokio::join!(a.node.boot(), b.node.boot());
    pass_ms(60_000).await;
    b.kill().await;
    pass_ms(300_000).await;
    let listed = async |node: &Member| {
        let apps = node.call(Method::GET, "/eureka/apps/EUREKA", None).await.1;
        let listed = apps["application"]["instance"].as_array().cloned().unwrap_or_default();
        let mut hosts: Vec<String> =
            listed.iter().map(|instance| instance["hostName"].as_str().unwrap().to_owned()).collect();
        hosts.sort();
        hosts
    };
    assert_eq!(listed(&a).await, ["a"], "its lease has ended");
    let b = member("b", "b:1");
    b.node.boot().await;
    pass_ms(60_000).await;
    assert_eq!(
        (listed(&a).await, listed(&b).await),
        (vec!["a".into(), "b".into()], vec!["a".into(), "b".into()])
    );
}

/// Case: P057
#[tokio::test(start_paused = true)]
async fn a_call_that_another_server_made_is_applied_and_passed_on_to_nobody() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    let told = async |method: Method, path: &str, body: Value| {
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let request = request.header("x-netflix-discovery-replication", "true");
        a.node.router().oneshot(request.body(Body::from(body.to_string())).unwrap()).await.unwrap().status()
    };
    assert_eq!(told(Method::POST, "/eureka/apps/ORDERS", instance("x", 1000, "UP")).await, 204);
    pass_ms(2_000).await;
    assert_eq!((a.shows("x").await, b.shows("x").await), ("UP".into(), String::new()));
    let status = "/eureka/apps/ORDERS/x/status?value=DOWN";
    assert_eq!(told(Method::PUT, status, Value::Null).await, 200);
    pass_ms(2_000).await;
    assert_eq!((a.shows("x").await, b.shows("x").await), ("DOWN".into(), String::new()));
    b.register("x", 1000, "UP").await;
    pass_ms(1_000).await;
    assert_eq!(told(Method::DELETE, "/eureka/apps/ORDERS/x", Value::Null).await, 200);
    pass_ms(2_000).await;
    assert_eq!((a.shows("x").await, b.shows("x").await.is_empty()), (String::new(), false));
}

/// Case: P001
#[tokio::test(start_paused = true)]
async fn an_instance_in_a_batch_that_says_nothing_of_an_override_has_none() {
    let net = Net::default();
    let a = Member::start(&net, "a:1", &[]).await;
    let info = instance("x", 1000, "UP")["instance"].clone();
    assert!(info.get("overriddenstatus").is_none() && info.get("overriddenStatus").is_none());
    let item = json!({"appName": "ORDERS", "id": "x", "action": "Register", "instanceInfo": info});
    let batch = json!({"replicationList": [item]});
    let answer = a.call(Method::POST, "/eureka/peerreplication/batch/", Some(&batch)).await;
    assert_eq!((answer.0.as_u16(), &answer.1["responseList"][0]["statusCode"]), (200, &json!(200)));
    assert_eq!(a.instance("x").await["overriddenStatus"], "UNKNOWN");
}

#[tokio::test(start_paused = true)]
async fn whatever_clients_write_nodes_agree_on_it() {
    let net = Net::default();
    let (a, b) = pair(&net).await;
    let amazon = |metadata: Value| json!({"@class": "com.netflix.appinfo.AmazonInfo", "name": "Amazon", "metadata": metadata});
    let odd = [
        ("hostName", json!("")),
        ("hostName", json!("ünï.test \u{1f600}")),
        ("ipAddr", json!("::1")),
        ("vipAddress", json!("")),
        ("vipAddress", json!(" a , b,,a")),
        ("secureVipAddress", json!("s")),
        ("sid", json!("na")),
        ("appGroupName", json!("")),
        ("asgName", json!("group")),
        ("countryId", json!(-7)),
        ("port", json!({"$": 0, "@enabled": "true"})),
        ("port", json!({"$": 99_999, "@enabled": "false"})),
        ("port", json!({"$": "8080", "@enabled": true})),
        ("securePort", json!({"$": 8443, "@enabled": "true"})),
        ("homePageUrl", json!("http://a/?b=c&d=<e>\"")),
        ("statusPageUrl", json!("")),
        ("healthCheckUrl", json!(null)),
        ("secureHealthCheckUrl", json!("https://x")),
        (
            "metadata",
            json!({"": "empty", "a.b": "", "$": "dollar", "@class": "x", "n": 1.50, "t": true, "z": null}),
        ),
        ("metadata", json!({"\u{0}": "nul", "line": "\r\n\t", "<x>": "&amp;"})),
        ("metadata", json!({})),
        ("leaseInfo", json!({"renewalIntervalInSecs": 0, "durationInSecs": -1})),
        ("leaseInfo", json!({"renewalIntervalInSecs": i32::MAX, "durationInSecs": i32::MAX})),
        ("leaseInfo", json!(null)),
        ("dataCenterInfo", json!({"@class": "x", "name": "Netflix"})),
        ("dataCenterInfo", amazon(json!({"instance-id": "i-1", "local-ipv4": ""}))),
        ("dataCenterInfo", amazon(json!({}))),
        ("overriddenStatus", json!("OUT_OF_SERVICE")),
        ("overriddenstatus", json!("DOWN")),
        ("isCoordinatingDiscoveryServer", json!("true")),
        ("lastUpdatedTimestamp", json!("5")),
        ("lastDirtyTimestamp", json!(i64::MAX)),
        ("lastDirtyTimestamp", json!(null)),
        ("lastDirtyTimestamp", json!("-5")),
        ("actionType", json!("DELETED")),
        ("status", json!("SLEEPING")),
        ("unknown", json!({"field": [1, 2]})),
    ];
    let mut taken = 0;
    for (n, (field, value)) in odd.iter().enumerate() {
        let mut body = instance(&format!("i-{n}"), 1000, "UP");
        body["instance"]["leaseInfo"] = json!({"renewalIntervalInSecs": 300, "durationInSecs": 900});
        body["instance"][*field] = value.clone();
        let status = a.call(Method::POST, "/eureka/apps/ORDERS", Some(&body)).await.0;
        assert!(status == 204 || status == 400, "{field} {value}: {status}");
        taken += usize::from(status == 204);
    }
    assert!(taken > 30, "{taken}");
    pass_ms(1_000).await;
    for (n, (field, value)) in odd.iter().enumerate() {
        let key = Key::new("ORDERS", &format!("i-{n}"));
        let digest = |node: &Member| node.node.registry().entry(&key).map(|entry| entry.digest());
        assert_eq!(digest(&a), digest(&b), "{field} {value}");
        alike(&[&a, &b], &format!("i-{n}")).await;
    }
    pass_ms(65_000).await;
    assert!(a.peer("b:1").compared.unwrap().equal && b.peer("a:1").compared.unwrap().equal);
    assert_eq!(put_right([&a, &b]), (0, 0));
}
