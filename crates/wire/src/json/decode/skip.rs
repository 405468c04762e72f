//! Values that nobody asked for.

use serde::de::{Deserialize, Deserializer, Error, MapAccess};
use serde_json::value::RawValue;

/// The nesting that serde_json allows in what it does read.
const DEEPEST: usize = 127;

/// A value that is passed over, whatever it is, as long as it is JSON and not nested absurdly.
///
/// **Compat:** the Java decoder stumbles over unknown objects and arrays; here a key that Eureka does not know never
/// spoils a document.
pub(super) struct Skipped<'de>(pub(super) &'de RawValue);

impl<'de> Deserialize<'de> for Skipped<'de> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        // Raw values are scanned without recursion, so their depth has no limit but this one.
        let raw = <&RawValue>::deserialize(json)?;
        if depth(raw.get()) > DEEPEST { Err(D::Error::custom("nested too deeply")) } else { Ok(Self(raw)) }
    }
}

/// Passes over the value of the key that was read last.
pub(super) fn skip<'de, M: MapAccess<'de>>(map: &mut M) -> Result<(), M::Error> {
    map.next_value::<Skipped<'de>>().map(|_| ())
}

/// How deep the arrays and objects of a JSON text are nested.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => skip_text(&mut bytes),
            _ => {}
        }
    }
    deepest
}

fn skip_text(bytes: &mut impl Iterator<Item = u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_outside_of_text() {
        assert_eq!(depth("1"), 0);
        assert_eq!(depth(r#"{"a":[1,{"b":[]}],"c":[[]]}"#), 4);
        assert_eq!(depth(r#"["[[[[", "\"[[", "\\"]"#), 1);
    }
}
