//! TOML, for who prefers it: tables to dotted keys.

use std::path::Path;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::property::{Origin, Property};
use super::Unreadable;

/// The one document of a TOML file.
pub(super) fn document(text: &str, path: &Arc<Path>) -> Result<Vec<Property>, Unreadable> {
    let line_at = |at: usize| text.as_bytes().iter().take(at).filter(|b| **b == b'\n').count() + 1;
    let table = DeTable::parse(text).map_err(|e| {
        let at = e.span().map_or(0, |span| span.start);
        Unreadable::new(path, line_at(at), e.message().to_owned())
    })?;
    let mut properties = Vec::new();
    let mut found = |key: String, value: String, at: usize| {
        let origin = Origin::File { path: Arc::clone(path), line: line_at(at) };
        properties.push(Property { key, value, origin });
    };
    flatten_table("", table.get_ref(), &mut found);
    Ok(properties)
}

fn flatten_table(prefix: &str, table: &DeTable<'_>, found: &mut impl FnMut(String, String, usize)) {
    for (name, value) in table {
        let name = name.get_ref();
        let key = if prefix.is_empty() { name.to_string() } else { format!("{prefix}.{name}") };
        flatten(key, value, found);
    }
}

fn flatten(key: String, value: &Spanned<DeValue<'_>>, found: &mut impl FnMut(String, String, usize)) {
    let text = match value.get_ref() {
        DeValue::Table(table) => return flatten_table(&key, table, found),
        DeValue::Array(elements) => {
            for (n, element) in elements.iter().enumerate() {
                flatten(format!("{key}[{n}]"), element, found);
            }
            return;
        }
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(time) => time.to_string(),
    };
    found(key, text, value.span().start);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_become_dotted_keys_with_their_lines() {
        let text = "[server]\nport = 8761\n[eureka.client.service-url]\ndefaultZone = 'http://a/'\n[eureka.client]\n\
            availability-zones.eu = ['z1', \"z2\"]\nprefer-same-zone-eureka = false\n";
        let mut flat: Vec<String> = document(text, &Arc::from(Path::new("a.toml")))
            .unwrap()
            .iter()
            .map(|p| format!("{} {}={}", p.origin, p.key, p.value))
            .collect();
        flat.sort();
        let expected = [
            "a.toml:2 server.port=8761",
            "a.toml:4 eureka.client.service-url.defaultZone=http://a/",
            "a.toml:6 eureka.client.availability-zones.eu[0]=z1",
            "a.toml:6 eureka.client.availability-zones.eu[1]=z2",
            "a.toml:7 eureka.client.prefer-same-zone-eureka=false",
        ];
        assert_eq!(flat, expected);
    }

    #[test]
    fn what_is_no_toml_is_named_with_its_line() {
        let said = document("a = 1\nb = \n", &Arc::from(Path::new("a.toml"))).unwrap_err().to_string();
        assert!(said.starts_with("a.toml:2: "), "{said}");
    }
}
