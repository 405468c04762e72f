//! Text between tags.

use std::borrow::Cow;

use crate::text::is_xml_char;

/// See [`escape_xml_text`](crate::encode::escape_xml_text).
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(|c| escaped(c).is_some()) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first]);
    for c in text[first..].chars() {
        match escaped(c) {
            Some(instead) => out.push_str(instead),
            None => out.push(c),
        }
    }
    Cow::Owned(out)
}

fn escaped(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\'' => Some("&apos;"),
        '\r' => Some("&#xd;"),
        c if is_xml_char(c) => None,
        _ => Some("\u{FFFD}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_quotes_and_carriage_returns_are_escaped_and_nothing_else() {
        assert_eq!(text("<&>\"'"), "&lt;&amp;&gt;&quot;&apos;");
        assert_eq!(text("a\r\n\tb ]]>"), "a&#xd;\n\tb ]]&gt;");
        assert!(matches!(text("Zürich ☃ 名前 🦀"), Cow::Borrowed(_)));
    }

    #[test]
    fn what_xml_cannot_hold_is_replaced_so_that_the_document_stays_well_formed() {
        assert_eq!(text("a\0b\u{FFFE}"), "a\u{FFFD}b\u{FFFD}");
    }
}
