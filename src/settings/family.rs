//! Settings whose keys end in a name of the user's choice, such as a zone.

use super::Settings;
use super::property::{relaxed, run_together};
use super::values::{peers, words};

/// A family of settings: one key for each name.
pub struct Family {
    /// Its keys, in Spring's kebab form, with what the name stands for in capitals.
    pub key: &'static str,
    /// What it is for, in one line.
    pub about: &'static str,
    /// Whether others are shown the names.
    shown: bool,
    /// Its keys in Netflix's files.
    netflix: Netflix,
    /// Reads the value into its place. The error says what was expected.
    pub(super) set: fn(&mut Settings, &str, &str) -> Result<(), String>,
}

/// How Netflix's files name a family's keys.
enum Netflix {
    /// With the name at the end of another key.
    Before(&'static str),
    /// With the name between two parts, both relaxed.
    Around(&'static str, &'static str),
}

impl std::fmt::Debug for Family {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.key)
    }
}

/// Every family there is, in the order in which they are shown.
pub static FAMILIES: &[Family] = &[
    Family {
        key: "eureka.client.availability-zones.REGION",
        about: "The zones of a region, separated by commas, the own one first; without any it has defaultZone",
        shown: false,
        netflix: Netflix::Around("eureka", "availabilityzones"),
        set: |s, region, v| {
            s.peers.zones.zones.set(region, words(v));
            Ok(())
        },
    },
    Family {
        key: "eureka.client.service-url.ZONE",
        about: "The API URLs of one zone's servers; a zone without any has those of default-zone",
        shown: false,
        netflix: Netflix::Before("eureka.service-url"),
        set: |s, zone, v| {
            s.peers.zones.service_urls.set(zone, peers(v)?);
            Ok(())
        },
    },
    Family {
        key: "eureka.instance.metadata-map.NAME",
        about: "Metadata that this server registers of itself",
        shown: true,
        netflix: Netflix::Before("eureka.metadata"),
        set: |s, name, v| {
            s.instance.metadata.set(name, v.to_owned());
            Ok(())
        },
    },
];

impl Family {
    /// The part of its key before the name.
    fn prefix(&self) -> &'static str {
        self.key.rsplit_once('.').map_or(self.key, |(prefix, _)| prefix)
    }

    /// The name in `key`, if it is one of this family's.
    pub(super) fn name_in<'a>(&self, key: &'a str) -> Option<&'a str> {
        let at_end = |prefix: &str| {
            let (before, name) =
                key.match_indices('.').nth(prefix.matches('.').count()).map(|(at, _)| key.split_at(at))?;
            let name = &name[1..];
            (relaxed(before) == relaxed(prefix) && !name.is_empty()).then_some(name)
        };
        let in_the_middle = |prefix: &str, suffix: &str| {
            let (first, rest) = key.split_once('.')?;
            let (name, last) = rest.rsplit_once('.')?;
            (relaxed(first) == prefix && relaxed(last) == suffix && !name.is_empty()).then_some(name)
        };
        at_end(self.prefix()).or_else(|| match self.netflix {
            Netflix::Before(prefix) => at_end(prefix),
            Netflix::Around(prefix, suffix) => in_the_middle(prefix, suffix),
        })
    }

    /// The name at the end of an environment variable, if it is one of this family's.
    pub(super) fn name_in_variable<'a>(&self, variable: &'a str) -> Option<&'a str> {
        let mut prefix = run_together(self.prefix());
        let end = variable.char_indices().find_map(|(at, c)| {
            if prefix.is_empty() {
                return Some(at);
            }
            if c != '_' {
                let expected = prefix.remove(0);
                if c.to_ascii_lowercase() != expected {
                    return Some(usize::MAX);
                }
            }
            None
        })?;
        variable.get(end..)?.strip_prefix('_').filter(|name| !name.is_empty())
    }

    /// The key of one whose name stands at the end of an environment variable.
    ///
    /// **Compat:** Spring binds such names in small letters, and `_` as a dot. Zones are found in any spelling; only of
    /// metadata does it matter, whose names are shown to others.
    pub(super) fn key_of_variable(&self, name: &str) -> String {
        let name = if name.chars().any(char::is_lowercase) { name.to_owned() } else { name.to_lowercase() };
        self.key_for(&if self.shown { name.replace('_', ".") } else { name })
    }

    /// The key of one of the family.
    pub(super) fn key_for(&self, name: &str) -> String {
        format!("{}.{name}", self.prefix())
    }
}

/// Values by a name of the user's choice.
///
/// **Compat:** Java compares such names exactly. Here a name that is not found so is also found as keys are, without
/// regard to letter case, `-` and `_`: an environment variable could not name it otherwise.
#[derive(Debug, Clone, PartialEq)]
pub struct Named<T>(Vec<(String, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Named<T> {
    /// Sets the value of a name.
    pub(super) fn set(&mut self, name: &str, value: T) {
        self.0.retain(|(other, _)| other != name);
        self.0.push((name.to_owned(), value));
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&T> {
        let exact = self.0.iter().find(|(other, _)| other == name);
        exact.or_else(|| self.0.iter().rfind(|(other, _)| Self::is(other, name))).map(|(_, value)| value)
    }

    /// All names with their values.
    pub fn iter(&self) -> impl Iterator<Item = &(String, T)> {
        self.0.iter()
    }

    /// Whether two names are taken for one.
    pub(super) fn is(one: &str, other: &str) -> bool {
        relaxed(one) == relaxed(other)
    }
}
