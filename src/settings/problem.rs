//! What is wrong with settings, in words that say what to do.

use std::fmt;

use super::files::Unreadable;
use super::java::MOVES_HEALTH;
use super::known::{Index, Known};
use super::property::{Origin, Place};

/// Settings that do not hold together, all problems at once.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub struct Invalid {
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// What a person should know besides.
    pub notes: Vec<Note>,
}

impl Invalid {
    /// Whether a list of all settings may help.
    pub fn concerns_settings(&self) -> bool {
        !self.problems.iter().all(|problem| matches!(problem, Problem::File(_)))
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problems = self.problems.iter().map(ToString::to_string);
        let warnings = self.notes.iter().filter(|note| note.is_warning()).map(ToString::to_string);
        f.write_str(&problems.chain(warnings).collect::<Vec<_>>().join("\n"))
    }
}

/// One thing that is wrong with the settings.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// There is no such setting of ours.
    #[error("{place}: no such setting{}", nearest.map(|n| format!("; did you mean {n}?")).unwrap_or_default())]
    Unknown {
        /// What was given.
        place: Place,
        /// The setting that is spelt most like it.
        nearest: Option<&'static str>,
    },
    /// The value is not one that the setting takes.
    #[error("{place}={value}: {expected}")]
    Value {
        /// The setting.
        place: Place,
        /// What was given; without what may be a password.
        value: String,
        /// What the setting takes.
        expected: String,
    },
    /// A promise that is not kept here.
    #[error("{place}: {instead}")]
    Refused {
        /// What was given.
        place: Place,
        /// What to do.
        instead: &'static str,
    },
    /// What is needed beside what was given.
    #[error("{place}: {missing}")]
    Missing {
        /// What was given.
        place: Place,
        /// What is missing.
        missing: String,
    },
    /// URLs of a zone that is in no region.
    #[error(
        "{place}: no region has the zone {zone}; set eureka.client.availability-zones.{region}={zone}, \
         or use eureka.client.service-url.defaultZone"
    )]
    NoSuchZone {
        /// What was given.
        place: Place,
        /// The zone.
        zone: String,
        /// This server's region.
        region: String,
    },
    /// A setting without a value.
    #[error("{place}: a value is missing; write {place}=VALUE")]
    NoValue {
        /// What was given.
        place: Place,
    },
    /// A value that is no text.
    #[error("{place}: the value is not UTF-8; write it in UTF-8")]
    NotText {
        /// What was given.
        place: Place,
    },
    /// A file that cannot be read or understood.
    #[error("{0}")]
    File(#[from] Unreadable),
}

impl Problem {
    /// Whether it is the value of this setting that cannot be used.
    pub(super) fn is_of(&self, key: &str, index: &Index) -> bool {
        match self {
            Self::Value { place, .. } | Self::NotText { place } | Self::NoValue { place } => {
                let known = match place.origin {
                    Origin::Environment(_) => index.of_variable(&place.key),
                    _ => index.of(&place.key),
                };
                matches!(known, Known::Setting(setting) if setting.key == key)
            }
            _ => false,
        }
    }
}

/// Something about the settings that a person should know, and that is no reason not to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A key that looks like a setting and is none.
    Unknown {
        /// What was given.
        place: Place,
        /// The setting that is spelt most like it.
        nearest: Option<&'static str>,
    },
    /// A section of a YAML file in which nothing stands: as a rule what follows it is not indented.
    EmptySection {
        /// What was given.
        place: Place,
    },
    /// A key at the top of a YAML file that is the end of a setting's.
    Outside {
        /// What was given.
        place: Place,
        /// What it belongs below.
        section: &'static str,
    },
    /// A profile that nothing is written for.
    Profile {
        /// Its name.
        name: String,
        /// Those that something is written for.
        known: Vec<String>,
    },
    /// A key of the Java server that changes nothing here.
    Meaningless {
        /// What was given.
        place: Place,
        /// The reason.
        why: &'static str,
    },
}

impl Note {
    /// Whether it may well be a mistake.
    pub fn is_warning(&self) -> bool {
        match self {
            Self::Unknown { .. }
            | Self::EmptySection { .. }
            | Self::Outside { .. }
            | Self::Profile { .. } => true,
            Self::Meaningless { why, .. } => *why == MOVES_HEALTH,
        }
    }

    /// The key that means nothing here, if that is what is noted.
    pub fn meaningless(&self) -> Option<&Place> {
        match self {
            Self::Meaningless { place, .. } => Some(place),
            Self::Unknown { .. }
            | Self::EmptySection { .. }
            | Self::Outside { .. }
            | Self::Profile { .. } => None,
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { place, nearest: Some(nearest) } => {
                write!(f, "{place}: no such setting, it changes nothing; did you mean {nearest}?")
            }
            Self::Unknown { place, nearest: None } => {
                write!(f, "{place}: no such setting, it changes nothing")
            }
            Self::EmptySection { place } => write!(f, "{place} is empty: is what follows it indented?"),
            Self::Outside { place, section } => {
                write!(f, "{place}: stands by itself, so it changes nothing; it belongs below {section}")
            }
            Self::Profile { name, known } if known.is_empty() => {
                write!(f, "the profile {name} is active, and no file and no document is for it")
            }
            Self::Profile { name, known } => {
                let known = known.join(", ");
                write!(
                    f,
                    "the profile {name} is active, and no file and no document is for it; there are {known}"
                )
            }
            Self::Meaningless { place, why } => write!(f, "{place}: changes nothing here: {why}"),
        }
    }
}
