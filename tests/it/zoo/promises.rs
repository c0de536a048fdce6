//! `SECURITY.md` names a test for each promise: each of them is one.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use moongate_tests::root;

/// Whether a name could be a test's: words joined by underscores, as nothing else on the page is.
fn is_test(name: &str) -> bool {
    name.matches('_').count() > 2 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// The tests of a folder's sources.
fn tests(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && path.file_name().is_none_or(|name| name != "target") {
            tests(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            for after in text.split("#[test]\n").chain(text.split("#[tokio::test")).skip(1) {
                let name = after.split_once("fn ").and_then(|(_, rest)| rest.split_once('('));
                found.extend(name.map(|(name, _)| name.to_owned()));
            }
        }
    }
}

#[test]
fn every_promise_of_the_security_page_names_its_tests() {
    let page = fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let mut there = BTreeSet::new();
    for folder in ["gateway", "tests", "plugin-sdk"] {
        tests(&root().join(folder), &mut there);
    }
    let mut named = 0;
    for name in page.split('`').skip(1).step_by(2).filter(|name| is_test(name)) {
        named += 1;
        assert!(there.contains(name), "there is no test `{name}`");
    }
    assert!(named > 40, "{named}");
    let rows = page.lines().filter(|line| line.starts_with("| ") && line.matches('|').count() == 4);
    for row in rows.filter(|row| !row.starts_with("| promise")) {
        let last = row.split('|').nth(3).unwrap();
        assert!(last.contains('`'), "no test for: {row}");
    }
}
