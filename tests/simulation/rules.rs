//! The rules that `mutations/run` breaks are those of the code as it is now.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

const RULES: &str = include_str!("mutations/rules.json");
const SEEN: &str = include_str!("mutations/README.md");

#[test]
fn each_text_that_breaks_a_rule_stands_once_in_its_file_and_in_the_table_of_what_was_seen() {
    let rules: Vec<Value> = serde_json::from_str(RULES).unwrap();
    let mut names = BTreeSet::new();
    for rule in &rules {
        let text = |field: &str| rule[field].as_str().unwrap();
        let (name, old) = (text("name"), text("old"));
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(text("file"));
        let whole = std::fs::read_to_string(&path).unwrap();
        assert_eq!(whole.matches(old).count(), 1, "{name}: {old:?} in {}", path.display());
        assert_ne!(old, text("new"), "{name}");
        assert!(names.insert(name), "{name} twice");
        let row = format!("| {} | {name} | ", text("rule"));
        assert_eq!(SEEN.matches(&row).count(), 1, "{row} in mutations/README.md");
    }
    let rows = SEEN.lines().filter(|line| line.starts_with("| ")).count();
    assert_eq!(rows, 1 + rules.len(), "a row of a rule that is not broken any more");
}
