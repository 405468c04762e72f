//! How reads are asked for: where, in which format and packing, and when they are not answered.

use serde_json::{Value, json};

use super::reads::with_estate;
use crate::support::*;

/// Catalog: A2, A3
/// Case: P013, P014
#[tokio::test(start_paused = true)]
async fn gzip_is_used_exactly_when_the_client_lists_it_and_unpacks_to_the_same_document() {
    let (node, estate) = with_estate().await;
    let one = estate[0].path();
    for path in [
        "/eureka/apps",
        "/eureka/apps/delta",
        "/eureka/apps/APP-1",
        "/eureka/vips/APP-1%23VIP",
        &one,
        "/eureka/status",
    ] {
        for (accept, begin) in [("application/json", '{'), ("application/xml", '<')] {
            let plain = node.get(path).header("accept", accept).send().await;
            assert_eq!((plain.status.as_u16(), plain.header("content-encoding")), (200, None), "{path}");
            assert!(plain.header("vary").unwrap().to_lowercase().contains("accept-encoding"), "{path}");
            assert!(plain.text().starts_with(begin));
            for unpacked in ["identity", "deflate", "br, deflate", "", "*;q=0"] {
                let call = node.get(path).header("accept", accept).header("accept-encoding", unpacked);
                let answer = call.send().await;
                assert_eq!(
                    (answer.status.as_u16(), answer.header("content-encoding")),
                    (200, None),
                    "{unpacked}"
                );
                assert_eq!(answer.text(), plain.text(), "{path} {unpacked}");
            }
            for packed in ["gzip", "gzip, x-gzip, deflate", "deflate, gzip;q=0.5", "gzip,deflate"] {
                let call = node.get(path).header("accept", accept).header("accept-encoding", packed);
                let answer = call.send().await;
                assert_eq!(answer.status, 200);
                assert_eq!(answer.header("content-encoding"), Some("gzip"), "{path} {packed}");
                assert_eq!(answer.header("content-type"), Some(accept), "{path} {packed}");
                assert!(answer.header("vary").unwrap().to_lowercase().contains("accept-encoding"));
                assert_eq!(answer.unpacked(), plain.text(), "{path} {packed}");
            }
        }
    }
}

/// Catalog: A35
#[tokio::test(start_paused = true)]
async fn while_the_gate_is_closed_reads_of_the_registry_are_forbidden_and_nothing_else_is() {
    for node in [TestNode::booting(&[]), {
        let node = TestNode::booting(&["--eureka.instance.registry.default-open-for-traffic-count=0"]);
        node.node.open();
        node
    }] {
        assert_eq!(node.register(&instance("FOO", "x")).await.status, 204);
        for path in [
            "/eureka/apps",
            "/eureka/apps/delta",
            "/eureka/apps/FOO",
            "/eureka/apps/NONE",
            "/eureka/vips/foo",
            "/eureka/svips/foo",
            "/eureka/v2/apps/",
        ] {
            for accept in ["application/json", "application/xml", "*/*"] {
                let answer = node.get(path).header("accept", accept).send().await;
                assert!(answer.is_empty_with(403), "{path}: {answer:?}");
            }
        }
        for path in ["/eureka/apps/FOO/x", "/eureka/instances/x", "/eureka/status", "/"] {
            assert_eq!(node.get(path).send().await.status, 200, "{path}");
        }
        for path in ["/eureka/apps/FOO/none", "/eureka/instances/none"] {
            assert!(node.get(path).json().send().await.is_empty_with(404), "{path}");
        }
        assert_eq!(node.beat("/eureka/apps/FOO/x").await, 200);
        assert_eq!(node.put("/eureka/apps/FOO/x/status?value=DOWN").send().await.status, 200);
        assert_eq!(node.delete("/eureka/apps/FOO/x").send().await.status, 200);
        node.node.stop_background().await;
    }
}

/// Case: U11
#[tokio::test(start_paused = true)]
async fn a_delta_that_is_turned_off_is_forbidden_and_the_full_registry_is_not() {
    let node = TestNode::start(&["--eureka.server.disable-delta=true"]);
    node.register(&instance("FOO", "x")).await;
    for path in ["/eureka/apps/delta", "/eureka/apps/delta/", "/eureka/v2/apps/delta?regions=a"] {
        for accept in ["application/json", "application/xml"] {
            assert!(node.get(path).header("accept", accept).send().await.is_empty_with(403), "{path}");
        }
    }
    assert_eq!(ids(&node.apps().await), ["x"]);
}

