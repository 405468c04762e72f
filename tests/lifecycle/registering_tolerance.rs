//! What is made of registrations that say things in their own way.

use serde_json::json;

use super::registering::{XML, amazon, orders, shown};
use crate::support::*;

/// Case: P001
#[tokio::test(start_paused = true)]
async fn an_instance_that_says_nothing_of_an_override_has_none() {
    for what in [
        orders().without("overriddenstatus"),
        orders().with("overriddenstatus", json!(null)),
        orders().with("overriddenstatus", ""),
        orders().with("overriddenstatus", "nonsense"),
    ] {
        let (json, xml) = shown(&what).await;
        assert_eq!(json["overriddenStatus"], "UNKNOWN");
        assert!(xml.contains("<overriddenstatus>UNKNOWN</overriddenstatus>"), "{xml}");
    }
    let node = TestNode::start(&[]);
    let info = orders().without("overriddenstatus").fields;
    let item = json!([{"appName": "ORDERS", "id": "a", "action": "Register", "instanceInfo": info}]);
    assert_eq!(node.batch(&item).await, [200]);
    let apps = node.get("/eureka/apps").xml().send().await.text();
    assert!(apps.contains("<overriddenstatus>UNKNOWN</overriddenstatus>"), "{apps}");
    assert_eq!(node.apps().await["application"][0]["instance"][0]["overriddenStatus"], "UNKNOWN");
}

/// Case: P002
#[tokio::test(start_paused = true)]
async fn the_override_is_read_in_both_spellings_and_written_in_eurekas() {
    for key in ["overriddenStatus", "overriddenstatus"] {
        for word in ["OUT_OF_SERVICE", "DOWN"] {
            let (json, xml) = shown(&orders().without("overriddenstatus").with(key, word)).await;
            assert_eq!(json["overriddenStatus"], word, "{key}");
            assert_eq!(json.get("overriddenstatus"), None);
            assert!(xml.contains(&format!("<overriddenstatus>{word}</overriddenstatus>")), "{xml}");
            assert!(!xml.contains("overriddenStatus"), "{xml}");
        }
    }
    for element in ["overriddenStatus", "overriddenstatus"] {
        let node = TestNode::start(&[]);
        let body = XML.replace("<status>", &format!("<{element}>OUT_OF_SERVICE</{element}><status>"));
        assert_eq!(node.post("/eureka/apps/ORDERS").body("application/xml", body).send().await.status, 204);
        assert_eq!(node.instance("/eureka/apps/ORDERS/a").await["overriddenStatus"], "OUT_OF_SERVICE");
    }
}

/// Case: P004, P006
#[tokio::test(start_paused = true)]
async fn what_older_servers_took_is_taken() {
    let node = TestNode::start(&[]);
    let old = json!({"instance": {
        "instanceId": "a", "app": "ORDERS", "hostName": "n1.test", "ipAddr": "10.9.0.1", "status": "UP",
        "port": 8080, "vipAddress": "orders", "dataCenterInfo": {"name": "MyOwn"}}});
    assert_eq!(node.post("/eureka/apps/ORDERS").json_body(&old).send().await.status, 204);
    let read = node.instance("/eureka/apps/ORDERS/a").await;
    assert_eq!(read["port"], json!({"$": 8080, "@enabled": "true"}));

    let default = "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo";
    for (field, sent, read) in [
        ("port", json!("8080"), json!({"$": 8080, "@enabled": "true"})),
        ("port", json!({"$": 8080, "enabled": "true"}), json!({"$": 8080, "@enabled": "true"})),
        ("port", json!({"$": "8080", "enabled": false}), json!({"$": 8080, "@enabled": "false"})),
        (
            "port",
            json!({"$": 8080, "x": {"y": []}, "@enabled": true}),
            json!({"$": 8080, "@enabled": "true"}),
        ),
        ("port", json!(null), json!({"$": 7001, "@enabled": "true"})),
        ("securePort", json!(8443), json!({"$": 8443, "@enabled": "true"})),
        ("securePort", json!({"$": 8443}), json!({"$": 8443, "@enabled": "false"})),
        ("dataCenterInfo", json!({"name": "MyOwn"}), json!({"@class": default, "name": "MyOwn"})),
        ("dataCenterInfo", json!({"name": "Netflix"}), json!({"@class": default, "name": "Netflix"})),
        (
            "dataCenterInfo",
            json!({"@class": default, "name": "MyOwn", "metadata": {"k": "v"}}),
            json!({"@class": default, "name": "MyOwn"}),
        ),
        (
            "dataCenterInfo",
            json!({"@class": "com.netflix.appinfo.MyDataCenterInfo", "x": [1, {"y": null}], "name": "MyOwn"}),
            json!({"@class": default, "name": "MyOwn"}),
        ),
    ] {
        let (json, _) = shown(&orders().with(field, sent.clone())).await;
        assert_eq!(json[field], read, "{sent}");
    }
    let both = orders()
        .with("port", json!({"$": 8080, "enabled": "true"}))
        .with("dataCenterInfo", json!({"@class": default, "name": "MyOwn", "metadata": {"k": "v"}}));
    assert_eq!(shown(&both).await.0["port"], json!({"$": 8080, "@enabled": "true"}));
    for (field, value) in
        [("unknown", json!({"a": [1, {"b": null}]})), ("other", json!([[], "x"])), ("more", json!(1))]
    {
        let (json, _) = shown(&orders().with(field, value)).await;
        assert_eq!(json.get(field), None, "a field that Eureka does not know is never passed on");
    }
}

