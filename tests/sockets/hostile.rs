//! Attacks on a node by whoever can reach it. All the while honest clients renew their leases, and none of them fails.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::honest::Honest;
use crate::program::{Program, request};

/// Fewer places than the attackers take.
const FEW_PLACES: &str = "--eurekad.limits.connections=150";

/// So many connections are held by an attacker who holds many.
const MANY: usize = 300;

const JSON: &str = "Content-Type: application/json\r\n";

fn pause() {
    std::thread::sleep(Duration::from_millis(10));
}

/// Connects, and sends what goes.
fn attacker(node: &Program, text: &[u8]) -> Option<TcpStream> {
    let mut stream = TcpStream::connect(node.address).ok()?;
    stream.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
    stream.set_read_timeout(Some(crate::program::PATIENCE)).unwrap();
    let _ = stream.write_all(text);
    Some(stream)
}

/// The status that comes, or 0 if the connection is closed without one.
fn status(mut stream: &TcpStream) -> u16 {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while head.len() < 12 && matches!(stream.read(&mut byte), Ok(1)) {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0)
}

/// Makes more and more connections that each begin with `begin`, and sends a byte on all that it holds in turn.
fn many_slow(node: &Program, begin: &[u8], byte: &[u8]) {
    let mut held = VecDeque::new();
    for round in 0..200 {
        for _ in 0..3 {
            held.extend(attacker(node, begin));
        }
        while held.len() > MANY {
            held.pop_front();
        }
        for mut stream in held.iter().skip(round % 4).step_by(4) {
            let _ = stream.write_all(byte);
        }
        pause();
    }
}

/// How often a limit was reached, by its setting.
fn reached(node: &Program, setting: &str) -> u64 {
    let text = node.document("/metrics");
    let name = format!("eurekad_limit_reached_total{{limit=\"eurekad.limits.{setting}\"}}");
    let line = text.lines().find_map(|line| line.strip_prefix(&name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
}

#[test]
fn heads_that_come_byte_by_byte_hold_up_nobody_and_are_408_in_the_end() {
    let node = Program::start(&[FEW_PLACES, "--eurekad.limits.header-timeout-ms=500"]);
    let honest = Honest::begin(&node);
    let alone = attacker(&node, b"GET /eureka/apps HTTP/1.1\r\nHost:").unwrap();
    assert_eq!(status(&alone), 408);
    many_slow(&node, b"GET /eureka/apps HTTP/1.1\r\nX: ", b"x");
    honest.end();
    assert!(reached(&node, "header-timeout-ms") > 0);
}

#[test]
fn a_head_may_begin_late_but_not_take_long() {
    // Between requests a client may wait for as long as it likes; only what it has begun it has to finish.
    let node = Program::start(&["--eurekad.limits.header-timeout-ms=300"]);
    let mut connection = node.connect();
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(900));
        connection.send(&request("GET", "/health/live", "", ""));
        assert_eq!(connection.answer().status, 200);
    }
    connection.send("GET /health/live HTTP/1.1\r\n");
    let answer = connection.answer();
    assert_eq!(answer.status, 408);
    assert!(answer.head.contains("connection: close"), "{answer:?}");
    assert_eq!(connection.0.read(&mut [0]).unwrap(), 0, "and closed");
}

#[test]
fn bodies_that_come_byte_by_byte_hold_up_nobody_and_are_408_in_the_end() {
    let node = Program::start(&[FEW_PLACES, "--eurekad.limits.body-timeout-ms=500"]);
    let honest = Honest::begin(&node);
    let begin =
        format!("POST /eureka/apps/ORDERS HTTP/1.1\r\nHost: h\r\n{JSON}Content-Length: 1000\r\n\r\n{{");
    many_slow(&node, begin.as_bytes(), b" ");
    let alone = attacker(&node, begin.as_bytes()).unwrap();
    let mut writer = alone.try_clone().unwrap();
    // The node waits for what is left of a body, so that its answer arrives: its client gives up here.
    std::thread::sleep(Duration::from_millis(700));
    let _ = writer.write_all(b" ");
    let _ = writer.shutdown(Shutdown::Write);
    assert_eq!(status(&alone), 408);
    honest.end();
}

#[test]
fn a_flood_of_connections_that_say_nothing_shuts_nobody_out() {
    let node = Program::start(&[FEW_PLACES]);
    let honest = Honest::begin(&node);
    many_slow(&node, b"", b"");
    honest.end();
    assert!(reached(&node, "connections") > 0);
}

