//! The image, one container at a time: `CLUSTER_IMAGE`, `eurekad:dev` by default.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use testcontainers::core::wait::ExitWaitStrategy;
use testcontainers::core::{ContainerPort, WaitFor};
use testcontainers::runners::AsyncRunner;
use testcontainers::{ContainerAsync, ContainerRequest, GenericImage, ImageExt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const PORT: ContainerPort = ContainerPort::Tcp(8761);
const OPEN: &str = "eurekad is open";
/// A start takes well under a second; the bound is for machines that are busy.
const PATIENCE: Duration = Duration::from_secs(120);
/// What a node may take to stop, with some room: each of its three stages three seconds.
const LONGEST_STOP: Duration = Duration::from_secs(12);
/// The user that the image names.
const USER: &str = "65532";

/// The image, waiting for nothing yet. What a killed run leaves behind can be told by its label.
fn image(ready: WaitFor) -> ContainerRequest<GenericImage> {
    let name = env::var("CLUSTER_IMAGE").unwrap_or_else(|_| "eurekad:dev".to_owned());
    let (name, tag) = name.split_once(':').expect("CLUSTER_IMAGE is NAME:TAG");
    GenericImage::new(name, tag)
        .with_exposed_port(PORT)
        .with_wait_for(ready)
        .with_startup_timeout(PATIENCE)
        .with_label("eurekad", "test")
}

fn open() -> WaitFor {
    WaitFor::message_on_stderr(OPEN)
}

/// The whole answer to a request.
async fn ask(container: &ContainerAsync<GenericImage>, method: &str, path: &str, body: &str) -> String {
    let port = container.get_host_port_ipv4(PORT).await.unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// What a Dockerfile says of its image beside the program.
fn after_the_program(dockerfile: &str) -> String {
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(dockerfile)).unwrap();
    let (_, after) = text.rsplit_once(" /eurekad\n").expect("the program is copied to /eurekad");
    after.to_owned()
}

fn docker(arguments: &[&str]) -> String {
    let ran = Command::new("docker").args(arguments).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap().trim().to_owned()
}

async fn said(container: &ContainerAsync<GenericImage>) -> String {
    String::from_utf8(container.stderr_to_vec().await.unwrap()).unwrap()
}

#[test]
fn a_program_compiled_outside_gets_the_image_of_one_compiled_inside() {
    let inside = after_the_program("Dockerfile");
    assert!(inside.contains("\nHEALTHCHECK") && inside.contains("\nENTRYPOINT"), "{inside}");
    assert_eq!(after_the_program("cluster/Dockerfile.prebuilt"), inside);
}

#[tokio::test]
async fn a_container_that_may_write_nothing_and_has_no_rights_keeps_a_registry() {
    let request = image(open()).with_readonly_rootfs(true).with_cap_drop("ALL");
    let container = request.with_security_opt("no-new-privileges:true").start().await.unwrap();
    let body = r#"{"instance": {"instanceId": "o-1", "app": "ORDERS", "hostName": "o.example", "ipAddr": "10.0.0.1",
        "status": "UP", "dataCenterInfo": {"name": "MyOwn"}}}"#;
    let answer = ask(&container, "POST", "/eureka/apps/ORDERS", body).await;
    assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
    let answer = ask(&container, "GET", "/eureka/apps/ORDERS/o-1", "").await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains(r#""instanceId":"o-1""#), "{answer}");
}

#[tokio::test]
async fn a_node_in_a_container_is_not_root() {
    let container = image(open()).start().await.unwrap();
    let pid = docker(&["inspect", "--format", "{{.State.Pid}}", container.id()]);
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    for which in ["Uid:", "Gid:"] {
        let line = status.lines().find(|line| line.starts_with(which)).unwrap();
        assert!(line.split_whitespace().skip(1).all(|id| id == USER), "{line}");
    }
}

#[tokio::test]
async fn the_images_own_check_finds_a_node_healthy() {
    image(WaitFor::healthcheck()).start().await.unwrap();
}

#[tokio::test]
async fn the_check_asks_by_the_settings_of_the_node() {
    let settings = "server.servlet.context-path: /registry\n";
    let request =
        image(WaitFor::healthcheck()).with_copy_to("/config/application.yml", settings.as_bytes().to_vec());
    let container = request.start().await.unwrap();
    let answer = ask(&container, "GET", "/registry/health/ready", "").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_container_that_is_told_to_stop_ends_in_order_and_with_0() {
    let container = image(open()).start().await.unwrap();
    let began = Instant::now();
    container.stop_with_timeout(Some(60)).await.unwrap();
    let took = began.elapsed();
    assert_eq!(container.exit_code().await.unwrap(), Some(0), "{}", said(&container).await);
    assert!(took < LONGEST_STOP, "{took:?}");
    let said = said(&container).await;
    assert!(said.contains("stopping") && said.contains("stopped"), "{said}");
}

#[tokio::test]
async fn a_wrong_setting_ends_a_container_with_words_and_a_code() {
    let ended = WaitFor::exit(ExitWaitStrategy::new().with_exit_code(2));
    let container = image(ended).with_env_var("EUREKAD_PORT", "many").start().await.unwrap();
    let said = said(&container).await;
    assert!(said.contains("EUREKAD_PORT") && said.contains("many"), "{said}");
}
