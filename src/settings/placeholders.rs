//! `${name:default}` in values.

/// Placeholders in placeholders; more than anybody writes, and what a circle reaches.
const MOST_NESTED: usize = 20;

/// A placeholder that cannot be replaced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unresolved {
    /// Nothing has this name.
    #[error("nothing is called {0}; set it, or write ${{{0}:DEFAULT}}")]
    Unknown(String),
    /// Spring would make a value up, of a kind that is not known here.
    #[error("{0} is not known here; there are random.value, random.uuid, random.int and random.long")]
    Random(String),
    /// They lead to each other.
    #[error("its placeholders lead in a circle, or are nested too deeply")]
    Circle,
    /// Replaced, it is longer than any value may be.
    #[error("it is longer than {MOST_BYTES} bytes, or becomes so")]
    TooLong,
    /// There are too many of them, one in the other.
    #[error("more than {MOST_REPLACED} placeholders are replaced in it")]
    TooMany,
}

/// The most placeholders that one value leads to.
const MOST_REPLACED: usize = 1000;

/// The longest value, in bytes.
const MOST_BYTES: usize = 64 * 1024;

/// Replaces the placeholders in `text` by what `value_of` their names is; that may have placeholders, too.
///
/// **Compat:** as Spring does: the default follows the first colon and may hold placeholders, and so may the name; a
/// backslash before `${` keeps it. Where Spring leaves a placeholder that nothing replaces, here it is an error.
pub(super) fn replaced(text: &str, value_of: &dyn Fn(&str) -> Option<String>) -> Result<String, Unresolved> {
    Replacing { value_of, left: MOST_REPLACED }.text(text, MOST_NESTED)
}

struct Replacing<'a> {
    value_of: &'a dyn Fn(&str) -> Option<String>,
    /// How many placeholders more may be replaced.
    left: usize,
}

impl Replacing<'_> {
    fn text(&mut self, text: &str, depth: usize) -> Result<String, Unresolved> {
        let depth = depth.checked_sub(1).ok_or(Unresolved::Circle)?;
        if text.len() > MOST_BYTES {
            return Err(Unresolved::TooLong);
        }
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let (before, inside) = rest.split_at(at);
            let inside = &inside[2..];
            if let Some(before) = before.strip_suffix('\\') {
                out.push_str(before);
                out.push_str("${");
                rest = inside;
                continue;
            }
            out.push_str(before);
            self.left = self.left.checked_sub(1).ok_or(Unresolved::TooMany)?;
            // One that does not end is no placeholder.
            let Some(end) = closing_brace(inside) else {
                out.push_str("${");
                rest = inside;
                continue;
            };
            out.push_str(&self.one(&inside[..end], depth)?);
            if out.len() > MOST_BYTES {
                return Err(Unresolved::TooLong);
            }
            rest = &inside[end + 1..];
        }
        out.push_str(rest);
        Ok(out)
    }

    fn one(&mut self, inside: &str, depth: usize) -> Result<String, Unresolved> {
        let (name, default) = match colon(inside) {
            Some(at) => (&inside[..at], Some(&inside[at + 1..])),
            None => (inside, None),
        };
        let name = self.text(name, depth)?;
        match ((self.value_of)(name.trim()), default) {
            (Some(value), _) => self.text(&value, depth),
            (None, _) if name.trim().starts_with("random.") => {
                Err(Unresolved::Random(name.trim().to_owned()))
            }
            (None, Some(default)) => self.text(default, depth),
            (None, None) => Err(Unresolved::Unknown(name.trim().to_owned())),
        }
    }
}

/// Where the brace is that ends what began before `inside`.
fn closing_brace(inside: &str) -> Option<usize> {
    outermost(inside, |c| c == '}')
}

/// Where the colon before the default is.
fn colon(inside: &str) -> Option<usize> {
    outermost(inside, |c| c == ':')
}

/// The first such character that is in no inner placeholder.
fn outermost(text: &str, wanted: impl Fn(char) -> bool) -> Option<usize> {
    let mut depth = 0_usize;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        if depth == 0 && wanted(c) {
            return Some(at);
        }
        match c {
            '{' if before == '$' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        before = c;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value_of(name: &str) -> Option<String> {
        let value = match name {
            "host" => "h1",
            "app" => "eureka",
            "url" => "http://${host}:${port:8761}/",
            "which" => "host",
            "circle" => "${circle}",
            _ => return None,
        };
        Some(value.to_owned())
    }

    #[test]
    fn a_placeholder_is_replaced_by_its_value_or_its_default() {
        for (text, expected) in [
            ("plain", "plain"),
            ("${host}", "h1"),
            ("${host:other}:${app}", "h1:eureka"),
            ("${none:}", ""),
            ("${none:http://a:1/,http://b:2/}", "http://a:1/,http://b:2/"),
            ("${none:${alsonone:${host}}}", "h1"),
            ("${url}eureka/", "http://h1:8761/eureka/"),
            ("${${which}}", "h1"),
            ("\\${host}", "${host}"),
            ("a${unclosed", "a${unclosed"),
            ("{a}", "{a}"),
        ] {
            assert_eq!(replaced(text, &value_of).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_replaced_is_named() {
        let said = replaced("x${nobody}", &value_of).unwrap_err().to_string();
        assert_eq!(said, "nothing is called nobody; set it, or write ${nobody:DEFAULT}");
        assert_eq!(replaced("${circle}", &value_of), Err(Unresolved::Circle));
        let doubled = |name: &str| Some(if name == "x" { "x".repeat(60_000) } else { return None });
        assert_eq!(replaced("${x}${x}", &doubled), Err(Unresolved::TooLong));
        let many = |name: &str| {
            Some(name.parse().map_or(String::new(), |n: usize| format!("${{{}}}", n + 1).repeat(12)))
        };
        assert!(replaced("${0}", &many).is_err(), "empty in the end, and never done");
        assert_eq!(replaced(&"${".repeat(30_000), &value_of), Err(Unresolved::TooMany));
    }
}
