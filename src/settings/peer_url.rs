//! The address of a peer's API.

use std::fmt;
use std::net::{Ipv6Addr, SocketAddr};
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Uri};
use percent_encoding::percent_decode_str;

use super::TxtRecords;

/// Where a peer's API is, such as `http://peer1:8761/eureka/`, with its credentials apart: they go into a header and
/// are never shown.
///
/// **Compat:** credentials stand before the last `@`, percent-encoded; they are decoded once and sent as Basic
/// authorization with every call.
#[derive(Clone, PartialEq, Eq)]
pub struct PeerUrl {
    base: String,
    authorization: Option<HeaderValue>,
}

/// The text is no URL of a peer. It is not repeated, for what is wrong with it may be its password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUrl {
    /// It is not of the form that is expected.
    #[error("expected a URL such as http://peer1:8761/eureka/")]
    Form,
    /// TLS between nodes is not part of this version.
    #[error("https is not part of this version; use http://")]
    Tls,
    /// Several, with something else than a comma between them.
    #[error("this looks like several URLs in one")]
    Several,
}

impl PeerUrl {
    /// The URL of a path below the API's root.
    pub fn join(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// The value of the `Authorization` header, if the URL had credentials.
    pub fn authorization(&self) -> Option<&HeaderValue> {
        self.authorization.as_ref()
    }
}

/// Where peers come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerSource {
    /// One peer.
    Url(PeerUrl),
    /// Every address of a name, each a peer of its own: `dns+http://NAME:PORT/eureka/`.
    Dns(PeerUrl),
    /// What Eureka's TXT records list.
    Txt(TxtRecords),
}

impl FromStr for PeerSource {
    type Err = InvalidUrl;

    fn from_str(text: &str) -> Result<Self, InvalidUrl> {
        match text.strip_prefix("dns+") {
            Some(url) => url.parse().map(Self::Dns),
            None => text.parse().map(Self::Url),
        }
    }
}

impl PeerUrl {
    /// The host's name or address, an address of version six without its brackets.
    pub fn host(&self) -> &str {
        host_and_port(self.authority()).map_or("", |(host, _)| host)
    }

    /// The port; 80 if it names none.
    pub fn port(&self) -> u16 {
        host_and_port(self.authority()).map_or(DEFAULT_PORT, |(_, port)| port)
    }

    /// The same with an address in place of the host's name.
    #[must_use]
    pub fn at(&self, address: SocketAddr) -> Self {
        let path = &self.base[SCHEME.len() + self.authority().len()..];
        Self { base: format!("{SCHEME}{address}{path}"), authorization: self.authorization.clone() }
    }

    fn authority(&self) -> &str {
        self.base[SCHEME.len()..].split('/').next().unwrap_or_default()
    }
}

/// What every URL of a peer begins with.
const SCHEME: &str = "http://";
const DEFAULT_PORT: u16 = 80;

/// Host and port, if these are what stands there: a name, or an address, of version six in brackets.
fn host_and_port(authority: &str) -> Option<(&str, u16)> {
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (host, port) = rest.split_once(']')?;
        host.parse::<Ipv6Addr>().ok()?;
        (host, port)
    } else {
        let (host, port) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if host.is_empty() || !host.chars().all(plain) {
            return None;
        }
        (host, port)
    };
    match port.strip_prefix(':') {
        None if port.is_empty() => Some((host, DEFAULT_PORT)),
        Some(digits) if digits.chars().all(|c| c.is_ascii_digit()) => Some((host, digits.parse().ok()?)),
        None | Some(_) => None,
    }
}

impl FromStr for PeerUrl {
    type Err = InvalidUrl;

    fn from_str(text: &str) -> Result<Self, InvalidUrl> {
        let (scheme, rest) = text.split_once("://").ok_or(InvalidUrl::Form)?;
        match scheme.to_ascii_lowercase().as_str() {
            "http" => {}
            "https" => return Err(InvalidUrl::Tls),
            _ => return Err(InvalidUrl::Form),
        }
        let (user_info, place) = match rest.rsplit_once('@') {
            Some((user_info, place)) => (Some(user_info), place),
            None => (None, rest),
        };
        // A path may have both, and no Eureka server's has: they are what stands between two URLs.
        if place.contains([';', '|']) || user_info.into_iter().chain([place]).any(|part| part.contains("://"))
        {
            return Err(InvalidUrl::Several);
        }
        let base = format!("{SCHEME}{}/", place.trim_end_matches('/'));
        let uri: Uri = base.parse().map_err(|_| InvalidUrl::Form)?;
        let authority = uri.authority().ok_or(InvalidUrl::Form)?.as_str();
        // A query, or a fragment, would swallow the path of every call.
        if host_and_port(authority).is_none() || base != format!("{SCHEME}{authority}{}", uri.path()) {
            return Err(InvalidUrl::Form);
        }
        let authorization = user_info.map(|text| {
            let decoded: Vec<u8> = percent_decode_str(text).collect();
            let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(decoded)))
                .expect("Base64 is always a header's value");
            value.set_sensitive(true);
            value
        });
        Ok(Self { base, authorization })
    }
}

