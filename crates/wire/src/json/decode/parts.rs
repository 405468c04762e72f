//! The small objects inside an instance: its ports and its lease.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

use super::number::{self, Number};
use super::scalar::Scalar;
use super::skip::skip;
use crate::decode::with_sane_lengths;
use crate::{LeaseInfo, Port};

/// What a client said about a port.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PortWish {
    number: Option<i32>,
    enabled: Option<bool>,
}

impl PortWish {
    /// The port, where the defaults stand for what was not said.
    pub(super) fn or(&self, default: Port) -> Port {
        Port {
            number: self.number.unwrap_or(default.number),
            enabled: self.enabled.unwrap_or(default.enabled),
        }
    }

    fn bare<E: de::Error>(scalar: &Scalar<'_>) -> Result<Self, E> {
        match number::parse(scalar)? {
            Some(Some(number)) => Ok(Self { number: Some(number), enabled: Some(true) }),
            Some(None) => Err(E::custom("expected a port")),
            None => Ok(Self::default()),
        }
    }
}

/// **Compat:** the reference form is `{"$":8080,"@enabled":"true"}`. A bare number, or text that is one, is an enabled
/// port, as old servers took it, and `enabled` is understood like `@enabled`.
impl<'de> Deserialize<'de> for PortWish {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(PortVisitor)
    }
}

struct PortVisitor;