/// Catalog: A36
/// Case: P018
#[tokio::test(start_paused = true)]
async fn json_is_answered_to_whoever_accepts_json_and_xml_to_everybody_else() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a")).await;
    for path in [
        "/eureka/apps",
        "/eureka/apps/delta",
        "/eureka/apps/ORDERS",
        "/eureka/vips/orders",
        "/eureka/apps/ORDERS/a",
    ] {
        for accept in
            [None, Some("*/*"), Some("application/*"), Some("application/xml"), Some("text/html, */*;q=0.1")]
        {
            for content_type in [None, Some("application/json")] {
                let mut call = node.get(path);
                for (name, value) in [("accept", accept), ("content-type", content_type)] {
                    if let Some(value) = value {
                        call = call.header(name, value);
                    }
                }
                let answer = call.send().await;
                assert_eq!(answer.header("content-type"), Some("application/xml"), "{path} {accept:?}");
                assert_well_formed(&answer.text());
            }
        }
        for accept in [
            "application/json",
            "text/html, application/json;q=0.5",
            "application/xml;q=0.9, application/json;q=0.1",
            "application/json, application/*+json",
            "application/xml, application/json",
        ] {
            let answer = node.get(path).header("accept", accept).header("content-type", "application/xml");
            let answer = answer.send().await;
            assert_eq!(answer.status, 200, "{path} {accept}");
            assert_eq!(answer.header("content-type"), Some("application/json"), "{path} {accept}");
            assert!(answer.json().is_object());
        }
        let answer = node.get(path).header("accept", "application/json;charset=UTF-8").send().await;
        assert!(answer.header("content-type").unwrap().starts_with("application/json"));
        assert!(answer.json().is_object());
    }
}

/// Catalog: A37
#[tokio::test(start_paused = true)]
async fn a_client_that_takes_neither_json_nor_xml_is_told_so() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a")).await;
    for path in [
        "/eureka/apps",
        "/eureka/apps/delta",
        "/eureka/apps/ORDERS",
        "/eureka/vips/orders",
        "/eureka/vips/none",
    ] {
        for accept in ["text/html", "text/json", "text/plain", "image/png, text/*", "application/yaml"] {
            let answer = node.get(path).header("accept", accept).send().await;
            assert!(answer.is_empty_with(406), "{path} {accept}: {answer:?}");
        }
    }
}

/// Catalog: A55
/// Case: P019
#[tokio::test(start_paused = true)]
async fn the_api_is_served_under_all_three_of_its_paths_and_under_no_other() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a")).await;
    let expected = node.apps().await;
    for path in
        ["/eureka/apps", "/eureka/v2/apps", "/v2/apps", "/eureka/apps/", "/eureka/v2/apps/", "/v2/apps/"]
    {
        let answer = node.get(path).json().send().await;
        assert_eq!((answer.status.as_u16(), &answer.json()["applications"]), (200, &expected), "{path}");
    }
    for prefix in ["/eureka", "/eureka/v2", "/v2"] {
        let at = |rest: &str| format!("{prefix}/{rest}");
        assert_eq!(node.get(&at("serverinfo/statusoverrides")).send().await.text(), "{}", "{prefix}");
        assert_eq!(
            node.post(&at("apps/ORDERS")).json_body(&instance("ORDERS", "b").wrapped()).send().await.status,
            204
        );
        assert_eq!(node.beat(&at("apps/ORDERS/b")).await, 200);
        assert_eq!(node.put(&at("apps/ORDERS/b/status?value=DOWN")).send().await.status, 200);
        let overrides = node.get(&at("serverinfo/statusoverrides")).send().await;
        assert_eq!(overrides.header("content-type"), Some("application/json"));
        assert_eq!(overrides.json(), json!({"b": "DOWN"}));
        assert_eq!(node.put(&at("apps/ORDERS/b/metadata?k=v")).send().await.status, 200);
        let batch = node.post(&at("peerreplication/batch")).json().json_body(&json!({"replicationList": []}));
        assert_eq!(batch.send().await.text(), r#"{"responseList":[]}"#);
        for path in ["apps/delta", "instances/b", "vips/orders", "svips/orders", "status"] {
            assert_eq!(node.get(&at(path)).send().await.status, 200, "{prefix}/{path}");
        }
        assert_eq!(node.delete(&at("apps/ORDERS/b")).send().await.status, 200);
    }
    for path in [
        "/eureka/v1/apps",
        "/apps",
        "/v1/apps",
        "/eureka/v3/apps",
        "/eureka/v2/v2/apps",
        "/eurekax/apps",
        "/eureka",
    ] {
        let answer = node.get(path).json().send().await;
        assert!(answer.is_empty_with(404), "{path}: {answer:?}");
    }
    let node = TestNode::start(&["--server.servlet.context-path=/registry"]);
    assert_eq!(node.get("/registry/eureka/apps").send().await.status, 200);
    assert_eq!(node.get("/registry/eureka/v2/apps/").send().await.status, 200);
    assert_eq!(node.get("/eureka/apps").send().await.status, 404);
}

