//! From properties to [`Settings`], with every problem named at once.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use super::java::Refused;
use super::known::{Index, Known};
use super::load::{Effective, Loaded, Sources};
use super::placeholders::replaced;
use super::profiles::Profiles;
use super::property::{
    HIDDEN, Origin, Place, Property, is_secret_name, relaxed, run_together, without_credentials,
};
use super::system;
use super::values::boolean;
use super::{Family, Invalid, Named, Note, Problem, SETTINGS, Setting, Settings};

/// Makes settings of properties, of which the later ones are stronger.
pub(super) fn resolve(
    all: &[Property],
    sources: &Sources<'_>,
    index: &Index,
    profiles: &Profiles,
    files: Vec<PathBuf>,
    mut problems: Vec<Problem>,
) -> Result<Loaded, Invalid> {
    let sorted = Sorted::of(all, index, &mut problems);
    let values = Values { sorted: &sorted, sources, variables: RefCell::default() };
    problems.extend(refused(&sorted, &values));
    let mut settings = Settings::blank();
    let mut effective = Vec::new();

    for setting in SETTINGS {
        let chosen = sorted.chosen(setting);
        let shown = match chosen {
            Some(property) => match apply(setting, property, &values, &mut settings) {
                Ok(value) => value,
                Err(problem) => {
                    problems.push(problem);
                    continue;
                }
            },
            None => {
                apply_default(setting, &mut settings);
                setting.default.to_owned()
            }
        };
        let origin = chosen.map_or(Origin::Default, |property| property.origin.clone());
        effective.push(Effective { key: setting.key.to_owned(), value: setting.shown(&shown), origin });
    }
    for (family, name, property) in &sorted.named {
        let mut set = |value: String| match (family.set)(&mut settings, name, value.trim()) {
            Ok(()) => Ok(value),
            Err(expected) => Err(wrong(property, expected)),
        };
        match value_of(property, &values).and_then(&mut set) {
            Ok(value) => {
                let hidden = is_secret_name(name);
                let value = if hidden { HIDDEN.to_owned() } else { without_credentials(value.trim()) };
                let (key, origin) = (family.key_for(name), property.origin.clone());
                effective.push(Effective { key, value, origin });
            }
            Err(problem) => problems.push(problem),
        }
    }
    system::fill_in(&mut settings, &mut effective);
    let unusable = problems.iter().any(|problem| problem.is_of(PASSWORD, index));
    problems.extend(hold_together(&mut settings, &sorted, unusable));
    hide_password(&settings, &mut effective);
    let used = values.variables.into_inner();
    let Sorted { mut notes, .. } = sorted;
    // A variable that a placeholder names is no misspelt setting.
    notes.retain(|note| match note {
        Note::Unknown { place: Place { origin: Origin::Environment(name), .. }, .. } => {
            !used.contains(&**name)
        }
        Note::Unknown { .. }
        | Note::EmptySection { .. }
        | Note::Outside { .. }
        | Note::Profile { .. }
        | Note::Meaningless { .. } => true,
    });
    if problems.is_empty() {
        Ok(Loaded { settings, effective, notes, profiles: profiles.0.clone(), files })
    } else {
        Err(Invalid { problems, notes })
    }
}

/// A placeholder may have brought the password into another value.
fn hide_password(settings: &Settings, effective: &mut [Effective]) {
    let password = settings.access.password.expose();
    for found in effective.iter_mut().filter(|found| !password.is_empty() && found.value.contains(password)) {
        found.value = HIDDEN.to_owned();
    }
}

/// What is asked for and not kept here: not what is turned off, and not what is empty.
fn refused(sorted: &Sorted<'_>, values: &Values<'_>) -> Vec<Problem> {
    let mut said = HashSet::new();
    let mut problems = Vec::new();
    for (refused, property) in &sorted.refused {
        let enabled = values.get(&format!("{}.enabled", refused.prefix));
        let enabled = enabled.and_then(|text| replaced(&text, &|name| values.get(name)).ok());
        let off = enabled.is_some_and(|text| boolean(text.trim()) == Ok(false));
        let empty = value_of(property, values).is_ok_and(|value| value.trim().is_empty());
        if !off && !empty && said.insert(refused.prefix) {
            problems.push(Problem::Refused { place: property.place(), instead: refused.instead });
        }
    }
    problems
}

