//! Writing one JSON object, member by member.
//!
//! Members are written straight into the document: a registry of 100 000 instances is a million members, and a tree
//! or a string for each of them would cost more than the document itself.

use serde::Serialize;

/// A JSON object that is being written.
pub(super) struct Object<'a> {
    out: &'a mut Vec<u8>,
    empty: bool,
}

impl<'a> Object<'a> {
    pub(super) fn open(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, empty: true }
    }

    /// Goes on with an object that has members already.
    pub(super) fn resume(out: &'a mut Vec<u8>) -> Self {
        Self { out, empty: false }
    }

    pub(super) fn close(self) {
        self.out.push(b'}');
    }

    /// Begins a member whose key needs no escapes; the value is for the caller to write.
    pub(super) fn member(&mut self, key: &'static str) -> &mut Vec<u8> {
        self.comma();
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    /// A member with any key.
    pub(super) fn entry(&mut self, key: &str, value: &str) {
        self.comma();
        push(self.out, key);
        self.out.push(b':');
        push(self.out, value);
    }

    /// Text; `null` if there is none.
    pub(super) fn text_or_null(&mut self, key: &'static str, text: &str) {
        let out = self.member(key);
        if text.is_empty() { out.extend_from_slice(b"null") } else { push(out, text) }
    }

    pub(super) fn text(&mut self, key: &'static str, text: &str) {
        push(self.member(key), text);
    }

    /// Text, left out if there is none.
    pub(super) fn optional(&mut self, key: &'static str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(key, text);
        }
    }

    pub(super) fn number(&mut self, key: &'static str, number: impl Into<i64>) {
        push(self.member(key), &number.into());
    }

    /// A number as text.
    pub(super) fn quoted_number(&mut self, key: &'static str, number: i64) {
        let out = self.member(key);
        out.push(b'"');
        push(out, &number);
        out.push(b'"');
    }

    /// A truth value as text.
    pub(super) fn quoted_bool(&mut self, key: &'static str, value: bool) {
        push(self.member(key), if value { "true" } else { "false" });
    }

    fn comma(&mut self) {
        if !self.empty {
            self.out.push(b',');
        }
        self.empty = false;
    }
}

/// Writes the values one after the other as an array.
pub(super) fn array<T>(
    out: &mut Vec<u8>,
    values: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(b'[');
    for (i, value) in values.into_iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write(out, value);
    }
    out.push(b']');
}

fn push<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(out, value).expect("text and numbers can be written, and memory takes them");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_separated_and_keys_and_values_escaped() {
        let mut out = Vec::new();
        let mut object = Object::open(&mut out);
        object.text("a", "q\" b\\ n\n");
        object.entry("k\"", "\t");
        object.optional("left out", None);
        object.text_or_null("n", "");
        object.number("i", -7);
        object.quoted_number("s", i64::MIN);
        object.quoted_bool("b", true);
        array(object.member("l"), [1, 2], |out, n: i64| push(out, &n));
        object.close();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r#"{"a":"q\" b\\ n\n","k\"":"\t","n":null,"i":-7,"s":"-9223372036854775808","b":"true","l":[1,2]}"#
        );
    }
}
