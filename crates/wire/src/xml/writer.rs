//! Writing elements.

use std::io::Write;

use super::escape;
use crate::Detail;

/// Writes elements one after the other.
///
/// **Compat:** a full document is indented by two spaces for each level, has no declaration and no newline at its end;
/// a compact one is a single line.
pub(super) struct Writer<'a> {
    out: &'a mut Vec<u8>,
    pretty: bool,
    depth: usize,
    /// Whether nothing stands before the next tag, so that no newline separates it from anything.
    at_start: bool,
}

/// The attributes of an element: none or one.
pub(super) type Attribute<'a> = Option<(&'a str, &'a str)>;

impl<'a> Writer<'a> {
    /// A writer whose first element begins the output.
    pub(super) fn starting(out: &'a mut Vec<u8>, detail: Detail, depth: usize) -> Self {
        Self { out, pretty: detail == Detail::Full, depth, at_start: true }
    }

    /// A writer whose first element comes after others.
    pub(super) fn continuing(out: &'a mut Vec<u8>, detail: Detail, depth: usize) -> Self {
        Self { out, pretty: detail == Detail::Full, depth, at_start: false }
    }

    pub(super) fn open(&mut self, name: &str, attribute: Attribute<'_>) {
        self.line();
        self.tag(name, attribute, ">");
        self.depth += 1;
    }

    pub(super) fn close(&mut self, name: &str) {
        self.depth -= 1;
        self.line();
        self.end(name);
    }

    /// An element with nothing in it and no end tag.
    pub(super) fn empty(&mut self, name: &str, attribute: Attribute<'_>) {
        self.line();
        self.tag(name, attribute, "/>");
    }

    /// An element with text in it, which may be empty.
    pub(super) fn text(&mut self, name: &str, text: &str) {
        self.line();
        self.tag(name, None, ">");
        self.push(&escape::text(text));
        self.end(name);
    }

    /// An element with text in it, left out if there is none.
    pub(super) fn optional(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    pub(super) fn number(&mut self, name: &str, attribute: Attribute<'_>, number: impl Into<i64>) {
        self.line();
        self.tag(name, attribute, ">");
        write!(self.out, "{}", number.into()).expect("memory takes everything");
        self.end(name);
    }

    fn line(&mut self) {
        if !self.pretty {
            return;
        }
        if !self.at_start {
            self.push("\n");
        }
        self.at_start = false;
        (0..self.depth).for_each(|_| self.push("  "));
    }

    fn tag(&mut self, name: &str, attribute: Attribute<'_>, end: &str) {
        self.push("<");
        self.push(name);
        if let Some((key, value)) = attribute {
            for part in [" ", key, "=\"", &escape::text(value), "\""] {
                self.push(part);
            }
        }
        self.push(end);
    }

    fn end(&mut self, name: &str) {
        for part in ["</", name, ">"] {
            self.push(part);
        }
    }

    fn push(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }
}
