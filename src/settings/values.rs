//! How the text of a value is read. The error says what was expected.

use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use super::{PeerSource, Secret};

pub(super) fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "expected a whole number that is not negative and not too large".to_owned())
}

pub(super) fn whole(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| "expected a whole number, 0 or less for no limit".to_owned())
}

/// A number that is reserved room for, on every request or connection.
pub(super) fn between(text: &str, least: usize, most: usize) -> Result<usize, String> {
    number(text)
        .ok()
        .filter(|n| (least..=most).contains(n))
        .ok_or_else(|| format!("expected a whole number from {least} to {most}"))
}

pub(super) fn at_least_one<T: FromStr + PartialOrd + From<u8>>(text: &str) -> Result<T, String> {
    number(text)
        .ok()
        .filter(|n| *n >= T::from(1))
        .ok_or_else(|| "expected a whole number of 1 or more".to_owned())
}

pub(super) fn port(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| "expected a port, 0 to 65535".to_owned())
}

pub(super) fn millis(text: &str) -> Result<Duration, String> {
    number::<u64>(text).map(Duration::from_millis).map_err(|e| format!("{e}, in milliseconds"))
}

pub(super) fn interval_ms(text: &str) -> Result<Duration, String> {
    at_least_one::<u64>(text).map(Duration::from_millis).map_err(|e| format!("{e}, in milliseconds"))
}

/// A value that may be empty.
pub(super) fn optional<T>(text: &str, read: fn(&str) -> Result<T, String>) -> Result<Option<T>, String> {
    if text.is_empty() { Ok(None) } else { read(text).map(Some) }
}

/// **Compat:** Spring takes `{noop}` off a password that is written plainly; what was encoded in another way cannot be
/// compared here.
pub(super) fn password(text: &str) -> Result<Secret, String> {
    let plain = match text.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
        Some(("noop", plain)) => plain,
        Some((id, _)) if ENCODERS.contains(&id) => {
            return Err(format!("expected a plain password; {{{id}}} cannot be checked here"));
        }
        _ => text,
    };
    Ok(Secret::new(plain))
}

/// Spring's names for ways to encode a password.
const ENCODERS: [&str; 13] = [
    "bcrypt",
    "ldap",
    "MD4",
    "MD5",
    "pbkdf2",
    "pbkdf2@SpringSecurity_v5_8",
    "scrypt",
    "scrypt@SpringSecurity_v5_8",
    "SHA-1",
    "SHA-256",
    "sha256",
    "argon2",
    "cipher",
];

pub(super) fn page_path(text: &str) -> Result<String, String> {
    let path = context_path(text)?;
    let taken = ["/eureka", "/v2", "/health", "/metrics", "/actuator"];
    if taken
        .iter()
        .any(|other| path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    {
        return Err("expected a path that is not taken by the API, such as / or /dashboard".to_owned());
    }
    Ok(if path.is_empty() { "/".to_owned() } else { path })
}

pub(super) fn fraction(text: &str) -> Result<f64, String> {
    let value: Option<f64> = text.parse().ok();
    value
        .filter(|v| (0.0..=1.0).contains(v))
        .ok_or_else(|| "expected a number from 0 to 1, such as 0.85".to_owned())
}

pub(super) fn boolean(text: &str) -> Result<bool, String> {
    // **Compat:** what Spring takes for yes and no. The others are not offered: two words are enough.
    match text.to_ascii_lowercase().as_str() {
        "true" | "on" | "yes" | "1" => Ok(true),
        "false" | "off" | "no" | "0" => Ok(false),
        _ => Err("expected one of true, false".to_owned()),
    }
}

pub(super) fn address(text: &str) -> Result<IpAddr, String> {
    let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
    let bare = if bare.eq_ignore_ascii_case("localhost") { "127.0.0.1" } else { bare };
    let read: Result<IpAddr, _> = bare.parse();
    // **Compat:** Java takes ::ffff:127.0.0.1 for the address of IPv4 that it is.
    read.map(|ip| ip.to_canonical())
        .map_err(|_| "expected an IP address, such as 127.0.0.1 or [::]".to_owned())
}

pub(super) fn one_of<T: Copy>(text: &str, words: &[(&str, T)]) -> Result<T, String> {
    words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)).map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        format!("expected one of {}", words.join(", "))
    })
}

