//! The command line.

use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;

use anyhow::Context;
use clap::{CommandFactory, FromArgMatches, Parser};
use rand::RngExt;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::clock::Clock;
use crate::node::{Env, Node};
use crate::settings::{SETTINGS, Settings, from_arguments, split_arguments};
use crate::telemetry::start_logging;

/// Exit code of a command line that cannot be used.
const USAGE: u8 = 2;

/// A Eureka service registry: existing Eureka clients use it by changing nothing but their URL.
///
/// Without any option it listens on port 8761, and clients use http://HOST:8761/eureka/.
#[derive(Debug, Parser)]
#[command(name = "eurekad", version, override_usage = "eurekad [OPTIONS] [--SETTING=VALUE ...]")]
struct Arguments {
    /// Port to listen on; short for --server.port
    #[arg(long, value_name = "PORT")]
    port: Option<String>,
    /// Address to listen on; short for --server.address
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<String>,
    /// The peers' API URLs, separated by commas; short for --eureka.client.service-url.default-zone
    #[arg(long, value_name = "URLS")]
    peers: Option<String>,
}

/// Runs the program and returns its exit code: 0 after an orderly stop, 1 after a failure, 2 for a bad command line.
pub fn main(arguments: impl IntoIterator<Item = String>) -> ExitCode {
    let settings = match settings_of(arguments) {
        Ok(settings) => settings,
        Err(said) => return said,
    };
    match run(settings) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            say(&format!("eurekad: {e:#}"));
            ExitCode::FAILURE
        }
    }
}

fn settings_of(arguments: impl IntoIterator<Item = String>) -> Result<Settings, ExitCode> {
    let (mut dotted, others) = split_arguments(arguments);
    let command =
        Arguments::command().after_long_help(settings_help()).after_help("--help lists all settings");
    let parsed = command.try_get_matches_from(others).and_then(|m| Arguments::from_arg_matches(&m));
    let Arguments { port, bind, peers } = parsed.map_err(|e| {
        // `--help` and `--version` come here too, and are no failure.
        let _ = e.print();
        if e.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS }
    })?;
    let short =
        [("server.port", port), ("server.address", bind), ("eureka.client.service-url.default-zone", peers)];
    dotted.extend(short.into_iter().filter_map(|(key, value)| Some((key.to_owned(), Some(value?)))));
    from_arguments(&dotted).map_err(|invalid| {
        say(&format!("{invalid}\neurekad --help lists all settings"));
        ExitCode::from(USAGE)
    })
}

fn settings_help() -> String {
    let mut help = String::from("Settings, as --KEY=VALUE (camelCase keys work too):\n");
    for setting in SETTINGS {
        let default = if setting.default.is_empty() { "nothing" } else { setting.default };
        help.push_str(&format!("  --{}\n          {} [default: {default}]\n", setting.key, setting.about));
    }
    help
}

fn run(settings: Settings) -> anyhow::Result<()> {
    let clock = Clock::system();
    start_logging(&settings.log, clock.clone())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start")?;
    runtime.block_on(async {
        let address = SocketAddr::new(settings.http.bind, settings.http.port);
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("cannot listen on {address}; choose another --port or --bind"))?;
        let address = listener.local_addr().context("cannot tell the address listened on")?;
        let context_path = settings.http.context_path.clone();
        if !settings.peers.is_empty() {
            tracing::warn!("peers are set, but this version does not replicate to them yet");
        }
        let env = Env { clock, seed: rand::rng().random() };
        let node = Node::new(settings, env, address.port());
        stop_on_signals(&node)?;
        node.open();
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            "eurekad is open: clients use http://{address}{context_path}/eureka/, people http://{address}{context_path}/"
        );
        node.serve(listener).await?;
        tracing::info!("stopped");
        Ok(())
    })
}

/// The first SIGTERM or SIGINT stops the node in order, a second one at once.
fn stop_on_signals(node: &Node) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let stop = node.stopper();
    tokio::spawn(async move {
        tokio::select! { _ = terminate.recv() => {} _ = interrupt.recv() => {} }
        tracing::info!("stopping; once more to stop at once");
        stop.cancel();
        tokio::select! { _ = terminate.recv() => {} _ = interrupt.recv() => {} }
        std::process::exit(1);
    });
    Ok(())
}

/// Says something on standard error. Who closed it does not want to hear.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
