//! Runs one node until it is told to stop.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use rand::RngExt;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::listen::listen;
use crate::clock::Clock;
use crate::node::{Env, Node};
use crate::peers::{HttpTransport, SystemResolver};
use crate::settings::{Loaded, Note, Settings};
use crate::telemetry::start_logging;
use crate::version::BUILT;

/// Of the keys that change nothing so many are named at the start.
const MOST_NAMED: usize = 3;

/// Runs a node with such settings.
///
/// # Errors
/// If it cannot start, or a part of it failed.
pub(super) fn run(loaded: Loaded) -> anyhow::Result<()> {
    let clock = Clock::system();
    let began = clock.tick();
    let Loaded { settings, notes, profiles, files, .. } = loaded;
    let logging = start_logging(&settings.log, clock.clone())?;
    for note in notes.iter().filter(|note| note.is_warning()) {
        tracing::warn!("{note}");
    }
    let meaningless: Vec<String> =
        notes.iter().filter_map(Note::meaningless).map(|place| place.key.clone()).collect();
    if !meaningless.is_empty() {
        let (number, some) = (meaningless.len(), &meaningless[..meaningless.len().min(MOST_NAMED)]);
        tracing::info!(
            number,
            some = some.join(", "),
            "settings of the Java server that change nothing here; `eurekad settings` lists them and says why"
        );
    }
    raise_open_files(settings.http.max_connections);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start")?;
    let done = runtime.block_on(async {
        // First of all: the system ignores a signal to a container's first process that nobody listens for.
        let signals = Signals::listen()?;
        let listener = listen(settings.http.bind, settings.http.port, "--port or --bind")?;
        let address = listener.local_addr().context("cannot tell the address listened on")?;
        let management = management_listener(&settings, address)?;
        warn_of_strangers(&settings, address);
        let base = base_url(&settings, address);
        let page = settings.http.dashboard_path.clone();
        let peers = &settings.peers;
        let has_peers = !peers.sources.is_empty() || peers.file.is_some();
        let transport = HttpTransport::new(peers.connect_timeout, peers.read_timeout, peers.max_answer_bytes)
            .context("cannot start HTTP")?;
        let env = Env {
            clock: clock.clone(),
            seed: rand::rng().random(),
            transport: Arc::new(transport),
            resolver: Arc::new(SystemResolver::default()),
            freezer: Arc::default(),
            dropped_lines: logging.dropped_lines(),
        };
        let node = Node::new(settings, env, address.port());
        signals.stop(&node);
        let stop = node.stopper();
        // A file system may hang, and so would the check; a start can be ended all the same.
        tokio::select! {
            checked = node.check_peers_file() => checked.map_err(anyhow::Error::msg)?,
            () = stop.cancelled() => {
                tracing::info!("stopped before it began");
                return Ok(());
            }
        }
        if has_peers {
            tracing::info!(version = BUILT.as_str(), %address, "listening, to open once the peers' registry is copied");
        }
        let booted = async {
            tokio::select! { () = node.boot() => {}, () = stop.cancelled() => return }
            let files: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
            tracing::info!(
                version = BUILT.as_str(),
                %address,
                node = %node.id(),
                profiles = profiles.join(","),
                files = files.join(","),
                peers = node.peers().len(),
                took_ms = clock.tick().since(began).as_millis() as u64,
                "eurekad is open: clients use {base}/eureka/, people {base}{page}"
            );
        };
        // The listener answers from the beginning: peers may copy from each other, and replicate, while booting.
        let ((), served) = tokio::join!(booted, node.serve(listener, management));
        served?;
        tracing::info!("stopped");
        Ok(())
    });
    // A file system or a resolver that hangs holds a thread for ever, and must not hold the end up.
    runtime.shutdown_background();
    done
}

/// The URL of everything, for people.
fn base_url(settings: &Settings, address: SocketAddr) -> String {
    // Nobody can go to 0.0.0.0 or [::], and from other machines nobody to localhost.
    let own = || {
        let name = &settings.instance.host_name;
        let host = if name.contains(':') { format!("[{name}]") } else { name.clone() };
        format!("{host}:{}", address.port())
    };
    let host = if address.ip().is_unspecified() { own() } else { address.to_string() };
    format!("http://{host}{}", settings.http.context_path)
}

/// The listener of health and metrics, if they have a port of their own.
fn management_listener(settings: &Settings, address: SocketAddr) -> anyhow::Result<Option<TcpListener>> {
    let Some(port) = settings.http.management_port else { return Ok(None) };
    let own = settings.http.management_bind;
    // The system may have chosen it for everything else.
    if port == address.port() && own.is_none_or(|ip| ip == address.ip()) {
        return Ok(None);
    }
    let listener = listen(own.or(settings.http.bind), port, "management.server.port")?;
    let address = listener.local_addr().context("cannot tell the address of management.server.port")?;
    tracing::info!(management = %address, "health and metrics have a port of their own");
    Ok(Some(listener))
}

/// Says it once if everybody on the network may change the registry.
fn warn_of_strangers(settings: &Settings, address: SocketAddr) {
    if settings.access.password.is_empty() && !address.ip().is_loopback() {
        tracing::warn!(
            %address,
            "whoever reaches this address may change the registry: set spring.security.user.password, \
             or listen on a private address (--bind)"
        );
    }
}

/// Exit code of a node that was told twice to stop.
const STOPPED_AT_ONCE: i32 = 1;

/// What people and systems tell a process.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    fn listen() -> anyhow::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?,
            interrupt: signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?,
            hang_up: signal(SignalKind::hangup()).context("cannot listen for SIGHUP")?,
        })
    }

    /// SIGHUP has the list of peers read at once. The first SIGTERM or SIGINT stops the node in order, a second one at
    /// once. What came before is not lost.
    fn stop(self, node: &Node) {
        let Self { mut terminate, mut interrupt, mut hang_up } = self;
        let reload = node.reloader();
        tokio::spawn(async move {
            while hang_up.recv().await.is_some() {
                reload.notify_one();
            }
        });
        let stop = node.stopper();
        tokio::spawn(async move {
            tokio::select! { _ = terminate.recv() => {} _ = interrupt.recv() => {} }
            stop.cancel();
            tracing::info!("stopping; send the signal again to stop at once");
            tokio::select! { _ = terminate.recv() => {} _ = interrupt.recv() => {} }
            std::process::exit(STOPPED_AT_ONCE);
        });
    }
}

/// Every connection is an open file, and the usual limit is far below the connections that are allowed.
fn raise_open_files(connections: usize) {
    let wanted = (connections as u64).saturating_add(256);
    let got = rlimit::increase_nofile_limit(wanted).unwrap_or(0);
    if got < wanted {
        tracing::warn!(
            got,
            wanted,
            "the system allows fewer open files than eurekad.limits.connections needs; raise `ulimit -n`"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{from_arguments, split_arguments};

    #[test]
    fn people_are_told_an_address_that_leads_here_from_other_machines_too() {
        let settings = ["--eureka.instance.hostname=node1", "--server.servlet.context-path=/registry"];
        let (settings, _) = split_arguments(settings.map(str::to_owned));
        let settings = from_arguments(&settings).unwrap();
        let url = |address: &str| base_url(&settings, address.parse().unwrap());
        assert_eq!(url("0.0.0.0:8761"), "http://node1:8761/registry");
        assert_eq!(url("[::]:8761"), "http://node1:8761/registry");
        assert_eq!(url("127.0.0.1:1"), "http://127.0.0.1:1/registry");
        assert_eq!(url("[::1]:1"), "http://[::1]:1/registry");
    }
}
