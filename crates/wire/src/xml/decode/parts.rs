//! The elements inside an instance that are more than a text.

use std::borrow::Cow;

use quick_xml::events::BytesStart;

use super::super::names;
use super::super::source::Source;
use super::values::{number, word};
use crate::decode::{unwritable, with_sane_lengths};
use crate::{DataCenterInfo, DecodeError, LeaseInfo, Metadata, Port};

/// **Compat:** the plain port is enabled unless its attribute says `false`, the TLS port only if it says `true`, both
/// to the letter.
pub(super) fn port(
    source: &mut Source<'_>,
    element: &BytesStart<'_>,
    enabled: impl FnOnce(Option<&str>) -> bool,
) -> Result<Port, DecodeError> {
    let attribute = element.try_get_attribute("enabled").map_err(|e| source.fault(e.to_string()))?;
    let enabled = enabled(attribute.as_ref().map(|a| a.value.as_ref()));
    Ok(Port { number: number(source)?, enabled })
}

pub(super) fn lease(source: &mut Source<'_>) -> Result<LeaseInfo, DecodeError> {
    let mut lease = LeaseInfo::default();
    while let Some(element) = source.child()? {
        match element.local_name().as_ref() {
            "renewalIntervalInSecs" => lease.renewal_interval_secs = number(source)?,
            "durationInSecs" => lease.duration_secs = number(source)?,
            "registrationTimestamp" => lease.registration_timestamp = number(source)?,
            "lastRenewalTimestamp" => lease.last_renewal_timestamp = number(source)?,
            "evictionTimestamp" => lease.eviction_timestamp = number(source)?,
            "serviceUpTimestamp" => lease.service_up_timestamp = number(source)?,
            _ => source.skip()?,
        }
    }
    Ok(with_sane_lengths(lease))
}

/// **Compat:** the name decides and the `class` attribute says nothing. Java loses metadata that comes before the
/// name; here the order does not matter.
pub(super) fn data_center(source: &mut Source<'_>) -> Result<DataCenterInfo, DecodeError> {
    let (mut name, mut metadata) = (None, Ok(Metadata::new()));
    while let Some(element) = source.child()? {
        match element.local_name().as_ref() {
            "name" => name = Some(word(source, str::to_owned)?),
            "metadata" => metadata = entries(source)?,
            _ => source.skip()?,
        }
    }
    match name.as_deref() {
        None => Ok(DataCenterInfo::Unnamed),
        Some("MyOwn") => Ok(DataCenterInfo::MyOwn),
        Some("Netflix") => Ok(DataCenterInfo::Netflix),
        Some(name) if name.eq_ignore_ascii_case("Amazon") => metadata.map(DataCenterInfo::Amazon),
        Some(name) => {
            Err(source.fault_below("name", format!("expected MyOwn, Amazon or Netflix, found {name:?}")))
        }
    }
}

/// Key-value pairs, or the first thing that is wrong with them.
type Entries = Result<Metadata, DecodeError>;

/// **Compat:** as in JSON, `@class` is never an entry.
pub(super) fn metadata(source: &mut Source<'_>) -> Entries {
    entries(source)?
}

/// Reads to the end of the element even if something is wrong in it: that may turn out not to matter.
fn entries(source: &mut Source<'_>) -> Result<Entries, DecodeError> {
    let mut metadata = Metadata::new();
    while let Some(element) = source.child()? {
        let name = element.name();
        let key = key(name.as_ref()).map_err(|problem| source.fault(problem));
        match (key, source.text_or_nested()?) {
            (Ok(key), Ok(value)) if key != "@class" => {
                metadata.insert(key.into(), value.into());
            }
            (Ok(_), Ok(_)) => {}
            (Err(fault), _) | (_, Err(fault)) => {
                source.skip()?;
                return Ok(Err(fault));
            }
        }
    }
    Ok(Ok(metadata))
}

fn key(name: &str) -> Result<Cow<'_, str>, String> {
    let key = names::decode(name).ok_or_else(|| format!("{name:?} is half a character"))?;
    unwritable(&key).map_or(Ok(key), Err)
}

#[cfg(test)]
mod tests {
    use crate::xml::decode::testing::{refused, with};
    use crate::{DataCenterInfo, LeaseInfo, Port};

    /// Case: P007
    #[test]
    fn the_plain_port_is_enabled_unless_it_says_otherwise_and_the_tls_port_only_if_it_says_so() {
        for (attribute, plain, tls) in [
            ("", true, false),
            (" enabled=\"true\"", true, true),
            (" enabled='false'", false, false),
            (" enabled=\"TRUE\"", true, false),
            (" enabled=\"FALSE\"", true, false),
            (" other=\"false\"", true, false),
        ] {
            let info =
                with(&format!("<port{attribute}>8080</port><securePort{attribute}> 8443 </securePort>"))
                    .unwrap();
            assert_eq!(info.port, Port { number: 8080, enabled: plain }, "{attribute}");
            assert_eq!(info.secure_port, Port { number: 8443, enabled: tls }, "{attribute}");
        }
        assert!(refused("<port>http</port>").starts_with("instance.port (line 1, column "));
        assert!(refused("<port/>").contains("expected a whole number"));
        assert!(
            refused("<securePort enabled=\"true\">1<x/></securePort>").contains("expected text, found <x>")
        );
        assert!(refused("<port enabled=\"true\" enabled=\"false\">1</port>").starts_with("instance.port ("));
    }

