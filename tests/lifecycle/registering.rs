//! What may be registered, what is made of it, and what is refused.

use serde_json::{Value, json};

use crate::support::*;

/// Registers an instance that must be refused with one of Eureka's sentences, and leaves nothing behind.
async fn assert_refused(what: Instance, path: &str, sentence: &str) {
    let node = TestNode::start(&[]);
    for accept in ["application/json", "application/xml", "*/*"] {
        let answer = node.post(path).header("accept", accept).json_body(&what.wrapped()).send().await;
        assert_eq!((answer.status.as_u16(), &*answer.text()), (400, sentence));
    }
    assert_eq!((node.registry().len(), node.registry().version()), (0, 0));
    assert!(node.get(path).json().send().await.is_empty_with(404));
}

/// Registers an instance and returns it as JSON and XML show it.
pub(crate) async fn registered(what: &Instance, path: &str) -> (Value, String) {
    let node = TestNode::start(&[]);
    let answer = node.register(what).await;
    assert!(answer.is_empty_with(204), "{answer:?}: {}", answer.text());
    let xml = node.get(path).xml().send().await;
    assert_eq!(xml.status, 200, "{path}");
    assert_well_formed(&xml.text());
    assert_well_formed(&node.get("/eureka/apps").xml().send().await.text());
    assert_eq!(node.apps().await["application"].as_array().unwrap().len(), 1);
    (node.instance(path).await, xml.text())
}

/// The same for what needs no path of its own.
pub(crate) async fn shown(what: &Instance) -> (Value, String) {
    registered(what, "/eureka/apps/ORDERS/a").await
}

pub(crate) fn orders() -> Instance {
    instance("ORDERS", "a")
}

/// Catalog: A9, A29
#[tokio::test(start_paused = true)]
async fn a_valid_instance_is_registered() {
    let node = TestNode::start(&[]);
    for path in ["/eureka/apps/ORDERS", "/v2/apps/ORDERS", "/eureka/v2/apps/ORDERS/", "/eureka/apps/orders"] {
        let answer = node.post(path).json_body(&orders().wrapped()).send().await;
        assert!(answer.is_empty_with(204), "{path}");
    }
    assert_eq!(ids(&node.apps().await), ["a"]);
}

/// Catalog: A10
#[tokio::test(start_paused = true)]
async fn an_instance_with_nothing_to_identify_it_is_refused() {
    for id in [json!(null), json!("")] {
        for host in [json!(null), json!("")] {
            let nameless = orders().with("instanceId", id.clone()).with("hostName", host.clone());
            assert_refused(nameless, "/eureka/apps/ORDERS", "Missing instanceId").await;
        }
    }
    let nameless = orders().without("instanceId").without("hostName");
    assert_refused(nameless, "/eureka/apps/ORDERS", "Missing instanceId").await;
}

/// Catalog: A11, A12, A13, A15, A16
#[tokio::test(start_paused = true)]
async fn an_instance_that_lacks_what_eureka_asks_for_is_refused_in_its_words() {
    let path = "/eureka/apps/ORDERS";
    for (field, sentence) in [
        ("hostName", "Missing hostname"),
        ("ipAddr", "Missing ip address"),
        ("dataCenterInfo", "Missing dataCenterInfo"),
    ] {
        assert_refused(orders().without(field), path, sentence).await;
        assert_refused(orders().with(field, json!(null)), path, sentence).await;
    }
    assert_refused(orders().with("hostName", ""), path, "Missing hostname").await;
    assert_refused(orders().with("ipAddr", ""), path, "Missing ip address").await;
    assert_refused(orders().with("app", ""), path, "Missing appName").await;
    let class = "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo";
    for place in
        [json!({}), json!({"name": null}), json!({"@class": class}), json!({"@class": class, "name": null})]
    {
        assert_refused(orders().with("dataCenterInfo", place), path, "Missing dataCenterInfo Name").await;
    }
    // The first thing that is missing is named.
    let bare = orders().without("hostName").without("ipAddr").without("dataCenterInfo");
    assert_refused(bare, path, "Missing hostname").await;
}

