//! What people and their tools use beside the API.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::support::TestNode;

#[tokio::test(start_paused = true)]
async fn springs_health_says_up_exactly_while_the_node_is_ready() {
    let node = TestNode::booting(&[]);
    let health = async |path: &str| {
        let answer = node.get(path).send().await;
        (answer.status.as_u16(), answer.json())
    };
    assert_eq!(health("/actuator/health/readiness").await, (503, json!({"status": "OUT_OF_SERVICE"})));
    assert_eq!(health("/actuator/health/liveness").await, (200, json!({"status": "UP"})));
    node.node.open();
    assert_eq!(health("/actuator/health/readiness").await, (200, json!({"status": "UP"})));
    let whole = json!({"status": "UP", "groups": ["liveness", "readiness"]});
    assert_eq!(health("/actuator/health").await, (200, whole));
    node.node.leave().await;
    assert_eq!(health("/actuator/health").await.0, 503);
    assert_eq!(health("/actuator/health/liveness").await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn springs_info_names_the_version_and_its_index_links_what_there_is() {
    let node = TestNode::start(&["--server.servlet.context-path=/registry"]);
    let info = node.get("/registry/actuator/info").send().await.json();
    assert_eq!(info["build"]["version"], env!("CARGO_PKG_VERSION"));
    let index = node.get("/registry/actuator").send().await.json();
    for name in ["self", "health", "info"] {
        let href = index["_links"][name]["href"].as_str().unwrap();
        assert_eq!(node.get(href).send().await.status, StatusCode::OK, "{href}");
    }
}

/// Case: P097
#[tokio::test(start_paused = true)]
async fn the_page_moves_with_its_path_and_the_context_path_and_can_be_left_out() {
    let page = async |node: &TestNode, path: &str| node.get(path).header("accept", "text/html").send().await;
    let node =
        TestNode::start(&["--server.servlet.context-path=/registry", "--eureka.dashboard.path=/dashboard"]);
    let found = page(&node, "/registry/dashboard").await;
    assert_eq!(found.status, StatusCode::OK);
    for link in links(&found.text()) {
        assert!(!link.starts_with('/'), "{link} leads elsewhere behind a proxy that takes a prefix away");
        let at = format!("/registry/{link}");
        assert_eq!(node.get(&at).send().await.status, StatusCode::OK, "{link}");
    }
    assert_eq!(page(&node, "/registry/").await.status, StatusCode::NOT_FOUND);
    let node = TestNode::start(&["--eureka.dashboard.enabled=false"]);
    assert_eq!(page(&node, "/").await.status, StatusCode::NOT_FOUND);
    assert_eq!(node.get("/eureka/apps").send().await.status, StatusCode::OK);
}

/// What a page links on the same server.
fn links(page: &str) -> Vec<String> {
    let parts = page.split(['"', '\'']).collect::<Vec<_>>();
    let targets = parts.windows(2).filter(|w| w[0].ends_with("href=") || w[0].ends_with("src="));
    targets.map(|w| w[1].to_owned()).filter(|t| !t.contains("://") && !t.starts_with('#')).collect()
}

#[tokio::test(start_paused = true)]
async fn health_and_metrics_may_have_a_port_of_their_own() {
    let node = TestNode::start(&["--management.server.port=9000", "--server.servlet.context-path=/registry"]);
    let beside = async |path: &str| {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let answer = node.node.management_router().oneshot(request).await.unwrap();
        let status = answer.status().as_u16();
        (status, answer.into_body().collect().await.unwrap().to_bytes())
    };
    assert_eq!(beside("/metrics").await.0, 200);
    let (status, body) = beside("/actuator/health").await;
    assert_eq!(
        (status, serde_json::from_slice::<Value>(&body).unwrap()["status"].clone()),
        (200, json!("UP"))
    );
    assert_eq!(beside("/health/ready").await.0, 200);
    assert_eq!(beside("/eureka/apps").await.0, 404, "the registry is not there");
    for (path, status) in
        [("/registry/metrics", 404), ("/registry/actuator/health", 404), ("/registry/health/ready", 200)]
    {
        assert_eq!(node.get(path).send().await.status.as_u16(), status, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_port_of_everything_else_is_no_port_of_their_own() {
    let ports = ["--server.port=9000", "--management.server.port=9000"];
    // Without an address everything listens on all of them.
    for address in [&[][..], &["--management.server.address=0.0.0.0"], &["--management.server.address=[::]"]]
    {
        let node = TestNode::start(&[&ports[..], address].concat());
        for path in ["/metrics", "/actuator/health", "/actuator/prometheus"] {
            assert_eq!(node.get(path).send().await.status, StatusCode::OK, "{path} {address:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_stops_ends_its_connections_and_still_answers() {
    let node = TestNode::start(&[]);
    assert!(!node.get("/eureka/apps").send().await.headers.contains_key("connection"));
    node.node.leave().await;
    let answer = node.get("/eureka/apps").send().await;
    assert_eq!((answer.status, answer.headers["connection"].to_str().unwrap()), (StatusCode::OK, "close"));
    assert_eq!(node.get("/health/ready").send().await.status, StatusCode::SERVICE_UNAVAILABLE);
}
