//! Applications.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::instance::Instance;
use super::number::Number;
use super::scalar::Scalar;
use super::skip::skip;
use crate::{Application, Applications};

/// All elements of a list.
///
/// **Compat:** codecs of old servers write a list of one as an object and leave an empty one out. Other values are no
/// elements.
pub(super) struct List<T>(pub(super) Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(ListVisitor(PhantomData))
    }
}

struct ListVisitor<T>(PhantomData<fn() -> T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = List<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut elements: S) -> Result<List<T>, S::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element()? {
            list.push(element);
        }
        Ok(List(list))
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<List<T>, M::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|element| List(vec![element]))
    }

    fn visit_unit<E: de::Error>(self) -> Result<List<T>, E> {
        Ok(List(Vec::new()))
    }

    fn visit_bool<E: de::Error>(self, _: bool) -> Result<List<T>, E> {
        Ok(List(Vec::new()))
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<List<T>, E> {
        Ok(List(Vec::new()))
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<List<T>, E> {
        Ok(List(Vec::new()))
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<List<T>, E> {
        Ok(List(Vec::new()))
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<List<T>, E> {
        Ok(List(Vec::new()))
    }
}

pub(super) struct AllApplications(pub(super) Applications);

impl<'de> Deserialize<'de> for AllApplications {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_map(AllVisitor)
    }
}

struct AllVisitor;

impl<'de> Visitor<'de> for AllVisitor {
    type Value = AllApplications;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of applications")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<AllApplications, M::Error> {
        #[derive(serde::Deserialize)]
        #[serde(field_identifier, rename_all = "snake_case")]
        enum Key {
            #[serde(rename = "versions__delta", alias = "versions_delta")]
            Version,
            #[serde(rename = "apps__hashcode", alias = "apps_hashcode")]
            HashCode,
            Application,
            #[serde(other)]
            Unknown,
        }
        let mut all = Applications::default();
        while let Some(key) = map.next_key()? {
            match key {
                Key::Version => all.version = map.next_value::<Number<_>>()?.0.unwrap_or(all.version),
                Key::HashCode => {
                    let text = map.next_value::<Scalar<'_>>()?.into_text();
                    all.hash_code = text.map(String::from).or(all.hash_code);
                }
                Key::Application => {
                    let List(list) = map.next_value::<List<OneApplication>>()?;
                    all.applications = list.into_iter().map(|a| a.0).collect();
                }
                Key::Unknown => skip(&mut map)?,
            }
        }
        Ok(AllApplications(all))
    }
}

pub(super) struct OneApplication(pub(super) Application);

impl<'de> Deserialize<'de> for OneApplication {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_map(OneVisitor)
    }
}

struct OneVisitor;

impl<'de> Visitor<'de> for OneVisitor {
    type Value = OneApplication;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an application object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<OneApplication, M::Error> {
        #[derive(serde::Deserialize)]
        #[serde(field_identifier, rename_all = "lowercase")]
        enum Key {
            Name,
            Instance,
            #[serde(other)]
            Unknown,
        }
        let (mut name, mut instances) = (None, Vec::new());
        while let Some(key) = map.next_key()? {
            match key {
                Key::Name => name = map.next_value::<Scalar<'_>>()?.into_text().or(name),
                Key::Instance => {
                    let List(list) = map.next_value::<List<Instance>>()?;
                    instances = list.into_iter().map(|i| i.0).collect();
                }
                Key::Unknown => skip(&mut map)?,
            }
        }
        Ok(OneApplication(Application::named(name.as_deref(), instances)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{application, applications};
    use crate::InstanceInfo;

    /// Catalog: E18, E31
    #[test]
    fn a_list_may_be_an_array_or_one_object_or_nothing() {
        for (list, ids) in [
            (r#"[{"app":"A","instanceId":"a"},{"app":"A","instanceId":"b"}]"#, vec!["a", "b"]),
            (r#"{"app":"A","instanceId":"a"}"#, vec!["a"]),
            ("[]", vec![]),
            ("null", vec![]),
            ("\"\"", vec![]),
            ("1", vec![]),
            ("-1", vec![]),
            ("1.5", vec![]),
            ("true", vec![]),
        ] {
            let app = application(&format!(r#"{{"application":{{"name":"a","instance":{list}}}}}"#)).unwrap();
            assert_eq!(app.name.as_str(), "A");
            assert_eq!(app.instances.iter().map(InstanceInfo::id).collect::<Vec<_>>(), ids, "{list}");
            let all = format!(r#"{{"applications":{{"application":{{"name":"a","instance":{list}}}}}}}"#);
            assert_eq!(applications(&all).unwrap().applications, [app]);
        }
        assert_eq!(applications(r#"{"applications":{}}"#).unwrap(), crate::Applications::default());
    }

    #[test]
    fn version_and_hash_code_are_read_in_every_form_that_servers_send() {
        for members in [
            r#""versions__delta":"7","apps__hashcode":"UP_1_""#,
            r#""apps__hashcode":"UP_1_","versions__delta":7"#,
            r#""versions_delta":7,"apps_hashcode":"UP_1_","more":{"x":[]}"#,
        ] {
            let all = applications(&format!(r#"{{"applications":{{{members}}}}}"#)).unwrap();
            assert_eq!((all.version, all.hash_code.as_deref()), (7, Some("UP_1_")), "{members}");
        }
        let all = applications(r#"{"applications":{"versions__delta":null,"apps__hashcode":null}}"#).unwrap();
        assert_eq!((all.version, all.hash_code), (-1, None));
    }

    #[test]
    fn an_application_without_a_name_has_that_of_its_instances() {
        let name = |json: &str| application(json).unwrap().name.to_string();
        assert_eq!(name(r#"{"application":{"instance":{"app":"orders"}}}"#), "ORDERS");
        assert_eq!(name(r#"{"application":{}}"#), "");
    }

    #[test]
    fn an_error_names_the_application_and_the_instance() {
        let json = r#"{"applications":{"application":[{"name":"A","instance":[{"app":"A"},{"app":"A","port":[]}]}]}}"#;
        let error = applications(json).unwrap_err();
        assert!(error.place.starts_with("applications.application[0].instance[1].port ("), "{error}");
        let json = r#"{"applications":{"application":{"name":"A","instance":{}}}}"#;
        assert_eq!(
            applications(json).unwrap_err().to_string(),
            "applications.application.instance.app: missing"
        );
        for root in
            [r#"{"application":{}}"#, "{}", "[]", r#"{"applications":[]}"#, r#"{"applications":{},"x":1}"#]
        {
            assert!(applications(root).is_err(), "{root}");
        }
        assert!(application(r#"{"applications":{}}"#).is_err());
    }
}