pub(super) fn log_filter(text: &str) -> Result<String, String> {
    let expected =
        "expected off, error, warn, info, debug or trace, or a filter such as info,eurekad::registry=debug";
    // A bare word that is no level would be taken for the name of a module, and silence all others.
    let levels = ["off", "error", "warn", "info", "debug", "trace"];
    let misspelt = text.split(',').any(|part| {
        !part.contains(['=', '['])
            && !part.contains("::")
            && !levels.contains(&part.trim().to_lowercase().as_str())
    });
    match tracing_subscriber::EnvFilter::try_new(text) {
        Ok(_) if !misspelt => Ok(text.to_owned()),
        Ok(_) | Err(_) => Err(expected.to_owned()),
    }
}

pub(super) fn context_path(text: &str) -> Result<String, String> {
    let path = text.trim_end_matches('/');
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-._~".contains(c);
    if path.is_empty() || (path.starts_with('/') && !path.contains("//") && path.chars().all(plain)) {
        Ok(path.to_owned())
    } else {
        Err("expected a path that begins with a slash, such as /registry".to_owned())
    }
}

/// A host's name, or a part of one: what may stand in a DNS name.
pub(super) fn host_name(text: &str, example: &str) -> Result<String, String> {
    let name = text.trim_end_matches('.');
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let good = !name.is_empty() && !name.starts_with('.') && !name.contains("..") && name.chars().all(plain);
    good.then(|| name.to_owned()).ok_or_else(|| format!("expected a name, such as {example}"))
}

pub(super) fn url_path(text: &str) -> Result<String, String> {
    context_path(&format!("/{}", text.trim_matches('/')))
        .map_err(|_| "expected a path, such as eureka".to_owned())
}

/// Words between commas.
pub(super) fn words(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

pub(super) fn peers(text: &str) -> Result<Vec<PeerSource>, String> {
    let urls = words(text);
    let which =
        |n: usize| if urls.len() > 1 { format!("URL {} of {}: ", n + 1, urls.len()) } else { String::new() };
    let read = |(n, url): (usize, &String)| {
        url.parse().map_err(|e| format!("{}{e}; several are separated by commas", which(n)))
    };
    urls.iter().enumerate().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_stand_in_brackets() {
        assert_eq!(address("[::1]"), Ok("::1".parse().unwrap()));
        assert_eq!(address("127.0.0.1"), Ok("127.0.0.1".parse().unwrap()));
        assert_eq!(address("localhost"), Ok("127.0.0.1".parse().unwrap()));
        assert_eq!(address("::ffff:127.0.0.1"), address("127.0.0.1"));
        assert!(address("example.com").is_err());
    }

    /// Catalog: G49
    #[test]
    fn peers_are_separated_by_commas_and_end_with_a_slash() {
        let two = peers(" http://a:8761/eureka , http://u:p@b/eureka/,").unwrap();
        let urls: Vec<String> = two
            .iter()
            .map(|source| match source {
                PeerSource::Url(url) | PeerSource::Dns(url) => url.to_string(),
                PeerSource::Txt(records) => records.name.clone(),
            })
            .collect();
        assert_eq!(urls, ["http://a:8761/eureka/", "http://b/eureka/"]);
        assert!(!peers("ftp://u:secret@a/").unwrap_err().contains("secret"));
        let second = peers("http://a/eureka/,b:8761").unwrap_err();
        assert!(second.starts_with("URL 2 of 2: expected a URL such as"), "{second}");
        let several = peers("http://a/;http://b/").unwrap_err();
        assert_eq!(several, "this looks like several URLs in one; several are separated by commas");
    }

    #[test]
    fn a_log_filter_is_a_level_or_names_what_it_filters() {
        for good in ["info", "WARN", "off", "info,eurekad::registry=debug", "eurekad=trace"] {
            assert!(log_filter(good).is_ok(), "{good}");
        }
        for bad in ["loud", "wran", "eurekad=loud", "info,verbose", ""] {
            assert!(log_filter(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_context_path_begins_with_a_slash_and_does_not_end_with_one() {
        assert_eq!(context_path("/registry/"), Ok("/registry".into()));
        assert_eq!(context_path("/"), Ok(String::new()));
        assert!(context_path("registry").is_err());
        assert!(context_path("/a b").is_err());
    }
}
