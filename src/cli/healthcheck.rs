//! `eurekad healthcheck`: asks the node that runs with the same settings.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, bail};
use bytes::Bytes;
use http::Request;

use super::print;
use crate::peers::{HttpTransport, Transport};
use crate::settings::Settings;

/// How long the node may take. Containers that wait longer count it as unhealthy themselves.
const PATIENCE: Duration = Duration::from_secs(3);
/// An answer of health is one line.
const MOST_BYTES: usize = 64 * 1024;

/// Asks for readiness, or whether it lives.
///
/// # Errors
/// If there is no answer, or another one than 200.
pub(super) fn run(settings: &Settings, live: bool) -> anyhow::Result<()> {
    let http = &settings.http;
    if http.port == 0 {
        bail!("server.port is 0, so nobody can tell which port the system chose; set a port");
    }
    // Who listens on all addresses hears IPv4's loopback, which every machine has; a container may well lack IPv6's.
    let named = http.bind.filter(|ip| !ip.is_unspecified());
    let host = named.unwrap_or(Ipv4Addr::LOCALHOST.into());
    let which = if live { "live" } else { "ready" };
    let url = format!("http://{}{}/health/{which}", SocketAddr::new(host, http.port), http.context_path);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    let answer = runtime.block_on(async {
        let transport = HttpTransport::new(PATIENCE, PATIENCE, MOST_BYTES).context("cannot start HTTP")?;
        let request = Request::get(&url).body(Bytes::new()).context("no such URL")?;
        let answer = tokio::time::timeout(PATIENCE, transport.send(request)).await;
        let answer = answer.with_context(|| format!("{url} did not answer in {PATIENCE:?}"))?;
        answer.with_context(|| url.clone())
    })?;
    let said = String::from_utf8_lossy(answer.body());
    if !answer.status().is_success() {
        bail!("{url} answers {}: {}", answer.status().as_u16(), said.trim());
    }
    print(&said);
    Ok(())
}
