//! What reads answer, in which form, and that all forms say the same.

use std::collections::BTreeMap;

use eurekad_wire::{Format, InstanceInfo, decode};
use serde_json::{Value, json};

use crate::support::*;

/// Six applications with twenty instances, no two alike.
fn estate() -> Vec<Instance> {
    (0..20)
        .map(|n| {
            let app = format!("APP-{}", n % 6);
            let instance = instance(&app, &format!("host-{n}:{app}:80{n:02}"))
                .with("hostName", format!("host-{n}.test"))
                .with("ipAddr", format!("10.9.1.{n}"))
                .with("port", json!({"$": 8000 + n, "@enabled": if n % 2 == 0 { "true" } else { "false" }}))
                .with(
                    "securePort",
                    json!({"$": 9000 + n, "@enabled": if n % 3 == 0 { "true" } else { "false" }}),
                )
                .with("metadata", json!({"zone": format!("z{}", n % 2), "management.port": format!("{n}")}))
                .with("homePageUrl", format!("http://host-{n}.test/?a=1&b=<2>"))
                .with("statusPageUrl", format!("http://host-{n}.test/info"))
                .with("healthCheckUrl", format!("http://host-{n}.test/health"))
                .with("vipAddress", format!("{app}#VIP"))
                .with("secureVipAddress", format!("{app}#SVIP"))
                .status(["UP", "DOWN", "STARTING", "OUT_OF_SERVICE"][n % 4])
                .dirty(1_700_000_000_000 + n as i64);
            match n % 5 {
                0 => instance.with("dataCenterInfo", amazon(n)).with("asgName", format!("asg-{n}")),
                1 => instance.with("secureHealthCheckUrl", "https://s.test/").with("appGroupName", "SHOP"),
                _ => instance,
            }
        })
        .collect()
}

fn amazon(n: usize) -> Value {
    json!({
        "@class": "com.netflix.appinfo.AmazonInfo",
        "name": "Amazon",
        "metadata": {
            "instance-id": format!("i-{n}"), "ami-id": "ami-77", "instance-type": "m5.large",
            "local-ipv4": "10.1.2.3", "public-ipv4": "1.2.3.4", "public-hostname": "ec2.test",
            "availability-zone": "us-east-1c", "accountId": "123456789012"},
    })
}

pub(crate) async fn with_estate() -> (TestNode, Vec<Instance>) {
    let node = TestNode::start(&[]);
    let estate = estate();
    for instance in &estate {
        assert_eq!(node.register(instance).await.status, 204);
    }
    (node, estate)
}

/// Every instance in a document of applications or of one application, by its id.
pub(crate) fn by_id(document: &Value) -> BTreeMap<String, Value> {
    let instances: Vec<&Value> = match document["application"].as_array() {
        Some(apps) => apps.iter().flat_map(|app| app["instance"].as_array().unwrap()).collect(),
        None => document["instance"].as_array().unwrap().iter().collect(),
    };
    instances.into_iter().map(|i| (i["instanceId"].as_str().unwrap().to_owned(), i.clone())).collect()
}

/// Fails unless a document's instance says all that was registered, in Eureka's spelling.
fn assert_full(shown: &Value, sent: &Instance) {
    for (key, value) in sent.fields.as_object().unwrap() {
        match key.as_str() {
            "overriddenstatus" => assert_eq!(shown["overriddenStatus"], *value),
            "lastUpdatedTimestamp" => {
                assert_eq!(shown[key], json!(EPOCH.to_string()), "the server's to say");
            }
            "leaseInfo" => {
                assert_eq!(shown[key]["renewalIntervalInSecs"], value["renewalIntervalInSecs"]);
                assert_eq!(shown[key]["durationInSecs"], value["durationInSecs"]);
            }
            _ => assert_eq!(shown[key], *value, "{key} of {}", sent.path()),
        }
    }
    assert_eq!(shown["isCoordinatingDiscoveryServer"], "false");
    assert_eq!(shown["actionType"], "ADDED");
}

/// The keys that a compact document has.
const COMPACT: [&str; 13] = [
    "instanceId",
    "hostName",
    "app",
    "ipAddr",
    "status",
    "port",
    "securePort",
    "dataCenterInfo",
    "vipAddress",
    "secureVipAddress",
    "lastUpdatedTimestamp",
    "actionType",
    "asgName",
];

