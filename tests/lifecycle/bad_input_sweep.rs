//! Every method on every path with bodies and headers of every kind.

use axum::http::Method;
use eurekad_wire::Format;

use super::bad_input::{assert_serves, good};
use crate::support::*;

const METHODS: [&str; 10] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"];

const PATHS: [&str; 34] = [
    "/",
    "/eureka",
    "/eureka/",
    "/eureka/v2",
    "/eureka/apps",
    "/eureka/apps/",
    "/eureka/apps/delta",
    "/eureka/apps/delta?regions=a,b",
    "/eureka/apps/ORDERS",
    "/eureka/apps/NONE",
    "/eureka/apps/%FF",
    "/eureka/apps/ORDERS/a",
    "/eureka/apps/ORDERS/a?status=UP&lastDirtyTimestamp=abc",
    "/eureka/apps/ORDERS/a?lastDirtyTimestamp=9223372036854775807&overriddenstatus=DOWN",
    "/eureka/apps/ORDERS/none",
    "/eureka/apps/ORDERS/a/status",
    "/eureka/apps/ORDERS/a/status?value=DOWN",
    "/eureka/apps/ORDERS/a/status?value=%00",
    "/eureka/apps/ORDERS/none/status?value=DOWN",
    "/eureka/apps/ORDERS/a/metadata?a=b",
    "/eureka/apps/ORDERS/a/metadata?=%00",
    "/eureka/apps/ORDERS/a/b/c/d",
    "/eureka/instances/a",
    "/eureka/instances/%00",
    "/eureka/vips/orders",
    "/eureka/svips/%F0%9F%A6%80",
    "/eureka/peerreplication/batch/",
    "/eureka/asg/a/status?value=ENABLED",
    "/eureka/status",
    "/eureka/serverinfo/statusoverrides",
    "/eureka/lastn",
    "/health/live",
    "/metrics",
    "/favicon.ico",
];

const HEADERS: [&[(&str, &[u8])]; 12] = [
    &[],
    &[("content-type", b"application/json")],
    &[("content-type", b"application/xml"), ("accept", b"application/json")],
    &[("content-type", b"*/*"), ("accept", b"application/xml"), ("accept-encoding", b"gzip")],
    &[("content-type", b"text/plain"), ("accept", b"text/html")],
    &[("content-type", b"\xff\xfe"), ("accept", b"\x80\x81"), ("accept-encoding", b"\xff")],
    &[("content-type", b"application/json; charset=utf-16"), ("accept", b";,;q=,")],
    &[("content-type", b"application/json"), ("content-encoding", b"gzip"), ("accept", b"application/json")],
    &[("content-type", b"application/json"), ("content-encoding", b"br"), ("x-eureka-accept", b"compact")],
    &[("content-type", b"application/json"), ("x-netflix-discovery-replication", b"true")],
    &[("content-type", b"application/xml"), ("x-netflix-discovery-replication", b"\xff")],
    &[
        ("content-type", b"application/json;charset=\"\""),
        ("expect", b"100-continue"),
        ("range", b"bytes=0-1"),
    ],
];

fn bodies() -> Vec<Vec<u8>> {
    let batch = r#"{"replicationList":[{"appName":"ORDERS","id":"a","action":"Heartbeat"},{"x":1},null]}"#;
    vec![
        Vec::new(),
        good(Format::Json).into_bytes(),
        good(Format::Xml).into_bytes(),
        gzip(good(Format::Json).as_bytes()),
        batch.as_bytes().to_vec(),
        b"{\"instance\":{\"app\":\"ORDERS\",\"hostName\":\"\\u0000\"}}".to_vec(),
        b"<!DOCTYPE a [<!ENTITY b \"c\">]><instance>&b;</instance>".to_vec(),
        b"\xff\xfe\x00\x00".to_vec(),
        vec![b'['; 100_000],
        vec![b' '; 300_000],
    ]
}

