//! What the system says where nobody else does: this machine's name and address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::Settings;
use super::load::Effective;
use super::property::Origin;

/// The values that Spring offers to placeholders.
pub(super) fn value(key: &str) -> Option<String> {
    match key {
        "spring.cloud.client.hostname" => Some(host_name()),
        "spring.cloud.client.ipaddress" => Some(ip_address().to_string()),
        _ => None,
    }
}

/// What Spring makes up for `${random.value}`, `random.uuid`, `random.int` and `random.long`: here the same at each place of
/// one start.
pub(super) fn random(key: &str, seed: u64) -> Option<String> {
    let mut chance = SmallRng::seed_from_u64(seed);
    let bits: u128 = chance.random();
    let hex = format!("{bits:032x}");
    match key {
        "random.value" => Some(hex),
        "random.uuid" => Some([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")),
        "random.int" => Some(chance.random_range(0..=i32::MAX).to_string()),
        "random.long" => Some(chance.random_range(0..=i64::MAX).to_string()),
        _ => None,
    }
}

/// Fills in the name and the address that nobody set.
///
/// **Compat:** with `prefer-ip-address` the address stands for the name.
pub(super) fn fill_in(settings: &mut Settings, effective: &mut [Effective]) {
    let instance = &mut settings.instance;
    let mut say = |key: &str, value: &str| {
        if let Some(found) = effective.iter_mut().find(|found| found.key == key) {
            (found.value, found.origin) = (value.to_owned(), Origin::System);
        }
    };
    if instance.ip_address.is_empty() {
        instance.ip_address = ip_address().to_string();
        say("eureka.instance.ip-address", &instance.ip_address);
    }
    if instance.prefer_ip_address {
        instance.host_name.clone_from(&instance.ip_address);
    } else if instance.host_name.is_empty() {
        instance.host_name = host_name();
        say("eureka.instance.hostname", &instance.host_name);
    }
}

fn host_name() -> String {
    gethostname::gethostname().to_string_lossy().into_owned()
}

/// The address from which this machine would speak to others. Nothing is sent to find it.
fn ip_address() -> IpAddr {
    // Addresses that are reserved for documents.
    const ELSEWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
    const ELSEWHERE_BY_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
    let v4 = towards(Ipv4Addr::UNSPECIFIED.into(), ELSEWHERE);
    // A cluster may have IPv6 alone.
    let found = v4.or_else(|_| towards(Ipv6Addr::UNSPECIFIED.into(), ELSEWHERE_BY_V6));
    found.unwrap_or(Ipv4Addr::LOCALHOST.into())
}

fn towards(from: IpAddr, to: IpAddr) -> std::io::Result<IpAddr> {
    // The port of a service that throws everything away.
    const DISCARD: u16 = 9;
    let socket = UdpSocket::bind((from, 0))?;
    socket.connect(SocketAddr::new(to, DISCARD))?;
    Ok(socket.local_addr()?.ip())
}
