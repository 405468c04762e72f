//! The address of a peer's API.

use std::fmt;
use std::net::SocketAddr;
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
        let host = self.authority().rsplit_once(':').map_or(self.authority(), |(host, port)| {
            if port.contains(']') { self.authority() } else { host }
        });
        host.trim_start_matches('[').trim_end_matches(']')
    }

    /// The port; 80 if it names none.
    pub fn port(&self) -> u16 {
        self.authority().rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or(80)
    }

    /// The same with an address in place of the host's name.
    #[must_use]
    pub fn at(&self, address: SocketAddr) -> Self {
        let base = self.base.replacen(self.authority(), &address.to_string(), 1);
        Self { base, authorization: self.authorization.clone() }
    }

    fn authority(&self) -> &str {
        let rest = self.base.split_once("://").map_or("", |(_, rest)| rest);
        rest.split('/').next().unwrap_or_default()
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
        let base = format!("http://{}/", place.trim_end_matches('/'));
        let uri: Uri = base.parse().map_err(|_| InvalidUrl::Form)?;
        if uri.host().is_none_or(str::is_empty) || uri.query().is_some() {
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
        let six: PeerUrl = "http://[2001:db8::1]/eureka/".parse().unwrap();
        assert_eq!((six.host(), six.port()), ("2001:db8::1", 80));
    }

    #[test]
    fn what_is_no_url_of_a_peer_is_refused() {
        for text in ["", "peer1:8761", "http://", "ftp://h/eureka/", "http://h/eureka?x=1", "http://a b/"] {
            assert!(text.parse::<PeerUrl>().is_err(), "{text:?}");
        }
        assert_eq!("https://h/eureka/".parse::<PeerUrl>(), Err(InvalidUrl::Tls));
    }
}
