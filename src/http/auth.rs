//! Who may use the node: Basic authentication, before anything is looked up.

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::alphabet;
use base64::engine::general_purpose::GeneralPurposeConfig;
use base64::engine::{DecodePaddingMode, GeneralPurpose};
use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

use crate::settings::AccessSettings;

/// What browsers and clients are told to send.
const CHALLENGE: HeaderValue = HeaderValue::from_static("Basic realm=\"eurekad\", charset=\"UTF-8\"");

/// Some clients leave the padding out.
const TOLERANT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Checks the credentials of requests.
///
/// **Compat:** as Spring Security's Basic authentication: 401 with an empty body and `WWW-Authenticate`, whatever the path,
/// so that a client never takes it for a lease that is unknown. No token against cross-site requests is asked for: API
/// clients have none.
#[derive(Debug)]
pub struct Access {
    /// Digests of `user:password`, in the encodings that clients use; empty: everybody may.
    accepted: Vec<[u8; 32]>,
}

impl Access {
    /// Access for one user, or for everybody if there is no password.
    pub fn new(settings: &AccessSettings) -> Self {
        if settings.password.is_empty() {
            return Self { accepted: Vec::new() };
        }
        let plain = format!("{}:{}", settings.user, settings.password.expose());
        // Python's and older Java clients encode credentials in Latin-1, others in UTF-8.
        let latin1: Option<Vec<u8>> = plain.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
        let mut accepted = vec![digest(plain.as_bytes())];
        accepted.extend(latin1.filter(|bytes| bytes != plain.as_bytes()).map(|bytes| digest(&bytes)));
        Self { accepted }
    }

    /// Whether a request may go on; `path` is what is below the context path.
    pub(super) fn allows(&self, path: &str, headers: &HeaderMap) -> bool {
        self.accepted.is_empty() || is_health(path) || self.is_known(headers)
    }

    fn is_known(&self, headers: &HeaderMap) -> bool {
        let mut given = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(value), None) = (given.next(), given.next()) else { return false };
        let Some(given) = credentials(value) else { return false };
        // All of them, in the same time whether they fit or not; digests do not tell how long the password is.
        let given = digest(&given);
        let fits = self.accepted.iter().fold(Choice::from(0), |fits, one| fits | one.ct_eq(&given));
        fits.into()
    }
}

fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Balancers and containers ask for health without credentials.
fn is_health(path: &str) -> bool {
    ["/health", "/actuator/health"]
        .iter()
        .any(|open| path.strip_prefix(open).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// `user:password`, as the client encoded it.
fn credentials(value: &HeaderValue) -> Option<Vec<u8>> {
    let (scheme, encoded) = value.to_str().ok()?.trim().split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    TOLERANT.decode(encoded.trim()).ok()
}

/// 401 for who is not known.
pub(super) fn unauthorized() -> Response {
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, CHALLENGE)]).into_response()
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::settings::Secret;

    fn basic(user: &str, password: &[u8]) -> String {
        let raw = [user.as_bytes(), b":", password].concat();
        format!("Basic {}", STANDARD.encode(raw))
    }

    fn allows(password: &str, path: &str, authorization: Option<&str>) -> bool {
        let access = Access::new(&AccessSettings { user: "reg".into(), password: Secret::new(password) });
        let mut headers = HeaderMap::new();
        if let Some(value) = authorization {
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
        }
        access.allows(path, &headers)
    }

    /// Case: P090
    #[test]
    fn a_password_may_hold_any_characters_in_any_encoding_that_clients_use() {
        let password = "p@ss:w/ö%!";
        let latin1: Vec<u8> = password.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
        for (given, known) in [
            (basic("reg", password.as_bytes()), true),
            (basic("reg", &latin1), true),
            (basic("reg", password.as_bytes()).replace("Basic", "bAsIc"), true),
            (basic("reg", password.as_bytes()).trim_end_matches('=').to_owned(), true),
            (basic("reg", b"p@ss:w/o%!"), false),
            (basic("reg", b""), false),
            (basic("Reg", password.as_bytes()), false),
            ("Basic".to_owned(), false),
            ("Basic !!!".to_owned(), false),
            ("Bearer abc".to_owned(), false),
        ] {
            assert_eq!(allows(password, "/eureka/apps", Some(&given)), known, "{given}");
        }
        assert!(allows("日本", "/", Some(&basic("reg", "日本".as_bytes()))));
    }

    #[test]
    fn health_is_open_and_everything_else_is_closed() {
        for open in
            ["/health/live", "/health/ready", "/health", "/actuator/health", "/actuator/health/readiness"]
        {
            assert!(allows("x", open, None), "{open}");
        }
        for closed in
            ["/", "/eureka/apps", "/metrics", "/actuator/info", "/healthy", "/actuator", "/actuator/healthx"]
        {
            assert!(!allows("x", closed, None), "{closed}");
            assert!(allows("", closed, None), "without a password everybody may: {closed}");
        }
    }
}
