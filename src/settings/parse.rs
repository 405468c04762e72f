//! From `--dotted.key=value` to [`Settings`], with every problem named at once.

use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use super::{
    CacheSettings, Doubling, FAMILIES, Family, HttpSettings, InstanceSettings, LogFormat, LogSettings,
    PeerSettings, RegistrySettings, RenewalAccounting, SETTINGS, Setting, Settings, TimerSettings,
    ZoneSettings,
};

/// Settings that do not hold together, all problems at once.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub struct Invalid {
    /// What is wrong.
    pub problems: Vec<Problem>,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, problem) in self.problems.iter().enumerate() {
            write!(f, "{}{problem}", if n == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

/// One thing that is wrong with the settings.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// There is no such setting.
    #[error("--{key}: no such setting{}", nearest.map(|n| format!("; did you mean --{n}?")).unwrap_or_default())]
    Unknown {
        /// What was given.
        key: String,
        /// The setting that is spelt most like it.
        nearest: Option<&'static str>,
    },
    /// The value is not one that the setting takes.
    #[error("--{key}={value}: {expected}")]
    Value {
        /// The setting.
        key: String,
        /// What was given; left out where it may hold a password.
        value: String,
        /// What the setting takes.
        expected: String,
    },
    /// A setting of the Java server that has no meaning here.
    #[error("--{key}: not needed here; remove it")]
    NotNeeded {
        /// What was given.
        key: String,
    },
    /// URLs of a zone that is in no region.
    #[error(
        "--eureka.client.service-url.{zone}: no region has this zone; \
         write --eureka.client.availability-zones.{region}={zone}, or use service-url.defaultZone"
    )]
    NoSuchZone {
        /// The zone.
        zone: String,
        /// This server's region.
        region: String,
    },
    /// A setting without a value.
    #[error("--{key}: a value is missing; write --{key}=VALUE")]
    NoValue {
        /// What was given.
        key: String,
    },
}

/// A dotted argument, split: the key, and its value if it has one.
pub type Dotted = (String, Option<String>);

/// Splits a command line into its `--dotted.key=value` arguments and all others.
pub fn split_arguments(arguments: impl IntoIterator<Item = String>) -> (Vec<Dotted>, Vec<String>) {
    let mut dotted = Vec::new();
    let mut others = Vec::new();
    let mut arguments = arguments.into_iter().peekable();
    while let Some(argument) = arguments.next() {
        let rest = argument.strip_prefix("--").unwrap_or_default();
        let (key, value) = match rest.split_once('=') {
            Some((key, value)) => (key, Some(value.to_owned())),
            // The value may also stand by itself.
            None if rest.contains('.') => (rest, arguments.next_if(|next| !next.starts_with("--"))),
            None => (rest, None),
        };
        if key.contains('.') {
            dotted.push((key.to_owned(), value));
        } else {
            others.push(argument);
        }
    }
    (dotted, others)
}

/// The settings that such arguments make; of two for one key the later one counts.
///
/// **Compat:** keys are matched as Spring's relaxed binding does: letter case, `-` and `_` do not matter.
///
/// # Errors
/// If a key is unknown, or a value is not one that its setting takes. All problems are reported together.
pub fn from_arguments(arguments: &[Dotted]) -> Result<Settings, Invalid> {
    let known: HashMap<String, &Setting> = SETTINGS.iter().map(|s| (relaxed(s.key), s)).collect();
    let mut problems = Vec::new();
    let mut settings = blank();
    for setting in SETTINGS {
        if let Err(expected) = (setting.set)(&mut settings, setting.default) {
            let (key, value) = (setting.key.to_owned(), setting.default.to_owned());
            problems.push(Problem::Value { key, value, expected });
        }
    }
    for (key, value) in arguments {
        match (Place::of(key, &known), value) {
            (Some(place), Some(value)) => {
                if let Err(expected) = place.set(&mut settings, value.trim()) {
                    let value = if value.contains('@') { "…".to_owned() } else { value.clone() };
                    problems.push(Problem::Value { key: place.key(key), value, expected });
                }
            }
            (Some(_), None) => problems.push(Problem::NoValue { key: key.clone() }),
            (None, _) if NOT_NEEDED.iter().any(|other| relaxed(other) == relaxed(key)) => {
                problems.push(Problem::NotNeeded { key: key.clone() });
            }
            (None, _) => problems.push(Problem::Unknown { key: key.clone(), nearest: nearest(key) }),
        }
    }
    if settings.instance.host_name.is_empty() {
        settings.instance.host_name = gethostname::gethostname().to_string_lossy().into_owned();
    }
    problems.extend(settings.peers.resolve_zones());
    settings.registry.max_instance_bytes = settings.http.max_body_bytes;
    if settings.cache.update_interval.is_zero() {
        settings.cache.use_read_only = false;
    }
    if problems.is_empty() { Ok(settings) } else { Err(Invalid { problems }) }
}

