//! An instance.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

use super::data_center::DataCenter;
use super::metadata::Entries;
use super::missing;
use super::number::Number;
use super::parts::{Lease, PortWish};
use super::scalar::Scalar;
use super::skip::skip;
use crate::decode::{action_type, meaningful_sid, take_id_from_metadata};
use crate::{AppName, InstanceId, InstanceInfo, InstanceStatus};

/// An instance.
///
/// **Compat:** a `null` is a key that is not there, and of two equal keys the later one counts, as in Jackson. The two
/// spellings of the override, `overriddenStatus` and the older `overriddenstatus`, are one key.
pub(super) struct Instance(pub(super) InstanceInfo);

impl<'de> Deserialize<'de> for Instance {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_map(InstanceVisitor)
    }
}

#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "camelCase")]
enum Key {
    InstanceId,
    HostName,
    App,
    IpAddr,
    Sid,
    Status,
    #[serde(alias = "overriddenstatus")]
    OverriddenStatus,
    Port,
    SecurePort,
    CountryId,
    DataCenterInfo,
    LeaseInfo,
    Metadata,
    AppGroupName,
    HomePageUrl,
    StatusPageUrl,
    HealthCheckUrl,
    SecureHealthCheckUrl,
    VipAddress,
    SecureVipAddress,
    IsCoordinatingDiscoveryServer,
    LastUpdatedTimestamp,
    LastDirtyTimestamp,
    ActionType,
    AsgName,
    #[serde(other)]
    Unknown,
}

struct InstanceVisitor;

impl<'de> Visitor<'de> for InstanceVisitor {
    type Value = Instance;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an instance object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Instance, M::Error> {
        let mut info = InstanceInfo::new(AppName::new(""));
        let mut app = None;
        while let Some(key) = map.next_key()? {
            match key {
                Key::App => set(&mut app, text(&mut map, AppName::new)?),
                Key::InstanceId => set(&mut info.instance_id, text(&mut map, InstanceId::new)?),
                Key::HostName => replace(&mut info.host_name, plain(&mut map)?),
                Key::IpAddr => replace(&mut info.ip_addr, plain(&mut map)?),
                Key::Sid => replace(&mut info.sid, text(&mut map, meaningful_sid)?),
                Key::Status => replace(&mut info.status, map.next_value::<StatusWord>()?.0),
                Key::OverriddenStatus => {
                    replace(&mut info.overridden_status, map.next_value::<StatusWord>()?.0);
                }
                Key::Port => info.port = map.next_value::<PortWish>()?.or(InstanceInfo::DEFAULT_PORT),
                Key::SecurePort => {
                    info.secure_port = map.next_value::<PortWish>()?.or(InstanceInfo::DEFAULT_SECURE_PORT);
                }
                Key::CountryId => replace(&mut info.country_id, map.next_value::<Number<_>>()?.0),
                Key::DataCenterInfo => set(&mut info.data_center_info, map.next_value::<DataCenter>()?.0),
                Key::LeaseInfo => set(&mut info.lease_info, map.next_value::<Lease>()?.0),
                Key::Metadata => {
                    replace(&mut info.metadata, map.next_value::<Option<Entries>>()?.map(|m| m.0));
                }
                Key::AppGroupName => {
                    set(&mut info.app_group_name, text(&mut map, |t| t.to_uppercase().into())?);
                }
                Key::HomePageUrl => set(&mut info.home_page_url, plain(&mut map)?),
                Key::StatusPageUrl => set(&mut info.status_page_url, plain(&mut map)?),
                Key::HealthCheckUrl => set(&mut info.health_check_url, plain(&mut map)?),
                Key::SecureHealthCheckUrl => {
                    set(&mut info.secure_health_check_url, plain(&mut map)?);
                }
                Key::VipAddress => set(&mut info.vip_address, plain(&mut map)?),
                Key::SecureVipAddress => set(&mut info.secure_vip_address, plain(&mut map)?),
                Key::IsCoordinatingDiscoveryServer => {
                    info.is_coordinating_discovery_server = map.next_value::<Scalar<'_>>()?.is_true();
                }
                Key::LastUpdatedTimestamp => {
                    replace(&mut info.last_updated_timestamp, map.next_value::<Number<_>>()?.0);
                }
                Key::LastDirtyTimestamp => {
                    set(&mut info.last_dirty_timestamp, map.next_value::<Number<_>>()?.0);
                }
                Key::ActionType => replace(&mut info.action_type, text(&mut map, action_type)?),
                Key::AsgName => set(&mut info.asg_name, plain(&mut map)?),
                Key::Unknown => skip(&mut map)?,
            }
        }
        info.app = app.ok_or_else(|| missing("app"))?;
        take_id_from_metadata(&mut info);
        Ok(Instance(info))
    }
}