/// Fails unless a document's instance says what a compact one says of what was registered, and no more.
fn assert_compact(shown: &Value, sent: &Instance) {
    for key in shown.as_object().unwrap().keys() {
        assert!(COMPACT.contains(&key.as_str()), "{key} does not belong there");
    }
    for key in ["hostName", "app", "ipAddr", "status", "port", "securePort", "vipAddress", "secureVipAddress"]
    {
        assert_eq!(shown[key], sent.fields[key], "{key}");
    }
    assert_eq!(shown["asgName"], sent.fields["asgName"]);
    assert_eq!(shown["actionType"], "ADDED");
    assert_eq!(shown["lastUpdatedTimestamp"], json!(EPOCH));
    let place = &shown["dataCenterInfo"];
    assert_eq!(place["name"], sent.fields["dataCenterInfo"]["name"]);
    if let Some(metadata) = place["metadata"].as_object() {
        let keys: Vec<&str> = metadata.keys().map(String::as_str).collect();
        let kept = ["availability-zone", "instance-id", "local-ipv4", "public-hostname", "public-ipv4"];
        assert_eq!(keys, kept);
    }
}

/// Catalog: A1
#[tokio::test(start_paused = true)]
async fn all_applications_are_shown_field_by_field_as_they_were_registered() {
    let (node, estate) = with_estate().await;
    let apps = node.apps().await;
    assert_eq!(apps["versions__delta"], "1");
    assert_eq!(apps["apps__hashcode"], "DOWN_5_OUT_OF_SERVICE_5_STARTING_5_UP_5_");
    assert_eq!(apps["application"].as_array().unwrap().len(), 6);
    let shown = by_id(&apps);
    assert_eq!(shown.len(), 20);
    for sent in &estate {
        assert_full(&shown[sent.fields["instanceId"].as_str().unwrap()], sent);
    }
    // And the XML document says the same as the JSON one.
    let xml = node.get("/eureka/apps").xml().send().await.text();
    assert_well_formed(&xml);
    let json = node.get("/eureka/apps").json().send().await.text();
    let read = |format, text: &str| {
        let mut instances: Vec<InstanceInfo> =
            decode::applications(format, text.as_bytes()).unwrap().instances().cloned().collect();
        instances.sort_by(|a, b| a.id().cmp(b.id()));
        instances
    };
    assert_eq!(read(Format::Xml, &xml), read(Format::Json, &json));
}

/// Catalog: A4
/// Case: U10
#[tokio::test(start_paused = true)]
async fn compact_documents_hold_the_compact_fields_and_no_others() {
    let (node, estate) = with_estate().await;
    for word in ["compact", "COMPACT", "Compact"] {
        let answer = node.get("/eureka/apps").json().header("x-eureka-accept", word).send().await;
        let shown = by_id(&answer.json()["applications"]);
        assert_eq!(shown.len(), 20);
        for sent in &estate {
            assert_compact(&shown[sent.fields["instanceId"].as_str().unwrap()], sent);
        }
    }
    for word in ["full", "", "nonsense", "compact, full"] {
        let answer = node.get("/eureka/apps").json().header("x-eureka-accept", word).send().await;
        assert_full(&by_id(&answer.json()["applications"])["host-1:APP-1:8001"], &estate[1]);
    }
    for path in ["/eureka/apps", "/eureka/apps/delta", "/eureka/apps/APP-0", "/eureka/vips/APP-0%23VIP"] {
        let xml = node.get(path).xml().header("x-eureka-accept", "compact").send().await.text();
        assert_well_formed(&xml);
        for left_out in ["<leaseInfo>", "<homePageUrl>", "<countryId>", "overridden", "<lastDirtyTimestamp>"]
        {
            assert!(!xml.contains(left_out), "{path}: {left_out} in {xml}");
        }
        assert!(xml.contains("<metadata>") && !xml.contains("management.port"), "Amazon's alone: {xml}");
    }
}

