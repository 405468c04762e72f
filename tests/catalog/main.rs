//! Holds the tables of behaviours beside this file against the tests that exist.
//!
//! A row names the tests that show it, or why none does. A test names the rows it stands for, in a doc comment:
//! `/// Catalog: A36, A37` for `behaviours.md`, `/// Case: P018` for `cases.md`. The two must agree in both directions.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what helps a test fails as a test does")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Why a row of `behaviours.md` may go without a test.
const REASONS: [&str; 5] = ["AWS", "regions", "client", "JVM-only", "not offered"];

/// What a row of `cases.md`, or a part of it, may wait for.
const WAITS: [&str; 6] = ["client crate", "dashboard", "TLS", "wish", "benchmarks", "Kubernetes"];

type Tests = BTreeMap<String, BTreeSet<String>>;

/// One row: what stands in its columns, trimmed.
struct Row {
    id: String,
    tests: BTreeSet<String>,
    files: Vec<String>,
    otherwise: String,
}

/// The rows of a table whose columns are: id, behaviour, tests, otherwise.
fn rows(file: &str) -> Vec<Row> {
    let text = fs::read_to_string(root().join("tests/catalog").join(file)).unwrap();
    let lines = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| id"));
    lines
        .map(|line| {
            let columns: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let [id, _, tests, otherwise] = columns[..] else {
                panic!("{file}: four columns expected: {line}")
            };
            let named = tests.split(", ").map(|t| t.trim_matches('`').to_owned()).filter(|t| !t.is_empty());
            let (files, tests): (Vec<String>, Vec<String>) = named.partition(|name| name.contains('/'));
            let tests = tests.into_iter().collect();
            Row { id: id.to_owned(), tests, files, otherwise: otherwise.to_owned() }
        })
        .collect()
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The tests in the sources, by the ids in their doc comments.
fn tests_with(mark: &str) -> Tests {
    let mut found = Tests::new();
    for folder in ["src", "crates", "tests"] {
        for file in rust_files(&root().join(folder)) {
            let text = fs::read_to_string(&file).unwrap();
            let mut ids: Vec<String> = Vec::new();
            for line in text.lines().map(str::trim) {
                if let Some(list) = line.strip_prefix("/// ").and_then(|doc| doc.strip_prefix(mark)) {
                    ids.extend(list.split(',').map(|id| id.trim().to_owned()));
                } else if let Some(name) = function_name(line) {
                    for id in ids.drain(..) {
                        found.entry(id).or_default().insert(name.to_owned());
                    }
                }
            }
        }
    }
    found
}

fn function_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")?;
    rest.split(['(', '<']).next()
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| match path.is_dir() {
            true => rust_files(&path),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .collect()
}

/// Every disagreement between a table and the tests.
fn disagreements(file: &str, mark: &str, reasons: &[&str]) -> Vec<String> {
    let (rows, mut tests) = (rows(file), tests_with(mark));
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for row in &rows {
        let Row { id, tests: named, files, otherwise } = row;
        if !seen.insert(id) {
            wrong.push(format!("{id}: stands twice in {file}"));
        }
        let exist = tests.remove(id).unwrap_or_default();
        for name in named.difference(&exist) {
            wrong.push(format!("{id}: no test {name} carries `/// {mark}{id}`"));
        }
        for name in exist.difference(named) {
            wrong.push(format!("{id}: {file} does not name the test {name}"));
        }
        wrong.extend(files.iter().filter(|f| !root().join(f).exists()).map(|f| format!("{id}: no file {f}")));
        let reason = reasons.iter().find(|reason| otherwise.starts_with(*reason));
        if named.is_empty() && files.is_empty() && reason.is_none() {
            wrong.push(format!("{id}: neither a test nor one of the reasons {reasons:?}"));
        }
        if !otherwise.is_empty() && reason.is_none() {
            wrong.push(format!("{id}: {otherwise:?} begins with none of {reasons:?}"));
        }
    }
    wrong.extend(tests.keys().map(|id| format!("{id}: has a test, but no row in {file}")));
    wrong
}

#[test]
fn every_behaviour_has_a_test_or_a_reason() {
    let wrong = disagreements("behaviours.md", "Catalog: ", &REASONS);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_case_has_a_test_or_says_what_it_waits_for() {
    let wrong = disagreements("cases.md", "Case: ", &WAITS);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_recorded_exchange_that_differs_names_a_row_or_a_case() {
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let cases: BTreeSet<String> = rows("cases.md").into_iter().map(|row| row.id).collect();
    let differences = root().join("tests/golden/differences");
    let files: Vec<PathBuf> = fs::read_dir(differences).unwrap().map(|e| e.unwrap().path()).collect();
    let files: Vec<_> = files.iter().filter(|f| f.extension().is_some_and(|e| e == "json")).collect();
    assert!(!files.is_empty());
    for file in files {
        let difference: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        let because = difference["because"].as_str().unwrap_or_default();
        let known = cases.contains(because) || architecture.contains(&format!("\n| {because} |"));
        assert!(known, "{}: {because:?} is no row of ARCHITECTURE.md's table and no case", file.display());
    }
}