/// Where a value goes.
enum Place<'a> {
    Setting(&'static Setting),
    Named(&'static Family, &'a str),
}

impl<'a> Place<'a> {
    fn of(key: &'a str, known: &HashMap<String, &'static Setting>) -> Option<Self> {
        let setting = known.get(&relaxed(key)).copied().map(Self::Setting);
        let named = || FAMILIES.iter().find_map(|family| Some(Self::Named(family, family.name_in(key)?)));
        setting.or_else(named)
    }

    fn set(&self, settings: &mut Settings, value: &str) -> Result<(), String> {
        match self {
            Self::Setting(setting) => (setting.set)(settings, value),
            Self::Named(family, name) => (family.set)(settings, name, value),
        }
    }

    /// Its key, as it is shown where `given` was written.
    fn key(&self, given: &str) -> String {
        match self {
            Self::Setting(setting) => setting.key.to_owned(),
            Self::Named(..) => given.to_owned(),
        }
    }
}

impl Settings {
    /// This server's own instance id, given the port it listens on.
    pub fn own_instance_id(&self, port: u16) -> String {
        let InstanceSettings { app_name, host_name, id, .. } = &self.instance;
        if id.is_empty() { format!("{host_name}:{app_name}:{port}") } else { id.clone() }
    }
}

/// What stands in many configurations of Java servers and is meant for their embedded client or their framework.
const NOT_NEEDED: [&str; 5] = [
    "eureka.client.fetch-registry",
    "eureka.client.registry-fetch-interval-seconds",
    "eureka.dashboard.enabled",
    "eureka.instance.prefer-ip-address",
    "spring.application.name",
];

pub(super) fn relaxed(key: &str) -> String {
    key.chars().filter(|c| *c != '-' && *c != '_').flat_map(char::to_lowercase).collect()
}

/// The key that shares most with `key`, if it shares enough to be meant.
fn nearest(key: &str) -> Option<&'static str> {
    let given = relaxed(key);
    let keys = SETTINGS.iter().map(|s| s.key).chain(FAMILIES.iter().map(|family| family.key));
    let scored = keys.map(|key| (strsim::jaro_winkler(&given, &relaxed(key)), key));
    scored.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(score, _)| *score > 0.93).map(|(_, key)| key)
}