/// Catalog: A14
/// Case: U08
#[tokio::test(start_paused = true)]
async fn the_application_in_the_body_must_be_that_of_the_path_in_whatever_case() {
    for (path, app) in
        [("orders", "Orders"), ("ORDERS", "orders"), ("oRdErS", "ORDERS"), ("orders", "orders")]
    {
        let node = TestNode::start(&[]);
        let body = orders().with("app", app).wrapped();
        let answer = node.post(&format!("/eureka/apps/{path}")).json_body(&body).send().await;
        assert_eq!(answer.status, 204, "{path} {app}");
        assert_eq!(node.instance("/eureka/apps/oRDERS/a").await["app"], "ORDERS");
        assert_eq!(node.apps().await["application"][0]["name"], "ORDERS");
    }
    for (path, app, expecting, was) in [
        ("orders", "BILLING", "ORDERS", "BILLING"),
        ("BILLING", "orders", "BILLING", "ORDERS"),
        ("ORDERS", "ORDERS ", "ORDERS", "ORDERS "),
        ("ORDER", "ORDERS", "ORDER", "ORDERS"),
    ] {
        let sentence = format!("Mismatched appName, expecting {expecting} but was {was}");
        assert_refused(orders().with("app", app), &format!("/eureka/apps/{path}"), &sentence).await;
    }
}

pub(crate) fn amazon(metadata: &Value) -> Value {
    json!({"@class": "com.netflix.appinfo.AmazonInfo", "name": "Amazon", "metadata": metadata})
}

/// Catalog: A17
#[tokio::test(start_paused = true)]
async fn an_amazon_instance_without_an_id_is_refused_if_the_setting_asks_for_one() {
    let setting = "eureka.server.experimental.registration.validation.data-center-info-id";
    let node = TestNode::start(&[&format!("--{setting}=true")]);
    let sentence = "DataCenterInfo of type class com.netflix.appinfo.AmazonInfo must contain a valid id";
    for metadata in
        [json!({}), json!({"instance-id": null}), json!({"instance-id": ""}), json!({"ami-id": "ami-1"})]
    {
        let answer = node.register(&orders().with("dataCenterInfo", amazon(&metadata))).await;
        assert_eq!((answer.status.as_u16(), &*answer.text()), (400, sentence), "{metadata}");
        let info = orders().with("dataCenterInfo", amazon(&metadata)).fields;
        let item = json!([{"appName": "ORDERS", "id": "a", "action": "Register", "instanceInfo": info}]);
        assert_eq!(node.batch(&item).await, [400]);
    }
    assert_eq!(node.registry().len(), 0);
    assert_eq!(
        node.register(&orders().with("dataCenterInfo", amazon(&json!({"instance-id": "i-1"})))).await.status,
        204
    );
    assert_eq!(node.register(&orders()).await.status, 204, "one's own data centre has no ids");
}

/// Catalog: A18
/// Case: P009
#[tokio::test(start_paused = true)]
async fn an_amazon_instance_without_an_id_gets_the_instances_own() {
    let class = "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo";
    for place in [
        amazon(&json!({})),
        amazon(&json!({"instance-id": null})),
        json!({"@class": class, "name": "Amazon"}),
        json!({"name": "Amazon"}),
        json!({"@class": "com.netflix.appinfo.AmazonInfo"}),
        json!({"@class": class, "name": "Amazon", "metadata": {}}),
    ] {
        let (json, xml) = shown(&orders().with("dataCenterInfo", place)).await;
        assert_eq!(json["dataCenterInfo"], amazon(&json!({"instance-id": "a"})));
        assert!(xml.contains("<dataCenterInfo class=\"com.netflix.appinfo.AmazonInfo\">"), "{xml}");
        assert!(xml.contains("<instance-id>a</instance-id>"), "{xml}");
    }
    let (json, _) = shown(&orders().with("dataCenterInfo", amazon(&json!({"instance-id": ""})))).await;
    assert_eq!(json["dataCenterInfo"], amazon(&json!({"instance-id": ""})), "what is there stays");
    let (json, _) =
        shown(&orders().with("dataCenterInfo", amazon(&json!({"instance-id": "i-7", "ami-id": 5})))).await;
    assert_eq!(json["dataCenterInfo"]["metadata"], json!({"instance-id": "i-7", "ami-id": "5"}));
}

