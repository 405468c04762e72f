//! Reading JSON.
//!
//! A document is read in one go, without a tree of it in between. Only if that fails is it read a second time, with
//! track kept of where: errors then name the field, and good documents do not pay for it.

mod applications;
mod copy;
mod data_center;
mod instance;
mod metadata;
mod number;
mod parts;
mod replication;
mod scalar;
mod skip;

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_path_to_error::{Deserializer as Tracking, Path, Segment, Track};

use crate::{Application, Applications, DecodeError, InstanceInfo};

pub(crate) use copy::instances_that_can_be_read;
pub(crate) use replication::{replication_list, replication_response};

pub(crate) fn instance(text: &str) -> Result<InstanceInfo, DecodeError> {
    Ok(read(text, Root::<instance::Instance>::named("instance"))?.0)
}

pub(crate) fn application(text: &str) -> Result<Application, DecodeError> {
    Ok(read(text, Root::<applications::OneApplication>::named("application"))?.0)
}

pub(crate) fn applications(text: &str) -> Result<Applications, DecodeError> {
    Ok(read(text, Root::<applications::AllApplications>::named("applications"))?.0)
}

/// Reads one value and nothing after it.
fn read<'de, S: DeserializeSeed<'de> + Copy>(text: &'de str, seed: S) -> Result<S::Value, Fault> {
    let mut json = serde_json::Deserializer::from_str(text);
    if let Ok(value) = seed.deserialize(&mut json)
        && json.end().is_ok()
    {
        return Ok(value);
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let mut track = Track::new();
    seed.deserialize(Tracking::new(&mut json, &mut track))
        .and_then(|value| json.end().map(|()| value))
        .map_err(|error| Fault::new(&track.path(), &error))
}

/// What is wrong with a text and where in it.
struct Fault {
    path: String,
    /// Line and column, both from 1.
    position: Option<(usize, usize)>,
    problem: String,
}

impl Fault {
    fn new(path: &Path, error: &serde_json::Error) -> Self {
        let path = match path.iter().next_back() {
            None => String::new(),
            // Reading had not got as far as a key, or got to one that is empty.
            Some(Segment::Unknown) => path.to_string().trim_end_matches(['.', '?']).to_owned(),
            Some(Segment::Map { key }) if key.is_empty() => path.to_string().trim_end_matches('.').to_owned(),
            Some(Segment::Seq { .. } | Segment::Map { .. } | Segment::Enum { .. }) => path.to_string(),
        };
        let text = error.to_string();
        let (line, column) = (error.line(), error.column());
        let text = text.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&text);
        if let Some((place, problem)) = text.strip_prefix(PLACE).and_then(|t| t.split_once(PLACE)) {
            return Self { path: join(&path, place), position: None, problem: problem.to_owned() };
        }
        Self { path, position: (line > 0).then_some((line, column.max(1))), problem: text.to_owned() }
    }
}

impl From<Fault> for DecodeError {
    fn from(fault: Fault) -> Self {
        Self::at(&fault.path, fault.position, fault.problem)
    }
}

/// A path with more of it below.
fn join(path: &str, below: &str) -> String {
    let dot = if path.is_empty() || below.is_empty() || below.starts_with('[') { "" } else { "." };
    format!("{path}{dot}{below}")
}

/// Set in front of an error's text, this says that a place follows, to be added to the path, and then the problem.
/// No text of ours or of serde begins like that, whatever it quotes.
const PLACE: char = '\u{1}';

/// An error about something below the value that is being read: a key that should be there, or a value that had to
/// be kept for later.
fn below<E: de::Error>(place: &str, problem: &str) -> E {
    E::custom(format_args!("{PLACE}{place}{PLACE}{problem}"))
}

fn missing<E: de::Error>(key: &'static str) -> E {
    below(key, "missing")
}

/// A document whose root object has one key alone.
struct Root<T> {
    name: &'static str,
    value: PhantomData<fn() -> T>,
}

impl<T> Root<T> {
    fn named(name: &'static str) -> Self {
        Self { name, value: PhantomData }
    }
}

impl<T> Clone for Root<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Root<T> {}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for Root<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<T, D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Root<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with the one key `{}`", self.name)
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<T, M::Error> {
        let Self { name, .. } = self;
        let wrong = |found: fmt::Arguments<'_>| {
            below("", &format!("expected an object with the one key `{name}`, found {found}"))
        };
        match map.next_key::<String>()? {
            None => return Err(wrong(format_args!("an empty object"))),
            Some(key) if key != name => return Err(wrong(format_args!("the key {key:?}"))),
            Some(_) => {}
        }
        let value = map.next_value()?;
        match map.next_key::<String>()? {
            None => Ok(value),
            Some(key) if key == name => Err(wrong(format_args!("it twice"))),
            Some(key) => Err(wrong(format_args!("also {key:?}"))),
        }
    }
}

