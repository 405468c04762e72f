//! Which text can stand in every document.

/// The first character that no XML document can hold, if there is one.
///
/// Every instance is served as XML too, so a name with a NUL in it cannot be let in through JSON.
pub fn first_unwritable(text: &str) -> Option<char> {
    text.chars().find(|c| !is_xml_char(*c))
}

/// The text with everything that no XML document can hold replaced, to be shown to people.
pub fn made_writable(text: &str) -> String {
    text.chars().map(|c| if is_xml_char(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
}

/// `Char` of XML 1.0.
pub(crate) fn is_xml_char(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}
