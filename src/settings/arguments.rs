//! The command line's part: `--dotted.key=value`.

use super::property::{Origin, Place, Property};
use super::{Invalid, Loaded, Problem, Settings, Sources, load};

/// A setting on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Its key.
    pub key: String,
    /// Its value, if it has one.
    pub value: Option<String>,
    /// The option as it was written, without its value, such as `--server.port` or `--port`.
    pub option: String,
}

impl Argument {
    /// The value of a key, from an option that is its short form.
    pub fn short(key: &str, value: String, option: &str) -> Self {
        Self { key: key.to_owned(), value: Some(value), option: option.to_owned() }
    }

    pub(super) fn property(&self) -> Result<Property, Problem> {
        let origin = Origin::Argument(self.option.as_str().into());
        let key = self.key.clone();
        match &self.value {
            Some(value) => Ok(Property { key, value: value.clone(), origin }),
            None => Err(Problem::NoValue { place: Place { key, origin } }),
        }
    }
}

/// Splits a command line into its `--dotted.key=value` arguments and all others.
pub fn split_arguments(arguments: impl IntoIterator<Item = String>) -> (Vec<Argument>, Vec<String>) {
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
            dotted.push(Argument { key: key.to_owned(), value, option: format!("--{key}") });
        } else {
            others.push(argument);
        }
    }
    (dotted, others)
}

/// The settings that such arguments make by themselves, without any file and environment.
///
/// # Errors
/// If a value is not one that its setting takes, and so on. All problems are reported together.
pub fn from_arguments(arguments: &[Argument]) -> Result<Settings, Invalid> {
    load(&Sources::arguments(arguments)).map(|Loaded { settings, .. }| settings)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::SETTINGS;
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
            "--eureka.enableSelfPreservation=off",
        ] {
            assert!(!parse(&[key]).unwrap().registry.self_preservation, "{key}");
        }
    }

    #[test]
    fn every_problem_is_named_with_its_key_and_its_fix() {
        let invalid = parse(&[
            "--server.port=many",
            "--eureka.server.eviction-interval-timer-in-ms=0",
            "--eurekad.limits.instnces=1",
            "--eureka.server.disable-delta",
            "--server.ssl.enabled=true",
            "--spring.security.user.name=u",
            "--eureka.client.region=${NOWHERE}",
        ])
        .unwrap_err();
        let mut lines: Vec<String> = invalid.to_string().lines().map(str::to_owned).collect();
        lines.sort();
        let expected = [
            "--eureka.client.region=${NOWHERE}: nothing is called NOWHERE; set it, or write ${NOWHERE:DEFAULT}",
            "--eureka.server.disable-delta: a value is missing; write --eureka.server.disable-delta=VALUE",
            "--eureka.server.eviction-interval-timer-in-ms=0: expected a whole number of 1 or more, in milliseconds",
            "--eurekad.limits.instnces: no such setting; did you mean eurekad.limits.instances?",
            "--server.port=many: expected a port, 0 to 65535",
            "--server.ssl.enabled: this version does not speak TLS; remove it and let a proxy in front do so",
            "--spring.security.user.name: a password is missing; set spring.security.user.password too, or remove the user",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_value_may_stand_by_itself() {
        let settings = parse(&["--server.port", "9000", "--eureka.server.disable-delta", "true"]).unwrap();
        assert_eq!((settings.http.port, settings.http.disable_delta), (9000, true));
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
        let mut other = Settings::blank();
        other.registry.expected_clients = 77;
        other.http.max_connections = 77;
        for setting in SETTINGS {
            (setting.set)(&mut other, setting.default).unwrap();
        }
        let defaults = Settings::default();
        other.instance.host_name.clone_from(&defaults.instance.host_name);
        other.instance.ip_address.clone_from(&defaults.instance.ip_address);
        other.registry.max_instance_bytes = other.http.max_body_bytes;
        assert_eq!(other, defaults);
    }

    #[test]
    fn an_own_instance_id_is_made_of_host_application_and_port() {
        let named = parse(&["--eureka.instance.hostname=h"]).unwrap();
        assert_eq!(named.own_instance_id(8761), "h:eureka:8761");
        let named = parse(&["--eureka.instance.instance-id=me"]).unwrap();
        assert_eq!(named.own_instance_id(8761), "me");
        let named = parse(&["--spring.application.name=reg", "--eureka.instance.hostname=h"]).unwrap();
        assert_eq!(named.own_instance_id(1), "h:reg:1");
        let named = parse(&["--spring.application.name=reg", "--eureka.instance.appname=a"]).unwrap();
        assert_eq!(named.instance.app_name, "a");
    }

    #[test]
    fn an_address_may_stand_for_the_host_name() {
        let settings = ["--eureka.instance.prefer-ip-address=true", "--eureka.instance.ip-address=10.0.0.9"];
        assert_eq!(parse(&settings).unwrap().instance.host_name, "10.0.0.9");
    }

    #[test]
    fn a_password_is_taken_as_it_is_and_shown_to_nobody() {
        let settings = parse(&["--spring.security.user.password={noop} s,e@c=ret "]).unwrap();
        assert_eq!(settings.access.password.expose(), " s,e@c=ret ");
        assert!(!format!("{settings:?}").contains("s,e@c"));
        let said = parse(&["--spring.security.user.password={bcrypt}$2a$10$x"]).unwrap_err().to_string();
        assert!(said.contains("expected a plain password") && !said.contains("$2a"), "{said}");
    }
}
