//! Starts the program, and speaks HTTP with it by hand.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::time::Duration;

/// The longest that anything may take. Far above what it does take: only what hangs is to fail.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A running node.
pub(crate) struct Program {
    child: Child,
    pub(crate) address: SocketAddr,
    /// Its log, from after the line that tells its address. Taken by who wants to close it or read it.
    pub(crate) log: Option<BufReader<ChildStderr>>,
}

impl Program {
    /// Starts a node on a port of the system's choice.
    pub(crate) fn start(settings: &[&str]) -> Self {
        Self::run(command(settings))
    }

    /// Starts a node by a command of the test's own.
    pub(crate) fn run(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let address = loop {
            let mut line = String::new();
            assert!(log.read_line(&mut line).unwrap() > 0, "it ended before it was open");
            // As text address=127.0.0.1:8761, as JSON "address":"127.0.0.1:8761".
            let told = line.split_once(" address=").or_else(|| line.split_once("\"address\":\""));
            if let Some((_, rest)) = told {
                break rest.split([' ', '"', '\n']).next().unwrap().parse().unwrap();
            }
        };
        Self { child, address, log: Some(log) }
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::to(self.address).unwrap()
    }

    /// One request on a connection of its own.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let mut connection = self.connect();
        connection.send(&request(method, path, "Content-Type: application/json\r\n", body));
        connection.answer()
    }

    /// The whole of a document, however it is framed.
    pub(crate) fn document(&self, path: &str) -> String {
        let mut connection = self.connect();
        connection.send(&request("GET", path, "Connection: close\r\n", ""));
        let mut text = String::new();
        connection.0.read_to_string(&mut text).unwrap();
        text
    }

    /// Registers an instance.
    pub(crate) fn register(&self, id: &str, duration_secs: u32, metadata: &str) {
        let answer = self.ask("POST", "/eureka/apps/ORDERS", &instance(id, duration_secs, metadata));
        assert_eq!(answer.status, 204, "{}", answer.body);
    }

    pub(crate) fn terminate(&self) {
        self.signal("TERM");
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id();
        assert!(Command::new("sh").args(["-c", &format!("kill -{name} {pid}")]).status().unwrap().success());
    }

    /// Waits for its end.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let deadline = std::time::Duration::from_millis(20);
        for _ in 0..PATIENCE.as_millis() / deadline.as_millis() {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            std::thread::sleep(deadline);
        }
        panic!("it does not end");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program with such settings, on loopback.
pub(crate) fn command(settings: &[&str]) -> Command {
    let mut command = everywhere(&["--bind", "127.0.0.1"]);
    command.args(settings);
    command
}

/// The program with such settings, on all addresses.
pub(crate) fn everywhere(settings: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_eurekad"));
    command.args(["--port", "0", "--eurekad.stop.grace-ms=0"]).args(settings).stdin(Stdio::null());
    command
}

/// The body of a registration.
pub(crate) fn instance(id: &str, duration_secs: u32, metadata: &str) -> String {
    serde_json::json!({"instance": {
        "instanceId": id, "app": "ORDERS", "hostName": "h", "ipAddr": "10.0.0.1", "status": "UP",
        "lastDirtyTimestamp": "1000", "metadata": {"m": metadata},
        "leaseInfo": {"renewalIntervalInSecs": 1, "durationInSecs": duration_secs},
        "dataCenterInfo": {"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"}}})
    .to_string()
}

/// A request as it goes over the wire.
pub(crate) fn request(method: &str, path: &str, headers: &str, body: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: h\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
}

/// A connection on which a test writes what it likes.
pub(crate) struct Connection(pub(crate) TcpStream);

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Connection {
    pub(crate) fn to(address: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self(stream))
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).unwrap();
    }

    /// Reads one answer and no byte more.
    pub(crate) fn answer(&mut self) -> Answer {
        self.try_answer().unwrap_or_else(|e| panic!("no whole answer: {e}"))
    }

    /// The same, or why there is none.
    pub(crate) fn try_answer(&mut self) -> std::io::Result<Answer> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            self.0.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap().to_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |n| n.parse().unwrap());
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Ok(Answer { status, head, body: String::from_utf8_lossy(&body).into_owned() })
    }
}