#[test]
fn connections_that_are_silent_or_whose_clients_vanish_are_closed() {
    let node =
        Program::start(&["--eurekad.limits.idle-timeout-ms=500", "--eurekad.limits.body-timeout-ms=500"]);
    let honest = Honest::begin(&node);
    let silent: Vec<_> = (0..100).filter_map(|_| attacker(&node, b"")).collect();
    let fetch = request("GET", "/eureka/apps", "", "");
    let half = format!("POST /eureka/apps/ORDERS HTTP/1.1\r\n{JSON}Content-Length: 100000\r\n\r\n{{");
    for round in 0..100 {
        // It goes in the middle of a head, of a body, and without having taken its answer.
        for text in [&fetch.as_bytes()[..20], half.as_bytes(), &fetch.as_bytes().repeat(20)] {
            let stream = attacker(&node, text);
            if round % 2 == 0
                && let Some(stream) = stream
            {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
        pause();
    }
    for mut stream in &silent {
        assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0, "closed without a word");
    }
    honest.end();
}

#[test]
fn floods_of_headers_are_431() {
    let node = Program::start(&["--eurekad.limits.headers=50", "--eurekad.limits.header-bytes=10000"]);
    let honest = Honest::begin(&node);
    let head = |headers: &str| format!("GET /health/live HTTP/1.1\r\n{headers}\r\n");
    let endless = head(&"X-Header: value\r\n".repeat(10_000));
    let cases = [
        (200, head(&"X: y\r\n".repeat(40))),
        (431, head(&"X: y\r\n".repeat(60))),
        (431, head(&format!("X: {}\r\n", "y".repeat(10_000)))),
        (431, head(&format!("X: {}\r\n", "y".repeat(200_000)))),
        (431, endless[..endless.len() - 2].to_owned()),
    ];
    for round in 0..40 {
        for (expected, head) in &cases {
            let stream = attacker(&node, head.as_bytes()).unwrap();
            // Who still sends when it is refused may find the connection broken before it reads the answer.
            let seen = status(&stream);
            assert!(
                seen == *expected || (seen == 0 && head.len() > 20_000),
                "{round}: {seen} for {}",
                head.len()
            );
        }
    }
    honest.end();
    assert!(reached(&node, "header-bytes") > 0);
}

/// So many zeros, packed.
fn bomb(zeros: usize) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&vec![0; zeros]).unwrap();
    packed.finish().unwrap()
}

#[test]
fn bodies_that_are_too_large_in_whatever_way_are_413() {
    let node = Program::start(&[]);
    let honest = Honest::begin(&node);
    let post = |path: &str, headers: &str| format!("POST {path} HTTP/1.1\r\nHost: h\r\n{JSON}{headers}\r\n");
    let with = |head: String, body: &[u8]| [head.as_bytes(), body].concat();
    let bomb = bomb(100_000_000);
    let packed = format!("Content-Encoding: gzip\r\nContent-Length: {}\r\n", bomb.len());
    let chunk = format!("10000\r\n{}\r\n", " ".repeat(0x10000));
    let (orders, batch) = ("/eureka/apps/ORDERS", "/eureka/peerreplication/batch/");
    let whole = [
        with(post(orders, "Content-Length: 1000000\r\n"), &vec![b' '; 1_000_000]),
        with(post(orders, &packed), &bomb),
        with(post(batch, &packed), &bomb),
        with(
            post(orders, "Transfer-Encoding: chunked\r\n"),
            format!("{}0\r\n\r\n", chunk.repeat(10)).as_bytes(),
        ),
    ];
    for _ in 0..4 {
        for request in &whole {
            assert_eq!(status(&attacker(&node, request).unwrap()), 413);
        }
    }
    // Without an end: it is thrown away up to a bound, and then the connection is closed.
    let mut stream = attacker(&node, post(orders, "Transfer-Encoding: chunked\r\n").as_bytes()).unwrap();
    let taken = (0..4000).take_while(|_| stream.write_all(chunk.as_bytes()).is_ok()).count();
    assert!(taken < 4000, "somebody takes it all");
    honest.end();
    assert_eq!(node.ask("GET", "/health/live", "").status, 200);
}

#[test]
fn floods_of_wrong_input_are_answered_4xx_and_cost_nobody_else_anything() {
    let node = Program::start(&["--eurekad.limits.header-timeout-ms=1000"]);
    let honest = Honest::begin(&node);
    let post = |body: &str| request("POST", "/eureka/apps/ORDERS", JSON, body).into_bytes();
    let inputs: Vec<Vec<u8>> = vec![
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec(),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        b"GET / HTTP/9.9\r\n\r\n".to_vec(),
        b"\0\0\0\0\r\n\r\n".to_vec(),
        b"GET /\xff\xfe HTTP/1.1\r\n\r\n".to_vec(),
        b"POST /eureka/apps/A HTTP/1.1\r\nContent-Length: -1\r\n\r\n".to_vec(),
        b"POST /eureka/apps/A HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
            .to_vec(),
        post("{"),
        post(&"[".repeat(100_000)),
        post(&"{\"instance\":".repeat(10_000)),
        post("\u{0}"),
        request("PUT", "/eureka/apps/NO/body", "", "").into_bytes(),
        request("PUT", "/eureka/apps/NO/%ff?lastDirtyTimestamp=x", "", "").into_bytes(),
        request("POST", "/eureka/peerreplication/batch/", JSON, "[[[[").into_bytes(),
        request("BREW", "/eureka/apps", "", "").into_bytes(),
    ];
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..40 {
                    for input in &inputs {
                        let seen = status(&attacker(&node, input).unwrap());
                        let what = String::from_utf8_lossy(&input[..input.len().min(60)]).into_owned();
                        assert!(seen == 0 || (400..500).contains(&seen), "{seen}: {what}");
                    }
                }
            });
        }
    });
    honest.end();
}
