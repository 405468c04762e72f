//! The texts of single elements.

use std::num::IntErrorKind;
use std::str::FromStr;

use super::super::source::Source;
use crate::{DecodeError, InstanceStatus};

pub(super) fn plain(source: &mut Source<'_>) -> Result<Box<str>, DecodeError> {
    Ok(source.text()?.into())
}

/// Text as it is: spaces around it are part of it.
pub(super) fn text<T>(source: &mut Source<'_>, make: impl FnOnce(&str) -> T) -> Result<T, DecodeError> {
    Ok(make(&source.text()?))
}

/// A word, without the spaces that indentation may put around it.
pub(super) fn word<T>(source: &mut Source<'_>, make: impl FnOnce(&str) -> T) -> Result<T, DecodeError> {
    Ok(make(source.text()?.trim()))
}

pub(super) fn number<T>(source: &mut Source<'_>) -> Result<T, DecodeError>
where
    T: FromStr<Err = std::num::ParseIntError>,
{
    let text = source.text()?;
    let text = text.trim();
    text.parse::<T>().map_err(|e| match e.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => {
            source.fault(format!("{text} is out of range"))
        }
        _ => source.fault(format!("expected a whole number, found {text:?}")),
    })
}

/// **Compat:** the word may be in any case, unlike in JSON; another word is `UNKNOWN`.
pub(super) fn status(source: &mut Source<'_>) -> Result<InstanceStatus, DecodeError> {
    word(source, |word| {
        let status = InstanceStatus::ALL.into_iter().find(|s| s.as_str().eq_ignore_ascii_case(word));
        status.unwrap_or(InstanceStatus::Unknown)
    })
}
