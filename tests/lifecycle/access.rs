//! Who may use a node, once it has a password.

use axum::http::{Method, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::support::{TestNode, instance};

const PASSWORD: &str = "p@ss:w/ö%!";

fn closed() -> TestNode {
    TestNode::start(&[
        "--spring.security.user.name=reg",
        &format!("--spring.security.user.password={PASSWORD}"),
    ])
}

fn basic(password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("reg:{password}")))
}

/// Case: P093, P036
#[tokio::test(start_paused = true)]
async fn without_credentials_every_path_answers_401_and_nothing_else_before_anything_is_looked_up() {
    let node = closed();
    let calls = [
        (Method::GET, "/"),
        (Method::GET, "/eureka/apps"),
        (Method::GET, "/eureka/apps/delta"),
        (Method::PUT, "/eureka/apps/ORDERS/nobody"),
        (Method::POST, "/eureka/apps/ORDERS"),
        (Method::DELETE, "/eureka/apps/ORDERS/nobody"),
        (Method::POST, "/eureka/peerreplication/batch/"),
        (Method::POST, "/eureka/peerreplication/ours/tell"),
        (Method::POST, "/eureka/peerreplication/ours/copy"),
        (Method::GET, "/eureka/status"),
        (Method::GET, "/eureka/no/such/path"),
        (Method::OPTIONS, "/eureka/apps"),
        (Method::GET, "/metrics"),
        (Method::GET, "/actuator/info"),
        (Method::GET, "/no/such/path"),
        (Method::GET, "/%2e%2e/health/live"),
    ];
    for (method, path) in calls {
        for authorization in
            [None, Some(basic("wrong")), Some("Basic".to_owned()), Some("Bearer x".to_owned())]
        {
            let mut call = node.call(method.clone(), path);
            if let Some(value) = &authorization {
                call = call.header("authorization", value);
            }
            let answer = call.send().await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{method} {path} {authorization:?}");
            assert!(answer.body.is_empty(), "{method} {path}");
            let challenge = answer.headers["www-authenticate"].to_str().unwrap();
            assert!(challenge.starts_with("Basic realm="), "{challenge}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn health_is_open_to_everybody() {
    let node = closed();
    for path in ["/health/live", "/health/ready", "/actuator/health", "/actuator/health/readiness"] {
        assert_eq!(node.get(path).send().await.status, StatusCode::OK, "{path}");
    }
}

/// Case: P091, P016
#[tokio::test(start_paused = true)]
async fn with_credentials_alone_the_api_works_as_ever() {
    let node = closed();
    let known = basic(PASSWORD);
    let one = instance("ORDERS", "a");
    let answer =
        node.post(&one.app_path()).header("authorization", &known).json_body(&one.wrapped()).send().await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT, "no token against cross-site requests is asked for");
    let beat = |path: String| node.put(&path).header("authorization", &known).send();
    assert_eq!(beat(one.path()).await.status, StatusCode::OK);
    let unknown = beat("/eureka/apps/ORDERS/nobody".to_owned()).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    assert!(unknown.body.is_empty());
}

#[tokio::test(start_paused = true)]
async fn without_a_password_everybody_may() {
    let node = TestNode::start(&[]);
    assert_eq!(node.get("/eureka/apps").send().await.status, StatusCode::OK);
    let stray = node.get("/eureka/apps").header("authorization", basic("left over")).send().await;
    assert_eq!(stray.status, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn two_sets_of_credentials_in_one_request_are_none() {
    let node = closed();
    let call =
        node.get("/eureka/apps").header("authorization", basic("x")).header("authorization", basic(PASSWORD));
    assert_eq!(call.send().await.status, StatusCode::UNAUTHORIZED);
}
