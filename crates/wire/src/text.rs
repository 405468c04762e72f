//! Which text can stand in every document.

/// The first character that no XML document can hold, if there is one.
///
/// Every instance is served as XML too, so a name with a NUL in it cannot be let in through JSON.
pub fn first_unwritable(text: &str) -> Option<char> {
    text.chars().find(|c| !is_xml_char(*c))
}

/// `Char` of XML 1.0.
pub(crate) fn is_xml_char(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..)
}
