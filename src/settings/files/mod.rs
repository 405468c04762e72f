//! Files of settings: which are read, and what documents they hold.

mod properties;
mod toml;
mod yaml;

use std::fmt;
use std::io::{Error, ErrorKind, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::profiles::{Activation, Profiles};
use super::property::{Origin, Property, joined, relaxed};

/// The files that are looked for where the server starts, and in `config/` there. Of two, the later one counts.
pub(super) const NAMES: [&str; 7] = [
    "application.yml",
    "application.yaml",
    "application.properties",
    "eurekad.yml",
    "eurekad.yaml",
    "eurekad.properties",
    "eurekad.toml",
];

/// One document of a file.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) properties: Vec<Property>,
    /// With which profiles it counts; without any condition always.
    pub(super) condition: Option<Activation>,
}

impl Document {
    /// Whether it counts.
    pub(super) fn counts(&self, profiles: &Profiles) -> bool {
        self.condition.as_ref().is_none_or(|condition| condition.holds(profiles))
    }
}

/// A file that cannot be read or understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Unreadable {
    path: PathBuf,
    /// From 1; 0 for the whole file.
    line: usize,
    what: String,
}

impl Unreadable {
    fn new(path: &Path, line: usize, what: String) -> Self {
        Self { path: path.to_owned(), line, what }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.line {
            0 => write!(f, "{path}: {}", self.what),
            line => write!(f, "{path}:{line}: {}", self.what),
        }
    }
}

/// Where files are looked for.
#[derive(Debug, Clone)]
pub struct Places {
    /// The directory that relative paths start from, and where the usual names are looked for.
    pub directory: PathBuf,
    /// The files named by the user, instead of the usual ones.
    pub named: Vec<PathBuf>,
}

impl Places {
    /// Nowhere.
    pub(super) fn none() -> Self {
        Self { directory: PathBuf::new(), named: Vec::new() }
    }

    /// The files to read for all profiles, or for one: those that are there, and those that must be.
    pub(super) fn files(&self, profile: Option<&str>) -> Vec<PathBuf> {
        let name_of = |path: &Path| match (profile, path.file_stem(), path.extension()) {
            (Some(profile), Some(stem), Some(extension)) => path.with_file_name(format!(
                "{}-{profile}.{}",
                stem.to_string_lossy(),
                extension.to_string_lossy()
            )),
            (_, _, _) => path.to_owned(),
        };
        if self.named.is_empty() {
            if self.directory.as_os_str().is_empty() {
                return Vec::new();
            }
            let all = [PathBuf::new(), PathBuf::from("config")]
                .into_iter()
                .flat_map(|folder| NAMES.iter().map(move |name| folder.join(name)));
            return all.map(|path| name_of(&path)).filter(|path| self.may_be_there(path)).collect();
        }
        let named = self.named.iter().map(|path| name_of(path));
        // A file that the user names must be there; its variant for a profile may.
        named.filter(|path| profile.is_none() || self.may_be_there(path)).collect()
    }

    /// Whether there is anything of that name, or nobody can tell. What is no file is then refused when it is read: a
    /// start without it might be one without its password.
    fn may_be_there(&self, path: &Path) -> bool {
        use ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound};
        // Of a link itself: where it leads to nothing, something was meant to be.
        match std::fs::symlink_metadata(self.directory.join(path)) {
            Ok(_) => true,
            Err(e) => !matches!(e.kind(), NotFound | NotADirectory | InvalidFilename | InvalidInput),
        }
    }

    /// Reads one of them. Its path is shown as it is given.
    pub(super) fn read(&self, path: &Path) -> Result<Vec<Document>, Unreadable> {
        if path.extension().is_some_and(|ending| ending == "jar" || ending == "war") {
            let what = format!(
                "is a Java program; take its settings out: unzip -p {} BOOT-INF/classes/application.yml > application.yml",
                path.display()
            );
            return Err(Unreadable::new(path, 0, what));
        }
        let text = bounded(&self.directory.join(path)).map_err(|e| {
            let looked_for = self.named.is_empty();
            let what = match e.kind() {
                ErrorKind::NotFound if looked_for => "a link that leads to no file; mend or remove it".to_owned(),
                ErrorKind::NotFound => {
                    "there is no such file; name another with --config, or leave --config out".to_owned()
                }
                ErrorKind::IsADirectory => {
                    "is a directory, not a file; container engines make one where a file is mounted that does not \
                     exist: remove it, and mount a file that does"
                        .to_owned()
                }
                _ => format!("cannot be read: {e}"),
            };
            Unreadable::new(path, 0, what)
        })?;
        let text = String::from_utf8(text)
            .map_err(|_| Unreadable::new(path, 0, "is not UTF-8; save it as UTF-8".to_owned()))?;
        parse(text.trim_start_matches('\u{feff}'), path)
    }
}

/// The most bytes of a file of settings, or of a list of peers.
const MOST_BYTES: u64 = 1024 * 1024;

