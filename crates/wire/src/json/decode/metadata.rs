//! Free key-value pairs.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

use super::scalar::Scalar;
use super::skip::skip;
use crate::Metadata;
use crate::decode::unwritable;

/// Metadata; `null` is none.
///
/// **Compat:** numbers and truth values become their text. `@class` is no entry but Java's name for the kind of map.
/// Java makes the text `null` of a `null`, which no consumer expects: here such an entry is dropped. An object or an
/// array in a value, which Java garbles, is refused.
pub(super) struct Entries(pub(super) Metadata);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of metadata")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Entries, E> {
        Ok(Entries(Metadata::new()))
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Entries, M::Error> {
        let mut metadata = Metadata::new();
        while let Some(Key(key)) = map.next_key()? {
            if key == "@class" {
                skip(&mut map)?;
                continue;
            }
            match map.next_value::<Scalar<'_>>()?.into_text() {
                Some(value) => metadata.insert(key.into(), value.into()),
                None => metadata.remove(&*key),
            };
        }
        Ok(Entries(metadata))
    }
}

/// A key that XML can hold too.
struct Key<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct KeyVisitor;

        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E: de::Error>(self, key: &'de str) -> Result<Key<'de>, E> {
                checked(key).map(|()| Key(Cow::Borrowed(key)))
            }

            fn visit_str<E: de::Error>(self, key: &str) -> Result<Key<'de>, E> {
                checked(key).map(|()| Key(Cow::Owned(key.to_owned())))
            }
        }

        json.deserialize_str(KeyVisitor)
    }
}

fn checked<E: de::Error>(key: &str) -> Result<(), E> {
    if key.is_empty() {
        return Err(E::custom("a key is empty"));
    }
    unwritable(key).map_or(Ok(()), |problem| Err(E::custom(format_args!("in the key {key:?}, {problem}"))))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{refused, with};

    fn metadata(value: &str) -> Vec<(String, String)> {
        let metadata = with(&format!(r#""metadata":{value}"#)).unwrap().metadata;
        metadata.into_iter().map(|(k, v)| (k.into(), v.into())).collect()
    }

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.into(), value.into())
    }

    /// Case: P027
    #[test]
    fn numbers_and_truth_values_become_the_text_they_were_sent_as() {
        for (value, text) in [
            ("20", "20"),
            ("1.50", "1.50"),
            ("-0", "-0"),
            ("1e5", "1e5"),
            ("1e999", "1e999"),
            ("12345678901234567890123", "12345678901234567890123"),
            ("true", "true"),
            ("false", "false"),
            ("\"null\"", "null"),
            (r#""a\"\\\u00e9\ud83e\udd80""#, "a\"\\é🦀"),
        ] {
            assert_eq!(metadata(&format!(r#"{{"k": {value} }}"#)), [pair("k", text)]);
        }
    }

    /// Case: P027
    /// Catalog: E17
    #[test]
    fn nulls_and_the_name_of_javas_map_are_no_entries() {
        assert_eq!(metadata("null"), []);
        assert_eq!(metadata("{}"), []);
        assert_eq!(metadata(r#"{"@class":"java.util.Collections$EmptyMap"}"#), []);
        assert_eq!(metadata(r#"{"@class":{"a":[]},"x":null,"a":"1"}"#), [pair("a", "1")]);
        assert_eq!(metadata(r#"{"a":"1","a":"2"}"#), [pair("a", "2")]);
        assert_eq!(metadata(r#"{"a":"1","a":null}"#), []);
    }

    /// Case: P026
    #[test]
    fn every_key_that_can_be_served_is_kept_untouched() {
        let keys = ["prometheus.port", "a_b", "a$b", "1st", "has space", "x<y", "Zürich", "🦀"];
        let json = keys.map(|k| format!("\"{k}\":\"v\"")).join(",");
        let mut expected = keys.map(|k| pair(k, "v"));
        expected.sort();
        assert_eq!(metadata(&format!("{{{json}}}")), expected);
    }

    /// Case: P027
    #[test]
    fn an_object_or_an_array_in_a_value_is_refused_with_its_key() {
        for (value, place) in [
            (r#"{"a":"1","b":{"c":"d"}}"#, "instance.metadata.b"),
            (r#"{"x.y":[1]}"#, "instance.metadata.x.y"),
        ] {
            let error = refused(&format!(r#""metadata":{value}"#));
            assert!(error.starts_with(&format!("{place} (line 1, column ")), "{error}");
            assert!(error.contains("expected text, found an"), "{error}");
        }
        for value in ["\"x\"", "7", "[]", "true"] {
            let error = refused(&format!(r#""metadata":{value}"#));
            assert!(
                error.starts_with("instance.metadata (") && error.contains("an object of metadata"),
                "{error}"
            );
        }
    }

    #[test]
    fn an_empty_key_is_refused() {
        let error = refused(r#""metadata":{"":"v"}"#);
        assert!(error.starts_with("instance.metadata (") && error.ends_with("a key is empty"), "{error}");
    }
}