/// Catalog: A40
/// Case: P010
#[tokio::test(start_paused = true)]
async fn a_body_without_its_root_or_its_application_is_refused_with_what_is_missing() {
    let node = TestNode::start(&[]);
    let fields = orders().fields;
    for (body, named) in [
        (fields.to_string(), "instance"),
        (json!({"application": fields}).to_string(), "instance"),
        (json!({"Instance": fields}).to_string(), "instance"),
        (json!({"instance": fields, "more": 1}).to_string(), "more"),
        (json!({"void": null}).to_string(), "instance"),
        ("{}".to_owned(), "instance"),
        ("[]".to_owned(), "instance"),
        ("null".to_owned(), "instance"),
        (json!([{"instance": fields}]).to_string(), "instance"),
        (String::new(), ""),
        (" ".to_owned(), ""),
        (orders().without("app").wrapped().to_string(), "instance.app"),
        (orders().with("app", json!(null)).wrapped().to_string(), "instance.app"),
        (json!({"instance": {}}).to_string(), "instance.app"),
    ] {
        let answer = node.post("/eureka/apps/ORDERS").body("application/json", body.clone()).send().await;
        assert_eq!(
            (answer.status.as_u16(), answer.header("content-type")),
            (400, Some("application/json")),
            "{body}"
        );
        assert_eq!(answer.json()["error"], "cannot parse request body");
        assert!(answer.json()["detail"].as_str().unwrap().contains(named), "{body}: {}", answer.text());
    }
    assert_eq!((node.registry().len(), node.registry().version()), (0, 0));
    assert!(node.get("/eureka/apps/ORDERS").json().send().await.is_empty_with(404));
}

pub(crate) const XML: &str = "<instance><instanceId>a</instanceId><hostName>n1.test</hostName>\
    <app>ORDERS</app><ipAddr>10.9.0.1</ipAddr><status>UP</status><port enabled=\"true\">8080</port>\
    <dataCenterInfo class=\"com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo\"><name>MyOwn</name>\
    </dataCenterInfo><vipAddress>orders</vipAddress></instance>";

/// Catalog: A41, A42, A43
#[tokio::test(start_paused = true)]
async fn the_content_type_says_how_a_body_is_read() {
    let json = orders().wrapped().to_string();
    for (content_type, body, status) in [
        ("application/json", &*json, 204),
        ("APPLICATION/JSON", &json, 204),
        ("application/json;charset=UTF-8", &json, 204),
        ("application/json; charset=\"utf-8\"", &json, 204),
        ("application/json; charset=iso-8859-1", &json, 204),
        ("application/xml", XML, 204),
        ("application/xml;charset=utf-8", XML, 204),
        ("*/*", XML, 204),
        ("application/*", XML, 204),
        ("*/*", &json, 400),
        ("application/xml", &json, 400),
        ("application/json", XML, 400),
        ("text/plain", &json, 415),
        ("text/xml", XML, 415),
        ("text/json", &json, 415),
        ("application/x-www-form-urlencoded", &json, 415),
        ("application/json; charset=utf-16", &json, 415),
        ("application/xml;charset=UTF-16", XML, 415),
        ("application/json;charset=windows-1252", &json, 415),
        ("", &json, 415),
        ("nonsense", &json, 415),
        (";", &json, 415),
    ] {
        let node = TestNode::start(&[]);
        let answer = node.post("/eureka/apps/ORDERS").body(content_type, body.to_owned()).send().await;
        assert_eq!(answer.status, status, "{content_type:?}: {}", answer.text());
        assert_eq!(node.registry().len(), usize::from(status == 204), "{content_type:?}");
    }
    let node = TestNode::start(&[]);
    let untyped = node.post("/eureka/apps/ORDERS").json().bare_body(json).send().await;
    assert_eq!((untyped.status.as_u16(), node.registry().len()), (415, 0), "no Content-Type at all");
}
