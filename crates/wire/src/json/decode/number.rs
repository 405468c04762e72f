//! Whole numbers, as numbers or as text.

use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer};

use super::scalar::Scalar;

/// A whole number of 32 or 64 bits; `None` for `null`.
///
/// **Compat:** Java takes text too, and reads 0 from text that is no number. What Java truncates or wraps around, a
/// fraction or a number too large, is refused: no client means that.
pub(super) struct Number<T>(pub(super) Option<T>);

/// A whole number where text that is none is refused.
pub(super) struct StrictNumber<T>(pub(super) Option<T>);

impl<'de, T: FromStr<Err = std::num::ParseIntError> + Default> Deserialize<'de> for Number<T> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        parse(&Scalar::deserialize(json)?).map(|n| Self(n.map(Option::unwrap_or_default)))
    }
}

impl<'de, T: FromStr<Err = std::num::ParseIntError>> Deserialize<'de> for StrictNumber<T> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        match parse(&Scalar::deserialize(json)?)? {
            None => Ok(Self(None)),
            Some(Some(number)) => Ok(Self(Some(number))),
            Some(None) => Err(expected("text that is none")),
        }
    }
}

/// `None` for `null`, `Some(None)` for text that is no number.
pub(super) fn parse<T, E>(scalar: &Scalar<'_>) -> Result<Option<Option<T>>, E>
where
    T: FromStr<Err = std::num::ParseIntError>,
    E: de::Error,
{
    let (text, quoted) = match scalar {
        Scalar::Null => return Ok(None),
        Scalar::Bool(_) => return Err(expected(scalar.kind())),
        Scalar::Number(number) => (*number, false),
        Scalar::Text(text) => (text.trim(), true),
    };
    match text.parse::<T>() {
        Ok(number) => Ok(Some(Some(number))),
        Err(_) if is_whole(text) => Err(E::custom(format_args!("{text} is out of range"))),
        Err(_) if quoted => Ok(Some(None)),
        Err(_) => Err(expected(text)),
    }
}

/// Whether this is a whole number of any size.
fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

fn expected<E: de::Error>(found: &str) -> E {
    E::custom(format_args!("expected a whole number, found {found}"))
}
