//! A document as a sequence of tags and texts.
//!
//! Everything that makes XML dangerous or ambiguous ends here: document types and the entities they define, other
//! encodings, deep nesting, characters that are none.

use std::borrow::Cow;

use quick_xml::events::{BytesDecl, BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::names;
use crate::text::is_xml_char;
use crate::{DecodeError, first_unwritable};

/// How deep elements may be nested. Eureka's own documents need six levels.
const DEEPEST: usize = 64;

/// A document that is being read.
pub(super) struct Source<'a> {
    text: &'a str,
    reader: Reader<&'a [u8]>,
    /// The names of the elements around what was read last.
    path: Vec<String>,
    /// Whether what was read last ended the innermost of them. Until something else is read it still counts, so that
    /// an error about an element can be made when all of it is known.
    closed: bool,
    /// Whether the innermost of them was written as one empty tag, whose end is still to be told.
    empty: bool,
    /// Whether anything was read at all.
    begun: bool,
}

enum Token<'a> {
    Open(BytesStart<'a>),
    Close,
    Text(Cow<'a, str>),
}

impl<'a> Source<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self, DecodeError> {
        let reader = Reader::from_str(text);
        let source = Self { text, reader, path: Vec::new(), closed: false, empty: false, begun: false };
        match first_unwritable(text) {
            None => Ok(source),
            Some(c) => Err(DecodeError::at(
                "",
                Some(position(text, text.find(c).unwrap_or_default())),
                format!("the character U+{:04X} is not allowed", u32::from(c)),
            )),
        }
    }

    /// Enters the root, which must have one of these names.
    pub(super) fn root(&mut self, names: &[&str]) -> Result<(), DecodeError> {
        loop {
            match self.token()? {
                Some(Token::Open(root)) if names.contains(&root.local_name().as_ref()) => return Ok(()),
                Some(Token::Open(_)) => {
                    return Err(self.fault(format!("expected the root <{}>", names.join("> or <"))));
                }
                Some(Token::Text(text)) if is_blank(&text) => {}
                Some(Token::Text(_) | Token::Close) | None => {
                    return Err(self.fault(format!("expected <{}>", names.join("> or <"))));
                }
            }
        }
    }

    /// Makes sure that nothing follows the root.
    pub(super) fn end(&mut self) -> Result<(), DecodeError> {
        loop {
            match self.token()? {
                None => return Ok(()),
                Some(Token::Text(text)) if is_blank(&text) => {}
                Some(_) => return Err(self.fault("expected nothing after the root")),
            }
        }
    }

    /// Enters the next element within the present one; `None` at its end. Text in between says nothing.
    pub(super) fn child(&mut self) -> Result<Option<BytesStart<'a>>, DecodeError> {
        loop {
            match self.inner_token()? {
                Token::Open(element) => return Ok(Some(element)),
                Token::Close => return Ok(None),
                Token::Text(_) => {}
            }
        }
    }

    /// The text of the present element, to its end.
    pub(super) fn text(&mut self) -> Result<Cow<'a, str>, DecodeError> {
        self.text_or_nested()?
    }

    /// The text of the present element, to its end; an error inside if there are elements within. They are passed
    /// over, so that reading can go on.
    pub(super) fn text_or_nested(&mut self) -> Result<Result<Cow<'a, str>, DecodeError>, DecodeError> {
        let mut text = Cow::Borrowed("");
        loop {
            match self.inner_token()? {
                Token::Text(more) if text.is_empty() => text = more,
                Token::Text(more) => text.to_mut().push_str(&more),
                Token::Close => return Ok(Ok(text)),
                Token::Open(element) => {
                    let nested = format!("expected text, found <{}>", element.name().as_ref());
                    self.skip()?;
                    self.skip()?;
                    return Ok(Err(self.fault(nested)));
                }
            }
        }
    }

    /// Passes over the rest of the present element.
    pub(super) fn skip(&mut self) -> Result<(), DecodeError> {
        let mut inside = 0_usize;
        loop {
            match self.inner_token()? {
                Token::Open(_) => inside += 1,
                Token::Close if inside == 0 => return Ok(()),
                Token::Close => inside -= 1,
                Token::Text(_) => {}
            }
        }
    }

    /// A problem with the present element.
    pub(super) fn fault(&self, problem: impl Into<String>) -> DecodeError {
        self.fault_at(self.reader.buffer_position(), problem)
    }

    /// A problem with something that the present element lacks or had earlier.
    pub(super) fn fault_below(&self, name: &str, problem: impl Into<String>) -> DecodeError {
        DecodeError::at(&format!("{}.{name}", self.path.join(".")), None, problem)
    }

    fn fault_at(&self, offset: u64, problem: impl Into<String>) -> DecodeError {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        DecodeError::at(&self.path.join("."), Some(position(self.text, offset)), problem)
    }

    fn inner_token(&mut self) -> Result<Token<'a>, DecodeError> {
        self.token()?.ok_or_else(|| self.fault("the document ends too early"))
    }

    /// The next tag or text; `None` at the end of the document.
    fn token(&mut self) -> Result<Option<Token<'a>>, DecodeError> {
        if std::mem::take(&mut self.closed) {
            self.path.pop();
        }
        if std::mem::take(&mut self.empty) {
            self.closed = true;
            return Ok(Some(Token::Close));
        }
        loop {
            let event = self.reader.read_event();
            let event = event.map_err(|e| self.fault_at(self.reader.error_position(), e.to_string()))?;
            let first = !std::mem::replace(&mut self.begun, true);
            match event {
                Event::Start(element) => return self.open(element, false).map(Some),
                Event::Empty(element) => return self.open(element, true).map(Some),
                Event::End(_) => {
                    self.closed = true;
                    return Ok(Some(Token::Close));
                }
                Event::Text(text) => return Ok(Some(Token::Text(text.xml10_content()))),
                Event::CData(text) => return Ok(Some(Token::Text(text.xml10_content()))),
                Event::GeneralRef(reference) => return self.resolve(&reference).map(Some),
                Event::Decl(declaration) if first => self.check_encoding(&declaration)?,
                Event::Decl(_) => return Err(self.fault("an XML declaration belongs to the beginning")),
                Event::DocType(_) => return Err(self.fault("document types are not allowed")),
                Event::Comment(_) | Event::PI(_) => {}
                Event::Eof if self.path.is_empty() => return Ok(None),
                Event::Eof => return Err(self.fault("the document ends too early")),
            }
        }
    }

    fn open(&mut self, element: BytesStart<'a>, empty: bool) -> Result<Token<'a>, DecodeError> {
        let name = element.name();
        if !names::is_name(name.as_ref()) {
            return Err(self.fault(format!("{:?} is no name of an element", name.as_ref())));
        }
        if self.path.len() >= DEEPEST {
            return Err(self.fault("nested too deeply"));
        }
        self.path.push(name.as_ref().to_owned());
        for attribute in element.attributes() {
            let attribute = attribute.map_err(|e| self.fault(e.to_string()))?;
            attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|e| self.fault(e.to_string()))?;
        }
        self.empty = empty;
        Ok(Token::Open(element))
    }

    fn check_encoding(&self, declaration: &BytesDecl<'_>) -> Result<(), DecodeError> {
        match declaration.encoding() {
            None => Ok(()),
            Some(Ok(encoding)) if encoding.eq_ignore_ascii_case("utf-8") => Ok(()),
            Some(Ok(encoding)) => Err(self.fault(format!("the encoding {encoding:?} is not supported"))),
            Some(Err(error)) => Err(self.fault(error.to_string())),
        }
    }

    fn resolve(&self, reference: &BytesRef<'_>) -> Result<Token<'a>, DecodeError> {
        let text = match &**reference {
            "lt" => Cow::Borrowed("<"),
            "gt" => Cow::Borrowed(">"),
            "amp" => Cow::Borrowed("&"),
            "quot" => Cow::Borrowed("\""),
            "apos" => Cow::Borrowed("'"),
            name => match reference.resolve_char_ref() {
                Ok(Some(c)) if is_xml_char(c) => Cow::Owned(c.to_string()),
                Ok(Some(_)) | Err(_) => return Err(self.fault(format!("&{name}; is no character of XML"))),
                Ok(None) => return Err(self.fault(format!("the entity &{name}; is not known"))),
            },
        };
        Ok(Token::Text(text))
    }
}