/// Reads a file whole, but not without end.
pub(crate) fn bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_dir() {
        return Err(Error::new(ErrorKind::IsADirectory, "it is a directory; a file is needed"));
    }
    if !kind.is_file() {
        // To open a pipe waits for somebody who writes, to read a terminal for somebody who types, and nobody may.
        let what = if kind.is_fifo() { "a pipe" } else { "a device or a socket" };
        return Err(Error::other(format!("it is {what}; a file is needed")));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Error::other(format!("it has more than {MOST_BYTES} bytes")));
    }
    Ok(bytes)
}

/// The documents in the text of a file, by the ending of its name.
pub(super) fn parse(text: &str, path: &Path) -> Result<Vec<Document>, Unreadable> {
    let shown: Arc<Path> = path.into();
    let all = match path.extension().and_then(|ending| ending.to_str()) {
        // JSON is YAML.
        Some("yml" | "yaml" | "json") => yaml::documents(text, &shown)?,
        Some("properties") => properties::documents(text, &shown)?,
        Some("toml") => vec![toml::document(text, &shown)?],
        Some(_) | None => {
            let what = "expected a name that ends in .yml, .yaml, .json, .properties or .toml";
            return Err(Unreadable::new(path, 0, what.to_owned()));
        }
    };
    all.into_iter().map(|properties| with_condition(joined(properties), path)).collect()
}

/// Takes the condition out of a document.
///
/// **Compat:** `spring.config.activate.on-profile`; the older `spring.profiles` means the same.
fn with_condition(properties: Vec<Property>, path: &Path) -> Result<Document, Unreadable> {
    let is_condition =
        |key: &str| matches!(relaxed(key).as_str(), "spring.config.activate.onprofile" | "spring.profiles");
    let (conditions, properties): (Vec<_>, Vec<_>) =
        properties.into_iter().partition(|property| is_condition(&property.key));
    // A condition that is not understood would have the document count for everybody.
    let other =
        properties.iter().find(|property| relaxed(&property.key).starts_with("spring.config.activate."));
    if let Some(Property { key, origin: Origin::File { line, .. }, .. }) = other {
        let what = format!("{key} is not understood here; only spring.config.activate.on-profile is");
        return Err(Unreadable::new(path, *line, what));
    }
    let condition = conditions.last().map(|property| {
        property.value.parse().map_err(|e| Unreadable::new(path, 0, format!("{}: {e}", property.key)))
    });
    Ok(Document { properties, condition: condition.transpose()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_files_and_their_variants_for_a_profile_are_found() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("config")).unwrap();
        for name in ["application.yml", "application-peer1.yml", "config/application.properties", "other.yml"]
        {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let places = Places { directory: folder.path().to_owned(), named: Vec::new() };
        let paths =
            |profile| places.files(profile).iter().map(|p| p.display().to_string()).collect::<Vec<_>>();
        assert_eq!(paths(None), ["application.yml", "config/application.properties"]);
        assert_eq!(paths(Some("peer1")), ["application-peer1.yml"]);
        let places = Places { named: vec!["other.yml".into(), "lost.yml".into()], ..places };
        assert_eq!(places.files(None).len(), 2, "what is named must be there");
        let said = places.read(Path::new("lost.yml")).unwrap_err().to_string();
        assert!(said.starts_with("lost.yml: there is no such file"), "{said}");
        assert!(places.files(Some("peer1")).is_empty());
    }

    #[test]
    fn a_condition_that_is_not_understood_is_refused() {
        let text =
            "server.port: 1\n---\nspring.config.activate.on-cloud-platform: kubernetes\nserver.port: 2\n";
        let said = parse(text, Path::new("a.yml")).unwrap_err().to_string();
        assert!(
            said.starts_with("a.yml:3: spring.config.activate.on-cloud-platform is not understood"),
            "{said}"
        );
    }

    #[test]
    fn a_file_that_is_too_large_or_without_an_end_is_refused() {
        let large = tempfile::NamedTempFile::new().unwrap();
        large.as_file().set_len(MOST_BYTES).unwrap();
        assert_eq!(bounded(large.path()).unwrap().len() as u64, MOST_BYTES);
        large.as_file().set_len(MOST_BYTES + 1).unwrap();
        assert_eq!(bounded(large.path()).unwrap_err().to_string(), "it has more than 1048576 bytes");
        let said = bounded(Path::new("/dev/zero")).unwrap_err().to_string();
        assert_eq!(said, "it is a device or a socket; a file is needed");
    }

    #[test]
    fn a_pipe_that_nobody_writes_to_is_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("peers");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(bounded(&pipe).unwrap_err().to_string(), "it is a pipe; a file is needed");
    }

    #[test]
    fn a_file_of_another_kind_is_refused() {
        let said = parse("", Path::new("settings.ini")).unwrap_err().to_string();
        assert!(said.starts_with("settings.ini: expected a name that ends in"), "{said}");
    }
}