/// Case: P007
#[tokio::test(start_paused = true)]
async fn whether_each_port_is_enabled_is_kept() {
    for (plain, secure) in [("false", "true"), ("true", "false"), ("true", "true"), ("false", "false")] {
        let what = orders()
            .with("port", json!({"$": 8080, "@enabled": plain}))
            .with("securePort", json!({"$": 8443, "@enabled": secure}));
        let (json, xml) = shown(&what).await;
        assert_eq!(
            (&json["port"]["@enabled"], &json["securePort"]["@enabled"]),
            (&json!(plain), &json!(secure))
        );
        let elements = format!(
            "<port enabled=\"{plain}\">8080</port>\n  <securePort enabled=\"{secure}\">8443</securePort>"
        );
        assert!(xml.contains(&elements), "{xml}");
        // And a registration in XML says the same.
        let node = TestNode::start(&[]);
        assert_eq!(node.post("/eureka/apps/ORDERS").body("application/xml", xml).send().await.status, 204);
        let read = node.instance("/eureka/apps/ORDERS/a").await;
        assert_eq!((&read["port"], &read["securePort"]), (&json["port"], &json["securePort"]));
    }
}

/// Case: P023
#[tokio::test(start_paused = true)]
async fn without_an_id_an_instance_goes_by_its_data_centres_or_its_host_name() {
    for id in [json!(null), json!("")] {
        let node = TestNode::start(&[]);
        let nameless = instance("ORDERS", "n1:orders:8080").with("instanceId", id);
        assert_eq!(node.register(&nameless).await.status, 204);
        assert_eq!(node.get("/eureka/apps/ORDERS/n1.test").send().await.status, 200);
        assert_eq!(node.beat("/eureka/apps/ORDERS/n1.test").await, 200);
        assert_eq!(node.beat("/eureka/apps/ORDERS/n1:orders:8080").await, 404);
        let amazon = nameless.with("dataCenterInfo", amazon(&json!({"instance-id": "i-0abc"})));
        assert_eq!(node.register(&amazon).await.status, 204);
        assert_eq!(node.beat("/eureka/apps/ORDERS/i-0abc").await, 200);
        assert_eq!(node.registry().len(), 2);
        assert_eq!(node.delete("/eureka/apps/ORDERS/n1.test").send().await.status, 200);
        assert_eq!(node.delete("/eureka/apps/ORDERS/i-0abc").send().await.status, 200);
    }
    let node = TestNode::start(&[]);
    let spring = orders().without("instanceId").with("metadata", json!({"instanceId": "abc"}));
    assert_eq!(node.register(&spring).await.status, 204);
    assert_eq!(node.beat("/eureka/apps/ORDERS/n1.test:abc").await, 200);
}

