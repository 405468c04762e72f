//! Values that are not objects.

use std::borrow::Cow;

use serde::de::{self, Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::decode::unwritable;

/// Text, number, truth value or nothing.
///
/// A number is kept as the client wrote it: a weight of `1.50` or an id of thirty digits goes into metadata as it is.
pub(super) enum Scalar<'de> {
    Null,
    Bool(bool),
    Number(&'de str),
    Text(Cow<'de, str>),
}

impl<'de> Scalar<'de> {
    fn parse<E: de::Error>(raw: &'de str) -> Result<Self, E> {
        match raw.as_bytes() {
            [b'"', inside @ .., b'"'] if !inside.contains(&b'\\') => {
                checked(Cow::Borrowed(&raw[1..raw.len() - 1])).map(Self::Text)
            }
            [b'"', ..] => {
                // Its position would count from this text's beginning.
                let text: String = serde_json::from_str(raw).map_err(|e| {
                    let text = e.to_string();
                    E::custom(text.split(" at line ").next().unwrap_or_default())
                })?;
                checked(Cow::Owned(text)).map(Self::Text)
            }
            b"null" => Ok(Self::Null),
            b"true" => Ok(Self::Bool(true)),
            b"false" => Ok(Self::Bool(false)),
            [b'{', ..] => Err(E::custom("expected text, found an object")),
            [b'[', ..] => Err(E::custom("expected text, found an array")),
            _ => Ok(Self::Number(raw)),
        }
    }

    /// Any value as text, as Jackson does it; `None` for `null`.
    pub(super) fn into_text(self) -> Option<Cow<'de, str>> {
        match self {
            Self::Null => None,
            Self::Bool(value) => Some(Cow::Borrowed(if value { "true" } else { "false" })),
            Self::Number(number) => Some(Cow::Borrowed(number)),
            Self::Text(text) => Some(text),
        }
    }

    /// Whether it is `true` or `"true"`.
    ///
    /// **Compat:** `"TRUE"` and the rest are false, as in Java.
    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::Bool(value) => *value,
            Self::Text(text) => text == "true",
            Self::Null | Self::Number(_) => false,
        }
    }

    /// What it is, for a message.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a truth value",
            Self::Number(_) => "a number",
            Self::Text(_) => "text",
        }
    }
}

impl<'de> Deserialize<'de> for Scalar<'de> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        Self::parse(<&RawValue>::deserialize(json)?.get())
    }
}

fn checked<E: de::Error>(text: Cow<'_, str>) -> Result<Cow<'_, str>, E> {
    unwritable(&text).map_or(Ok(text), |problem| Err(E::custom(problem)))
}
