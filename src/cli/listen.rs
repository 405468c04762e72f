//! Where a node listens: on the address it is given, or on all that the machine has.

use std::io::{Error, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use anyhow::Context;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;

/// So many connections may wait to be accepted: enough for a fleet that reconnects at once.
const BACKLOG: i32 = 4096;

/// Listens on this address, or without one on all: IPv6 and IPv4 alike, IPv4 alone where there is no IPv6.
///
/// # Errors
/// If the system refuses; the words name the address and what to choose `instead`.
pub(super) fn listen(ip: Option<IpAddr>, port: u16, instead: &str) -> anyhow::Result<TcpListener> {
    let mut address = SocketAddr::new(ip.unwrap_or(Ipv6Addr::UNSPECIFIED.into()), port);
    let mut bound = bind(address);
    if let (None, Err(NotBound::NoSuchAddress(e))) = (ip, &bound) {
        tracing::info!(error = %e, "there is no IPv6 here: clients reach this node by IPv4 alone");
        address = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port);
        bound = bind(address);
    }
    bound
        .map_err(NotBound::into_error)
        .and_then(accepting)
        .with_context(|| format!("cannot listen on {address}; choose another {instead}"))
}

/// Why a socket has no address.
enum NotBound {
    /// The machine has no address of this kind, whatever the port.
    NoSuchAddress(Error),
    /// Most likely the port is in use. That it is so for one family alone helps nobody: half of the clients would speak
    /// to another program.
    Refused(Error),
}

impl NotBound {
    fn into_error(self) -> Error {
        match self {
            Self::NoSuchAddress(e) | Self::Refused(e) => e,
        }
    }
}

/// A socket with this address.
fn bind(address: SocketAddr) -> Result<Socket, NotBound> {
    let socket = of_family(address).map_err(NotBound::NoSuchAddress)?;
    socket.set_reuse_address(true).map_err(NotBound::Refused)?;
    socket.bind(&address.into()).map_err(|e| match e.kind() {
        ErrorKind::AddrNotAvailable => NotBound::NoSuchAddress(e),
        _ => NotBound::Refused(e),
    })?;
    Ok(socket)
}

/// A socket that can have this address. A kernel without IPv6 has none for it.
fn of_family(address: SocketAddr) -> Result<Socket, Error> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        // **Compat:** as Java's sockets, `::` takes IPv4 too, whatever net.ipv6.bindv6only says.
        socket.set_only_v6(false)?;
    }
    Ok(socket)
}

fn accepting(socket: Socket) -> Result<TcpListener, Error> {
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket.into())
}
