//! YAML: nested mappings to dotted keys, as Spring flattens them.

use std::path::Path;
use std::sync::Arc;

use saphyr::{MarkedYaml, ScalarStyle, YamlData, YamlLoader};
use saphyr_parser::Parser;

use super::super::property::{Origin, Property};
use super::Unreadable;

/// The documents of a YAML stream, each as its properties in the order in which they stand.
///
/// **Compat:** a key may be nested, dotted or both; a list of plain values is one value with commas; `<<` merges; a key
/// without a value is an empty text, and the text of a value is taken as it is written (`off` stays `off`).
pub(super) fn documents(text: &str, path: &Arc<Path>) -> Result<Vec<Vec<Property>>, Unreadable> {
    let mut loader = YamlLoader::<MarkedYaml<'_>>::default();
    // As text: a port of 08761 or a version of 1.10 is what is written, not a number that is printed again.
    loader.early_parse(false);
    let unreadable = |e: &saphyr::ScanError| Unreadable::new(path, e.marker().line(), e.info().to_owned());
    Parser::new_from_str(text).load(&mut loader, true).map_err(|e| unreadable(&e))?;
    if let Some(e) = loader.error() {
        return Err(unreadable(e));
    }
    let documents = loader.into_documents();
    documents
        .iter()
        .map(|document| {
            let mut flat = Flattening { path, properties: Vec::new() };
            flat.node(String::new(), document)?;
            Ok(flat.properties)
        })
        .collect()
}

struct Flattening<'a> {
    path: &'a Arc<Path>,
    properties: Vec<Property>,
}

impl Flattening<'_> {
    fn node(&mut self, key: String, node: &MarkedYaml<'_>) -> Result<(), Unreadable> {
        let line = node.span.start.line();
        match &node.data {
            YamlData::Mapping(entries) => {
                // What is merged comes first: what stands beside it counts over it.
                let (merged, own): (Vec<_>, Vec<_>) =
                    entries.iter().partition(|(name, _)| text(name) == Some("<<"));
                for (_, value) in merged {
                    match &value.data {
                        YamlData::Sequence(all) => {
                            for one in all.iter().rev() {
                                self.node(key.clone(), one)?;
                            }
                        }
                        _ => self.node(key.clone(), value)?,
                    }
                }
                for (name, value) in own {
                    let Some(name) = text(name) else {
                        return Err(Unreadable::new(self.path, line, "a key is no text".to_owned()));
                    };
                    self.node(if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") }, value)?;
                }
            }
            YamlData::Sequence(elements) => {
                for (n, element) in elements.iter().enumerate() {
                    self.node(format!("{key}[{n}]"), element)?;
                }
            }
            YamlData::Tagged(_, inner) => self.node(key, inner)?,
            _ => match scalar(node) {
                Some(_) if key.is_empty() => {
                    // An empty document is a null without a key.
                    if scalar(node) != Some("") {
                        let words = "expected keys with values, such as `server.port: 8761`";
                        return Err(Unreadable::new(self.path, line, words.to_owned()));
                    }
                }
                Some(value) => {
                    let origin = Origin::File { path: Arc::clone(self.path), line };
                    self.properties.push(Property { key, value: value.to_owned(), origin });
                }
                None => {
                    return Err(Unreadable::new(self.path, line, format!("{key}: the value cannot be read")));
                }
            },
        }
        Ok(())
    }
}

fn text<'a>(node: &'a MarkedYaml<'_>) -> Option<&'a str> {
    match &node.data {
        YamlData::Representation(text, _, _) => Some(text),
        _ => None,
    }
}

/// The text of a value; empty for null.
fn scalar<'a>(node: &'a MarkedYaml<'_>) -> Option<&'a str> {
    match &node.data {
        YamlData::Representation(text, ScalarStyle::Plain, _)
            if matches!(&**text, "~" | "null" | "Null" | "NULL") =>
        {
            Some("")
        }
        YamlData::Representation(text, _, _) => Some(text),
        // What a document without anything in it is.
        YamlData::BadValue | YamlData::Value(_) => Some(""),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(text: &str) -> Vec<Vec<(String, String, usize)>> {
        let documents = documents(text, &Arc::from(Path::new("a.yml"))).unwrap();
        let of = |p: Property| match p.origin {
            Origin::File { line, .. } => (p.key, p.value, line),
            _ => panic!("from no file"),
        };
        documents.into_iter().map(|d| d.into_iter().map(of).collect()).collect()
    }

    fn one(key: &str, value: &str, line: usize) -> (String, String, usize) {
        (key.to_owned(), value.to_owned(), line)
    }

    #[test]
    fn nested_keys_become_dotted_ones_with_their_lines() {
        let text = "server:\n  port: 08761\neureka.client:\n  service-url:\n    defaultZone: http://a/,http://b/\nempty:\n";
        let expected = [
            one("server.port", "08761", 2),
            one("eureka.client.service-url.defaultZone", "http://a/,http://b/", 5),
        ];
        let flat = flat(text);
        assert_eq!(flat[0][..2], expected);
        assert_eq!((flat[0][2].0.as_str(), flat[0][2].1.as_str()), ("empty", ""));
    }

    #[test]
    fn a_list_becomes_indexed_keys() {
        assert_eq!(flat("zones:\n  - z1\n  - z2\n")[0], [one("zones[0]", "z1", 2), one("zones[1]", "z2", 3)]);
        assert_eq!(flat("zones: [z1, 'z2']")[0], [one("zones[0]", "z1", 1), one("zones[1]", "z2", 1)]);
    }

    #[test]
    fn a_stream_has_several_documents_and_some_may_be_empty() {
        let documents = flat("---\na: 1\n---\n---\nb: off\n");
        assert_eq!(documents.len(), 3);
        assert_eq!(documents[0], [one("a", "1", 2)]);
        assert!(documents[1].is_empty());
        assert_eq!(documents[2], [one("b", "off", 5)]);
        assert!(flat("# nothing\n").iter().all(Vec::is_empty));
        assert!(flat("").iter().all(Vec::is_empty));
    }

    #[test]
    fn anchors_and_merges_are_followed() {
        let text = "base: &base\n  a: 1\n  b: 2\nx:\n  <<: *base\n  b: 3\n";
        let values: Vec<_> = flat(text)[0].iter().map(|(k, v, _)| format!("{k}={v}")).collect();
        assert_eq!(values, ["base.a=1", "base.b=2", "x.a=1", "x.b=2", "x.b=3"]);
    }

    #[test]
    fn what_is_no_yaml_is_named_with_its_line() {
        let said = documents("a: 1\nb: [\n", &Arc::from(Path::new("a.yml"))).unwrap_err().to_string();
        assert!(said.starts_with("a.yml:"), "{said}");
        let said = documents("just words", &Arc::from(Path::new("a.yml"))).unwrap_err().to_string();
        assert_eq!(said, "a.yml:1: expected keys with values, such as `server.port: 8761`");
        let said = documents("a: 1\na: 2\n", &Arc::from(Path::new("a.yml"))).unwrap_err().to_string();
        assert!(said.starts_with("a.yml:2"), "{said}");
    }
}
