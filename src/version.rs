//! What was built: the version, and where known its commit and that commit's date.

use std::sync::LazyLock;

use jiff::Timestamp;

/// The version alone.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// So many characters of a commit tell it from every other.
const COMMIT_SHOWN: usize = 12;

/// The version as people are told it: `0.1.0 (784851a1b2c3, 2026-11-30)`.
pub static BUILT: LazyLock<String> = LazyLock::new(|| {
    described(VERSION, option_env!("EUREKAD_BUILT_COMMIT"), option_env!("EUREKAD_BUILT_SECONDS"))
});

fn described(version: &str, commit: Option<&str>, seconds: Option<&str>) -> String {
    let commit = commit.map(|commit| commit.chars().take(COMMIT_SHOWN).collect::<String>());
    let date = seconds
        .and_then(|seconds| seconds.parse().ok())
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .map(|at| at.strftime("%Y-%m-%d").to_string());
    let known: Vec<String> = commit.into_iter().chain(date).collect();
    if known.is_empty() { version.to_owned() } else { format!("{version} ({})", known.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_told_with_what_is_known_of_its_commit() {
        let commit = Some("784851a1b2c3d4e5f60718293a4b5c6d7e8f9012");
        assert_eq!(described("1.2.3", commit, Some("1796025600")), "1.2.3 (784851a1b2c3, 2026-11-30)");
        assert_eq!(described("1.2.3", Some("abc"), None), "1.2.3 (abc)");
        assert_eq!(described("1.2.3", None, Some("0")), "1.2.3 (1970-01-01)");
        assert_eq!(described("1.2.3", None, None), "1.2.3");
        assert_eq!(described("1.2.3", None, Some("yesterday")), "1.2.3");
    }
}