impl fmt::Display for PeerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.base)
    }
}

impl fmt::Debug for PeerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.base, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Case: P090
    /// Catalog: H3
    #[test]
    fn credentials_are_decoded_once_and_split_off_at_the_last_at_sign() {
        for (text, raw) in [
            ("http://u:p%40x@h:1/eureka/", "u:p@x"),
            ("http://reg:p%40ss%3Aw%2F%C3%B6%25!@127.0.0.1:8761/eureka/", "reg:p@ss:w/ö%!"),
            ("http://u:p@x@h:1/eureka", "u:p@x"),
            ("http://u:100%2525@h:1/eureka", "u:100%25"),
        ] {
            let url: PeerUrl = text.parse().unwrap();
            let expected = format!("Basic {}", STANDARD.encode(raw));
            assert_eq!(url.authorization().unwrap(), expected.as_str(), "{text}");
        }
    }

    /// Case: P092
    #[test]
    fn what_is_shown_of_a_url_holds_no_credentials() {
        let url: PeerUrl = "http://u:secret@h:1/eureka".parse().unwrap();
        assert_eq!(url.to_string(), "http://h:1/eureka/");
        assert!(!format!("{url:?} {:?}", url.authorization()).contains("secret"));
    }

    /// Case: P107
    #[test]
    fn an_address_of_version_six_stands_in_brackets() {
        let url: PeerUrl = "http://[::1]:8762/eureka/".parse().unwrap();
        assert_eq!(url.join("apps"), "http://[::1]:8762/eureka/apps");
    }

    #[test]
    fn a_name_stands_for_the_peers_at_its_addresses() {
        let source: PeerSource = "dns+http://u:p@nodes.test:8761/eureka/".parse().unwrap();
        let PeerSource::Dns(url) = source else { panic!("not by name") };
        assert_eq!((url.host(), url.port()), ("nodes.test", 8761));
        let at = url.at("10.0.0.7:8761".parse().unwrap());
        assert_eq!(
            (at.to_string().as_str(), at.authorization()),
            ("http://10.0.0.7:8761/eureka/", url.authorization())
        );
        assert_eq!(url.at("[::1]:8761".parse().unwrap()).to_string(), "http://[::1]:8761/eureka/");
        let inside: PeerUrl = "http://p/http/p".parse().unwrap();
        assert_eq!(
            inside.at("10.0.0.7:80".parse().unwrap()).to_string(),
            "http://10.0.0.7:80/http/p/",
            "though the name stands in the scheme too"
        );
        let six: PeerUrl = "http://[2001:db8::1]/eureka/".parse().unwrap();
        assert_eq!((six.host(), six.port()), ("2001:db8::1", 80));
    }

    #[test]
    fn what_is_no_url_of_a_peer_is_refused() {
        for text in ["", "peer1:8761", "http://", "ftp://h/eureka/", "http://h/eureka?x=1", "http://a b/"] {
            assert!(text.parse::<PeerUrl>().is_err(), "{text:?}");
        }
        // Each of these would be a peer that is somewhere else, or nowhere.
        for place in [
            "h:99999",
            "h:port",
            "h:+1",
            ":1",
            "[]:1",
            "[::1]8761",
            "[::g]",
            "::1",
            "h#x",
            "h/eureka#x",
            "a|b",
        ] {
            assert!(format!("http://{place}/").parse::<PeerUrl>().is_err(), "{place:?}");
        }
        assert_eq!("https://h/eureka/".parse::<PeerUrl>(), Err(InvalidUrl::Tls));
        for several in [
            "http://u:one@a/eureka/;http://u:two@b/eureka/",
            "http://u:one@a/eureka/ http://u:two@b/eureka/",
            "http://a/eureka/;http://b/eureka/",
            "http://a/|http://b/",
            "http://a/http://b/",
        ] {
            assert_eq!(several.parse::<PeerUrl>(), Err(InvalidUrl::Several), "{several}");
        }
    }
}