/// Catalog: C34
/// Case: P012, P054
#[tokio::test(start_paused = true)]
async fn the_status_document_of_a_lone_node_parses_in_both_formats() {
    let node = TestNode::start(&["--eureka.environment=<a>&\"b\""]);
    for registered in [false, true] {
        if registered {
            node.register(&instance("ORDERS", "<&>\"'").lease(1, 1)).await;
            pass_secs(5).await;
        }
        let json = node.get("/eureka/status").json().send().await;
        assert_eq!((json.status.as_u16(), json.header("content-type")), (200, Some("application/json")));
        let document: Value = serde_json::from_slice(&json.body).unwrap();
        assert_eq!(document["generalStats"]["environment"], "<a>&\"b\"");
        assert_eq!(document["applicationStats"]["registered-replicas"], "");
        assert_eq!(document["instanceInfo"]["status"], "UP");
        assert!(document.get("healthy").is_none(), "without a minimum of peers it is undefined");
        for accept in ["application/xml", "*/*"] {
            let xml = node.get("/eureka/status").header("accept", accept).send().await;
            assert_eq!((xml.status.as_u16(), xml.header("content-type")), (200, Some("application/xml")));
            assert_well_formed(&xml.text());
            assert!(xml.text().starts_with("<com.netflix.eureka.util.StatusInfo>"));
        }
        for path in ["/", "/eureka/status/", "/eureka/v2/status", "/health/live", "/health/ready", "/metrics"]
        {
            assert_eq!(node.get(path).send().await.status, 200, "{path}");
        }
    }
}

/// Case: P098
#[tokio::test(start_paused = true)]
async fn a_browser_gets_the_page_whatever_it_accepts() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "<script>alert(1)</script>")).await;
    for accept in [
        "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
        "text/html",
        "*/*",
        "application/xml",
        "application/json",
    ] {
        let answer = node.get("/").header("accept", accept).send().await;
        assert_eq!(answer.status, 200);
        assert!(answer.header("content-type").unwrap().starts_with("text/html"), "{accept}");
        assert!(answer.text().contains("ORDERS") && !answer.text().contains("<script>alert"));
    }
    assert!(node.get("/").send().await.header("content-type").unwrap().starts_with("text/html"));
}

/// Case: P099
#[tokio::test(start_paused = true)]
async fn an_amazon_instance_that_says_next_to_nothing_breaks_no_page_and_no_document() {
    let node = TestNode::start(&[]);
    for (n, metadata) in [
        json!({"instance-id": "i-1"}),
        json!({"instance-id": ""}),
        json!({"ami-id": null, "availability-zone": "z"}),
        json!({}),
        json!(null),
    ]
    .into_iter()
    .enumerate()
    {
        let place =
            json!({"@class": "com.netflix.appinfo.AmazonInfo", "name": "Amazon", "metadata": metadata});
        let instance = instance("ORDERS", &format!("a-{n}"))
            .with("dataCenterInfo", place)
            .without("vipAddress")
            .without("secureVipAddress")
            .without("metadata");
        assert_eq!(node.register(&instance).await.status, 204, "{n}");
        for path in ["/", "/eureka/apps", "/eureka/apps/delta", "/eureka/apps/ORDERS", "/eureka/status"] {
            for accept in ["text/html, application/xml", "application/json", "application/xml"] {
                let answer = node.get(path).header("accept", accept).send().await;
                assert_eq!(answer.status, 200, "{path} {n}");
                match answer.header("content-type") {
                    Some("application/json") => assert!(answer.json().is_object()),
                    Some("application/xml") => assert_well_formed(&answer.text()),
                    _ => assert_eq!(path, "/"),
                }
            }
        }
    }
}