/// The next value as it is; `None` for `null`.
fn plain<'de, M: MapAccess<'de>>(map: &mut M) -> Result<Option<Box<str>>, M::Error> {
    Ok(map.next_value::<Scalar<'de>>()?.into_text().map(Box::from))
}

/// The next value, made into something else; `None` for `null`.
fn text<'de, M: MapAccess<'de>, T>(map: &mut M, make: impl FnOnce(&str) -> T) -> Result<Option<T>, M::Error> {
    Ok(map.next_value::<Scalar<'de>>()?.into_text().map(|text| make(&text)))
}

/// Sets a field that may be absent, unless the document says nothing.
fn set<T>(field: &mut Option<T>, said: Option<T>) {
    if said.is_some() {
        *field = said;
    }
}

/// Sets a field, unless the document says nothing.
fn replace<T>(field: &mut T, said: Option<T>) {
    if let Some(value) = said {
        *field = value;
    }
}

/// A status; `None` for `null`.
///
/// **Compat:** a word that is none of the five, `up` among them, is `UNKNOWN`. A number or a truth value is no word at
/// all, and refused.
struct StatusWord(Option<InstanceStatus>);

impl<'de> Deserialize<'de> for StatusWord {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        match Scalar::deserialize(json)? {
            Scalar::Null => Ok(Self(None)),
            Scalar::Text(word) => Ok(Self(Some(word.parse().unwrap_or(InstanceStatus::Unknown)))),
            other => Err(de::Error::custom(format_args!("expected a status, found {}", other.kind()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, with};
    use crate::{ActionType, InstanceInfo, InstanceStatus};

    /// Catalog: E31
    #[test]
    fn what_is_not_said_has_eurekas_defaults() {
        let info = super::super::instance(r#"{"instance":{"app":"a"}}"#).unwrap();
        assert_eq!(info, InstanceInfo::new("A".into()));
        let nulls = [
            "instanceId",
            "hostName",
            "ipAddr",
            "sid",
            "status",
            "overriddenStatus",
            "port",
            "securePort",
            "countryId",
            "dataCenterInfo",
            "leaseInfo",
            "metadata",
            "appGroupName",
            "homePageUrl",
            "statusPageUrl",
            "healthCheckUrl",
            "secureHealthCheckUrl",
            "vipAddress",
            "secureVipAddress",
            "isCoordinatingDiscoveryServer",
            "lastUpdatedTimestamp",
            "lastDirtyTimestamp",
            "actionType",
            "asgName",
            "unheardOf",
        ];
        assert_eq!(with(&nulls.map(|key| format!("\"{key}\":null")).join(",")).unwrap(), info);
        assert_eq!(with(r#""hostName":"","ipAddr":"""#).unwrap(), info);
    }

    /// Catalog: E31
    #[test]
    fn an_instance_without_application_is_refused_and_one_with_an_empty_one_is_read() {
        let refused = |json: &str| super::super::instance(json).unwrap_err().to_string();
        assert_eq!(refused(r#"{"instance":{}}"#), "instance.app: missing");
        assert_eq!(refused(r#"{"instance":{"app":null}}"#), "instance.app: missing");
        assert!(with(r#""app":"""#).unwrap().app.is_empty());
    }

    #[test]
    fn names_are_upper_case_whatever_was_sent() {
        let info = with(r#""app":"orders","appGroupName":"shop""#).unwrap();
        assert_eq!((info.app.as_str(), info.app_group_name.as_deref()), ("ORDERS", Some("SHOP")));
    }

    /// Case: P001, P002
    /// Catalog: E7, E31
    #[test]
    fn both_spellings_of_the_override_are_read_and_the_later_counts() {
        let overridden = |members: &str| with(members).unwrap().overridden_status;
        assert_eq!(overridden(r#""status":"UP""#), InstanceStatus::Unknown);
        for key in ["overriddenStatus", "overriddenstatus"] {
            assert_eq!(overridden(&format!(r#""{key}":"OUT_OF_SERVICE""#)), InstanceStatus::OutOfService);
        }
        assert_eq!(overridden(r#""overriddenStatus":"DOWN","overriddenstatus":"UP""#), InstanceStatus::Up);
        assert_eq!(overridden(r#""overriddenstatus":"UP","overriddenStatus":"DOWN""#), InstanceStatus::Down);
        assert_eq!(overridden(r#""overriddenStatus":"DOWN","overriddenstatus":null"#), InstanceStatus::Down);
    }

    #[test]
    fn of_two_equal_keys_the_later_counts() {
        let info = with(
            r#""hostName":"a","hostName":"b","port":1,"port":{"$":2},"status":"UP","status":"DOWN",
               "metadata":{"a":"1"},"metadata":{"b":"2","c":"3","c":"4"},"leaseInfo":{"durationInSecs":1},
               "leaseInfo":{"durationInSecs":2,"durationInSecs":3},"app":"B","app":"C""#,
        )
        .unwrap();
        assert_eq!((&*info.host_name, info.port.number, info.app.as_str()), ("b", 2, "C"));
        assert_eq!(info.status, InstanceStatus::Down);
        assert_eq!(info.lease_info.unwrap().duration_secs, 3);
        assert_eq!(info.metadata, [("b".into(), "2".into()), ("c".into(), "4".into())].into());
    }

    /// Catalog: E31
    #[test]
    fn a_status_is_an_upper_case_word_or_unknown() {
        let status = |value: &str| with(&format!(r#""status":{value}"#)).map(|i| i.status);
        for known in InstanceStatus::ALL {
            assert_eq!(status(&format!("\"{known}\"")), Ok(known));
        }
        for word in ["up", "Up", " UP", "", "BROKEN"] {
            assert_eq!(status(&format!("\"{word}\"")), Ok(InstanceStatus::Unknown), "{word:?}");
        }
        assert_eq!(status("null"), Ok(InstanceStatus::Up));
        for value in ["1", "true", "{}", "[]"] {
            assert!(status(value).unwrap_err().starts_with("instance.status (line 1, column "), "{value}");
        }
    }

    /// Catalog: E31
    #[test]
    fn whole_numbers_may_be_text_and_what_java_would_wrap_around_is_refused() {
        let country = |value: &str| with(&format!(r#""countryId":{value}"#)).map(|i| i.country_id);
        let good = [
            ("44", 44),
            ("\"44\"", 44),
            ("\" 44 \"", 44),
            ("-1", -1),
            ("\"8080.0\"", 0),
            ("\"x\"", 0),
            ("\"99999999999x\"", 0),
            ("\"\"", 0),
            ("null", 1),
        ];
        for (value, number) in good {
            assert_eq!(country(value), Ok(number), "{value}");
        }
        for (value, problem) in [
            ("1.5", "expected a whole number, found 1.5"),
            ("1e3", "expected a whole number, found 1e3"),
            ("true", "expected a whole number, found a truth value"),
            ("2147483648", "2147483648 is out of range"),
            ("\"2147483648\"", "2147483648 is out of range"),
            ("-99999999999999999999999", "-99999999999999999999999 is out of range"),
            ("[1]", "expected text, found an array"),
        ] {
            let error = country(value).unwrap_err();
            assert!(error.starts_with("instance.countryId (line 1, column "), "{error}");
            assert!(error.ends_with(&format!("): {problem}")), "{error}");
        }
        assert!(refused(r#""lastUpdatedTimestamp":9223372036854775808"#).contains("out of range"));
    }

    /// Catalog: E31
    #[test]
    fn a_dirty_timestamp_that_was_not_sent_is_told_from_one_that_is_zero() {
        let dirty = |members: &str| with(members).unwrap().last_dirty_timestamp;
        assert_eq!(dirty(r#""status":"UP""#), None);
        assert_eq!(dirty(r#""lastDirtyTimestamp":null"#), None);
        assert_eq!(dirty(r#""lastDirtyTimestamp":"soon""#), Some(0));
        assert_eq!(dirty(r#""lastDirtyTimestamp":"1700000000000""#), Some(1_700_000_000_000));
        assert_eq!(dirty(r#""lastDirtyTimestamp":1700000000000"#), Some(1_700_000_000_000));
        assert_eq!(with(r#""lastUpdatedTimestamp":"7""#).unwrap().last_updated_timestamp, 7);
    }

    #[test]
    fn text_may_be_a_number_or_a_truth_value_but_nothing_that_has_parts() {
        let info = with(r#""hostName":7,"ipAddr":true,"vipAddress":1.50"#).unwrap();
        assert_eq!(
            (&*info.host_name, &*info.ip_addr, info.vip_address.as_deref()),
            ("7", "true", Some("1.50"))
        );
        let error = refused(r#""hostName":{"a":1}"#);
        assert!(error.starts_with("instance.hostName (line 1, column "), "{error}");
        assert!(error.ends_with("expected text, found an object"), "{error}");
        assert!(refused(r#""asgName":[]"#).ends_with("expected text, found an array"));
    }

    /// Catalog: E31
    #[test]
    fn words_that_mean_nothing_are_dropped() {
        for sid in ["\"na\"", "\"unknown\"", "null"] {
            assert_eq!(with(&format!(r#""sid":{sid}"#)).unwrap().sid, None);
        }
        assert_eq!(with(r#""sid":"s1""#).unwrap().sid.as_deref(), Some("s1"));
        assert_eq!(with(r#""actionType":"MODIFIED""#).unwrap().action_type, Some(ActionType::Modified));
        assert_eq!(with(r#""actionType":"modified""#).unwrap().action_type, None);
    }

    /// Catalog: E31
    #[test]
    fn a_truth_value_may_be_text() {
        let truth = |value: &str| {
            with(&format!(r#""isCoordinatingDiscoveryServer":{value}"#))
                .map(|i| i.is_coordinating_discovery_server)
        };
        for (value, is) in
            [("true", true), ("\"true\"", true), ("false", false), ("\"TRUE\"", false), ("1", false)]
        {
            assert_eq!(truth(value), Ok(is), "{value}");
        }
        assert!(truth("{}").is_err());
    }

    /// Case: P006
    /// Catalog: E31
    #[test]
    fn keys_that_eureka_does_not_know_are_skipped_whatever_they_hold() {
        let info = with(
            r#""a":1e999,"b":{"app":"X","deep":[{"x":[]}]},"c":["\ud800"],"identifyingAttribute":"i","status":"DOWN""#,
        )
        .unwrap();
        assert_eq!((info.app.as_str(), info.status), ("A", InstanceStatus::Down));
    }

    #[test]
    fn a_character_that_xml_cannot_hold_is_refused_wherever_it_stands() {
        for (members, place, c) in [
            (r#""hostName":"a\u0000b""#, "instance.hostName", "U+0000"),
            (r#""instanceId":"\u001f""#, "instance.instanceId", "U+001F"),
            (r#""app":"A\ufffe""#, "instance.app", "U+FFFE"),
            (r#""asgName":"\uffff""#, "instance.asgName", "U+FFFF"),
            (r#""metadata":{"k":"\b"}"#, "instance.metadata.k", "U+0008"),
            (r#""metadata":{"k\u0001":"v"}"#, "instance.metadata", "U+0001"),
            (
                r#""dataCenterInfo":{"name":"Amazon","metadata":{"k":"\u0002"}}"#,
                "instance.dataCenterInfo.metadata.k",
                "U+0002",
            ),
        ] {
            let error = refused(members);
            assert!(error.starts_with(place) && error.contains(&format!("{c} is not allowed")), "{error}");
        }
        assert_eq!(&*with(r#""hostName":"\t\n\r\u0085\u007f""#).unwrap().host_name, "\t\n\r\u{85}\u{7f}");
    }

    /// Catalog: E10, E32
    #[test]
    fn springs_id_in_the_metadata_counts_if_there_is_no_other() {
        let id = |members: &str| with(members).unwrap().instance_id.map(|id| id.to_string());
        assert_eq!(id(r#""metadata":{"instanceId":"foo"},"hostName":"h""#).as_deref(), Some("h:foo"));
        assert_eq!(id(r#""metadata":{"instanceId":"foo"},"instanceId":null"#).as_deref(), Some("foo"));
        assert_eq!(id(r#""metadata":{"instanceId":"foo"},"instanceId":"own""#).as_deref(), Some("own"));
    }

    /// Case: P107
    #[test]
    fn an_ipv6_address_is_text_like_any_other() {
        let info = with(
            r#""instanceId":"2001:db8::10:orders:8080","ipAddr":"2001:db8::10","homePageUrl":"http://[2001:db8::10]:8080/""#,
        )
        .unwrap();
        assert_eq!((info.id(), &*info.ip_addr), ("2001:db8::10:orders:8080", "2001:db8::10"));
    }
}
