//! Metadata keys as element names.
//!
//! **Compat:** this is XStream's name coder. `_` becomes `__`, `$` becomes `_-`, and what no XML name can hold becomes
//! `_.` and four hexadecimal digits for each UTF-16 unit. Two kinds of characters are escaped so too, though XStream
//! leaves them, because one such key would make a client refuse the whole registry: a colon, which to a parser that
//! knows namespaces ends a prefix that nobody declared, and letters that only the latest edition of XML 1.0 allows,
//! which expat does not follow. Java clients decode the one like the other.

use std::borrow::Cow;

/// The element name for a metadata key. Different keys have different names.
pub(super) fn encode(key: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    if key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.chars().all(plain) {
        return Cow::Borrowed(key);
    }
    let mut name = String::with_capacity(key.len() + 16);
    for (i, c) in key.char_indices() {
        match c {
            '_' => name.push_str("__"),
            '$' => name.push_str("_-"),
            c if is_letter_everywhere(c) => name.push(c),
            '-' | '.' | '0'..='9' if i > 0 => name.push(c),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    name.push_str(&format!("_.{unit:04x}"));
                }
            }
        }
    }
    Cow::Owned(name)
}

/// The metadata key for an element name; `None` if it names half a surrogate pair.
///
/// An underscore that begins none of the three escapes stands for itself, as in Java.
pub(super) fn decode(name: &str) -> Option<Cow<'_, str>> {
    let Some(first) = name.find('_') else { return Some(Cow::Borrowed(name)) };
    let mut units: Vec<u16> = Vec::with_capacity(name.len());
    units.extend(name[..first].encode_utf16());
    let mut rest = &name[first..];
    while let Some(c) = rest.chars().next() {
        let (unit, len) = escape(rest).unwrap_or((0, 0));
        if len > 0 {
            units.push(unit);
            rest = &rest[len..];
        } else {
            units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
            rest = &rest[c.len_utf8()..];
        }
    }
    String::from_utf16(&units).ok().map(Cow::Owned)
}

/// The unit that the escape at the beginning of the text stands for, and the escape's length.
fn escape(text: &str) -> Option<(u16, usize)> {
    let escape = text.strip_prefix('_')?;
    if escape.starts_with('_') {
        return Some((u16::from(b'_'), 2));
    }
    if escape.starts_with('-') {
        return Some((u16::from(b'$'), 2));
    }
    let digits = escape.strip_prefix('.')?.get(..4)?;
    let unit = u16::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
    Some((unit, 6))
}

/// Whether every edition of XML lets a name begin with this. Some more characters are like that, of scripts in which
/// hardly a key is written.
fn is_letter_everywhere(c: char) -> bool {
    matches!(c,
        'A'..='Z' | 'a'..='z' | 'À'..='Ö' | 'Ø'..='ö' | 'ø'..='ı' | 'Ĵ'..='ľ' | 'Ł'..='ň' | 'Ŋ'..='ž'
        | 'Έ'..='Ί' | 'Ύ'..='Ρ' | 'Σ'..='ώ' | 'Ё'..='Ќ' | 'Ў'..='я' | 'ё'..='ќ' | 'ў'..='ҁ'
        | 'ぁ'..='ゔ' | 'ァ'..='ヺ' | '\u{4E00}'..='\u{9FA5}' | '가'..='힣')
}

/// Whether this can be an element's name.
pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(is_start) && name.chars().all(|c| is_start(c) || is_further(c))
}

/// `NameStartChar` of XML 1.0.
fn is_start(c: char) -> bool {
    matches!(c,
        ':' | '_' | 'A'..='Z' | 'a'..='z' | '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{2FF}'
        | '\u{370}'..='\u{37D}' | '\u{37F}'..='\u{1FFF}' | '\u{200C}'..='\u{200D}' | '\u{2070}'..='\u{218F}'
        | '\u{2C00}'..='\u{2FEF}' | '\u{3001}'..='\u{D7FF}' | '\u{F900}'..='\u{FDCF}'
        | '\u{FDF0}'..='\u{FFFD}' | '\u{10000}'..='\u{EFFFF}')
}

/// What `NameChar` of XML 1.0 has beyond [`is_start`].
fn is_further(c: char) -> bool {
    matches!(c, '-' | '.' | '0'..='9' | '\u{B7}' | '\u{300}'..='\u{36F}' | '\u{203F}'..='\u{2040}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Case: P026
    #[test]
    fn a_key_becomes_the_name_that_xstream_makes_of_it() {
        for (key, name) in [
            ("zone", "zone"),
            ("management.port", "management.port"),
            ("a-b", "a-b"),
            ("a_b", "a__b"),
            ("a$b", "a_-b"),
            ("$x", "_-x"),
            ("a b", "a_.0020b"),
            ("x<y", "x_.003cy"),
            ("9z", "_.0039z"),
            ("1digit", "_.0031digit"),
            ("-a", "_.002da"),
            ("with space", "with_.0020space"),
            ("städt", "städt"),
            ("名前", "名前"),
            ("a:b", "a_.003ab"),
            ("ǅ", "_.01c5"),
            ("a·", "a_.00b7"),
            ("Ελλάς", "Ελλάς"),
            ("адрес", "адрес"),
            ("주소", "주소"),
            ("ラベル", "ラベル"),
            ("ー", "_.30fc"),
            ("@class", "_.0040class"),
            ("🦀", "_.d83e_.dd80"),
            ("_.0020", "__.0020"),
        ] {
            assert_eq!(encode(key), name);
            assert_eq!(decode(name).as_deref(), Some(key));
            assert!(is_name(name), "{name}");
        }
    }

    #[test]
    fn a_name_that_is_no_escape_stands_for_itself() {
        for (name, key) in [
            ("_x", "_x"),
            ("a_", "a_"),
            ("_.12", "_.12"),
            ("_.zzzz", "_.zzzz"),
            ("_.+123", "_.+123"),
            ("_.00é", "_.00é"),
            ("a:b", "a:b"),
            ("___", "__"),
            ("_.D83E_.DD80", "🦀"),
        ] {
            assert_eq!(decode(name).as_deref(), Some(key));
        }
        assert_eq!(decode("_.d83e"), None);
        assert_eq!(decode("_.dd80_.d83e"), None);
    }

    #[test]
    fn only_names_are_names() {
        for name in ["", "9", "-a", "a b", "a&b", "a\"", ".", "a\u{0}"] {
            assert!(!is_name(name), "{name:?}");
        }
    }
    proptest::proptest! {
        #[test]
        fn every_key_is_read_back_from_its_name(
            key in proptest::collection::vec(
                proptest::prop_oneof![proptest::char::any(), proptest::sample::select("_$.-:0aF9z@ é".chars().collect::<Vec<_>>())],
                1..20,
            )
        ) {
            let key: String = key.into_iter().collect();
            let name = encode(&key);
            proptest::prop_assert!(is_name(&name) && !name.contains(':'), "{}", name);
            let read = decode(&name);
            proptest::prop_assert_eq!(read.as_deref(), Some(&*key));
        }
    }
}
