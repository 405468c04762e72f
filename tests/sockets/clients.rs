//! Clients that are slow, broken or mean no good.

use std::io::Read;
use std::net::Shutdown;

use crate::program::{PATIENCE, Program, instance, request};

#[test]
fn one_connection_serves_on_after_every_kind_of_answer() {
    let node = Program::start(&["--eurekad.limits.instances=1"]);
    let json = "Content-Type: application/json\r\n";
    let mut connection = node.connect();
    let requests = [
        (204, request("POST", "/eureka/apps/ORDERS", json, &instance("a", 90, ""))),
        (503, request("POST", "/eureka/apps/ORDERS", json, &instance("b", 90, ""))),
        (200, request("PUT", "/eureka/apps/ORDERS/a", json, "{}")),
        (400, request("POST", "/eureka/apps/ORDERS", json, "{")),
        (404, request("PUT", "/eureka/apps/ORDERS/nobody", json, "{}")),
        (404, request("POST", "/no/such/path", json, "a body that nobody reads")),
        (405, request("POST", "/eureka/apps", json, "a body that nobody reads")),
        (406, request("GET", "/eureka/apps", "Accept: text/html\r\n", "")),
        (413, request("POST", "/eureka/apps/ORDERS", json, &"x".repeat(2_000_000))),
        (
            415,
            request(
                "POST",
                "/eureka/apps/ORDERS",
                "Content-Type: text/plain\r\n",
                "a body that nobody reads",
            ),
        ),
        (200, request("GET", "/health/live", "", "")),
    ];
    for (status, request) in requests {
        connection.send(&request);
        let answer = connection.answer();
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(!answer.head.contains("connection: close"), "{answer:?}");
    }
}

#[test]
fn an_answer_waits_for_a_body_that_comes_late() {
    let node = Program::start(&[]);
    let mut connection = node.connect();
    let late = request("POST", "/eureka/apps/ORDERS", "Content-Type: text/plain\r\n", &"x".repeat(300));
    let (head, body) = late.split_at(late.len() - 300);
    connection.send(head);
    // Another client is served meanwhile, so the head has been read.
    assert_eq!(node.ask("GET", "/health/live", "").status, 200);
    connection.send(body);
    assert_eq!(connection.answer().status, 415);
    connection.send(&request("GET", "/health/live", "", ""));
    assert_eq!(connection.answer().status, 200);
}

#[test]
fn a_client_that_has_said_all_it_has_to_say_still_gets_its_answer() {
    let node = Program::start(&[]);
    for (status, request) in [
        (200, request("GET", "/health/live", "", "")),
        (
            204,
            request(
                "POST",
                "/eureka/apps/ORDERS",
                "Content-Type: application/json\r\n",
                &instance("a", 90, ""),
            ),
        ),
    ] {
        let mut connection = node.connect();
        connection.send(&request);
        connection.0.shutdown(Shutdown::Write).unwrap();
        assert_eq!(connection.answer().status, status);
    }
}

#[test]
fn a_client_that_takes_nothing_of_its_answer_loses_its_connection() {
    let node = Program::start(&["--eurekad.limits.connections=3", "--eurekad.limits.write-timeout-ms=300"]);
    for n in 0..100 {
        node.register(&format!("i-{n}"), 9000, &"x".repeat(200_000));
    }
    let stalled: Vec<_> = (0..3)
        .map(|_| {
            let mut connection = node.connect();
            connection.send(&request("GET", "/eureka/apps", "Accept: application/json\r\n", ""));
            connection
        })
        .collect();
    // All places are taken until they are given up; a refused connection is closed without a word.
    let served = (0..PATIENCE.as_secs() * 10).any(|_| {
        let mut connection = node.connect();
        let asked =
            std::io::Write::write_all(&mut connection.0, request("GET", "/health/live", "", "").as_bytes());
        let mut byte = [0];
        let heard = asked.is_ok() && matches!(connection.0.read(&mut byte), Ok(1));
        if !heard {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        heard
    });
    assert!(served);
    drop(stalled);
}

#[test]
fn a_small_batch_is_not_answered_with_gigabytes() {
    let node = Program::start(&[]);
    node.register("big", 9000, &"x".repeat(200_000));
    let items = vec![
        serde_json::json!({"appName": "ORDERS", "id": "big", "action": "Heartbeat", "lastDirtyTimestamp": 1});
        2000
    ];
    let batch = serde_json::json!({"replicationList": items}).to_string();
    let mut connection = node.connect();
    let headers = "Content-Type: application/json\r\nAccept: application/json\r\n";
    connection.send(&request("POST", "/eureka/peerreplication/batch/", headers, &batch));
    let answer = connection.answer();
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body.matches(r#""statusCode":409"#).count(), 2000);
    assert_eq!(answer.body.matches("responseEntity").count(), 1, "each record goes back once");
    assert!(answer.body.len() < 1_000_000);
}
