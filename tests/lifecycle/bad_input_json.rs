//! Registrations in JSON that say what cannot be.

use eurekad_wire::Format;
use serde_json::{Value, json};

use super::bad_input::{assert_serves, registration, unreadable};
use crate::support::*;

/// The fields that hold free text.
pub(crate) const TEXTS: [&str; 13] = [
    "instanceId",
    "hostName",
    "app",
    "ipAddr",
    "sid",
    "appGroupName",
    "homePageUrl",
    "statusPageUrl",
    "healthCheckUrl",
    "secureHealthCheckUrl",
    "vipAddress",
    "secureVipAddress",
    "asgName",
];

/// A registration of `ORDERS/a` in which a field has this JSON value.
pub(crate) fn with(field: &str, value: &str) -> String {
    let rest = instance("ORDERS", "a").without(field).fields.to_string();
    format!("{{\"instance\":{},\"{field}\":{value}}}}}", &rest[..rest.len() - 1])
}

/// Fails unless such a value is refused with the place where it stands.
pub(crate) async fn assert_refused_at(node: &TestNode, field: &str, value: &str, place: &str) {
    let detail = unreadable(node, Format::Json, with(field, value), &format!("{field}: {value}")).await;
    let rest = detail.strip_prefix(place);
    let named = rest.is_some_and(|rest| rest.starts_with(" (line ") || rest.starts_with(": "));
    assert!(named, "{field}: {value}: {detail} does not name {place}");
}

/// Registers with such a value and returns the instance, wherever it is; fails if a document suffers from it.
pub(crate) async fn taken(field: &str, value: &str) -> Value {
    let node = TestNode::start(&[]);
    let answer = registration(&node, Format::Json, with(field, value)).send().await;
    assert_eq!(answer.status, 204, "{field}: {value}: {}", answer.text());
    assert_serves(&node, field).await;
    node.apps().await["application"][0]["instance"][0].clone()
}

