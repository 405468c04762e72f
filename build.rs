//! Hands the program the commit it is built from and that commit's time.
//!
//! `EUREKAD_COMMIT` and `SOURCE_DATE_EPOCH` (seconds) of the environment come first, for builds that have no `.git`, such as
//! those in containers; then git is asked. Without either the program knows its version alone. It runs again when one of
//! the two variables changes or HEAD moves, and not otherwise.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let given = |name: &str| {
        println!("cargo::rerun-if-env-changed={name}");
        std::env::var(name).ok().filter(|value| !value.trim().is_empty())
    };
    let (commit, seconds) = (given("EUREKAD_COMMIT"), given("SOURCE_DATE_EPOCH"));
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let git = Git::of(&here);
    if let Some(git) = &git {
        git.follow();
    }
    let asked = |words: &[&str]| git.as_ref().and_then(|git| git.ask(words));
    if let Some(commit) = commit.or_else(|| asked(&["rev-parse", "HEAD"])) {
        println!("cargo::rustc-env=EUREKAD_BUILT_COMMIT={}", commit.trim());
    }
    if let Some(seconds) = seconds.or_else(|| asked(&["log", "-1", "--format=%ct"])) {
        println!("cargo::rustc-env=EUREKAD_BUILT_SECONDS={}", seconds.trim());
    }
}

/// The repository whose root this package is.
struct Git<'a>(&'a Path);

impl<'a> Git<'a> {
    /// None if there is none, or if the package only lies somewhere inside of another one.
    fn of(here: &'a Path) -> Option<Self> {
        let git = Self(here);
        let top = PathBuf::from(git.ask(&["rev-parse", "--show-toplevel"])?);
        (top.canonicalize().ok()? == here.canonicalize().ok()?).then_some(git)
    }

    fn ask(&self, words: &[&str]) -> Option<String> {
        let output = Command::new("git").arg("-C").arg(self.0).args(words).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    }

    /// Has the build run again when HEAD is another commit: it moves, or the branch that it names does. A file that is
    /// not there is not named, since cargo would build anew each time.
    fn follow(&self) {
        let mut names = vec!["HEAD".to_owned(), "packed-refs".to_owned()];
        names.extend(self.ask(&["symbolic-ref", "-q", "HEAD"]));
        for name in names {
            if let Some(path) = self.ask(&["rev-parse", "--git-path", &name]).map(|path| self.0.join(path))
                && path.exists()
            {
                println!("cargo::rerun-if-changed={}", path.display());
            }
        }
    }
}
