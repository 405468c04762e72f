//! Honest clients, which renew their leases all the time, whatever others do to the node meanwhile.

use std::io::{Error, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::program::{Program, request};

/// What a client waits for an answer, as Eureka's own do.
const TIMEOUT: Duration = Duration::from_secs(5);

const BETWEEN_BEATS: Duration = Duration::from_millis(20);

/// Half of them keep their connections, half make one for each heartbeat.
const CLIENTS: usize = 6;

/// Clients that are at it.
pub(crate) struct Honest {
    done: Arc<AtomicBool>,
    clients: Vec<JoinHandle<Result<usize, String>>>,
}

impl Honest {
    /// Registers the clients and lets them begin.
    pub(crate) fn begin(node: &Program) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let clients = (0..CLIENTS).map(|n| {
            let id = format!("honest-{n}");
            node.register(&id, 90, "");
            let beat = request("PUT", &format!("/eureka/apps/ORDERS/{id}"), "", "");
            let (done, address) = (Arc::clone(&done), node.address);
            std::thread::spawn(move || beats(address, &beat, n % 2 == 0, &done))
        });
        let clients = clients.collect();
        Self { done, clients }
    }

    /// Lets them finish; fails if one heartbeat of theirs was not answered 200 in time.
    pub(crate) fn end(self) {
        self.done.store(true, Ordering::Relaxed);
        for client in self.clients {
            let beats = client.join().unwrap().unwrap_or_else(|e| panic!("an honest heartbeat failed: {e}"));
            assert!(beats > 0);
        }
    }
}

/// Sends heartbeats until all is done, and says how many.
fn beats(address: SocketAddr, beat: &str, keeps: bool, done: &AtomicBool) -> Result<usize, String> {
    let mut kept: Option<TcpStream> = None;
    let mut count = 0;
    while !done.load(Ordering::Relaxed) {
        let before = kept.take();
        let used = before.is_some();
        let mut asked = ask(before, address, beat);
        // A connection that was kept may have been closed meanwhile; then every client takes a new one.
        if used && asked.as_ref().is_err_and(|e| !is_timeout(e)) {
            asked = ask(None, address, beat);
        }
        let (stream, status) = asked.map_err(|e| format!("heartbeat {count}: {e}"))?;
        if status != 200 {
            return Err(format!("heartbeat {count}: {status}"));
        }
        kept = keeps.then_some(stream);
        count += 1;
        std::thread::sleep(BETWEEN_BEATS);
    }
    Ok(count)
}

fn is_timeout(e: &Error) -> bool {
    matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn ask(kept: Option<TcpStream>, address: SocketAddr, beat: &str) -> Result<(TcpStream, u16), Error> {
    let mut stream = match kept {
        Some(stream) => stream,
        None => TcpStream::connect_timeout(&address, TIMEOUT)?,
    };
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    stream.write_all(beat.as_bytes())?;
    let (mut answer, mut some) = (Vec::new(), [0; 1024]);
    while !answer.ends_with(b"\r\n\r\n") {
        match stream.read(&mut some)? {
            0 => return Err(Error::new(ErrorKind::UnexpectedEof, "closed without an answer")),
            n => answer.extend_from_slice(&some[..n]),
        }
    }
    let status = String::from_utf8_lossy(&answer).split(' ').nth(1).and_then(|s| s.parse().ok());
    Ok((stream, status.unwrap_or(0)))
}