#[tokio::test(start_paused = true)]
async fn a_value_of_the_wrong_type_is_refused_with_its_place() {
    let node = TestNode::start(&[]);
    let structures = ["{}", "[]", "{\"a\":1}", "[1]", "[\"a\"]", "{\"$\":1}"];
    for field in TEXTS.into_iter().chain(["actionType", "isCoordinatingDiscoveryServer"]) {
        for value in structures {
            assert_refused_at(&node, field, value, &format!("instance.{field}")).await;
        }
    }
    for field in ["status", "overriddenStatus", "overriddenstatus"] {
        for value in structures.into_iter().chain(["1", "0.5", "true"]) {
            assert_refused_at(&node, field, value, &format!("instance.{field}")).await;
        }
    }
    for field in ["countryId", "lastUpdatedTimestamp", "lastDirtyTimestamp"] {
        for value in structures.into_iter().chain(["true", "1.5", "1e3", "-0.0"]) {
            assert_refused_at(&node, field, value, &format!("instance.{field}")).await;
        }
    }
    for field in ["port", "securePort"] {
        for value in ["true", "80.5", "[]", "[8080]", "\"http\"", "\"\"", "\"80.5\""] {
            assert_refused_at(&node, field, value, &format!("instance.{field}")).await;
        }
        for value in structures.into_iter().chain(["true", "80.5"]) {
            let place = format!("instance.{field}.$");
            assert_refused_at(&node, field, &format!("{{\"$\":{value}}}"), &place).await;
            if structures.contains(&value) {
                let place = format!("instance.{field}.@enabled");
                assert_refused_at(&node, field, &format!("{{\"$\":80,\"@enabled\":{value}}}"), &place).await;
            }
        }
    }
    for value in ["\"MyOwn\"", "1", "true", "[]", "[{\"name\":\"MyOwn\"}]"] {
        assert_refused_at(&node, "dataCenterInfo", value, "instance.dataCenterInfo").await;
    }
    for value in structures {
        let place = "instance.dataCenterInfo.name";
        assert_refused_at(&node, "dataCenterInfo", &format!("{{\"name\":{value}}}"), place).await;
        let place = "instance.dataCenterInfo.@class";
        assert_refused_at(&node, "dataCenterInfo", &format!("{{\"@class\":{value}}}"), place).await;
        let amazon = format!("{{\"name\":\"Amazon\",\"metadata\":{{\"k\":{value}}}}}");
        assert_refused_at(&node, "dataCenterInfo", &amazon, "instance.dataCenterInfo.metadata.k").await;
        let entry = format!("{{\"fine\":1,\"k\":{value}}}");
        assert_refused_at(&node, "metadata", &entry, "instance.metadata.k").await;
    }
    for value in ["5", "\"x\"", "[]", "true", "[{}]"] {
        assert_refused_at(&node, "leaseInfo", value, "instance.leaseInfo").await;
        assert_refused_at(&node, "metadata", value, "instance.metadata").await;
    }
    for key in ["renewalIntervalInSecs", "durationInSecs", "registrationTimestamp", "evictionTimestamp"] {
        for value in structures.into_iter().chain(["true", "1.5"]) {
            let place = format!("instance.leaseInfo.{key}");
            assert_refused_at(&node, "leaseInfo", &format!("{{\"{key}\":{value}}}"), &place).await;
        }
    }
    for root in ["null", "[]", "1", "\"a\"", "true"] {
        let detail = unreadable(&node, Format::Json, format!("{{\"instance\":{root}}}"), root).await;
        assert!(detail.starts_with("instance (line 1"), "{detail}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_clients_are_known_to_confuse_is_taken() {
    for field in TEXTS.into_iter().filter(|f| *f != "app") {
        assert_ne!(taken(field, "7").await, Value::Null);
        let read = taken(field, "true").await;
        let text = if field == "appGroupName" { "TRUE" } else { "true" };
        assert_eq!(read[field], text, "{field}");
    }
    for (field, value, read) in [
        ("status", "\"up\"", json!("UNKNOWN")),
        ("status", "\"\"", json!("UNKNOWN")),
        ("status", "null", json!("UP")),
        ("countryId", "\"44\"", json!(44)),
        ("countryId", "\"x\"", json!(0)),
        ("lastDirtyTimestamp", "1700000000000", json!("1700000000000")),
        ("lastDirtyTimestamp", "\"soon\"", json!("0")),
        ("isCoordinatingDiscoveryServer", "true", json!("false")),
        ("isCoordinatingDiscoveryServer", "7", json!("false")),
        ("actionType", "\"REMOVED\"", json!("ADDED")),
        ("actionType", "7", json!("ADDED")),
        ("port", "{\"$\":\"http\"}", json!({"$": 0, "@enabled": "true"})),
        ("sid", "\"na\"", json!(null)),
        ("appGroupName", "\"shop\"", json!("SHOP")),
    ] {
        assert_eq!(taken(field, value).await[field], read, "{field}: {value}");
    }
    for field in TEXTS.into_iter().filter(|f| !["app", "hostName", "ipAddr"].contains(f)).chain([
        "status",
        "overriddenStatus",
        "port",
        "securePort",
        "countryId",
        "leaseInfo",
        "metadata",
        "lastUpdatedTimestamp",
        "lastDirtyTimestamp",
        "actionType",
        "isCoordinatingDiscoveryServer",
    ]) {
        let null = taken(field, "null").await;
        let node = TestNode::start(&[]);
        assert_eq!(node.register(&instance("ORDERS", "a").without(field)).await.status, 204, "{field}");
        assert_eq!(node.apps().await["application"][0]["instance"][0], null, "{field}: null is not there");
    }
}

#[tokio::test(start_paused = true)]
async fn of_two_equal_keys_the_later_one_counts() {
    for (field, first, second, read) in [
        ("hostName", "\"x\"", "\"n9.test\"", json!("n9.test")),
        ("instanceId", "\"x\"", "\"b\"", json!("b")),
        ("app", "\"BILLING\"", "\"ORDERS\"", json!("ORDERS")),
        ("status", "\"UP\"", "\"DOWN\"", json!("DOWN")),
        ("port", "1", "{\"$\":2}", json!({"$": 2, "@enabled": "true"})),
        ("metadata", "{\"a\":1}", "{\"b\":2}", json!({"b": "2"})),
        ("vipAddress", "\"x\"", "\"orders\"", json!("orders")),
        ("lastDirtyTimestamp", "1", "\"2\"", json!("2")),
        ("countryId", "1", "2", json!(2)),
        ("status", "\"DOWN\"", "null", json!("DOWN")),
        ("metadata", "{}", "{\"k\":1,\"k\":2}", json!({"k": "2"})),
        (
            "port",
            "{}",
            "{\"$\":1,\"$\":2,\"@enabled\":\"true\",\"enabled\":false}",
            json!({"$": 2, "@enabled": "false"}),
        ),
    ] {
        let read_back = taken(field, &format!("{first},\"{field}\":{second}")).await;
        assert_eq!(read_back[field], read, "{field}");
    }
    let both = taken("overriddenStatus", "\"DOWN\",\"overriddenstatus\":\"OUT_OF_SERVICE\"").await;
    assert_eq!(both["overriddenStatus"], "OUT_OF_SERVICE");
    let both = taken("overriddenstatus", "\"OUT_OF_SERVICE\",\"overriddenStatus\":\"DOWN\"").await;
    assert_eq!(both["overriddenStatus"], "DOWN");
    let lease = taken("leaseInfo", "{\"durationInSecs\":5,\"durationInSecs\":6}").await;
    assert_eq!(lease["leaseInfo"]["durationInSecs"], 6);
    // The first of two is not forgiven because there is a second, and a root there is but once.
    let node = TestNode::start(&[]);
    assert_refused_at(&node, "hostName", "{},\"hostName\":\"x\"", "instance.hostName").await;
    let one = with("sid", "1");
    let twice = format!("{},{}", &one[..one.len() - 1], &one[1..]);
    assert!(unreadable(&node, Format::Json, twice, "two roots").await.contains("twice"));
}

#[tokio::test(start_paused = true)]
async fn a_number_out_of_range_is_refused_and_one_at_its_edge_is_taken() {
    let node = TestNode::start(&[]);
    let beyond = [
        "2147483648",
        "-2147483649",
        "\"2147483648\"",
        "99999999999999999999999",
        "\"99999999999999999999999\"",
    ];
    let far_beyond =
        ["9223372036854775808", "\"-9223372036854775809\"", &"9".repeat(1000), "1e400", "-1e400", "1E+2"];
    for value in beyond.into_iter().chain(far_beyond) {
        for field in ["countryId", "port", "securePort"] {
            assert_refused_at(&node, field, value, &format!("instance.{field}")).await;
        }
        for (field, key) in [
            ("port", "$"),
            ("securePort", "$"),
            ("leaseInfo", "renewalIntervalInSecs"),
            ("leaseInfo", "durationInSecs"),
        ] {
            assert_refused_at(
                &node,
                field,
                &format!("{{\"{key}\":{value}}}"),
                &format!("instance.{field}.{key}"),
            )
            .await;
        }
    }
    for value in far_beyond {
        for field in ["lastUpdatedTimestamp", "lastDirtyTimestamp"] {
            assert_refused_at(&node, field, value, &format!("instance.{field}")).await;
        }
        let lease = format!("{{\"serviceUpTimestamp\":{value}}}");
        assert_refused_at(&node, "leaseInfo", &lease, "instance.leaseInfo.serviceUpTimestamp").await;
    }
    for value in ["2147483647", "-2147483648", "0", "-1", "65536", "\"-0\"", "\" 5 \""] {
        for field in ["countryId", "port", "securePort"] {
            taken(field, value).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn numbers_at_their_edges_do_no_harm_later() {
    let (max, min) = (i64::MAX, i64::MIN);
    for lease in [
        format!("{{\"durationInSecs\":{},\"renewalIntervalInSecs\":{}}}", i32::MAX, i32::MAX),
        format!("{{\"durationInSecs\":{},\"renewalIntervalInSecs\":1}}", i32::MIN),
        "{\"durationInSecs\":1,\"renewalIntervalInSecs\":2147483647}".to_owned(),
        format!(
            "{{\"registrationTimestamp\":{max},\"serviceUpTimestamp\":{min},\"evictionTimestamp\":{max}}}"
        ),
        format!(
            "{{\"lastRenewalTimestamp\":{min},\"registrationTimestamp\":{min},\"serviceUpTimestamp\":{max}}}"
        ),
    ] {
        for dirty in [max, min, 0, -1] {
            let node = TestNode::start(&[]);
            let body = with("leaseInfo", &lease).replace("\"1700000000000\"", &dirty.to_string());
            let one = "/eureka/apps/ORDERS/a";
            assert_eq!(registration(&node, Format::Json, body.clone()).send().await.status, 204);
            assert_serves(&node, &lease).await;
            assert_eq!(node.beat(&format!("{one}?lastDirtyTimestamp={dirty}")).await, 200);
            for query in [max, min] {
                let path = format!("{one}?lastDirtyTimestamp={query}&overriddenstatus=DOWN");
                let code = node.put(&path).replicated().send().await.status.as_u16();
                assert!([200, 404, 409].contains(&code));
                let path = format!("{one}/status?value=DOWN&lastDirtyTimestamp={query}");
                assert_eq!(node.put(&path).send().await.status, 200);
                let path = format!("{one}/status?lastDirtyTimestamp={query}");
                assert_eq!(node.delete(&path).send().await.status, 200);
            }
            assert_eq!(node.put(&format!("{one}/metadata?a=b")).send().await.status, 200);
            assert_eq!(
                node.register(&instance("ORDERS", "a").without("lastDirtyTimestamp")).await.status,
                204
            );
            assert_eq!(registration(&node, Format::Json, body).send().await.status, 204);
            assert_serves(&node, &lease).await;
            pass_secs(200).await;
            assert_serves(&node, &lease).await;
            node.delete(one).send().await;
            assert_serves(&node, &lease).await;
        }
    }
}
