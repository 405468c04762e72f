//! How the program starts, ends, and logs.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;

use crate::program::{PATIENCE, Program, command};

const EVICT_OFTEN: [&str; 2] =
    ["--eureka.server.enable-self-preservation=false", "--eureka.server.eviction-interval-timer-in-ms=100"];

fn wait_until_empty(node: &Program) {
    for _ in 0..PATIENCE.as_millis() / 50 {
        // An overdue instance is hidden by itself; its application goes when it is evicted.
        if node.ask("GET", "/eureka/apps/ORDERS", "").status == 404 {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("nothing is evicted any more");
}

/// Catalog: I26
#[test]
fn a_term_signal_ends_it_in_order() {
    let mut node = Program::start(&[]);
    node.terminate();
    assert_eq!(node.ended().code(), Some(0));
    let mut log = String::new();
    node.log.take().unwrap().read_to_string(&mut log).unwrap();
    assert!(log.trim_end().ends_with("stopped"), "{log}");
}

#[test]
fn settings_of_a_java_server_that_change_nothing_take_one_short_line_of_the_start() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let settings = [
        "--eureka.client.fetch-registry=false",
        "--spring.main.banner-mode=off",
        "--server.tomcat.threads.max=20",
        "--server.tomcat.accept-count=5",
    ];
    let mut command = command(&settings);
    // It ends at once, after it has said what it makes of its settings.
    let output = command.args(["--port", &port]).stderr(Stdio::piped()).output().unwrap();
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("change nothing here")).collect();
    assert!(lines.len() == 1 && lines[0].contains("`eurekad settings` lists them"), "{log}");
    let named = settings.iter().filter(|setting| {
        let key = setting.trim_start_matches('-').split('=').next().unwrap();
        lines[0].contains(key)
    });
    assert_eq!((named.count(), lines[0].contains("number=4")), (3, true), "{log}");
}

#[test]
fn a_log_that_nobody_reads_any_more_stops_neither_eviction_nor_the_end() {
    let mut node = Program::start(&EVICT_OFTEN);
    drop(node.log.take());
    for round in 0..3 {
        node.register(&format!("first-{round}"), 1, "");
        node.register("last", 1, "");
        wait_until_empty(&node);
    }
    node.terminate();
    assert_eq!(node.ended().code(), Some(0));
}

#[test]
fn a_log_whose_reader_is_stuck_costs_lines_and_nothing_else() {
    // Its pipe fills and is never read: with every line of the HTTP library that takes a moment.
    let mut node = Program::start(&[&EVICT_OFTEN[..], &["--eurekad.log.filter=trace"]].concat());
    let mut connection = node.connect();
    for _ in 0..2_000 {
        connection.send(&crate::program::request("GET", "/health/live", "", ""));
        assert_eq!(connection.answer().status, 200);
    }
    node.register("last", 1, "");
    wait_until_empty(&node);
    node.terminate();
    assert_eq!(node.ended().code(), Some(0));
}

#[test]
fn a_client_cannot_write_log_lines() {
    let mut node = Program::start(&EVICT_OFTEN);
    let forged = "x\n2026-01-01T00:00:00.000Z  INFO all is well\u{9b}31m";
    node.register(forged, 1, "");
    node.register("last", 1, "");
    wait_until_empty(&node);
    node.terminate();
    node.ended();
    let mut log = String::new();
    node.log.take().unwrap().read_to_string(&mut log).unwrap();
    assert!(log.contains("evicted"), "{log}");
    assert!(!log.lines().any(|line| line.starts_with("2026-01-01")) && !log.contains('\u{9b}'), "{log}");
}

/// The access log of a node that was asked a few things.
fn access_log(settings: &[&str]) -> Vec<String> {
    let mut node = Program::start(&[&["--eurekad.log.access=on"], settings].concat());
    assert_eq!(node.ask("GET", "/eureka/apps/NONE?token=hunter2", "").status, 404);
    assert_eq!(node.ask("GET", "/%0AINFO//\"forged=\"", "").status, 404);
    node.register("x", 30, "");
    node.terminate();
    node.ended();
    let mut log = String::new();
    node.log.take().unwrap().read_to_string(&mut log).unwrap();
    assert!(!log.contains("hunter2"), "{log}");
    log.lines().filter(|line| line.contains("method")).map(str::to_owned).collect()
}

#[test]
fn the_access_log_has_a_line_for_each_request_and_no_query() {
    let lines = access_log(&["--eurekad.log.filter=error,eurekad::cli=info"]);
    let line =
        |words: &str| lines.iter().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{lines:?}"));
    let none = line(r#"method="GET" path="/eureka/apps/NONE" status=404 bytes=0 ms="#);
    assert!(none.contains("client=127.0.0.1:"), "{none}");
    line(r#"path="/%0AINFO//\"forged=\"" status=404"#);
    line(r#"method="POST" path="/eureka/apps/ORDERS" status=204"#);
}

#[test]
fn the_access_log_comes_as_json_too() {
    let lines = access_log(&["--eurekad.log.format=json"]);
    let lines: Vec<serde_json::Value> =
        lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let none = lines.iter().find(|line| line["path"] == "/eureka/apps/NONE").unwrap();
    assert_eq!((&none["method"], &none["status"], &none["bytes"]), (&"GET".into(), &404.into(), &0.into()));
    assert!(none["client"].as_str().unwrap().starts_with("127.0.0.1:") && none["ms"].is_number(), "{none}");
}

#[test]
fn a_command_line_that_cannot_be_used_is_named_and_ends_with_two() {
    let cases: [(&[&OsStr], &str); 8] = [
        (&[OsStr::from_bytes(b"\xff")], "is not UTF-8"),
        (&[OsStr::new("--port=abc")], "--port=abc: expected a port, 0 to 65535"),
        (&[OsStr::new("--eurekad.log.filter=loud")], "expected off, error, warn, info, debug or trace"),
        (&[OsStr::new("--eurekad.limits.conections=1")], "did you mean eurekad.limits.connections?"),
        (&[OsStr::new("--nonsense")], "unexpected argument"),
        (
            &[OsStr::new("-Dserver.port=secret")],
            "-Dserver.port=… is Java's way to say it; here it is --server.port=…",
        ),
        (&[OsStr::new("-Xmx512m")], "-Xmx512m is an option of Java's"),
        (&[OsStr::new("--config=my/server.jar")], "unzip -p my/server.jar BOOT-INF/classes/application.yml"),
    ];
    for (arguments, words) in cases {
        let mut command = command(&[]);
        let output = command.args(arguments).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {said}");
    }
}

#[test]
fn a_directory_in_place_of_a_file_of_settings_ends_a_start_with_two() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("application.yml")).unwrap();
    let mut command = command(&[]);
    let output = command.current_dir(folder.path()).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("application.yml: is a directory, not a file"), "{said}");
    assert!(said.contains("mount a file that does"), "{said}");
}

#[test]
fn a_proxy_that_the_environment_names_is_not_asked_for_peers_and_health() {
    let proxy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = format!("http://{}", proxy.local_addr().unwrap());
    let node = Program::start(&[]);
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_eurekad"));
    command.args(["healthcheck", "--bind=127.0.0.1", "--port", &node.address.port().to_string()]);
    let output = command.env("http_proxy", &proxy).env("HTTP_PROXY", &proxy).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.stdout, b"ready\n");
}

#[test]
fn a_port_that_is_taken_is_named_with_what_to_do() {
    let node = Program::start(&[]);
    let output =
        command(&["--port", &node.address.port().to_string()]).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("choose another --port"), "{said}");
}
