//! `eurekad local`: a cluster on this machine, to try things out.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

use super::say;

/// How long the nodes may take to end before they are killed.
const PATIENCE: Duration = Duration::from_secs(15);

/// What to start.
#[derive(Debug, clap::Args)]
pub(super) struct Local {
    /// How many nodes
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=20))]
    nodes: u16,
    /// The first node's port; the others take the ports that follow
    #[arg(long, default_value_t = 8761)]
    port: u16,
}

/// Starts the nodes, shows what they log, and ends them together.
pub(super) fn run(local: &Local, settings: &[String]) -> anyhow::Result<()> {
    let Some(last) = local.port.checked_add(local.nodes - 1) else {
        bail!("--port {}: {} nodes do not fit above it", local.port, local.nodes)
    };
    let ports: Vec<u16> = (local.port..=last).collect();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    runtime.block_on(cluster(&ports, settings))
}

async fn cluster(ports: &[u16], settings: &[String]) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("cannot tell which program this is")?;
    let address = |port: &u16| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), *port);
    let peers: Vec<String> = ports.iter().map(|port| format!("http://{}/eureka/", address(port))).collect();
    // Whoever holds one of the ports would be taken for a node of this cluster, and its registry for ours.
    for port in ports {
        std::net::TcpListener::bind(address(port)).with_context(|| {
            format!("{} is in use; choose another --port, the nodes take those that follow", address(port))
        })?;
    }
    let mut running = JoinSet::new();
    let mut pids = BTreeMap::new();
    for port in ports {
        let arguments =
            [format!("--port={port}"), "--bind=127.0.0.1".to_owned(), format!("--peers={}", peers.join(","))];
        let mut child = Command::new(&program)
            .args(&arguments)
            .args(settings)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            // Ctrl-C is for this process, which tells the nodes; a second signal would have them stop at once.
            .process_group(0)
            .spawn()
            .context("cannot start a node")?;
        let pid = child.id().unwrap_or_default();
        pids.insert(*port, pid);
        say(&format!("node {}  pid {pid}", address(port)));
        say(&format!("    again with: eurekad {}", arguments.join(" ")));
        let port = *port;
        running.spawn(async move { (port, shown(port, &mut child).await) });
    }
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    let mut hang_up = signal(SignalKind::hangup()).context("cannot listen for SIGHUP")?;
    loop {
        tokio::select! {
            _ = hang_up.recv() => break,
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            ended = running.join_next() => match ended {
                Some(Ok((port, status))) => {
                    pids.remove(&port);
                    say(&format!("node 127.0.0.1:{port} ended: {}", words(&status)));
                }
                Some(Err(_)) => {}
                None => bail!("no node is left"),
            },
        }
    }
    say("ending all nodes");
    for pid in pids.into_values() {
        // A node that ends at this moment is no problem.
        let _ = Command::new("kill").args(["-TERM", &pid.to_string()]).stderr(Stdio::null()).status().await;
    }
    let all = async { while running.join_next().await.is_some() {} };
    if tokio::time::timeout(PATIENCE, all).await.is_err() {
        say("some nodes do not end; they are killed");
    }
    Ok(())
}

/// Shows what a node logs, until it ends.
async fn shown(port: u16, child: &mut Child) -> std::io::Result<ExitStatus> {
    if let Some(log) = child.stderr.take() {
        let mut lines = BufReader::new(log).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            say(&format!("{port} | {line}"));
        }
    }
    child.wait().await
}

fn words(status: &std::io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => status.to_string(),
        Err(e) => e.to_string(),
    }
}
