//! Where an instance runs.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

use super::metadata::Entries;
use super::scalar::Scalar;
use super::skip::{Skipped, skip};
use super::{below, join, read};
use crate::{DataCenterInfo, Metadata};

/// A data centre; `None` for `null`.
///
/// **Compat:** Java goes by `@class` and refuses an object without one. Here the name alone is enough; either of the
/// two can say Amazon. An object with neither is a data centre without a name, which decodes, in Java as here, so
/// that registering it can be refused in Eureka's own words.
pub(super) struct DataCenter(pub(super) Option<DataCenterInfo>);

impl<'de> Deserialize<'de> for DataCenter {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(DataCenterVisitor)
    }
}

struct DataCenterVisitor;

impl<'de> Visitor<'de> for DataCenterVisitor {
    type Value = DataCenter;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a data centre object")
    }

    fn visit_unit<E: de::Error>(self) -> Result<DataCenter, E> {
        Ok(DataCenter(None))
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<DataCenter, M::Error> {
        #[derive(serde::Deserialize)]
        #[serde(field_identifier, rename_all = "lowercase")]
        enum Key {
            #[serde(rename = "@class")]
            Class,
            Name,
            Metadata,
            #[serde(other)]
            Unknown,
        }
        let (mut class, mut name, mut metadata) = (None, None, None);
        while let Some(key) = map.next_key()? {
            match key {
                Key::Class => class = map.next_value::<Option<Class>>()?.or(class),
                Key::Name => name = map.next_value::<Scalar<'_>>()?.into_text().or(name),
                // Whether it counts is known when class and name are: only Amazon has metadata.
                Key::Metadata => metadata = Some(map.next_value::<Skipped<'_>>()?),
                Key::Unknown => skip(&mut map)?,
            }
        }
        let info = match (class, name.as_deref()) {
            (Some(Class::Amazon), _) | (_, Some("Amazon")) => {
                DataCenterInfo::Amazon(metadata.map_or(Ok(Metadata::new()), |m| amazon(m.0.get()))?)
            }
            (_, Some("MyOwn")) => DataCenterInfo::MyOwn,
            (_, Some("Netflix")) => DataCenterInfo::Netflix,
            (_, Some(name)) => {
                return Err(below("name", &format!("expected MyOwn, Amazon or Netflix, found {name:?}")));
            }
            (Some(Class::Default) | None, None) => DataCenterInfo::Unnamed,
        };
        Ok(DataCenter(Some(info)))
    }
}

fn amazon<E: de::Error>(json: &str) -> Result<Metadata, E> {
    match read(json, PhantomData::<Entries>) {
        Ok(Entries(metadata)) => Ok(metadata),
        Err(fault) => Err(below(&join("metadata", &fault.path), &fault.problem)),
    }
}

/// The Java class that a data centre names.
enum Class {
    Default,
    Amazon,
}

impl<'de> Deserialize<'de> for Class {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        match &*String::deserialize(json)? {
            "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo"
            | "com.netflix.appinfo.MyDataCenterInfo" => Ok(Self::Default),
            "com.netflix.appinfo.AmazonInfo" => Ok(Self::Amazon),
            other => Err(de::Error::custom(format_args!("no data centre has the class {other:?}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, with};
    use crate::{DataCenterInfo, Metadata};

    const DEFAULT: &str = r#""@class":"com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo""#;
    const MINE: &str = r#""@class":"com.netflix.appinfo.MyDataCenterInfo""#;
    const AMAZON: &str = r#""@class":"com.netflix.appinfo.AmazonInfo""#;

    fn read(members: &str) -> DataCenterInfo {
        // The field that follows shows that none is lost.
        let info = with(&format!(r#""dataCenterInfo":{{{members}}},"hostName":"after""#)).unwrap();
        assert_eq!(&*info.host_name, "after", "{members}");
        info.data_center_info.unwrap()
    }

    fn amazon(entries: &[(&str, &str)]) -> DataCenterInfo {
        DataCenterInfo::Amazon(entries.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect())
    }

    /// Case: P004, P009
    /// Catalog: E13, E20, E31
    #[test]
    fn name_and_class_decide_together() {
        for (members, expected) in [
            (format!(r#"{DEFAULT},"name":"MyOwn""#), DataCenterInfo::MyOwn),
            (format!(r#""name":"MyOwn",{MINE}"#), DataCenterInfo::MyOwn),
            (format!(r#"{DEFAULT},"name":"Netflix""#), DataCenterInfo::Netflix),
            (r#""name":"MyOwn""#.to_owned(), DataCenterInfo::MyOwn),
            (r#""name":"Netflix""#.to_owned(), DataCenterInfo::Netflix),
            (r#""name":"Amazon""#.to_owned(), amazon(&[])),
            (format!(r#"{DEFAULT},"name":"Amazon""#), amazon(&[])),
            (format!(r#"{AMAZON},"name":"MyOwn""#), amazon(&[])),
            (format!(r#"{AMAZON},"name":"Elsewhere""#), amazon(&[])),
            (AMAZON.to_owned(), amazon(&[])),
            (DEFAULT.to_owned(), DataCenterInfo::Unnamed),
            (format!(r#"{DEFAULT},"name":null"#), DataCenterInfo::Unnamed),
            (r#""@class":null,"name":"MyOwn""#.to_owned(), DataCenterInfo::MyOwn),
            (r#""name":"Netflix","name":"MyOwn""#.to_owned(), DataCenterInfo::MyOwn),
        ] {
            assert_eq!(read(&members), expected, "{members}");
        }
    }

    /// Case: P009
    /// Catalog: E21
    #[test]
    fn amazons_metadata_is_found_wherever_it_stands() {
        let metadata = r#""metadata":{"instance-id":"i-1","n":7,"x":null}"#;
        let expected = amazon(&[("instance-id", "i-1"), ("n", "7")]);
        for members in [
            format!("{AMAZON},{metadata}"),
            format!("{metadata},{AMAZON}"),
            format!(r#"{AMAZON},"name":"Amazon",{metadata}"#),
            format!(r#"{AMAZON},{metadata},"name":"Amazon""#),
            format!(r#"{metadata},"name":"Amazon""#),
            format!(r#""foo":"bar","o":{{"a":[]}},{AMAZON},{metadata},"bar":[1],"foo":1"#),
        ] {
            assert_eq!(read(&members), expected, "{members}");
        }
        assert_eq!(read(&format!(r#"{AMAZON},"metadata":null"#)), DataCenterInfo::Amazon(Metadata::new()));
    }

    /// Case: P006
    #[test]
    fn what_does_not_belong_to_a_data_centre_of_ones_own_is_skipped() {
        for more in [r#""metadata":{"k":"v"}"#, r#""metadata":{"k":{"v":1}}"#, r#""metadata":7,"x":{}"#] {
            assert_eq!(read(&format!(r#"{DEFAULT},{more},"name":"MyOwn""#)), DataCenterInfo::MyOwn);
        }
    }

    /// Catalog: E31
    #[test]
    fn what_names_no_data_centre_is_refused_with_its_place() {
        for (value, start, end) in [
            (r#"{"name":"Elsewhere"}"#, "instance.dataCenterInfo.name: ", "found \"Elsewhere\""),
            (r#"{"name":"myown"}"#, "instance.dataCenterInfo.name: ", "found \"myown\""),
            (
                r#"{"@class":"no.such.Class","name":"MyOwn"}"#,
                "instance.dataCenterInfo.@class (",
                "the class \"no.such.Class\"",
            ),
            (
                r#"{"@class":"MyDataCenterInfo"}"#,
                "instance.dataCenterInfo.@class (",
                "the class \"MyDataCenterInfo\"",
            ),
            (r#"{"@class":7}"#, "instance.dataCenterInfo.@class (", "expected a string"),
            (r#"{"name":{}}"#, "instance.dataCenterInfo.name (", "expected text, found an object"),
            (r#""MyOwn""#, "instance.dataCenterInfo (", "expected a data centre object"),
            ("1", "instance.dataCenterInfo (", "expected a data centre object"),
            ("[]", "instance.dataCenterInfo (", "expected a data centre object"),
            (
                r#"{"name":"Amazon","metadata":{"k":{}}}"#,
                "instance.dataCenterInfo.metadata.k: ",
                "found an object",
            ),
            (
                r#"{"name":"Amazon","metadata":{"":"v"}}"#,
                "instance.dataCenterInfo.metadata: ",
                "a key is empty",
            ),
            (
                r#"{"name":"Amazon","metadata":"m"}"#,
                "instance.dataCenterInfo.metadata: ",
                "an object of metadata",
            ),
        ] {
            let error = refused(&format!(r#""dataCenterInfo":{value}"#));
            assert!(error.starts_with(start) && error.ends_with(end), "{value}: {error}");
        }
    }

    /// A data centre that says nothing at all is read, so that registering it can be refused in Eureka's own words.
    ///
    /// Catalog: E19
    #[test]
    fn a_data_centre_with_neither_class_nor_name_has_no_name() {
        assert_eq!(with(r#""dataCenterInfo":{}"#).unwrap().data_center_info, Some(DataCenterInfo::Unnamed));
        assert_eq!(with(r#""dataCenterInfo":null"#).unwrap().data_center_info, None);
    }
}