/// Catalog: A5, A6, A38, A39
/// Case: P029
#[tokio::test(start_paused = true)]
async fn a_vip_address_finds_its_instances_exactly_as_it_is_written() {
    let node = TestNode::start(&[]);
    let six: Vec<Instance> = (0..6)
        .map(|n| {
            instance("ORDERS", &format!("i-{n}"))
                .with("vipAddress", "ORDERS#VIP")
                .with("secureVipAddress", "ORDERS#SVIP")
                .with("metadata", json!({"n": n.to_string()}))
        })
        .collect();
    for instance in &six {
        node.register(instance).await;
    }
    node.register(&instance("OTHER", "o")).await;
    for path in ["/eureka/vips/ORDERS%23VIP", "/eureka/svips/ORDERS%23SVIP"] {
        let full = node.get(path).json().send().await.json()["applications"].clone();
        assert_eq!(full["versions__delta"], "-1");
        assert_eq!(full["apps__hashcode"], "UP_6_");
        assert_eq!(full["application"].as_array().unwrap().len(), 1);
        let compact = node.get(path).json().header("x-eureka-accept", "compact").send().await;
        let (full, compact) = (by_id(&full), by_id(&compact.json()["applications"]));
        assert_eq!((full.len(), compact.len()), (6, 6));
        for sent in &six {
            let id = sent.fields["instanceId"].as_str().unwrap();
            assert_full(&full[id], sent);
            assert_compact(&compact[id], sent);
            assert_ne!(full[id], compact[id]);
        }
    }
    for path in [
        "/eureka/vips/nope",
        "/eureka/vips/orders%23vip",
        "/eureka/vips/ORDERS",
        "/eureka/vips/ORDERS%23SVIP",
        "/eureka/svips/ORDERS%23VIP",
        "/eureka/vips/ORDERS%23VIP,other",
        "/eureka/svips/nope?regions=us-east-1",
    ] {
        let answer = node.get(path).json().send().await;
        assert_eq!(answer.status, 200, "{path}");
        let empty = r#"{"applications":{"versions__delta":"-1","apps__hashcode":"","application":[]}}"#;
        assert_eq!(answer.text(), empty, "{path}");
        let xml = node.get(path).xml().send().await;
        assert_eq!(xml.status, 200);
        assert!(!xml.text().contains("<application>") && xml.text().contains("<versions__delta>-1<"));
    }
}

/// Case: P029
#[tokio::test(start_paused = true)]
async fn an_instance_is_found_by_each_part_of_its_vip_address_and_only_as_long_as_it_has_it() {
    let node = TestNode::start(&[]);
    let listed = |vip: &'static str| {
        let node = &node;
        async move {
            let answer = node.get(&format!("/eureka/vips/{vip}")).json().send().await;
            assert_eq!(answer.status, 200, "{vip}");
            ids(&answer.json()["applications"])
        }
    };
    node.register(&instance("ORDERS", "a").with("vipAddress", "orders,orders-v2")).await;
    node.register(&instance("BILLING", "b").with("vipAddress", "billing, orders,,Ünï:80")).await;
    assert_eq!(listed("orders").await, ["a"]);
    assert_eq!(listed("orders-v2").await, ["a"]);
    assert_eq!(listed("%20orders").await, ["b"], "nothing is trimmed");
    assert_eq!(listed("%C3%9Cn%C3%AF:80").await, ["b"]);
    assert_eq!(listed("orders,orders-v2").await, [""; 0]);
    assert_eq!(listed("Orders").await, [""; 0]);
    assert_eq!(listed("nope").await, [""; 0]);
    node.register(&instance("ORDERS", "a").with("vipAddress", "orders-v3")).await;
    assert_eq!(listed("orders").await, [""; 0]);
    assert_eq!(listed("orders-v3").await, ["a"]);
    node.register(&instance("ORDERS", "a").without("vipAddress")).await;
    assert_eq!(listed("orders-v3").await, [""; 0]);
    node.delete("/eureka/apps/BILLING/b").send().await;
    assert_eq!(listed("billing").await, [""; 0]);
}