/// Settings before any row of the table has been applied. A test checks that the table fills every place.
fn blank() -> Settings {
    Settings {
        http: HttpSettings {
            bind: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            port: 0,
            context_path: String::new(),
            disable_delta: false,
            serve_while_syncing: false,
            wait_when_sync_empty: Duration::ZERO,
            default_open_for_traffic_count: 0,
            require_amazon_instance_id: false,
            max_body_bytes: 0,
            max_batch_bytes: 0,
            max_bytes_in_flight: 0,
            max_header_bytes: 0,
            max_headers: 0,
            max_connections: 0,
            max_connections_per_address: 0,
            idle_timeout: Duration::ZERO,
            header_timeout: Duration::ZERO,
            request_timeout: Duration::ZERO,
            body_timeout: Duration::ZERO,
            write_timeout: Duration::ZERO,
            rate_limiter: super::RateLimiterSettings::default(),
        },
        registry: RegistrySettings {
            self_preservation: false,
            self_preservation_min_leases: 0,
            renewal_percent_threshold: 0.0,
            accounting: RenewalAccounting::PerLease,
            global_renewal_interval_secs: 0,
            expected_clients: 0,
            doubling: Doubling::Auto,
            trust_client_status: false,
            sync_when_timestamp_differs: false,
            delta_retention: Duration::ZERO,
            max_changes: 0,
            max_instances: 0,
            max_applications: 0,
            max_instances_per_application: 0,
            max_metadata_bytes: 0,
            max_instance_bytes: 0,
            max_vips: 0,
            own_instance_id: "".into(),
        },
        cache: CacheSettings {
            use_read_only: false,
            update_interval: Duration::ZERO,
            expiration: Duration::ZERO,
            max_bytes: 0,
        },
        timers: TimerSettings {
            eviction: Duration::ZERO,
            delta_retention: Duration::ZERO,
            renewal_threshold: Duration::ZERO,
        },
        instance: InstanceSettings {
            app_name: String::new(),
            host_name: String::new(),
            ip_address: String::new(),
            id: String::new(),
            environment: String::new(),
            datacenter: String::new(),
        },
        peers: PeerSettings {
            zones: ZoneSettings::default(),
            sources: Vec::new(),
            file: None,
            refresh_interval: Duration::ZERO,
            connect_timeout: Duration::ZERO,
            read_timeout: Duration::ZERO,
            linger: Duration::ZERO,
            max_answer_bytes: 0,
            queue_capacity: 0,
            contact_interval: Duration::ZERO,
            compare_interval: Duration::ZERO,
            sync_timeout: Duration::ZERO,
            register_itself: None,
        },
        log: LogSettings { filter: String::new(), format: LogFormat::Text },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Settings, Invalid> {
        let (dotted, others) = split_arguments(arguments.iter().map(|a| (*a).to_owned()));
        assert!(others.is_empty(), "{others:?}");
        from_arguments(&dotted)
    }

    #[test]
    fn every_default_is_valid_and_documented() {
        let settings = parse(&[]).unwrap();
        assert_eq!(settings.http.port, 8761);
        assert_eq!(settings.cache.update_interval, Duration::from_secs(1));
        for setting in SETTINGS {
            assert!(!setting.about.is_empty(), "{}", setting.key);
            assert_eq!(setting.key, setting.key.to_lowercase(), "keys are in kebab form");
        }
    }

    #[test]
    fn a_key_may_be_written_in_kebab_or_camel_case() {
        for key in [
            "--eureka.server.enable-self-preservation=false",
            "--eureka.server.enableSelfPreservation=false",
            "--EUREKA.SERVER.ENABLE_SELF_PRESERVATION=FALSE",
        ] {
            assert!(!parse(&[key]).unwrap().registry.self_preservation, "{key}");
        }
    }

    #[test]
    fn every_problem_is_named_with_its_key_and_its_fix() {
        let invalid = parse(&[
            "--server.port=many",
            "--eureka.server.eviction-interval-timer-in-ms=0",
            "--eureka.server.enable-self-preservaton=true",
            "--nothing.like.it=1",
            "--eureka.server.disable-delta",
        ])
        .unwrap_err();
        let text = invalid.to_string();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 5, "{text}");
        assert_eq!(lines[0], "--server.port=many: expected a port, 0 to 65535");
        assert!(lines[1].contains("1 or more, in milliseconds"));
        assert!(lines[2].ends_with("did you mean --eureka.server.enable-self-preservation?"));
        assert_eq!(lines[3], "--nothing.like.it: no such setting");
        assert!(lines[4].contains("write --eureka.server.disable-delta=VALUE"));
    }

    #[test]
    fn a_value_may_stand_by_itself() {
        let settings = parse(&["--server.port", "9000", "--eureka.server.disable-delta", "true"]).unwrap();
        assert_eq!((settings.http.port, settings.http.disable_delta), (9000, true));
    }

    #[test]
    fn what_only_a_java_server_needs_is_named_as_such() {
        let text = parse(&["--eureka.client.fetchRegistry=false"]).unwrap_err().to_string();
        assert_eq!(text, "--eureka.client.fetchRegistry: not needed here; remove it");
    }

    #[test]
    fn a_bad_peer_url_does_not_show_its_password() {
        let text =
            parse(&["--eureka.client.service-url.defaultZone=ftp://u:secret@a/"]).unwrap_err().to_string();
        assert!(!text.contains("secret"), "{text}");
    }

    #[test]
    fn an_update_interval_of_zero_turns_the_read_only_cache_off() {
        let settings = parse(&["--eureka.server.response-cache-update-interval-ms=0"]).unwrap();
        assert!(!settings.cache.use_read_only);
    }

    #[test]
    fn the_table_fills_every_place() {
        // With its defaults applied twice, from two different beginnings, the result is the same.
        let mut other = blank();
        other.registry.expected_clients = 77;
        other.http.max_connections = 77;
        for setting in SETTINGS {
            (setting.set)(&mut other, setting.default).unwrap();
        }
        other.instance.host_name = Settings::default().instance.host_name;
        other.registry.max_instance_bytes = other.http.max_body_bytes;
        assert_eq!(other, Settings::default());
    }

    #[test]
    fn an_own_instance_id_is_made_of_host_application_and_port() {
        let named = parse(&["--eureka.instance.hostname=h"]).unwrap();
        assert_eq!(named.own_instance_id(8761), "h:eurekad:8761");
        let named = parse(&["--eureka.instance.instance-id=me"]).unwrap();
        assert_eq!(named.own_instance_id(8761), "me");
    }
}
