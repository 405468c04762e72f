//! All sources of settings, one above the other.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::arguments::Argument;
use super::environment;
use super::files::{Document, Places, parse};
use super::known::Index;
use super::placeholders::replaced;
use super::profiles::{Activation, DEFAULT, Profiles, active};
use super::property::{INLINE, Origin, Place, Property, joined, relaxed};
use super::resolve::resolve;
use super::values::words;
use super::{Invalid, Note, Problem, Settings};

/// Where settings come from, the strongest first.
#[derive(Debug, Clone)]
pub struct Sources<'a> {
    /// The command line.
    pub arguments: &'a [Argument],
    /// Environment variables.
    pub environment: Vec<(String, String)>,
    /// The names of those whose values are no UTF-8.
    pub garbled: Vec<String>,
    /// Files.
    pub files: Places,
    /// What `${random.value}` and its like are made of.
    pub seed: u64,
}

impl<'a> Sources<'a> {
    /// The command line alone.
    pub(super) fn arguments(arguments: &'a [Argument]) -> Self {
        Self { arguments, environment: Vec::new(), garbled: Vec::new(), files: Places::none(), seed: 0 }
    }
}

/// Settings, and how they came about.
#[derive(Debug)]
pub struct Loaded {
    /// The settings.
    pub settings: Settings,
    /// Every setting's value and where it was set, in the order of the table.
    pub effective: Vec<Effective>,
    /// What a person should know.
    pub notes: Vec<Note>,
    /// The active profiles; `default` alone if there are none.
    pub profiles: Vec<String>,
    /// The files that were read, the weakest first.
    pub files: Vec<PathBuf>,
}

/// What a setting is, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effective {
    /// Its key.
    pub key: String,
    /// Its value as it may be shown.
    pub value: String,
    /// Where it was set.
    pub origin: Origin,
}

/// Reads all sources and makes settings of them.
///
/// **Compat:** of two sources the stronger counts, as in Spring: command line, `SPRING_APPLICATION_JSON`, environment, files
/// of a profile, files. Documents and files count with the profiles that they name.
///
/// # Errors
/// If a file cannot be understood, or a value is not one that its setting takes, and so on: all problems at once.
pub fn load(sources: &Sources<'_>) -> Result<Loaded, Invalid> {
    let index = Index::new();
    let mut problems = Vec::new();

    let mut strong = Vec::new();
    strong.extend(environment::properties(&sources.environment, &index));
    // Not left out: a server whose password cannot be read would be open to everybody.
    for name in &sources.garbled {
        let whole = [INLINE, environment::CONFIG].contains(&name.as_str());
        if whole || !environment::properties(&[(name.clone(), String::new())], &index).is_empty() {
            let origin = Origin::Environment(name.as_str().into());
            problems.push(Problem::NotText { place: Place { key: name.clone(), origin } });
        }
    }
    if let Some((name, json)) = sources.environment.iter().find(|(name, _)| name == INLINE) {
        match parse(json, &PathBuf::from(format!("{name}.json"))) {
            Ok(documents) => strong.extend(
                documents
                    .into_iter()
                    .flat_map(|d| d.properties)
                    .map(|property| Property { origin: Origin::Inline, ..property }),
            ),
            Err(e) => problems.push(e.into()),
        }
    }
    let mut said = Vec::new();
    for argument in sources.arguments {
        match argument.property() {
            Ok(property) => said.push(property),
            Err(problem) => problems.push(problem),
        }
    }
    strong.extend(joined(said));

    let mut files = sources.files.files(None);
    let mut weak = read(&sources.files, &files, &mut problems);
    let profiles = profiles(&weak, &strong, &sources.environment, &mut problems);
    for profile in &profiles.0 {
        let more = sources.files.files(Some(profile));
        weak.extend(read(&sources.files, &more, &mut problems));
        files.extend(more);
    }

    let nameless = unwritten(&weak, &files, &profiles);
    let mut all = Vec::new();
    for document in weak {
        if !document.counts(&profiles) {
            continue;
        }
        all.extend(document.properties);
    }
    all.extend(strong);
    let mut loaded = resolve(&all, sources, &index, &profiles, files, problems);
    let notes = match &mut loaded {
        Ok(loaded) => &mut loaded.notes,
        Err(invalid) => &mut invalid.notes,
    };
    notes.extend(nameless);
    loaded
}

/// The active profiles that no file and no document is for: misspelt ones, most likely.
fn unwritten(documents: &[Document], files: &[PathBuf], profiles: &Profiles) -> Vec<Note> {
    let mut known: BTreeSet<&str> = documents
        .iter()
        .filter_map(|document| document.condition.as_ref())
        .flat_map(Activation::names)
        .collect();
    known.remove(DEFAULT);
    let has_file = |name: &str| {
        let ending = format!("-{name}");
        files
            .iter()
            .any(|file| file.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with(&ending)))
    };
    let nameless = profiles.0.iter().filter(|name| {
        *name != DEFAULT && !documents.is_empty() && !known.contains(name.as_str()) && !has_file(name)
    });
    let known: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
    nameless.map(|name| Note::Profile { name: name.clone(), known: known.clone() }).collect()
}

fn read(places: &Places, paths: &[PathBuf], problems: &mut Vec<Problem>) -> Vec<Document> {
    let mut documents = Vec::new();
    for path in paths {
        match places.read(path) {
            Ok(more) => documents.extend(more),
            Err(e) => problems.push(e.into()),
        }
    }
    documents
}

/// The active profiles, as the strongest source says that names any.
fn profiles(
    weak: &[Document],
    strong: &[Property],
    environment: &[(String, String)],
    problems: &mut Vec<Problem>,
) -> Profiles {
    let unconditional = weak.iter().filter(|document| document.condition.is_none());
    let all: Vec<&Property> = unconditional.flat_map(|document| &document.properties).chain(strong).collect();
    let last = |key: &str| all.iter().rev().find(|property| relaxed(&property.key) == key);
    let value_of = |name: &str| {
        let variable = || environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        last(&relaxed(name)).map(|property| property.value.clone()).or_else(variable)
    };
    let problems = std::cell::RefCell::new(problems);
    let named = |key: &str| -> Vec<String> {
        let Some(property) = last(key) else { return Vec::new() };
        match replaced(&property.value, &value_of) {
            Ok(value) => words(&value),
            Err(e) => {
                let value = property.value.clone();
                problems.borrow_mut().push(Problem::Value {
                    place: property.place(),
                    value,
                    expected: e.to_string(),
                });
                Vec::new()
            }
        }
    };
    let included = named("spring.profiles.include");
    let default = named("spring.profiles.default");
    let group = |name: &str| named(&relaxed(&format!("spring.profiles.group.{name}")));
    active(&named("spring.profiles.active"), &included, &default, group)
}

#[cfg(test)]
mod tests;