/// What follows from several settings, and what does not fit together.
fn hold_together(settings: &mut Settings, sorted: &Sorted<'_>, unusable_password: bool) -> Vec<Problem> {
    let mut problems = settings.peers.resolve_zones(&|key| sorted.place(key));
    settings.registry.max_instance_bytes = settings.http.max_body_bytes;
    if settings.cache.update_interval.is_zero() {
        settings.cache.use_read_only = false;
    }
    let http = &mut settings.http;
    // **Compat:** the port of everything else is no port of its own.
    let same_address = match (http.management_bind, http.bind) {
        (None, _) => true,
        (Some(own), Some(others)) => own == others,
        (Some(own), None) => own.is_unspecified(),
    };
    if http.management_port == Some(http.port) && http.port != 0 && same_address {
        http.management_port = None;
    }
    if settings.access.password.is_empty() && !unusable_password {
        // Who names a user or a password does not mean that everybody may.
        let problem = |key: &str, missing: String| Problem::Missing { place: sorted.place(key), missing };
        if sorted.is_set(PASSWORD) {
            let missing = "it is empty; set a password, or remove the key if everybody may use this server";
            problems.push(problem(PASSWORD, missing.to_owned()));
        } else if sorted.is_set(USER) {
            let missing = format!("a password is missing; set {PASSWORD} too, or remove the user");
            problems.push(problem(USER, missing));
        }
    }
    problems
}

const USER: &str = "spring.security.user.name";
const PASSWORD: &str = "spring.security.user.password";

fn wrong(property: &Property, expected: String) -> Problem {
    Problem::Value { place: property.place(), value: without_credentials(&property.value), expected }
}

/// A property's value, its placeholders replaced.
fn value_of(property: &Property, values: &Values<'_>) -> Result<String, Problem> {
    replaced(&property.value, &|name| values.get(name)).map_err(|e| wrong(property, e.to_string()))
}

/// Reads a property into its place. An empty value that the setting does not take leaves it at its default.
fn apply(
    setting: &Setting,
    property: &Property,
    values: &Values<'_>,
    settings: &mut Settings,
) -> Result<String, Problem> {
    let hide = |problem| match problem {
        Problem::Value { place, expected, .. } if setting.is_secret() => {
            Problem::Value { place, value: "…".to_owned(), expected }
        }
        other => other,
    };
    let value = value_of(property, values).map_err(|problem| match problem {
        // The name of a placeholder may be a part of the password.
        Problem::Value { place, value, .. } if setting.is_secret() => Problem::Value {
            place,
            value,
            expected: "one of its placeholders cannot be replaced; write \\${ for a plain ${".to_owned(),
        },
        other => other,
    });
    let value = value.map_err(hide)?;
    let value = if setting.is_secret() { value.as_str() } else { value.trim() };
    match (setting.set)(settings, value) {
        Ok(()) => Ok(value.to_owned()),
        Err(_) if value.is_empty() => {
            apply_default(setting, settings);
            Ok(setting.default.to_owned())
        }
        Err(expected) => {
            Err(hide(Problem::Value { place: property.place(), value: without_credentials(value), expected }))
        }
    }
}

fn apply_default(setting: &Setting, settings: &mut Settings) {
    (setting.set)(settings, setting.default)
        .expect("the defaults in the table are valid: a test parses each");
}

/// Properties by what they mean.
struct Sorted<'a> {
    all: &'a [Property],
    /// The strongest property of a setting, by the setting's key.
    chosen: HashMap<&'static str, usize>,
    /// Those of families, each name once.
    named: Vec<(&'static Family, String, &'a Property)>,
    /// The strongest property of every key, known or not, for placeholders.
    values: HashMap<String, usize>,
    /// What is not kept here, unless it is turned off.
    refused: Vec<(&'static Refused, &'a Property)>,
    notes: Vec<Note>,
}

impl<'a> Sorted<'a> {
    fn of(all: &'a [Property], index: &Index, problems: &mut Vec<Problem>) -> Self {
        let mut sorted = Self {
            all,
            chosen: HashMap::new(),
            named: Vec::new(),
            values: HashMap::new(),
            refused: Vec::new(),
            notes: Vec::new(),
        };
        for (n, property) in all.iter().enumerate() {
            sorted.values.insert(relaxed(&property.key), n);
        }
        let mut said = HashSet::new();
        for (n, property) in all.iter().enumerate() {
            match meaning(property, index) {
                Known::Setting(setting) => {
                    sorted.chosen.insert(setting.key, n);
                }
                Known::Named(family, name) => sorted.add_named(family, &name, property),
                Known::Meaningless(why) => {
                    if said.insert(relaxed(&property.key)) {
                        sorted.notes.push(Note::Meaningless { place: property.place(), why });
                    }
                }
                Known::Refused(refused) => sorted.refused.push((refused, property)),
                Known::Unknown => sorted.unknown(property, index, problems),
            }
        }
        sorted
    }

