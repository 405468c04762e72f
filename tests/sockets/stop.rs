//! How the program stops: what is under way is finished, and nothing takes for ever.

use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::program::{Program, instance, request};

fn log_of(node: &mut Program) -> String {
    let mut log = String::new();
    node.log.take().unwrap().read_to_string(&mut log).unwrap();
    log
}

fn wait_until_not_ready(node: &Program) {
    while node.ask("GET", "/health/ready", "").status != 503 {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Registers one instance after the other, as clients do: a connection is used until the node ends it. Fails if a
/// request gets no answer.
fn register_until(ended: &AtomicBool, node: &Program, client: usize, answered: &AtomicUsize) {
    let mut connection = node.connect();
    for n in 0.. {
        if ended.load(Ordering::Relaxed) {
            return;
        }
        let body = instance(&format!("{client}-{n}"), 90, "");
        connection.send(&request("POST", "/eureka/apps/ORDERS", "Content-Type: application/json\r\n", &body));
        let answer = connection.answer();
        assert_eq!(answer.status, 204, "{}", answer.body);
        answered.fetch_add(1, Ordering::Relaxed);
        if answer.head.contains("connection: close") {
            connection = node.connect();
        }
    }
}

#[test]
fn under_load_every_request_that_is_taken_is_answered_and_the_end_is_in_order() {
    let mut node = Program::start(&["--eurekad.stop.grace-ms=2000"]);
    let (ended, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for client in 0..8 {
            let (node, ended, answered) = (&node, &ended, &answered);
            scope.spawn(move || register_until(ended, node, client, answered));
        }
        while answered.load(Ordering::Relaxed) < 200 {
            std::thread::sleep(Duration::from_millis(10));
        }
        node.terminate();
        wait_until_not_ready(&node);
        let before = answered.load(Ordering::Relaxed);
        while answered.load(Ordering::Relaxed) < before + 20 {
            std::thread::sleep(Duration::from_millis(10));
        }
        ended.store(true, Ordering::Relaxed);
    });
    assert_eq!(node.ended().code(), Some(0));
    assert!(log_of(&mut node).trim_end().ends_with("stopped"));
}

#[test]
fn what_was_taken_before_the_end_is_still_answered_after_it() {
    let mut node = Program::start(&[]);
    let body = instance("slow", 90, "");
    let whole = request("POST", "/eureka/apps/ORDERS", "Content-Type: application/json\r\n", &body);
    let (first, rest) = whole.split_at(whole.len() / 2);
    let mut connection = node.connect();
    connection.send(first);
    // The node has it before it hears of its end.
    assert_eq!(node.ask("GET", "/health/live", "").status, 200);
    node.terminate();
    while std::net::TcpStream::connect(node.address).is_ok() {
        std::thread::sleep(Duration::from_millis(10));
    }
    connection.send(rest);
    assert_eq!(connection.answer().status, 204);
    assert_eq!(node.ended().code(), Some(0));
}

#[test]
fn neither_a_request_that_never_ends_nor_a_peer_that_never_answers_holds_the_end_up() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let peers = format!("--peers=http://{}/eureka/", silent.local_addr().unwrap());
    let mut node = Program::start(&[&peers, "--eurekad.boot.sync-timeout-ms=200"]);
    node.register("a", 90, "");
    let mut half = node.connect();
    half.send("POST /eureka/apps/A HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{");
    node.terminate();
    assert_eq!(node.ended().code(), Some(0));
    let log = log_of(&mut node);
    assert!(log.contains("did not finish in 3s"), "{log}");
}

#[test]
fn a_file_that_hangs_does_not_hold_the_end_up() {
    let folder = tempfile::tempdir().unwrap();
    let peers = folder.path().join("peers");
    std::fs::write(&peers, "").unwrap();
    let setting = format!("--eurekad.peers.file={}", peers.display());
    let often = "--eureka.server.peer-eureka-nodes-update-interval-ms=50";
    let mut node = Program::start(&[&setting, often]);
    std::fs::remove_file(&peers).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&peers).status().unwrap().success());
    // Long enough for a look at the file; if there is none, the test shows nothing, and does not fail.
    std::thread::sleep(Duration::from_millis(500));
    node.terminate();
    assert_eq!(node.ended().code(), Some(0));
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let mut node = Program::start(&["--eurekad.stop.grace-ms=600000"]);
    node.terminate();
    wait_until_not_ready(&node);
    node.signal("INT");
    assert_eq!(node.ended().code(), Some(1));
}
