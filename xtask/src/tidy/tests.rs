//! Each habit, broken and kept.

use super::{Finding, LONGEST, is_test, median, source, text};

fn of_source(path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    source(path, text, &mut findings);
    findings.into_iter().map(|Finding { message, .. }| message).collect()
}

fn of_text(path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    text::check(path, text, &mut findings);
    findings.into_iter().map(|Finding { place, .. }| place).collect()
}

#[test]
fn a_source_opens_with_its_purpose_and_is_short() {
    assert!(of_source("a/b.rs", "//! What it is for.\n").is_empty());
    assert_eq!(of_source("a/b.rs", "use std::fs;\n").len(), 1);
    assert_eq!(of_source("a/mod.rs", "//! Grouped.\n").len(), 1);
    let long = format!("//! Long.\n{}", "//\n".repeat(LONGEST));
    assert_eq!(of_source("a/b.rs", &long).len(), 1);
    assert!(of_source("a/b/tests.rs", &long).is_empty());
}

#[test]
fn tests_are_told_by_their_place() {
    for path in ["a/src/b/tests.rs", "tests/it/main.rs", "a/tests/b.rs"] {
        assert!(is_test(path), "{path}");
    }
    for path in ["a/src/latests.rs", "xtask/src/test.rs"] {
        assert!(!is_test(path), "{path}");
    }
}

#[test]
fn a_machine_path_is_found_where_it_begins() {
    let folder = concat!("/ho", "me/");
    assert_eq!(of_text("a.md", &format!("one\nsee {folder}me/x\n")), ["a.md:2"]);
    assert_eq!(of_text("a.md", &format!("{folder}me")), ["a.md:1"]);
    assert_eq!(of_text("a.md", &format!("\"{folder}me\"")), ["a.md:1"]);
    assert!(
        of_text("a.md", &format!("https://example.com{folder}page and ~{folder}x and docs{folder}y"))
            .is_empty()
    );
}

#[test]
fn a_registry_is_found_in_any_file() {
    let host = concat!("registry.", "npmjs.org");
    assert_eq!(of_text("a.json", &format!("\"from\": \"https://{host}/x\"")), ["a.json:1"]);
}

#[test]
fn a_lockfile_holds_no_addresses() {
    let line = "  \"resolved\": \"https://example.com/x.tgz\",\n";
    assert_eq!(of_text("tests/package-lock.json", line), ["tests/package-lock.json:1"]);
    assert!(of_text("tests/other.json", line).is_empty());
}

#[test]
fn the_median_is_the_middle_one() {
    assert_eq!(median(&mut []), 0);
    assert_eq!(median(&mut [9, 1, 5]), 5);
}
