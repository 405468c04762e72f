//! Names to addresses.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

/// How long the system may take over one name.
const LONGEST: Duration = Duration::from_secs(5);

/// Looks up the addresses of a name.
pub trait Resolve: fmt::Debug + Send + Sync + 'static {
    /// All addresses of `host`, each with `port`.
    ///
    /// # Errors
    /// If the name does not resolve now, for whatever reason.
    fn addresses<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>>;
}

/// The system's resolver.
#[derive(Debug, Clone, Copy)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn addresses<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>> {
        Box::pin(async move {
            let looked_up = tokio::time::timeout(LONGEST, tokio::net::lookup_host((host, port))).await;
            let addresses = looked_up.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
            Ok(addresses.collect())
        })
    }
}
