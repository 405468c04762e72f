//! How often the registry may be fetched, over all clients together.
//!
//! **Compat:** Netflix's rate limiter, which Spring's server does not have. Only fetches of the whole registry, of the
//! delta and of one application count; a heartbeat is never refused. Two token buckets: one for all such fetches, one
//! more for those of the whole registry, and each fetch takes from all that concern it, whether it is served or not.
//! Eureka's own clients and servers do not count unless they are to. While it is not enabled, who would have been refused
//! is counted as a candidate.

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::reject::Reject;
use super::{Api, negotiate};
use crate::clock::Tick;
use crate::settings::RateLimiterSettings;

/// The header in which clients say what they are.
const IDENTITY: &str = "discoveryidentity-name";

/// **Compat:** Java's client and Java's server. `Jersey3DefaultClient`, which newer Spring clients send, is not among
/// them.
const STANDARD: [&str; 2] = ["DefaultClient", "DefaultServer"];

/// The buckets of one node.
#[derive(Debug, Default)]
pub struct RateLimiter {
    registry_fetches: TokenBucket,
    full_fetches: TokenBucket,
}

/// What a request fetches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    FullFetch,
    DeltaOrApplication,
}

/// Answers 503 to fetches beyond the rates, or counts them.
pub(super) async fn limit(State(api): State<Arc<Api>>, request: Request, next: Next) -> Response {
    let settings = &api.settings.http.rate_limiter;
    if let Some(target) = target(request.method(), request.uri().path())
        && !is_privileged(settings, request.headers())
        && api.rate_limiter.is_overloaded(settings, target, api.clock.tick())
    {
        let metrics = &api.metrics.rate_limiter;
        let (counted, full) = if settings.enabled {
            (&metrics.limited, &metrics.full_fetches_limited)
        } else {
            (&metrics.candidates, &metrics.full_fetch_candidates)
        };
        counted.inc();
        if target == Target::FullFetch {
            full.inc();
        }
        if settings.enabled {
            let detail =
                "the registry is fetched too often: see eureka.server.rate-limiter-enabled".to_owned();
            return Reject::Overloaded { format: negotiate::format(request.headers()), detail }
                .into_response();
        }
    }
    next.run(request).await
}

/// What is fetched, if it counts. `path` is below the API's.
fn target(method: &Method, path: &str) -> Option<Target> {
    if *method != Method::GET {
        return None;
    }
    match path.strip_prefix("/apps")? {
        "" => Some(Target::FullFetch),
        rest if rest.starts_with('/') && !rest[1..].contains('/') => Some(Target::DeltaOrApplication),
        _ => None,
    }
}

fn is_privileged(settings: &RateLimiterSettings, headers: &HeaderMap) -> bool {
    let name = headers.get(IDENTITY).and_then(|name| name.to_str().ok());
    !settings.throttle_standard_clients
        && name.is_some_and(|name| {
            STANDARD.contains(&name) || settings.privileged_clients.iter().any(|other| other == name)
        })
}

impl RateLimiter {
    fn is_overloaded(&self, settings: &RateLimiterSettings, target: Target, now: Tick) -> bool {
        let burst = settings.burst_size;
        let fits = self.registry_fetches.acquire(burst, settings.registry_fetch_average_rate, now);
        let full_fits = target != Target::FullFetch
            || self.full_fetches.acquire(burst, settings.full_fetch_average_rate, now);
        !fits || !full_fits
    }
}

/// Tokens that come back at a steady rate.
#[derive(Debug, Default)]
struct TokenBucket(Mutex<Tokens>);

#[derive(Debug, Default)]
struct Tokens {
    consumed: i64,
    last_refill: Option<Tick>,
}