    /// Catalog: E14
    #[test]
    fn a_lease_is_read_with_defaults_for_what_is_absent_or_senseless() {
        let lease = |inside: &str| with(&format!("<leaseInfo>{inside}</leaseInfo>")).unwrap().lease_info;
        assert_eq!(lease(""), Some(LeaseInfo::default()));
        assert_eq!(
            lease(
                "<durationInSecs>0</durationInSecs><renewalIntervalInSecs>-1</renewalIntervalInSecs><x><y/></x>"
            ),
            Some(LeaseInfo::default())
        );
        assert_eq!(
            lease(
                "<renewalIntervalInSecs>1</renewalIntervalInSecs><durationInSecs>2</durationInSecs>
                 <registrationTimestamp>3</registrationTimestamp><lastRenewalTimestamp>4</lastRenewalTimestamp>
                 <evictionTimestamp>5</evictionTimestamp><serviceUpTimestamp>6</serviceUpTimestamp>"
            ),
            Some(LeaseInfo {
                renewal_interval_secs: 1,
                duration_secs: 2,
                registration_timestamp: 3,
                last_renewal_timestamp: 4,
                eviction_timestamp: 5,
                service_up_timestamp: 6,
            })
        );
        let error = refused("<leaseInfo><durationInSecs>x</durationInSecs></leaseInfo>");
        assert!(error.starts_with("instance.leaseInfo.durationInSecs ("), "{error}");
    }

    fn data_center(inside: &str) -> Option<DataCenterInfo> {
        let info = with(&format!(
            "<dataCenterInfo class=\"any\">{inside}</dataCenterInfo><hostName>after</hostName>"
        ));
        let info = info.unwrap();
        assert_eq!(&*info.host_name, "after");
        info.data_center_info
    }

    /// Catalog: E13, E21
    #[test]
    fn the_name_decides_where_an_instance_runs() {
        let amazon = |entries: &[(&str, &str)]| {
            Some(DataCenterInfo::Amazon(entries.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect()))
        };
        let metadata = "<metadata class=\"m\"><instance-id>i-1</instance-id></metadata>";
        assert_eq!(data_center("<name>MyOwn</name>"), Some(DataCenterInfo::MyOwn));
        assert_eq!(data_center("<name>\n Netflix </name>"), Some(DataCenterInfo::Netflix));
        assert_eq!(data_center("<name>amazon</name>"), amazon(&[]));
        assert_eq!(
            data_center(&format!("<name>Amazon</name>{metadata}<x/>")),
            amazon(&[("instance-id", "i-1")])
        );
        assert_eq!(data_center(&format!("{metadata}<name>Amazon</name>")), amazon(&[("instance-id", "i-1")]));
        assert_eq!(data_center(""), Some(DataCenterInfo::Unnamed));
        assert_eq!(
            data_center("<metadata><k><v/></k></metadata><name>MyOwn</name>"),
            Some(DataCenterInfo::MyOwn)
        );
    }

    #[test]
    fn a_data_centre_that_is_none_is_refused_with_its_place() {
        assert_eq!(
            refused("<dataCenterInfo><name>Elsewhere</name></dataCenterInfo>"),
            "instance.dataCenterInfo.name: expected MyOwn, Amazon or Netflix, found \"Elsewhere\""
        );
        assert!(refused("<dataCenterInfo><name>myown</name></dataCenterInfo>").contains("found \"myown\""));
        let error =
            refused("<dataCenterInfo><metadata><k><v/></k></metadata><name>Amazon</name></dataCenterInfo>");
        assert!(error.starts_with("instance.dataCenterInfo.metadata.k ("), "{error}");
    }

    /// Case: P026
    #[test]
    fn a_metadata_key_is_read_back_from_the_name_of_its_element() {
        let info = with(
            "<metadata class=\"java.util.Collections$EmptyMap\"> stray
               <a__b>1</a__b><_.0031st>2</_.0031st><has_.0020space> 3 </has_.0020space><x:y>4</x:y><_.0040class>5</_.0040class>
               <q>&lt;&amp;&gt;<![CDATA[&]]></q><empty/></metadata>",
        );
        let expected =
            [("a_b", "1"), ("1st", "2"), ("has space", " 3 "), ("x:y", "4"), ("q", "<&>&"), ("empty", "")];
        assert_eq!(info.unwrap().metadata, expected.map(|(k, v)| (k.into(), v.into())).into());
    }

    /// Case: P027
    #[test]
    fn elements_in_a_metadata_value_are_refused_with_the_key() {
        let error = refused("<metadata><a>1</a><b>x<c>d</c></b></metadata>");
        assert!(
            error.starts_with("instance.metadata.b (") && error.ends_with("expected text, found <c>"),
            "{error}"
        );
        assert!(refused("<metadata><_.d800>v</_.d800></metadata>").contains("is half a character"));
    }
}
