//! What nodes of this kind tell each other, and what names the peers.

use std::net::SocketAddr;

use eurekad::clock::Tick;
use eurekad::peers::protocol::{Compare, Compared, CopyBuckets, Tell, Told, WireState};
use eurekad::peers::{listed_names, sources_in};
use eurekad::registry::{NodeId, Stamp};
use eurekad::settings::{PeerSource, PeerUrl};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// When states are read here: far enough from the beginning for every age.
const NOW: Tick = Tick(1 << 50);

/// The bodies and headers of `peerreplication/ours/…`.
pub fn protocol(bytes: &[u8]) {
    if let Some(tell) = read_back::<Tell>(bytes) {
        tell.keys.into_iter().for_each(state);
    }
    if let Some(told) = read_back::<Told>(bytes) {
        told.known.into_iter().for_each(state);
    }
    read_back::<Compare>(bytes);
    read_back::<Compared>(bytes);
    read_back::<CopyBuckets>(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(stamp) = text.parse::<Stamp>() {
        assert_eq!(stamp.to_string().parse(), Ok(stamp));
        assert!(stamp.next(stamp.node) > stamp || stamp.millis == i64::MAX);
    }
    if let Ok(id) = text.parse::<NodeId>() {
        assert_eq!(id.to_string().parse(), Ok(id));
    }
}

/// Reads a body; what can be read is written, and read again, as the same.
fn read_back<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let read: T = serde_json::from_slice(bytes).ok()?;
    let written = serde_json::to_string(&read).expect("texts, numbers and lists are always JSON");
    let again: T = serde_json::from_str(&written).unwrap_or_else(|e| panic!("{e} in {written}"));
    assert_eq!(serde_json::to_string(&again).unwrap(), written);
    Some(read)
}

/// What is understood of a key is told on as it was understood.
fn state(state: WireState) {
    let Ok(understood) = state.read(NOW) else { return };
    let written = serde_json::to_string(&WireState::of(&understood, NOW)).unwrap();
    let read: WireState = serde_json::from_str(&written).unwrap_or_else(|e| panic!("{e} in {written}"));
    let again = read.read(NOW).unwrap_or_else(|e| panic!("{e} in {written}"));
    assert_eq!((&again.key, again.over, again.floor), (&understood.key, understood.over, understood.floor));
    assert_eq!(serde_json::to_string(&WireState::of(&again, NOW)).unwrap(), written);
}

/// A file of peers, its lines as URLs, and its lines as the texts of a TXT record.
pub fn peer_lists(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for source in sources_in(text).into_iter().flatten() {
        match source {
            PeerSource::Url(url) => peer_url(&url),
            PeerSource::Dns(url) => {
                peer_url(&url);
                let addresses = ["10.0.0.7:8761", "[2001:db8::7]:1"];
                addresses.into_iter().for_each(|address| peer_at(&url, address.parse().unwrap()));
            }
            PeerSource::Txt(_) => panic!("no entry of a file asks for TXT records"),
        }
    }
    let texts: Vec<String> = text.lines().map(str::to_owned).collect();
    if let Ok(names) = listed_names(&texts) {
        let joined = names.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
        assert_eq!(listed_names(&[joined]), Ok(names));
    }
}

/// A URL of a peer is read back from what is shown of it, which is the place without the credentials.
fn peer_url(url: &PeerUrl) {
    let again: PeerUrl = url.to_string().parse().unwrap_or_else(|e| panic!("{e}: {url}"));
    assert_eq!(again.to_string(), url.to_string());
    assert_eq!(again.authorization(), None, "credentials are shown: {url}");
    assert!(!url.host().is_empty(), "{url}");
    assert!(url.join("apps").ends_with("/apps"));
}

/// A name's peer at one of its addresses is where the name says, but for the name.
fn peer_at(url: &PeerUrl, address: SocketAddr) {
    let at = url.at(address);
    assert_eq!(
        (at.host(), at.port()),
        (address.ip().to_string().as_str(), address.port()),
        "{url} at {address}: {at}"
    );
    assert_eq!(at.authorization(), url.authorization());
    peer_url(&at);
}
