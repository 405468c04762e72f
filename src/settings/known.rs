//! Which setting a key means.

use std::borrow::Cow;
use std::collections::HashMap;

use super::java::{self, FORMER, NETFLIX, Refused};
use super::property::{relaxed, run_together};
use super::{FAMILIES, Family, SETTINGS, Setting};

/// What a key means.
pub(super) enum Known<'k> {
    /// A setting.
    Setting(&'static Setting),
    /// One of a family, by the name in its key.
    Named(&'static Family, Cow<'k, str>),
    /// Nothing here, for a reason.
    Meaningless(&'static str),
    /// What is not kept here.
    Refused(&'static Refused),
    /// Nothing that is known.
    Unknown,
}

/// All settings by the keys that mean them.
pub(super) struct Index {
    keys: HashMap<String, &'static Setting>,
    variables: HashMap<String, &'static Setting>,
    /// All keys, run together, to compare others with.
    spellings: Vec<(String, &'static str)>,
}

/// What keys that may be misspelt ones of ours begin with.
const BEGINNINGS: [&str; 5] = ["eureka", "eurekad", "server", "spring", "management"];

impl Index {
    pub(super) fn new() -> Self {
        let known = SETTINGS.iter().map(|s| s.key).chain(FAMILIES.iter().map(|family| family.key));
        let spellings = known.map(|key| (run_together(key), key)).collect();
        let mut index = Self { keys: HashMap::new(), variables: HashMap::new(), spellings };
        for setting in SETTINGS {
            index.add(setting.key, setting);
            // **Compat:** Netflix's names lack Spring's middle part.
            if let Some(name) = setting.key.strip_prefix("eureka.server.") {
                index.add(&format!("eureka.{name}"), setting);
            }
        }
        for (other, key) in NETFLIX.iter().chain(&FORMER) {
            if let Some(setting) = SETTINGS.iter().find(|setting| setting.key == *key) {
                index.add(other, setting);
            }
        }
        index
    }

    fn add(&mut self, key: &str, setting: &'static Setting) {
        self.keys.entry(relaxed(key)).or_insert(setting);
        self.variables.entry(run_together(key)).or_insert(setting);
    }

    /// Whether keys begin so; `key` is relaxed.
    pub(super) fn is_beginning(&self, key: &str) -> bool {
        self.keys.keys().any(|known| known.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')))
    }

    /// What a key belongs below that is the end of a setting's. Only ends of several words are: others, such as `port`, may
    /// be anybody's. `key` is relaxed.
    pub(super) fn section_of(&self, key: &str) -> Option<&'static str> {
        let ends = SETTINGS.iter().filter_map(|setting| setting.key.rsplit_once('.'));
        ends.filter(|(_, end)| end.contains('-'))
            .find(|(_, end)| relaxed(end) == key)
            .map(|(section, _)| section)
    }

    /// The key that is spelt most like `key`, if it is so like it that it may be meant. Only keys are looked at that begin
    /// as ours and Spring's do: a file may have thousands of others.
    pub(super) fn nearest(&self, key: &str) -> Option<&'static str> {
        let beginning = relaxed(key.split('.').next().unwrap_or_default());
        if !BEGINNINGS.contains(&beginning.as_str()) {
            return None;
        }
        let given = run_together(key);
        let scored = self.spellings.iter().map(|(known, key)| (strsim::jaro_winkler(&given, known), *key));
        scored.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(score, _)| *score > 0.93).map(|(_, key)| key)
    }

    /// The meaning of a dotted key.
    ///
    /// **Compat:** Spring's `prefix[name]` is `prefix.name`, whatever characters the name has.
    pub(super) fn of<'k>(&self, key: &'k str) -> Known<'k> {
        if let Some(plain) = without_brackets(key) {
            return match self.of_plain(&plain) {
                Known::Named(family, name) => Known::Named(family, Cow::Owned(name.into_owned())),
                Known::Setting(setting) => Known::Setting(setting),
                Known::Refused(refused) => Known::Refused(refused),
                Known::Meaningless(why) => Known::Meaningless(why),
                Known::Unknown => Known::Unknown,
            };
        }
        self.of_plain(key)
    }

    fn of_plain<'k>(&self, key: &'k str) -> Known<'k> {
        if let Some(setting) = self.keys.get(&relaxed(key)) {
            return Known::Setting(setting);
        }
        if let Some((family, name)) = FAMILIES.iter().find_map(|f| Some((f, f.name_in(key)?))) {
            return Known::Named(family, Cow::Borrowed(name));
        }
        if let Some(refused) = Refused::of(key) {
            return Known::Refused(refused);
        }
        match java::meaningless(key) {
            Some(why) => Known::Meaningless(why),
            None => Known::Unknown,
        }
    }

    /// The meaning of an environment variable.
    ///
    /// **Compat:** `EUREKA_SERVER_ENABLESELFPRESERVATION`, as Spring binds it; underscores between the words do no harm.
    pub(super) fn of_variable<'k>(&self, name: &'k str) -> Known<'k> {
        if let Some(setting) = self.variables.get(&run_together(name)) {
            return Known::Setting(setting);
        }
        if let Some((family, name)) = FAMILIES.iter().find_map(|f| Some((f, f.name_in_variable(name)?))) {
            return Known::Named(family, Cow::Borrowed(name));
        }
        if let Some(refused) = Refused::of_variable(name) {
            return Known::Refused(refused);
        }
        match java::meaningless_variable(name) {
            Some(why) => Known::Meaningless(why),
            None => Known::Unknown,
        }
    }
}

