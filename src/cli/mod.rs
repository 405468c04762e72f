//! The command line.

mod local;

use std::ffi::OsString;
use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use rand::RngExt;
use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{SignalKind, signal};

use crate::clock::Clock;
use crate::node::{Env, Node};
use crate::peers::{HttpTransport, SystemResolver};
use crate::settings::{FAMILIES, SETTINGS, Settings, from_arguments, split_arguments};
use crate::telemetry::start_logging;

/// Exit code of a command line that cannot be used.
const USAGE: u8 = 2;

/// A Eureka service registry: existing Eureka clients use it by changing nothing but their URL.
///
/// Without any option it listens on port 8761, and clients use http://HOST:8761/eureka/.
#[derive(Debug, Parser)]
#[command(
    name = "eurekad",
    version,
    args_override_self = true,
    override_usage = "eurekad [OPTIONS] [--SETTING=VALUE ...]\n       eurekad local [--nodes 3] [--port 8761] [--SETTING=VALUE ...]"
)]
struct Arguments {
    /// Port to listen on; short for --server.port
    #[arg(long, value_name = "PORT")]
    port: Option<String>,
    /// Address to listen on; short for --server.address
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<String>,
    /// The peers' API URLs, separated by commas; short for --eureka.client.service-url.default-zone
    #[arg(long, value_name = "URLS", env = "EUREKAD_PEERS")]
    peers: Option<String>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start a cluster on this machine, to try things out
    Local(local::Local),
}

/// What is to be done.
enum Task {
    /// Run one node.
    Node(Box<Settings>),
    /// Run a cluster of nodes, with such settings each.
    Cluster(local::Local, Vec<String>),
}

/// Runs the program and returns its exit code: 0 after an orderly stop, 1 after a failure, 2 for a bad command line.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Result<Vec<String>, OsString> = arguments.into_iter().map(OsString::into_string).collect();
    let arguments = match arguments {
        Ok(arguments) => arguments,
        Err(argument) => {
            say(&format!("eurekad: the argument {argument:?} is not UTF-8"));
            return ExitCode::from(USAGE);
        }
    };
    let task = match task_of(arguments) {
        Ok(task) => task,
        Err(said) => return said,
    };
    let done = match task {
        Task::Node(settings) => run(*settings),
        Task::Cluster(local, settings) => local::run(&local, &settings),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            say(&format!("eurekad: {e:#}"));
            ExitCode::FAILURE
        }
    }
}

fn task_of(arguments: impl IntoIterator<Item = String>) -> Result<Task, ExitCode> {
    let (mut dotted, others) = split_arguments(arguments);
    let command =
        Arguments::command().after_long_help(settings_help()).after_help("--help lists all settings");
    let parsed = command.try_get_matches_from(others).and_then(|m| Arguments::from_arg_matches(&m));
    let Arguments { port, bind, peers, command } = parsed.map_err(|e| {
        // `--help` and `--version` come here too, and are no failure.
        let _ = e.print();
        if e.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS }
    })?;
    if let Some(Command::Local(local)) = command {
        let settings =
            dotted.into_iter().map(|(key, value)| format!("--{key}={}", value.unwrap_or_default()));
        return Ok(Task::Cluster(local, settings.collect()));
    }
    let short =
        [("server.port", port), ("server.address", bind), ("eureka.client.service-url.default-zone", peers)];
    let given = short.iter().filter_map(|(key, value)| Some(((*key).to_owned(), Some(value.clone()?))));
    dotted.extend(given);
    from_arguments(&dotted).map(|settings| Task::Node(Box::new(settings))).map_err(|invalid| {
        // Named as it was given.
        let names = [("--server.port=", "--port "), ("--server.address=", "--bind ")];
        let text = names.iter().zip(&short).filter(|(_, (_, value))| value.is_some());
        let text = text.fold(invalid.to_string(), |text, ((long, short), _)| text.replace(long, short));
        say(&format!("eurekad: {}\neurekad --help lists all settings", text.replace('\n', "\neurekad: ")));
        ExitCode::from(USAGE)
    })
}

fn settings_help() -> String {
    let mut help = String::from("Settings (camelCase keys work too):\n");
    for setting in SETTINGS {
        let default = if setting.default.is_empty() { "nothing" } else { setting.default };
        help.push_str(&format!(
            "  --{}=VALUE\n          {} [default: {default}]\n",
            setting.key, setting.about
        ));
    }
    for family in FAMILIES {
        help.push_str(&format!("  --{}=VALUE\n          {}\n", family.key, family.about));
    }
    help
}

fn run(settings: Settings) -> anyhow::Result<()> {
    let clock = Clock::system();
    let logging = start_logging(&settings.log, clock.clone())?;
    raise_open_files(settings.http.max_connections);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start")?;
    runtime.block_on(async {
        let address = SocketAddr::new(settings.http.bind, settings.http.port);
        let listener = listen(address)
            .with_context(|| format!("cannot listen on {address}; choose another --port or --bind"))?;
        let address = listener.local_addr().context("cannot tell the address listened on")?;
        let context_path = settings.http.context_path.clone();
        // Nobody can go to 0.0.0.0.
        let host =
            if address.ip().is_unspecified() { "localhost".to_owned() } else { address.ip().to_string() };
        let host = if host.contains(':') { format!("[{host}]") } else { host };
        let base = format!("http://{host}:{}{context_path}", address.port());
        let peers = &settings.peers;
        let transport = HttpTransport::new(peers.connect_timeout, peers.read_timeout, peers.max_answer_bytes)
            .context("cannot start HTTP")?;
        let env = Env {
            clock,
            seed: rand::rng().random(),
            transport: Arc::new(transport),
            resolver: Arc::new(SystemResolver::default()),
            freezer: Arc::default(),
            dropped_lines: logging.dropped_lines(),
        };
        let node = Node::new(settings, env, address.port());
        if let Err(wrong) = node.check_peers_file().await {
            anyhow::bail!("{wrong}");
        }
        stop_on_signals(&node)?;
        let stop = node.stopper();
        let booted = async {
            tokio::select! { () = node.boot() => {}, () = stop.cancelled() => return }
            tracing::info!(
                version = env!("CARGO_PKG_VERSION"),
                %address, "eurekad is open: clients use {base}/eureka/, people {base}/"
            );
        };
        // The listener answers from the beginning: peers may copy from each other, and replicate, while booting.
        let ((), served) = tokio::join!(booted, node.serve(listener));
        served?;
        tracing::info!("stopped");
        Ok(())
    })
}

/// SIGHUP has the list of peers read at once. The first SIGTERM or SIGINT stops the node in order, a second one at once.
fn stop_on_signals(node: &Node) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let mut hang_up = signal(SignalKind::hangup()).context("cannot listen for SIGHUP")?;
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
        std::process::exit(1);
    });
    Ok(())
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

/// Listens with a queue that is long enough for a fleet that reconnects at once.
fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    const BACKLOG: u32 = 4096;
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Says something on standard error. Who closed it does not want to hear.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