/// Catalog: A7, A8
#[tokio::test(start_paused = true)]
async fn one_application_is_shown_in_full_and_compact() {
    let (node, estate) = with_estate().await;
    for path in ["/eureka/apps/APP-1", "/eureka/apps/app-1", "/eureka/apps/App-1/"] {
        let full = node.get(path).json().send().await.json()["application"].clone();
        let compact = node.get(path).json().header("x-eureka-accept", "compact").send().await;
        let compact = compact.json()["application"].clone();
        assert_eq!((&full["name"], &compact["name"]), (&json!("APP-1"), &json!("APP-1")));
        let (full, compact) = (by_id(&full), by_id(&compact));
        let sent: Vec<&Instance> = estate.iter().filter(|i| i.fields["app"] == "APP-1").collect();
        assert_eq!((full.len(), compact.len()), (sent.len(), sent.len()));
        for sent in sent {
            let id = sent.fields["instanceId"].as_str().unwrap();
            assert_full(&full[id], sent);
            assert_compact(&compact[id], sent);
        }
    }
    assert!(node.get("/eureka/apps/NONE").json().send().await.is_empty_with(404));
    // One instance is always shown in full.
    let one = node.get(&estate[3].path()).json().header("x-eureka-accept", "compact").send().await;
    assert_full(&one.json()["instance"], &estate[3]);
}

/// Catalog: A53
/// Case: P036
#[tokio::test(start_paused = true)]
async fn every_instance_is_in_the_xml_with_its_true_status_and_all_its_addresses() {
    let node = TestNode::start(&[]);
    for status in ["UP", "DOWN", "STARTING", "OUT_OF_SERVICE", "UNKNOWN"] {
        let instance = instance("ORDERS", status)
            .status(status)
            .with("homePageUrl", format!("http://{status}.test/"))
            .with("statusPageUrl", format!("http://{status}.test/info?a=1&b=2"))
            .with("healthCheckUrl", format!("http://{status}.test/health"))
            .with("metadata", json!({"prometheus.port": "9090"}));
        assert_eq!(node.register(&instance).await.status, 204);
    }
    let all = node.get("/eureka/apps").xml().send().await.text();
    assert_well_formed(&all);
    for status in ["UP", "DOWN", "STARTING", "OUT_OF_SERVICE", "UNKNOWN"] {
        for element in [
            format!("<instanceId>{status}</instanceId>"),
            format!("<homePageUrl>http://{status}.test/</homePageUrl>"),
            format!("<statusPageUrl>http://{status}.test/info?a=1&amp;b=2</statusPageUrl>"),
            format!("<healthCheckUrl>http://{status}.test/health</healthCheckUrl>"),
        ] {
            assert!(all.contains(&element), "{element} is missing");
        }
        for path in [
            format!("/eureka/apps/ORDERS/{status}"),
            format!("/eureka/instances/{status}"),
            format!("/eureka/v2/apps/orders/{status}"),
        ] {
            let one = node.get(&path).xml().send().await.text();
            assert!(one.contains(&format!("<status>{status}</status>")), "{path}: {one}");
            assert_eq!(node.instance(&path).await["status"], status);
        }
    }
    assert_eq!(all.matches("<port enabled=\"true\">8080</port>").count(), 5);
    assert_eq!(all.matches("<prometheus.port>9090</prometheus.port>").count(), 5);
}

/// Case: P034
#[tokio::test(start_paused = true)]
async fn an_instance_is_found_by_its_id_alone() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a")).await;
    node.register(&instance("BILLING", "b:1/2")).await;
    for (path, app) in [
        ("/eureka/instances/a", "ORDERS"),
        ("/eureka/instances/a/", "ORDERS"),
        ("/eureka/instances/b:1%2F2", "BILLING"),
    ] {
        let answer = node.get(path).json().send().await;
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.json()["instance"]["app"], app);
        let xml = node.get(path).xml().send().await.text();
        assert!(xml.starts_with("<instance>") && xml.contains(&format!("<app>{app}</app>")), "{xml}");
    }
    for path in
        ["/eureka/instances/none", "/eureka/instances/A", "/eureka/instances/", "/eureka/instances/b:1/2"]
    {
        assert!(node.get(path).json().send().await.is_empty_with(404), "{path}");
    }
    // The same id in two applications: either is right, none is not.
    node.register(&instance("BILLING", "a")).await;
    assert_eq!(node.instance("/eureka/instances/a").await["instanceId"], "a");
    node.delete("/eureka/apps/ORDERS/a").send().await;
    assert_eq!(node.instance("/eureka/instances/a").await["app"], "BILLING");
}