/// The codes that the API is documented to answer with.
const CODES: [u16; 12] = [200, 204, 400, 403, 404, 405, 406, 408, 409, 413, 415, 503];

#[tokio::test(start_paused = true)]
async fn no_request_whatever_is_answered_with_a_code_that_is_not_documented() {
    let node = TestNode::start(&["--eurekad.limits.instances=3"]);
    let bodies = bodies();
    for method in METHODS {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        for path in PATHS {
            for headers in HEADERS {
                let reads_bodies = method == Method::POST || method == Method::PUT;
                for body in bodies.iter().filter(|body| reads_bodies || body.len() < 10_000) {
                    let mut call = node.call(method.clone(), path);
                    for (name, value) in headers {
                        call = call.header(name, value);
                    }
                    let answer = call.bare_body(body.clone()).send().await;
                    let code = answer.status.as_u16();
                    let what = format!("{method} {path} {headers:?} {}", String::from_utf8_lossy(body).len());
                    assert!(CODES.contains(&code), "{what}: {code}");
                    if code == 503 {
                        assert!(answer.header("retry-after").is_some(), "{what}");
                    }
                    if code == 405 {
                        assert!(answer.header("allow").is_some(), "{what}");
                    }
                    if code == 404 || code == 204 {
                        assert!(answer.body.is_empty(), "{what}");
                    }
                }
            }
            assert_serves(&node, path).await;
        }
    }
}

/// Only the page at `/` is HTML.
#[tokio::test(start_paused = true)]
async fn nothing_of_the_api_is_ever_html() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a")).await;
    for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
        for path in PATHS.into_iter().filter(|path| *path != "/") {
            for accept in ["text/html", "text/html,*/*", "text/html,application/xhtml+xml,*/*;q=0.8"] {
                let call = node.call(method.parse().unwrap(), path).header("accept", accept);
                let answer = call.json_body(&instance("ORDERS", "a").wrapped()).send().await;
                let content_type = answer.header("content-type").unwrap_or_default();
                assert!(!content_type.contains("html"), "{method} {path} {accept}: {content_type}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_method_that_a_path_does_not_have_is_405_with_those_that_it_has() {
    let node = TestNode::start(&[]);
    node.register(&instance("ORDERS", "a")).await;
    for (path, allowed) in [
        ("/eureka/apps", &["GET"][..]),
        ("/eureka/apps/delta/", &["GET"]),
        ("/eureka/apps/ORDERS", &["GET", "POST"]),
        ("/eureka/apps/ORDERS/a", &["GET", "PUT", "DELETE"]),
        ("/eureka/apps/ORDERS/a/status", &["PUT", "DELETE"]),
        ("/eureka/apps/ORDERS/a/metadata", &["PUT"]),
        ("/eureka/instances/a", &["GET"]),
        ("/eureka/vips/orders", &["GET"]),
        ("/eureka/peerreplication/batch/", &["POST"]),
        ("/eureka/status", &["GET"]),
    ] {
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH"].into_iter().filter(|m| !allowed.contains(m)) {
            let answer = node.call(method.parse().unwrap(), path).send().await;
            assert_eq!(answer.status, 405, "{method} {path}");
            let allow: Vec<&str> = answer.header("allow").unwrap().split(',').map(str::trim).collect();
            assert!(allowed.iter().all(|method| allow.contains(method)), "{method} {path}: {allow:?}");
        }
        let options = node.call(Method::OPTIONS, path).send().await;
        assert_eq!(options.status, 200, "{path}");
        assert!(options.header("allow").is_some(), "{path}");
        if allowed.contains(&"GET") {
            let (head, get) = (node.call(Method::HEAD, path).send().await, node.get(path).send().await);
            assert_eq!((head.status, head.body.len()), (get.status, 0), "{path}");
            assert_eq!(head.header("content-type"), get.header("content-type"), "{path}");
        }
    }
}
