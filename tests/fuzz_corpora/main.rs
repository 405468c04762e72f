//! Replays what fuzzing has kept: the inputs that reach the most of the code, and all those that once broke something.
//!
//! The checks are those of the fuzz targets themselves; see `fuzz/README.md`.

#![allow(clippy::unwrap_used, reason = "what helps a test fails as a test does")]

#[path = "../../fuzz/src/lib.rs"]
mod checks;

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use checks::{Check, TARGETS};

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

/// The files in a folder, sorted; none if there is no such folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Runs a target's check on all its inputs in such a folder, and says which fail; and how many there were.
fn replay(kind: &str, target: &str, check: Check) -> (usize, Vec<String>) {
    let files = files(&fuzz().join(kind).join(target));
    let failed = files.iter().filter(|file| {
        let bytes = fs::read(file).unwrap();
        catch_unwind(|| check(&bytes)).is_err()
    });
    let failed = failed.map(|file| file.display().to_string()).collect();
    (files.len(), failed)
}

#[test]
fn every_input_that_once_broke_something_breaks_nothing_now() {
    let failed: Vec<String> =
        TARGETS.into_iter().flat_map(|(name, check)| replay("regressions", name, check).1).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

macro_rules! corpus {
    ($($test:ident: $target:ident,)*) => {$(
        #[test]
        fn $test() {
            let (inputs, failed) = replay("corpus", stringify!($target), checks::$target);
            assert!(inputs > 0, "no corpus: fuzz/seed makes one");
            assert!(failed.is_empty(), "{failed:#?}");
        }
    )*};
}

corpus! {
    instances_in_json_that_are_let_in_can_be_served: instance_json,
    instances_in_xml_that_are_let_in_can_be_served: instance_xml,
    applications_in_json_are_read_back_as_they_were: applications_json,
    applications_in_xml_are_read_back_as_they_were: applications_xml,
    batches_and_their_answers_are_read_back_as_they_were: replication_batch,
    what_nodes_tell_each_other_is_told_on_as_it_was_understood: protocol,
    peers_are_where_their_list_says: peer_lists,
    no_requests_leave_a_node_that_does_not_serve: requests,
}

/// Every target has its check, its program and its folder of inputs, and none is left without the others.
#[test]
fn the_targets_are_the_programs_and_the_folders() {
    let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    for folder in ["fuzz_targets", "corpus"] {
        let mut found: Vec<String> = files(&fuzz().join(folder))
            .iter()
            .map(|file| file.file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        found.sort();
        let mut expected = names.clone();
        expected.sort_unstable();
        assert_eq!(found, expected, "{folder}");
    }
    for regressed in files(&fuzz().join("regressions")) {
        let name = regressed.file_name().unwrap().to_string_lossy().into_owned();
        assert!(names.contains(&name.as_str()), "regressions/{name}");
    }
}