/// What the tests of all parts of an instance read.
#[cfg(test)]
mod testing {
    use super::*;

    /// An instance with these members besides its application; errors as their text.
    pub(super) fn with(members: &str) -> Result<InstanceInfo, String> {
        instance(&format!(r#"{{"instance":{{"app":"A",{members}}}}}"#)).map_err(|e| e.to_string())
    }

    pub(super) fn refused(members: &str) -> String {
        with(members).expect_err(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        instance(text).expect_err(text).to_string()
    }

    /// Case: P010
    /// Catalog: E31, E23
    #[test]
    fn the_root_must_be_an_object_with_the_one_key_instance() {
        let expected = "expected an object with the one key `instance`";
        for (text, found) in [
            (r#"{}"#, "an empty object"),
            (r#"{"app":"A","instanceId":"a"}"#, "the key \"app\""),
            (r#"{"application":{"app":"A"}}"#, "the key \"application\""),
            (r#"{"void":null}"#, "the key \"void\""),
            (r#"{"instance":{"app":"A"},"more":1}"#, "also \"more\""),
            (r#"{"instance":{"app":"A"},"instance":{"app":"A"}}"#, "it twice"),
        ] {
            assert_eq!(refused(text), format!("{expected}, found {found}"));
        }
        for text in ["null", "[]", "1", "true", "\"instance\"", "[{\"instance\":{\"app\":\"A\"}}]"] {
            assert!(refused(text).contains(expected), "{text}");
        }
        for text in [r#"{"instance":null}"#, r#"{"instance":[]}"#, r#"{"instance":"A"}"#] {
            assert!(refused(text).contains("expected an instance object"), "{text}");
        }
        assert_eq!(refused(r#"{"instance":{"@class":"void","Hello":"world"}}"#), "instance.app: missing");
    }

    #[test]
    fn what_is_no_json_is_refused_where_it_ends_to_be_json() {
        assert_eq!(refused(""), "line 1, column 1: EOF while parsing a value");
        assert_eq!(refused("{\"instance\":{"), "instance (line 1, column 13): EOF while parsing an object");
        assert_eq!(refused("<instance/>"), "line 1, column 1: expected value");
        assert_eq!(
            refused("{\"instance\":{\"app\":\"A\",\n\"hostName\":nope}}"),
            "instance.hostName (line 2, column 13): expected ident"
        );
        assert!(refused(r#"{"instance":{"app":"A"}} x"#).contains("trailing characters"));
        assert!(refused(r#"{"instance":{"app":"A"}}{}"#).contains("trailing characters"));
    }

    #[test]
    fn a_byte_order_mark_in_front_is_passed_over() {
        let body = "\u{FEFF}{\"instance\":{\"app\":\"A\"}}";
        assert_eq!(crate::decode::instance(crate::Format::Json, body.as_bytes()).unwrap().app.as_str(), "A");
    }

    #[test]
    fn absurd_nesting_is_an_error_and_never_exhausts_the_stack() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let deep = format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
            assert!(instance(&deep).is_err());
            for key in
                ["unknown", "hostName", "port", "securePort", "dataCenterInfo", "leaseInfo", "metadata"]
            {
                for text in [
                    format!(r#"{{"instance":{{"app":"A","{key}":{deep}}}}}"#),
                    format!(r#"{{"instance":{{"app":"A","{key}":{{"@class":{deep}}}}}}}"#),
                    format!(r#"{{"instance":{{"app":"A","{key}":{{"metadata":{deep},"name":"Amazon"}}}}}}"#),
                    format!(r#"{{"instance":{{"app":"A","{key}":{}"#, open.repeat(100_000)),
                ] {
                    assert!(instance(&text).is_err(), "{key}");
                }
            }
            assert!(applications(&format!(r#"{{"applications":{{"application":{deep}}}}}"#)).is_err());
            let items = format!(r#"{{"replicationList":[{deep},{{"x":{deep}}}]}}"#);
            assert!(replication_list(&items).unwrap().items.iter().all(Result::is_err));
            assert!(replication_list(&format!(r#"{{"replicationList":[],"x":{deep}}}"#)).is_err());
            assert!(replication_response(&format!(r#"{{"responseList":[{deep}]}}"#)).is_err());
        }
    }

    #[test]
    fn a_lone_half_of_a_surrogate_pair_is_refused() {
        for text in [
            r#"{"instance":{"app":"\ud800"}}"#,
            r#"{"instance":{"app":"A","metadata":{"a":"\udc00"}}}"#,
            r#"{"instance":{"app":"A","metadata":{"\ud800":"a"}}}"#,
        ] {
            assert!(refused(text).contains("hex escape"), "{}", refused(text));
        }
        assert!(instance(r#"{"instance":{"app":"\ud83e\udd80"}}"#).is_ok());
    }
}
