//! Profiles: which are active, and which documents of a file count with them.

use std::collections::BTreeSet;
use std::str::FromStr;

/// The profile that is active if no other is.
pub(super) const DEFAULT: &str = "default";

/// The active profiles, in the order in which their files count; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Profiles(pub(super) Vec<String>);

impl Profiles {
    fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|profile| profile == name)
    }
}

/// With which profiles a document counts: `prod`, `!test`, `prod & (eu | us)`; commas mean "or".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Activation {
    Profile(String),
    Not(Box<Activation>),
    All(Vec<Activation>),
    Any(Vec<Activation>),
}

/// The text is no such expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected names of profiles, not placeholders, with !, &, | and parentheses, such as prod & !eu")]
pub(super) struct NoExpression;

impl Activation {
    pub(super) fn holds(&self, profiles: &Profiles) -> bool {
        match self {
            Self::Profile(name) => profiles.contains(name),
            Self::Not(inner) => !inner.holds(profiles),
            Self::All(parts) => parts.iter().all(|part| part.holds(profiles)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(profiles)),
        }
    }
}

impl Activation {
    /// The profiles that it names.
    pub(super) fn names(&self) -> Vec<&str> {
        match self {
            Self::Profile(name) => vec![name],
            Self::Not(inner) => inner.names(),
            Self::All(parts) | Self::Any(parts) => parts.iter().flat_map(Self::names).collect(),
        }
    }
}

impl FromStr for Activation {
    type Err = NoExpression;

    fn from_str(text: &str) -> Result<Self, NoExpression> {
        let alternatives: Result<Vec<Self>, NoExpression> = text
            .split(',')
            .map(|part| {
                let mut reading = Reading { rest: part };
                let expression = reading.any(MOST_NESTED)?;
                if reading.rest.trim().is_empty() { Ok(expression) } else { Err(NoExpression) }
            })
            .collect();
        let mut alternatives = alternatives?;
        Ok(if alternatives.len() == 1 { alternatives.remove(0) } else { Self::Any(alternatives) })
    }
}

/// Parentheses in parentheses; more than anybody writes.
const MOST_NESTED: usize = 20;

struct Reading<'a> {
    rest: &'a str,
}

impl Reading<'_> {
    fn takes(&mut self, sign: char) -> bool {
        let rest = self.rest.trim_start().strip_prefix(sign);
        if let Some(rest) = rest {
            self.rest = rest;
        }
        rest.is_some()
    }

    fn any(&mut self, depth: usize) -> Result<Activation, NoExpression> {
        let mut parts = vec![self.all(depth)?];
        while self.takes('|') {
            parts.push(self.all(depth)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Activation::Any(parts) })
    }

    fn all(&mut self, depth: usize) -> Result<Activation, NoExpression> {
        let mut parts = vec![self.one(depth)?];
        while self.takes('&') {
            parts.push(self.one(depth)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Activation::All(parts) })
    }

    fn one(&mut self, depth: usize) -> Result<Activation, NoExpression> {
        let depth = depth.checked_sub(1).ok_or(NoExpression)?;
        if self.takes('!') {
            return Ok(Activation::Not(Box::new(self.one(depth)?)));
        }
        if self.takes('(') {
            let inner = self.any(depth)?;
            return if self.takes(')') { Ok(inner) } else { Err(NoExpression) };
        }
        let rest = self.rest.trim_start();
        let end = rest.find(['!', '&', '|', '(', ')']).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        self.rest = rest;
        let name = name.trim_end();
        // A placeholder would be the name of a profile that nobody has.
        let bad = name.is_empty() || name.contains(['$', '{', '}']);
        if bad { Err(NoExpression) } else { Ok(Activation::Profile(name.to_owned())) }
    }
}

/// The profiles that such values make active: those that are named, with their groups, and those that are included
/// always; `default` if there are none.
pub(super) fn active(
    named: &[String],
    included: &[String],
    default: &[String],
    group: impl Fn(&str) -> Vec<String>,
) -> Profiles {
    let mut active = Vec::new();
    let mut seen = BTreeSet::new();
    let mut waiting: Vec<String> = included.iter().chain(named).rev().cloned().collect();
    while let Some(profile) = waiting.pop() {
        if seen.insert(profile.clone()) {
            waiting.extend(group(&profile).into_iter().rev());
            active.push(profile);
        }
    }
    if active.is_empty() {
        active = if default.is_empty() { vec![DEFAULT.to_owned()] } else { default.to_vec() };
    }
    Profiles(active)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(expression: &str, profiles: &[&str]) -> bool {
        let profiles = Profiles(profiles.iter().map(|p| (*p).to_owned()).collect());
        expression.parse::<Activation>().unwrap().holds(&profiles)
    }

    #[test]
    fn a_document_counts_by_its_expression() {
        assert!(holds("peer1", &["peer1"]) && !holds("peer1", &["peer2"]));
        assert!(holds("a, b", &["b"]) && holds("a | b", &["b"]));
        assert!(holds("a & !b", &["a"]) && !holds("a & !b", &["a", "b"]));
        assert!(holds("a&(b|c)", &["a", "c"]) && !holds("a&(b|c)", &["a"]));
        assert!(holds("my-profile_2", &["my-profile_2"]));
        for bad in ["", "a &", "(a", "a b)", "a,", "& a", "${P}"] {
            assert_eq!(bad.parse::<Activation>(), Err(NoExpression), "{bad:?}");
        }
        assert!("(".repeat(100).parse::<Activation>().is_err());
    }

    #[test]
    fn included_profiles_come_first_and_groups_after_their_name() {
        let all = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        let group = |name: &str| if name == "prod" { all(&["eu", "big", "prod"]) } else { Vec::new() };
        assert_eq!(
            active(&all(&["prod", "x"]), &all(&["always"]), &[], group).0,
            ["always", "prod", "eu", "big", "x"]
        );
        assert_eq!(active(&[], &[], &[], group).0, ["default"]);
        assert_eq!(active(&[], &[], &all(&["dev"]), group).0, ["dev"]);
    }
}