/// Case: P026
#[tokio::test(start_paused = true)]
async fn metadata_keys_and_values_survive_xml_whatever_they_are() {
    for metadata in [
        json!({"prometheus.port": "9090", "a_b": "1", "1st": "x", "has space": "y", "q": "<&>\"'"}),
        json!({"$": "1", "@x": "2", "a:b": "3", "<": "4", "&": "5", "-": "6", ".": "7", "_": "8", "__": "9"}),
        json!({"名前": "值", "🦀": "🦀", "Ünï": "é", "_.0020": "x", "_-": "y", "a/b?c=d": "]]>", "xml": "<!--"}),
        json!({"tab\there": "a\tb", "line": "a\nb", "cr": "a\rb"}),
        json!({"lead": " a ", "\u{7f}": "\u{80}", "empty": "", "cjk": "\u{3000}"}),
    ] {
        let (json, xml) = shown(&orders().with("metadata", metadata.clone())).await;
        assert_eq!(json["metadata"], metadata, "JSON keys stay as they are");
        let node = TestNode::start(&[]);
        assert_eq!(
            node.post("/eureka/apps/ORDERS").body("application/xml", xml.clone()).send().await.status,
            204
        );
        assert_eq!(node.instance("/eureka/apps/ORDERS/a").await["metadata"], metadata, "round trip of {xml}");
    }
    let (_, xml) =
        shown(&orders().with("metadata", json!({"prometheus.port": "9090", "a_b": "1", "a$b": "2"}))).await;
    assert!(xml.contains("<prometheus.port>9090</prometheus.port>"), "{xml}");
    assert!(xml.contains("<a__b>1</a__b>") && xml.contains("<a_-b>2</a_-b>"), "{xml}");
}

/// Case: P027
#[tokio::test(start_paused = true)]
async fn numbers_and_truth_values_in_metadata_are_their_text() {
    for (sent, read) in [
        (json!({"weight": 20, "canary": true, "x": null}), json!({"weight": "20", "canary": "true"})),
        (
            json!({"a": -1, "b": 1.5, "c": false, "d": "null"}),
            json!({"a": "-1", "b": "1.5", "c": "false", "d": "null"}),
        ),
        (
            json!({"@class": "java.util.Collections$EmptyMap"}),
            json!({"@class": "java.util.Collections$EmptyMap"}),
        ),
        (json!({"x": null}), json!({"@class": "java.util.Collections$EmptyMap"})),
        (json!({"@class": "java.util.HashMap", "k": 1}), json!({"k": "1"})),
    ] {
        let (json, _) = shown(&orders().with("metadata", sent)).await;
        assert_eq!(json["metadata"], read);
    }
    let node = TestNode::start(&[]);
    for nested in [json!({}), json!([]), json!({"a": 1}), json!(["a"]), json!([[[]]])] {
        let answer = node.register(&orders().with("metadata", json!({"fine": "1", "bad key": nested}))).await;
        assert_eq!(answer.status, 400);
        assert!(answer.json()["detail"].as_str().unwrap().contains("metadata.bad key"), "{}", answer.text());
    }
    assert_eq!(node.registry().len(), 0);
}

/// Case: P107
#[tokio::test(start_paused = true)]
async fn addresses_of_ipv6_are_as_good_as_others() {
    for (ip, id) in [
        ("2001:db8::10", "2001:db8::10:orders:8080"),
        ("::1", "::1:8080"),
        ("fe80::1%eth0", "fe80::1%eth0:orders:8080"),
        ("[2001:db8::10]", "[2001:db8::10]:8080"),
    ] {
        let node = TestNode::start(&[]);
        let what = instance("ORDERS", id).with("ipAddr", ip).with("hostName", ip);
        assert_eq!(node.register(&what).await.status, 204);
        for path in [
            format!("/eureka/apps/ORDERS/{}", encoded(id)),
            format!("/eureka/apps/ORDERS/{}", id.replace('%', "%25")),
        ] {
            assert_eq!(node.beat(&path).await, 200, "{path}");
            let read = node.instance(&path).await;
            assert_eq!(
                (&read["ipAddr"], &read["hostName"], &read["instanceId"]),
                (&json!(ip), &json!(ip), &json!(id))
            );
        }
        assert_eq!(node.get("/").send().await.status, 200);
        assert_eq!(node.delete(&format!("/eureka/apps/ORDERS/{}", encoded(id))).send().await.status, 200);
    }
}
