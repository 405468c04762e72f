//! `.properties` files, with Spring's `#---` between documents.

use std::path::Path;
use std::sync::Arc;

use java_properties::{LineContent, PropertiesIter};

use super::super::property::{Origin, Property};
use super::Unreadable;

/// The documents of a properties file.
///
/// **Compat:** `\uXXXX`, continued lines and `#---` or `!---` between documents, as Spring reads them. The file is UTF-8,
/// of which Java's Latin-1 is the plain part.
pub(super) fn documents(text: &str, path: &Arc<Path>) -> Result<Vec<Vec<Property>>, Unreadable> {
    let mut documents = Vec::new();
    let mut first_line = 1;
    for part in split(text) {
        documents.push(properties(&part, first_line, path)?);
        first_line += part.lines().count() + 1;
    }
    Ok(documents)
}

/// The text between lines that separate documents.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for line in text.lines() {
        if matches!(line.trim_end(), "#---" | "!---") {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push_str(line);
            part.push('\n');
        }
    }
    parts
}

fn properties(text: &str, first_line: usize, path: &Arc<Path>) -> Result<Vec<Property>, Unreadable> {
    let mut properties = Vec::new();
    for line in PropertiesIter::new_with_encoding(text.as_bytes(), encoding_rs::UTF_8) {
        let line = line.map_err(|e| {
            Unreadable::new(path, first_line + e.line_number().unwrap_or(1) - 1, e.to_string())
        })?;
        let number = first_line + line.line_number() - 1;
        if let LineContent::KVPair(key, value) = line.consume_content() {
            let origin = Origin::File { path: Arc::clone(path), line: number };
            properties.push(Property { key, value, origin });
        }
    }
    Ok(properties)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_values_and_lines_of_all_documents_are_read() {
        let text = "# a\nserver.port=8761\npeers : a,\\\n  b\n#---\nspring.config.activate.on-profile=x\nname=\\u00e9\u{e9}\n";
        let documents = documents(text, &Arc::from(Path::new("a.properties"))).unwrap();
        let flat = |d: &[Property]| -> Vec<String> {
            d.iter().map(|p| format!("{} {}={}", p.origin, p.key, p.value)).collect()
        };
        assert_eq!(flat(&documents[0]), ["a.properties:2 server.port=8761", "a.properties:3 peers=a,b"]);
        let second =
            ["a.properties:6 spring.config.activate.on-profile=x", "a.properties:7 name=\u{e9}\u{e9}"];
        assert_eq!(flat(&documents[1]), second);
    }

    #[test]
    fn a_bad_escape_is_named_with_its_line() {
        let said =
            documents("a=1\nb=\\u12\n", &Arc::from(Path::new("a.properties"))).unwrap_err().to_string();
        assert!(said.starts_with("a.properties:2: "), "{said}");
    }
}
