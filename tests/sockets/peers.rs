//! Peers over real sockets: packed answers, answers that break off, and a list that is read again.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::program::{PATIENCE, Program, instance};

/// A Java server, as far as a peer needs one.
struct Peer {
    url: String,
    /// The batches that held something and were answered in order.
    told: Arc<Mutex<Vec<Value>>>,
}

/// What a peer answers to a batch: all of it, or so many bytes after which it hangs up.
enum Reply {
    Whole(Vec<u8>),
    Broken(Vec<u8>),
}

impl Peer {
    /// A server that answers batches that hold something as `reply` says, and everything else as a Java server does.
    fn start(reply: impl Fn(&[Value]) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/eureka/", listener.local_addr().unwrap());
        let told = Arc::new(Mutex::new(Vec::new()));
        let (reply, seen) = (Arc::new(reply), Arc::clone(&told));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (reply, seen) = (Arc::clone(&reply), Arc::clone(&seen));
                std::thread::spawn(move || serve(stream, &*reply, &seen));
            }
        });
        Self { url, told }
    }

    fn was_told(&self, action: &str) -> bool {
        let told = self.told.lock().unwrap();
        told.iter()
            .any(|batch| batch["replicationList"].as_array().unwrap().iter().any(|i| i["action"] == action))
    }
}

fn serve(stream: TcpStream, reply: &dyn Fn(&[Value]) -> Reply, told: &Mutex<Vec<Value>>) {
    let mut writer = stream.try_clone().unwrap();
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        let lines = head.to_lowercase();
        let length =
            lines.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).unwrap();
        let batch: Value = serde_json::from_slice(&body).unwrap_or_default();
        let items = batch["replicationList"].as_array().cloned().unwrap_or_default();
        let reply = if items.is_empty() { taken(&[]) } else { reply(&items) };
        match reply {
            Reply::Whole(bytes) => {
                told.lock().unwrap().push(json!({ "replicationList": items }));
                writer.write_all(&bytes).unwrap();
            }
            Reply::Broken(bytes) => return writer.write_all(&bytes).unwrap(),
        }
    }
}

/// An answer of 200 with such a body, and headers besides.
fn answer(headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// The answer of a server that takes all items.
fn taken(items: &[Value]) -> Reply {
    let answers: Vec<Value> = items.iter().map(|_| json!({"statusCode": 200})).collect();
    Reply::Whole(answer("", json!({ "responseList": answers }).to_string().as_bytes()))
}

/// Looks again and again until it holds.
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..PATIENCE.as_millis() / 20 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{what}: never");
}

/// A node with this peer, which it does not copy from.
fn beside(peer: &Peer) -> Program {
    Program::start(&[&format!("--peers={}", peer.url), "--eurekad.boot.sync-timeout-ms=0"])
}

/// Catalog: C30
#[test]
fn a_newer_record_in_a_packed_answer_is_taken_over() {
    let mut newer: Value = serde_json::from_str(&instance("x", 90, "")).unwrap();
    newer["instance"]["lastDirtyTimestamp"] = "2000".into();
    newer["instance"]["status"] = "DOWN".into();
    let peer = Peer::start(move |items| {
        let answers = items.iter().map(|item| match item["action"].as_str() {
            Some("Heartbeat") => json!({"statusCode": 409, "responseEntity": newer["instance"]}),
            _ => json!({"statusCode": 200}),
        });
        let body = json!({"responseList": answers.collect::<Vec<_>>()}).to_string();
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(body.as_bytes()).unwrap();
        Reply::Whole(answer("Content-Encoding: gzip\r\n", &packed.finish().unwrap()))
    });
    let node = beside(&peer);
    node.register("x", 90, "");
    wait_until("told of the registration", || peer.was_told("Register"));
    wait_until("the newer record is here", || {
        // Again and again, as clients do: where the peer is slow, a heartbeat goes along with the registration.
        assert_eq!(node.ask("PUT", "/eureka/apps/ORDERS/x", "").status, 200);
        node.ask("GET", "/eureka/apps/ORDERS/x", "").body.contains("<status>DOWN</status>")
    });
}

/// Case: P064
#[test]
fn answers_that_break_off_or_make_no_sense_end_no_sender() {
    let left = Arc::new(Mutex::new(vec![
        Reply::Broken(answer("", b"{\"responseList\": [{\"statusCode\": 200}]}")[..80].to_vec()),
        Reply::Broken(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{\"respo".to_vec()),
        Reply::Whole(answer("Content-Encoding: gzip\r\n", b"this is not gzip")),
        Reply::Whole(answer("", b"\0\xff{{{{")),
        Reply::Broken(b"\x16\x03\x01 garbage\r\n\r\n".to_vec()),
        Reply::Broken(Vec::new()),
    ]));
    let peer = Peer::start({
        let left = Arc::clone(&left);
        move |items| left.lock().unwrap().pop().unwrap_or_else(|| taken(items))
    });
    let node = beside(&peer);
    node.register("x", 90, "");
    let status = || node.ask("GET", "/eureka/status", "").body;
    let available = format!("<available-replicas>{},</available-replicas>", peer.url);
    wait_until("all bad answers are given", || left.lock().unwrap().is_empty());
    wait_until("the peer takes the registration", || status().contains(&available));
    assert!(peer.was_told("Register"));
}

/// Case: P058
#[test]
fn a_hang_up_signal_has_the_list_of_peers_read_at_once() {
    let peer = Peer::start(taken);
    let file = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("peers-for-a-signal");
    std::fs::write(&file, "").unwrap();
    let node = Program::start(&[
        &format!("--eurekad.peers.file={}", file.display()),
        "--eureka.server.peer-eureka-nodes-update-interval-ms=3600000",
        "--eurekad.boot.sync-timeout-ms=0",
    ]);
    node.register("x", 90, "");
    assert_eq!(node.ask("PUT", "/eureka/apps/ORDERS/x", "").status, 200);
    std::fs::write(&file, &peer.url).unwrap();
    node.signal("HUP");
    wait_until("the new peer is told what is here", || {
        peer.was_told("Register") || peer.was_told("Heartbeat")
    });
}
