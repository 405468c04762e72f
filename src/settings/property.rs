//! One value as it was given: its key, and where it was set.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// The variable in which settings may stand as JSON.
pub(super) const INLINE: &str = "SPRING_APPLICATION_JSON";

/// Where a value was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nowhere: it is the default.
    Default,
    /// Nowhere: it is what the system says, such as its host name.
    System,
    /// In a file.
    File {
        /// Which.
        path: Arc<Path>,
        /// The line, from 1.
        line: usize,
    },
    /// In an environment variable of this name.
    Environment(Arc<str>),
    /// In the variable that holds settings as JSON.
    Inline,
    /// On the command line, as the option that stands there.
    Argument(Arc<str>),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::System => f.write_str("the system"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Inline => write!(f, "environment {INLINE}"),
            Self::Argument(option) => f.write_str(option),
        }
    }
}

/// One value as it was given, placeholders and all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Property {
    /// The key: dotted, in the spelling of its source.
    pub(super) key: String,
    pub(super) value: String,
    pub(super) origin: Origin,
}

impl Property {
    /// What was written where, as the beginning of a sentence about it.
    pub(super) fn place(&self) -> Place {
        Place { key: self.key.clone(), origin: self.origin.clone() }
    }
}

/// A key and where it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The key, in the spelling of its source.
    pub key: String,
    /// The source.
    pub origin: Origin,
}

impl Place {
    /// Whether it is in a file in which indentation counts.
    pub(super) fn is_in_yaml(&self) -> bool {
        match &self.origin {
            Origin::File { path, .. } => {
                path.extension().is_some_and(|ending| ending == "yml" || ending == "yaml")
            }
            Origin::Default
            | Origin::System
            | Origin::Environment(_)
            | Origin::Inline
            | Origin::Argument(_) => false,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Default | Origin::System => f.write_str(&self.key),
            Origin::File { path, line } => write!(f, "{}:{line}: {}", path.display(), self.key),
            Origin::Environment(name) => f.write_str(name),
            Origin::Inline => write!(f, "{INLINE}: {}", self.key),
            Origin::Argument(option) => f.write_str(option),
        }
    }
}

/// Keys as Spring's relaxed binding compares them: letter case, `-` and `_` do not matter.
pub(super) fn relaxed(key: &str) -> String {
    key.chars().filter(|c| *c != '-' && *c != '_').flat_map(char::to_lowercase).collect()
}

/// Keys as environment variables name them, where dots are lost as well.
pub(super) fn run_together(key: &str) -> String {
    relaxed(key).replace('.', "")
}

/// Joins the elements of lists, `key[0]`, `key[1]` and so on, to one value with commas.
pub(super) fn joined(properties: Vec<Property>) -> Vec<Property> {
    let mut all: Vec<Property> = Vec::new();
    for property in properties {
        let indexed = property.key.strip_suffix(']').and_then(|key| key.rsplit_once('['));
        let Some((key, _)) = indexed.filter(|(_, n)| n.bytes().all(|b| b.is_ascii_digit())) else {
            all.push(property);
            continue;
        };
        match all.last_mut().filter(|last| last.key == key) {
            Some(list) => {
                list.value.push(',');
                list.value.push_str(&property.value);
            }
            None => all.push(Property { key: key.to_owned(), ..property }),
        }
    }
    all
}

/// What stands for a value that is shown to nobody.
pub(super) const HIDDEN: &str = "******";

/// A value as it may be shown: without what stands in its URLs before the last `@`, whatever characters that has.
pub(super) fn without_credentials(value: &str) -> String {
    let hidden = |part: &str| match part.rsplit_once('@') {
        Some((_, place)) => format!("…@{place}"),
        None => part.to_owned(),
    };
    value.split("://").map(hidden).collect::<Vec<_>>().join("://")
}

/// Whether a key of the user's choice names something that is shown to nobody.
pub(super) fn is_secret_name(name: &str) -> bool {
    let name = relaxed(name);
    ["password", "passwd", "secret", "token", "credential"].iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Case: P092
    #[test]
    fn a_value_is_shown_without_credentials() {
        let shown = without_credentials("http://u:p%2Ca@s@h:1/eureka/,http://x/eureka/");
        assert_eq!(shown, "http://…@h:1/eureka/,http://x/eureka/");
        assert_eq!(without_credentials("http://u:hun,ter@2@h:1/eureka/"), "http://…@h:1/eureka/");
        assert_eq!(without_credentials("http://x/,http://u:p@y/"), "http://x/,http://…@y/");
        assert_eq!(without_credentials("u:secret@host"), "…@host");
    }

    #[test]
    fn the_elements_of_a_list_become_one_value() {
        let property = |key: &str, value: &str| Property {
            key: key.into(),
            value: value.into(),
            origin: Origin::Default,
        };
        let list =
            joined(vec![property("a", "1"), property("b[0]", "x"), property("b[1]", "y"), property("c", "")]);
        assert_eq!(list, [property("a", "1"), property("b", "x,y"), property("c", "")]);
    }
}