/// `prefix.name` of `prefix[name]` and of `prefix.[name]`, which is how a YAML file flattens. A number counts the elements of
/// a list.
fn without_brackets(key: &str) -> Option<String> {
    let (prefix, name) = key.strip_suffix(']')?.split_once('[')?;
    let plain = !name.is_empty() && !name.contains(['[', ']']) && !name.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| format!("{}.{name}", prefix.strip_suffix('.').unwrap_or(prefix)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_settings_share_an_environment_variable() {
        let mut names = HashMap::new();
        for setting in SETTINGS {
            assert_eq!(names.insert(run_together(setting.key), setting.key), None, "{}", setting.key);
        }
        for (_, key) in NETFLIX.iter().chain(&FORMER) {
            assert!(SETTINGS.iter().any(|setting| setting.key == *key), "{key} is no setting");
        }
    }

    #[test]
    fn a_setting_is_found_by_every_spelling() {
        let index = Index::new();
        let preservation =
            |known| matches!(known, Known::Setting(s) if s.key == "eureka.server.enable-self-preservation");
        for key in [
            "eureka.server.enable-self-preservation",
            "eureka.server.enableSelfPreservation",
            "eureka.enableSelfPreservation",
        ] {
            assert!(preservation(index.of(key)), "{key}");
        }
        for name in [
            "EUREKA_SERVER_ENABLESELFPRESERVATION",
            "EUREKA_SERVER_ENABLE_SELF_PRESERVATION",
            "EUREKA_ENABLESELFPRESERVATION",
        ] {
            assert!(preservation(index.of_variable(name)), "{name}");
        }
    }

    #[test]
    fn a_zone_is_named_by_a_key_and_by_a_variable() {
        let index = Index::new();
        let named = |known: Known<'_>| match known {
            Known::Named(family, name) => Some((family.key, name.into_owned())),
            _ => None,
        };
        let urls = "eureka.client.service-url.ZONE";
        assert_eq!(named(index.of("eureka.client.serviceUrl.zone-1")), Some((urls, "zone-1".into())));
        assert_eq!(named(index.of("eureka.serviceUrl.z1")), Some((urls, "z1".into())));
        assert_eq!(
            named(index.of_variable("EUREKA_CLIENT_SERVICEURL_ZONE_1")),
            Some((urls, "ZONE_1".into()))
        );
        assert_eq!(named(index.of_variable("EUREKA_CLIENT_SERVICE_URL_ZONE1")), Some((urls, "ZONE1".into())));
        let zones = "eureka.client.availability-zones.REGION";
        assert_eq!(named(index.of("eureka.us-east-1.availabilityZones")), Some((zones, "us-east-1".into())));
    }
}