impl TokenBucket {
    /// Takes a token, if there is one. **Compat:** a burst or a rate of 0 or less lets everything through.
    fn acquire(&self, burst: i64, rate_per_s: i64, now: Tick) -> bool {
        let (Ok(rate), Ok(_)) = (u128::try_from(rate_per_s), u128::try_from(burst)) else { return true };
        if burst == 0 || rate == 0 {
            return true;
        }
        let mut tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(last) = tokens.last_refill else {
            *tokens = Tokens { consumed: 1, last_refill: Some(now) };
            return true;
        };
        let new = now.since(last).as_millis() * rate / 1000;
        if new > 0 {
            // Only as far as whole tokens go: what is left of the time counts for the next one.
            let went = u64::try_from(new * 1000 / rate).unwrap_or(u64::MAX);
            tokens.last_refill = Some(Tick(last.0.saturating_add(went)));
            let new = i64::try_from(new).unwrap_or(i64::MAX);
            tokens.consumed = tokens.consumed.min(burst).saturating_sub(new).max(0);
        }
        let fits = tokens.consumed < burst;
        tokens.consumed += i64::from(fits);
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_gives_its_burst_and_then_what_its_rate_brings() {
        // (burst, per second, [(at ms, how many are asked for, how many of them fit)])
        type Row = (i64, i64, &'static [(u64, usize, usize)]);
        let table: &[Row] = &[
            (10, 500, &[(0, 12, 10), (1, 1, 0), (2, 2, 1), (4, 2, 1), (10_000, 12, 10)]),
            (1, 1, &[(0, 2, 1), (999, 1, 0), (1000, 2, 1), (1999, 1, 0), (2000, 1, 1)]),
            // What is left of a token's time is not lost: three in a second, whenever it is asked.
            (1, 3, &[(0, 1, 1), (334, 1, 1), (667, 1, 1), (1000, 1, 1)]),
            // A long rest fills the bucket once, not more.
            (5, 100, &[(0, 5, 5), (3_600_000, 20, 5)]),
            (3, 1000, &[(0, 3, 3), (1, 3, 1), (2, 3, 1)]),
            (0, 500, &[(0, 100, 100)]),
            (10, 0, &[(0, 100, 100)]),
            (-1, 500, &[(0, 100, 100)]),
            (10, -1, &[(0, 100, 100)]),
            (i64::MAX, i64::MAX, &[(0, 100, 100), (u64::MAX / 4, 100, 100)]),
        ];
        for (burst, rate, steps) in table {
            let bucket = TokenBucket::default();
            for (at, asked, fit) in *steps {
                let now = Tick(Tick::START.0 + at);
                let got = (0..*asked).filter(|_| bucket.acquire(*burst, *rate, now)).count();
                assert_eq!(got, *fit, "burst {burst}, {rate} a second, at {at} ms");
            }
        }
    }

    #[test]
    fn only_fetches_of_all_of_the_delta_and_of_one_application_count() {
        let what = |method: Method, path: &str| target(&method, path);
        assert_eq!(what(Method::GET, "/apps"), Some(Target::FullFetch));
        for path in ["/apps/delta", "/apps/ORDERS"] {
            assert_eq!(what(Method::GET, path), Some(Target::DeltaOrApplication), "{path}");
        }
        for path in ["/apps/ORDERS/i", "/vips/orders", "/svips/orders", "/instances/i", "/status", "/appsx"] {
            assert_eq!(what(Method::GET, path), None, "{path}");
        }
        for method in [Method::PUT, Method::POST, Method::DELETE, Method::HEAD] {
            assert_eq!(what(method, "/apps/ORDERS"), None);
        }
    }

    #[test]
    fn clients_go_free_by_their_names_unless_standard_ones_are_throttled_too() {
        let mut settings = crate::settings::Settings::default().http.rate_limiter;
        settings.privileged_clients = vec!["mine".to_owned()];
        let named = |name: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(IDENTITY, name.parse().unwrap());
            headers
        };
        for (name, free) in [
            ("DefaultClient", true),
            ("DefaultServer", true),
            ("mine", true),
            ("Mine", false),
            ("Jersey3DefaultClient", false),
            ("", false),
        ] {
            assert_eq!(is_privileged(&settings, &named(name)), free, "{name}");
        }
        assert!(!is_privileged(&settings, &HeaderMap::new()));
        settings.throttle_standard_clients = true;
        assert!(!is_privileged(&settings, &named("DefaultClient")));
        assert!(!is_privileged(&settings, &named("mine")));
    }
}
