//! A node that stood still: what waits for it then, and who has given up on it.

use std::net::Shutdown;
use std::time::Duration;

use crate::program::{Connection, PATIENCE, Program, instance, request};

const JSON: &str = "Content-Type: application/json\r\n";
/// Longer than anybody's hesitation, and than what counts as one.
const STANDS: Duration = Duration::from_millis(1500);

/// Stops a node, lets `meanwhile` happen, and has it go on.
fn stands_still<T>(node: &Program, meanwhile: impl FnOnce() -> T) -> T {
    node.signal("STOP");
    let happened = meanwhile();
    std::thread::sleep(STANDS);
    node.signal("CONT");
    happened
}

/// So many changes have come too late, and none has been made since.
fn wait_for_abandoned(node: &Program, count: usize) {
    let line = format!("eurekad_changes_abandoned_total {count}");
    let step = Duration::from_millis(20);
    for _ in 0..PATIENCE.as_millis() / step.as_millis() {
        if node.document("/metrics").lines().any(|one| one == line) {
            return;
        }
        std::thread::sleep(step);
    }
    panic!("not {line}");
}

fn shows(node: &Program, id: &str, what: &str) -> bool {
    node.ask("GET", &format!("/eureka/apps/ORDERS/{id}"), "").body.contains(what)
}

#[test]
fn what_a_client_has_given_up_on_while_the_node_stood_still_is_not_done() {
    let node = Program::start(&[]);
    node.register("kept", 90, "");
    // Connections that are kept, new ones that nobody has taken yet, and a body that does not fit into one read.
    let mut used = node.connect();
    used.send(&request("GET", "/eureka/apps/ORDERS", "", ""));
    assert_eq!(used.answer().status, 200);
    stands_still(&node, || {
        used.send(&request("PUT", "/eureka/apps/ORDERS/kept/status?value=OUT_OF_SERVICE", "", ""));
        drop(used);
        node.connect().send(&request("DELETE", "/eureka/apps/ORDERS/kept", "", ""));
        node.connect().send(&request("POST", "/eureka/apps/ORDERS", JSON, &instance("small", 90, "")));
        let large = instance("large", 90, &"x".repeat(150_000));
        node.connect().send(&request("POST", "/eureka/apps/ORDERS", JSON, &large));
    });
    wait_for_abandoned(&node, 4);
    assert!(shows(&node, "kept", "<status>UP</status>"), "neither taken out of service nor cancelled");
    for id in ["small", "large"] {
        assert_eq!(node.ask("GET", &format!("/eureka/apps/ORDERS/{id}"), "").status, 404, "{id}");
    }
}

#[test]
fn who_still_waits_for_a_node_that_stood_still_is_served() {
    let node = Program::start(&[]);
    let mut waits: Vec<Connection> = stands_still(&node, || {
        let bodies = ["", &"x".repeat(150_000)].map(|metadata| instance("patient", 90, metadata));
        let ask = |body: &String| {
            let mut connection = node.connect();
            connection.send(&request("POST", "/eureka/apps/ORDERS", JSON, body));
            connection
        };
        bodies.iter().map(ask).collect()
    });
    for connection in &mut waits {
        assert_eq!(connection.answer().status, 204);
    }
    assert!(shows(&node, "patient", "<status>UP</status>"));
}

#[test]
fn who_has_said_all_it_has_to_say_is_served_by_a_node_that_works() {
    let node = Program::start(&[]);
    let mut connection = node.connect();
    connection.send(&request("POST", "/eureka/apps/ORDERS", JSON, &instance("brief", 90, "")));
    connection.0.shutdown(Shutdown::Write).unwrap();
    assert_eq!(connection.answer().status, 204);
    assert!(shows(&node, "brief", "<status>UP</status>"));
}