fn is_blank(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n'))
}

/// Line and column of an offset, both from 1.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line = before.iter().filter(|b| **b == b'\n').count() + 1;
    let starts_a_character = |b: &&u8| **b & 0xC0 != 0x80;
    let column = before.iter().rev().take_while(|b| **b != b'\n').filter(starts_a_character).count() + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::super::decode::instance;
    use super::*;

    fn refused(text: &str) -> String {
        instance(text).expect_err(text).to_string()
    }

    /// The host name that a document says.
    fn host(text: &str) -> String {
        instance(&format!("<instance><app>A</app><hostName>{text}</hostName></instance>"))
            .map_or_else(|e| e.to_string(), |i| i.host_name.into())
    }

    /// Catalog: E23
    #[test]
    fn the_root_must_be_an_instance_and_nothing_may_stand_beside_it() {
        for text in [
            "<instance><app>A</app></instance>",
            "<com.netflix.appinfo.InstanceInfo><app>A</app></com.netflix.appinfo.InstanceInfo>",
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- c --><?pi x?><instance><app>A</app></instance>\n<!-- -->\n",
            "<?xml version='1.0'?><e:instance xmlns:e='urn:e'><e:app>A</e:app></e:instance>",
            "<instance class=\"x\"\n><app\t>A</app ></instance >",
        ] {
            assert_eq!(instance(text).unwrap().app.as_str(), "A", "{text}");
        }
        for (text, problem) in [
            (
                "<void/>",
                "void (line 1, column 8): expected the root <instance> or <com.netflix.appinfo.InstanceInfo>",
            ),
            ("<a class='void'>Hello</a>", "expected the root <instance>"),
            ("<applications/>", "expected the root <instance>"),
            ("", "expected <instance>"),
            ("   ", "expected <instance>"),
            ("hello", "expected <instance>"),
            ("x<instance><app>A</app></instance>", "expected <instance>"),
            ("{\"instance\":{}}", "expected <instance>"),
            ("<instance><app>A</app></instance>x", "expected nothing after the root"),
            ("<instance><app>A</app></instance><instance/>", "expected nothing after the root"),
            ("<instance><app>A</app>", "instance (line 1, column 23): the document ends too early"),
            ("<instance><app>A", "the document ends too early"),
            ("<instance><app>A</instance></app>", "expected `</app>`"),
            ("<instance><app>A</app></instance></instance>", "instance"),
            ("<instance><app", "tag not closed"),
            (" <?xml version=\"1.0\"?><instance><app>A</app></instance>", "belongs to the beginning"),
            ("<instance><a&b/><app>A</app></instance>", "is no name of an element"),
            ("<instance a=\"1\" a=\"2\"><app>A</app></instance>", "duplicated attribute"),
            ("<instance a=1><app>A</app></instance>", "attribute value must be enclosed"),
            ("<instance a=\"&e;\"><app>A</app></instance>", "unrecognized entity"),
            ("<instance><1/><app>A</app></instance>", "is no name of an element"),
        ] {
            assert!(refused(text).contains(problem), "{text}: {}", refused(text));
        }
    }

    #[test]
    fn document_types_and_their_entities_are_refused() {
        for text in [
            "<!DOCTYPE i [<!ENTITY e \"x\">]><instance><app>&e;</app></instance>",
            "<!DOCTYPE i SYSTEM \"file:///etc/passwd\"><instance><app>A</app></instance>",
            "<instance><!DOCTYPE i><app>A</app></instance>",
        ] {
            assert!(refused(text).ends_with("document types are not allowed"), "{}", refused(text));
        }
        assert_eq!(
            refused("<instance>\n  <app>&e;</app></instance>"),
            "instance.app (line 2, column 11): the entity &e; is not known"
        );
        assert!(refused("<instance><unknown>&e;</unknown><app>A</app></instance>").contains("is not known"));
        assert!(host("a & b").contains("reference"), "{}", host("a & b"));
    }

    /// Catalog: E24, E25
    #[test]
    fn only_utf_8_is_read() {
        let with = |encoding: &str| {
            instance(&format!(
                "<?xml version=\"1.0\" encoding=\"{encoding}\"?><instance><app>A</app></instance>"
            ))
        };
        assert!(with("UTF-8").is_ok());
        assert!(with("utf-8").is_ok());
        for encoding in ["ISO-8859-1", "utf-16", ""] {
            assert!(with(encoding).unwrap_err().problem.ends_with("is not supported"), "{encoding}");
        }
        let marked = "\u{FEFF}<?xml version=\"1.0\"?><instance><app>A</app></instance>";
        assert!(crate::decode::instance(crate::Format::Xml, marked.as_bytes()).is_ok());
    }

    #[test]
    fn text_is_put_together_from_all_that_xml_writes_it_with() {
        assert_eq!(host("&lt;&amp;&gt;&quot;&apos;"), "<&>\"'");
        assert_eq!(host("&#90;&#xfc;&#x1F980;&#9;&#xd;&#xA;"), "Zü🦀\t\r\n");
        assert_eq!(host("a<![CDATA[<b> & ]]>c<!-- no --><?no no?>d"), "a<b> & cd");
        assert_eq!(host("  a\r\nb\rc\n "), "  a\nb\nc\n ");
        assert_eq!(host("<![CDATA[]]>"), "");
    }

    #[test]
    fn characters_that_xml_cannot_hold_are_refused_raw_and_by_number() {
        for text in [
            "&#0;",
            "&#1;",
            "&#x1f;",
            "&#xFFFE;",
            "&#xD800;",
            "&#x110000;",
            "&#;",
            "&#x;",
            "&#+49;",
            "&#99999999999;",
        ] {
            assert!(host(text).contains("is no character of XML"), "{text}: {}", host(text));
        }
        assert_eq!(host("a\u{1}"), "line 1, column 34: the character U+0001 is not allowed");
        assert!(refused("<instance><x>\u{0}</x><app>A</app></instance>").contains("U+0000"));
        assert!(
            refused("<instance><metadata><_.0001>v</_.0001></metadata><app>A</app></instance>")
                .contains("U+0001")
        );
    }

    #[test]
    fn absurd_nesting_is_an_error_and_never_exhausts_the_stack() {
        let nested = |depth| {
            instance(&format!(
                "<instance>{}{}<app>A</app></instance>",
                "<x>".repeat(depth),
                "</x>".repeat(depth)
            ))
        };
        assert!(nested(DEEPEST - 1).is_ok());
        assert!(nested(DEEPEST).unwrap_err().problem.contains("nested too deeply"));
        assert!(nested(100_000).is_err());
        assert!(instance(&"<instance>".repeat(100_000)).is_err());
    }

    #[test]
    fn positions_count_characters_from_one() {
        assert_eq!(position("é\nü x", "é\nü ".len()), (2, 3));
        assert_eq!(position("", 0), (1, 1));
        assert_eq!(position("ab", 99), (1, 3));
    }
}