impl<'de> Visitor<'de> for PortVisitor {
    type Value = PortWish;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a port")
    }

    fn visit_unit<E: de::Error>(self) -> Result<PortWish, E> {
        Ok(PortWish::default())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<PortWish, E> {
        PortWish::bare(&Scalar::Number(&number.to_string()))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<PortWish, E> {
        PortWish::bare(&Scalar::Number(&number.to_string()))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<PortWish, E> {
        PortWish::bare(&Scalar::Text(text.into()))
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<PortWish, M::Error> {
        #[derive(serde::Deserialize)]
        #[serde(field_identifier)]
        enum Key {
            #[serde(rename = "$")]
            Number,
            #[serde(rename = "@enabled", alias = "enabled")]
            Enabled,
            #[serde(other)]
            Unknown,
        }
        let mut wish = PortWish::default();
        while let Some(key) = map.next_key()? {
            match key {
                Key::Number => wish.number = map.next_value::<Number<_>>()?.0.or(wish.number),
                Key::Enabled => match map.next_value()? {
                    Scalar::Null => {}
                    value => wish.enabled = Some(value.is_true()),
                },
                Key::Unknown => skip(&mut map)?,
            }
        }
        Ok(wish)
    }
}

/// A lease, `None` for `null`.
///
/// **Compat:** a length of zero or less is the default. The keys `evictionDurationInSecs` and `renewalTimestamp` of
/// old clients are not read.
pub(super) struct Lease(pub(super) Option<LeaseInfo>);

impl<'de> Deserialize<'de> for Lease {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(LeaseVisitor)
    }
}

struct LeaseVisitor;

impl<'de> Visitor<'de> for LeaseVisitor {
    type Value = Lease;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a lease object")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Lease, E> {
        Ok(Lease(None))
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Lease, M::Error> {
        #[derive(serde::Deserialize)]
        #[serde(field_identifier, rename_all = "camelCase")]
        enum Key {
            RenewalIntervalInSecs,
            DurationInSecs,
            RegistrationTimestamp,
            LastRenewalTimestamp,
            EvictionTimestamp,
            ServiceUpTimestamp,
            #[serde(other)]
            Unknown,
        }
        fn set<'de, T, M>(field: &mut T, map: &mut M) -> Result<(), M::Error>
        where
            Number<T>: Deserialize<'de>,
            M: MapAccess<'de>,
        {
            if let Some(number) = map.next_value::<Number<T>>()?.0 {
                *field = number;
            }
            Ok(())
        }
        let mut lease = LeaseInfo::default();
        while let Some(key) = map.next_key()? {
            match key {
                Key::RenewalIntervalInSecs => set(&mut lease.renewal_interval_secs, &mut map)?,
                Key::DurationInSecs => set(&mut lease.duration_secs, &mut map)?,
                Key::RegistrationTimestamp => set(&mut lease.registration_timestamp, &mut map)?,
                Key::LastRenewalTimestamp => set(&mut lease.last_renewal_timestamp, &mut map)?,
                Key::EvictionTimestamp => set(&mut lease.eviction_timestamp, &mut map)?,
                Key::ServiceUpTimestamp => set(&mut lease.service_up_timestamp, &mut map)?,
                Key::Unknown => skip(&mut map)?,
            }
        }
        Ok(Lease(Some(with_sane_lengths(lease))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, with};
    use crate::{LeaseInfo, Port};

    /// Case: P004, P006, P007
    /// Catalog: E31
    #[test]
    fn a_port_is_read_in_every_form_that_clients_send() {
        let port = |number, enabled| Port { number, enabled };
        for (value, expected) in [
            (r#"{"$":8080,"@enabled":"true"}"#, port(8080, true)),
            (r#"{"@enabled":"false","$":8080}"#, port(8080, false)),
            (r#"{"@enabled":true,"$":"8080"}"#, port(8080, true)),
            (r#"{"$":8080,"enabled":"false"}"#, port(8080, false)),
            (r#"{"$":8080,"enabled":true,"metadata":{"a":[1]},"x":null}"#, port(8080, true)),
            (r#"{"$":8080,"@enabled":"TRUE"}"#, port(8080, false)),
            (r#"{"$":8080,"@enabled":1}"#, port(8080, false)),
            (r#"{"$":8080,"@enabled":null}"#, port(8080, true)),
            (r#"{"$":"abc"}"#, port(0, true)),
            (r#"{"$":null,"@enabled":"false"}"#, port(7001, false)),
            (r#"{"$":-1}"#, port(-1, true)),
            ("{}", port(7001, true)),
            ("null", port(7001, true)),
            ("8080", port(8080, true)),
            ("\"8080\"", port(8080, true)),
        ] {
            assert_eq!(with(&format!(r#""port":{value}"#)).unwrap().port, expected, "{value}");
        }
        for (value, expected) in [
            (r#"{"$":8443}"#, port(8443, false)),
            (r#"{"@enabled":"true"}"#, port(7002, true)),
            ("{}", port(7002, false)),
            ("8443", port(8443, true)),
        ] {
            assert_eq!(with(&format!(r#""securePort":{value}"#)).unwrap().secure_port, expected, "{value}");
        }
    }

    #[test]
    fn a_port_that_is_none_is_refused() {
        for (value, place, problem) in [
            ("80.5", "instance.port", "expected a port"),
            ("true", "instance.port", "expected a port"),
            ("[8080]", "instance.port", "expected a port"),
            ("\"http\"", "instance.port", "expected a port"),
            ("\"\"", "instance.port", "expected a port"),
            ("3000000000", "instance.port", "out of range"),
            ("99999999999999999999", "instance.port", "expected a port"),
            (r#"{"$":80.5}"#, "instance.port.$", "expected a whole number, found 80.5"),
            (r#"{"$":3000000000}"#, "instance.port.$", "out of range"),
            (r#"{"$":"3000000000"}"#, "instance.port.$", "out of range"),
            (r#"{"$":{}}"#, "instance.port.$", "found an object"),
            (r#"{"@enabled":[]}"#, "instance.port.@enabled", "found an array"),
        ] {
            let error = refused(&format!(r#""port":{value}"#));
            assert!(error.starts_with(&format!("{place} (line 1, column ")), "{value}: {error}");
            assert!(error.contains(problem), "{value}: {error}");
        }
    }

    /// Catalog: E14, E31
    #[test]
    fn a_lease_is_read_with_defaults_for_what_is_absent_or_senseless() {
        let lease = |value: &str| with(&format!(r#""leaseInfo":{value}"#)).unwrap().lease_info;
        assert_eq!(lease("null"), None);
        assert_eq!(lease("{}"), Some(LeaseInfo::default()));
        assert_eq!(
            lease(
                r#"{"renewalIntervalInSecs":"7","durationInSecs":21,"registrationTimestamp":1,"lastRenewalTimestamp":"2",
                   "evictionTimestamp":3,"serviceUpTimestamp":4,"renewalTimestamp":9,"evictionDurationInSecs":[{}]}"#
            ),
            Some(LeaseInfo {
                renewal_interval_secs: 7,
                duration_secs: 21,
                registration_timestamp: 1,
                last_renewal_timestamp: 2,
                eviction_timestamp: 3,
                service_up_timestamp: 4,
            })
        );
        for senseless in ["0", "-5", "\"x\"", "null"] {
            let value = format!(r#"{{"renewalIntervalInSecs":{senseless},"durationInSecs":{senseless}}}"#);
            assert_eq!(lease(&value), Some(LeaseInfo::default()), "{value}");
        }
        assert!(refused(r#""leaseInfo":5"#).contains("expected a lease object"));
        assert!(
            refused(r#""leaseInfo":{"durationInSecs":1.5}"#).starts_with("instance.leaseInfo.durationInSecs")
        );
    }
}