    fn unknown(&mut self, property: &Property, index: &Index, problems: &mut Vec<Problem>) {
        let (place, key) = (property.place(), relaxed(&property.key));
        // A section with nothing in it.
        if property.value.is_empty() && index.is_beginning(&key) {
            self.notes.extend(place.is_in_yaml().then_some(Note::EmptySection { place }));
            return;
        }
        if let Some(section) = index.section_of(&key).filter(|_| place.is_in_yaml())
            && !self.is_named_by_a_placeholder(&key)
        {
            self.notes.push(Note::Outside { place, section });
            return;
        }
        let nearest = index.nearest(&key);
        // An environment has variables for other programs: scripts that start the server, or its image.
        let may_be_for_others = matches!(place.origin, Origin::Environment(_)) && nearest.is_none();
        // A server whose password is misspelt would be open to everybody.
        let guards = key.starts_with("spring.security.") && nearest.is_some();
        if guards || (key.starts_with("eurekad.") && !may_be_for_others) {
            problems.push(Problem::Unknown { place, nearest });
        } else if key.starts_with("eureka") || nearest.is_some() {
            self.notes.push(Note::Unknown { place, nearest });
        }
    }

    /// Whether some value asks for this key's: then it stands where it does for that. `key` is relaxed.
    fn is_named_by_a_placeholder(&self, key: &str) -> bool {
        let placeholder = format!("${{{key}");
        self.all.iter().any(|property| relaxed(&property.value).contains(&placeholder))
    }

    /// A name that comes from an environment variable is one that a file spells with other letters, if there is one.
    fn add_named(&mut self, family: &'static Family, name: &str, property: &'a Property) {
        let variable = matches!(property.origin, Origin::Environment(_));
        let same = |(other, known, _): &&mut (&'static Family, String, &Property)| {
            other.key == family.key && (known == name || (variable && Named::<()>::is(known, name)))
        };
        match self.named.iter_mut().find(same) {
            Some(found) => found.2 = property,
            None => self.named.push((family, name.to_owned(), property)),
        }
    }

    fn chosen(&self, setting: &Setting) -> Option<&'a Property> {
        self.chosen.get(setting.key).map(|n| &self.all[*n])
    }

    fn is_set(&self, key: &str) -> bool {
        self.chosen.contains_key(key)
    }

    /// Where a key was set, to begin a sentence with.
    fn place(&self, key: &str) -> Place {
        let named =
            || self.named.iter().find(|(family, name, _)| family.key_for(name) == key).map(|(_, _, p)| *p);
        let property = self.chosen.get(key).map(|n| &self.all[*n]).or_else(named);
        property.map_or_else(|| Place { key: key.to_owned(), origin: Origin::Default }, Property::place)
    }
}

fn meaning<'k>(property: &'k Property, index: &Index) -> Known<'k> {
    match (&property.origin, index.of(&property.key)) {
        (Origin::Environment(_), Known::Unknown) => index.of_variable(&property.key),
        (_, known) => known,
    }
}

/// What placeholders may name.
struct Values<'a> {
    sorted: &'a Sorted<'a>,
    sources: &'a Sources<'a>,
    /// The environment variables that were named.
    variables: RefCell<HashSet<String>>,
}

impl Values<'_> {
    /// **Compat:** a name is that of a property, however it is spelt, or of an environment variable.
    fn get(&self, name: &str) -> Option<String> {
        let key = relaxed(name);
        let found = self.sorted.values.get(&key).map(|n| &self.sorted.all[*n]);
        if let Some(Property { origin: Origin::Environment(name), .. }) = found {
            self.variables.borrow_mut().insert(name.to_string());
        }
        let property = found.map(|property| property.value.clone());
        let environment = || self.sources.environment.iter();
        let taken = |(name, value): &(String, String)| {
            self.variables.borrow_mut().insert(name.clone());
            value.clone()
        };
        let variable = |wanted: &str| environment().find(|(name, _)| name == wanted).map(taken);
        let together = || {
            let together = run_together(name);
            environment().find(|(name, _)| run_together(name) == together).map(taken)
        };
        let random = || system::random(&key, self.sources.seed);
        let default = || {
            let setting = SETTINGS.iter().find(|setting| relaxed(setting.key) == key);
            setting.map(|setting| setting.default.to_owned()).filter(|value| !value.is_empty())
        };
        property
            .or_else(|| variable(name))
            .or_else(together)
            .or_else(|| system::value(&key))
            .or_else(random)
            .or_else(default)
    }
}
