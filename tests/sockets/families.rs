//! IPv4 and IPv6: where the program listens, and how it sees who comes.

use std::io::{BufRead, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::program::{Connection, Program, command, everywhere, request};

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// The loopback addresses that this machine has. Not all machines and containers have IPv6: there the tests show that
/// nothing of it is needed.
fn loopbacks() -> Vec<IpAddr> {
    match TcpListener::bind((V6, 0)) {
        Ok(_) => vec![V4, V6],
        Err(e) => {
            eprintln!("this machine has no ::1, so IPv4 alone is looked at: {e}");
            vec![V4]
        }
    }
}

/// The status that is answered at this address.
fn status(address: SocketAddr) -> std::io::Result<u16> {
    let mut connection = Connection::to(address)?;
    connection.send(&request("GET", "/eureka/apps", "", ""));
    Ok(connection.try_answer()?.status)
}

fn assert_reached(port: u16) {
    for ip in loopbacks() {
        assert_eq!(status(SocketAddr::new(ip, port)).unwrap(), 200, "{ip}");
    }
}

/// The rest of its log, once it has ended.
fn log_of(mut node: Program) -> String {
    node.terminate();
    assert_eq!(node.ended().code(), Some(0));
    let mut log = String::new();
    node.log.take().unwrap().read_to_string(&mut log).unwrap();
    log
}

/// Case: P107
#[test]
fn by_default_it_is_reached_by_ipv4_and_by_ipv6_on_one_port() {
    let node = Program::run(everywhere(&["--eurekad.log.access=on"]));
    let address = node.address;
    assert!(address.ip().is_unspecified());
    assert_eq!(address.is_ipv6(), TcpListener::bind("[::]:0").is_ok(), "{address}");
    assert_reached(address.port());
    let log = log_of(node);
    for ip in loopbacks() {
        let client = SocketAddr::new(ip, 0).to_string();
        assert!(log.contains(&format!("client={}", client.trim_end_matches('0'))), "{ip}: {log}");
    }
    assert!(!log.contains("::ffff"), "{log}");
}

#[test]
fn a_management_port_without_an_address_is_reached_by_both_too() {
    let mut child = everywhere(&["--management.server.port=0"]).stderr(Stdio::piped()).spawn().unwrap();
    let lines = std::io::BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut ports = lines.filter_map(|line| {
        let (_, rest) = line.split_once(" management=")?;
        rest.split(' ').next()?.parse::<SocketAddr>().ok()
    });
    let management = ports.next().unwrap();
    let answers = loopbacks().into_iter().map(|ip| {
        let mut connection = Connection::to(SocketAddr::new(ip, management.port())).unwrap();
        connection.send(&request("GET", "/health/live", "", ""));
        connection.answer().status
    });
    assert!(answers.eq(loopbacks().iter().map(|_| 200)));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn clients_of_ipv4_are_counted_each_by_its_address_and_not_as_one_network() {
    let node = Program::run(everywhere(&["--eurekad.limits.connections-per-address=1"]));
    let at = |ip| SocketAddr::new(ip, node.address.port());
    let mut held = Connection::to(at(V4)).unwrap();
    held.send(&request("GET", "/eureka/apps", "", ""));
    assert_eq!(held.answer().status, 200);
    assert!(status(at(V4)).is_err(), "a second one from 127.0.0.1");
    // ::ffff:127.0.0.1 and ::1 are in one /64.
    for ip in loopbacks().into_iter().filter(IpAddr::is_ipv6) {
        assert_eq!(status(at(ip)).unwrap(), 200);
    }
}

#[test]
fn an_address_of_ipv4_stays_ipv4_alone_and_two_colons_take_both() {
    let node = Program::start(&["--bind=0.0.0.0"]);
    for ip in loopbacks() {
        assert_eq!(status(SocketAddr::new(ip, node.address.port())).is_ok(), ip.is_ipv4(), "{ip}");
    }
    if TcpListener::bind("[::]:0").is_ok() {
        let node = Program::start(&["--bind=[::]"]);
        assert_reached(node.address.port());
    } else {
        let output = command(&["--bind=[::]"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("cannot listen on [::]:0"), "asked for, and not to be had: {said}");
    }
}

#[test]
fn a_port_that_another_program_has_in_one_family_is_in_use() {
    for ip in loopbacks().into_iter().chain([Ipv4Addr::UNSPECIFIED.into()]) {
        let other = TcpListener::bind((ip, 0)).unwrap();
        let port = other.local_addr().unwrap().port().to_string();
        let output = everywhere(&["--port", &port]).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{ip}: {said}");
        assert!(said.contains("cannot listen on ") && said.contains("choose another --port"), "{ip}: {said}");
        assert!(said.contains("in use"), "{ip}: {said}");
    }
}

#[test]
fn healthcheck_finds_a_node_that_listens_on_all_addresses() {
    for settings in [&[][..], &["--bind=0.0.0.0"]] {
        let node = Program::run(everywhere(settings));
        let mut command = Command::new(env!("CARGO_BIN_EXE_eurekad"));
        command.args(["healthcheck", "--port", &node.address.port().to_string()]).args(settings);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{settings:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The program with such settings on a machine that has no IPv6, in one of the two ways of `without_ipv6.c`.
fn without_ipv6(way: &str, folder: &Path, settings: &[&str]) -> Command {
    let library = folder.join("without_ipv6.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sockets/without_ipv6.c");
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).status();
    assert!(compiled.unwrap().success());
    let mut command = everywhere(settings);
    command.env("LD_PRELOAD", library).env("WITHOUT_IPV6", way);
    command
}

#[test]
fn a_machine_without_ipv6_is_served_by_ipv4_alone() {
    let folder = tempfile::tempdir().unwrap();
    for way in ["socket", "bind"] {
        let node = Program::run(without_ipv6(way, folder.path(), &[]));
        assert!(node.address.is_ipv4() && node.address.ip().is_unspecified(), "{way}: {}", node.address);
        assert_eq!(status(SocketAddr::new(V4, node.address.port())).unwrap(), 200, "{way}");
        // What is asked for by name is not replaced.
        let output = without_ipv6(way, folder.path(), &["--bind=::"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{way}: {said}");
        assert!(said.contains("cannot listen on [::]:0"), "{way}: {said}");
    }
}

#[test]
fn on_a_machine_without_ipv6_a_port_that_is_taken_is_in_use_too() {
    let folder = tempfile::tempdir().unwrap();
    let other = TcpListener::bind((V4, 0)).unwrap();
    let port = other.local_addr().unwrap().port().to_string();
    let output = without_ipv6("socket", folder.path(), &["--port", &port]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(&format!("cannot listen on 0.0.0.0:{port}")), "{said}");
}
