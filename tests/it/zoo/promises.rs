//! `SECURITY.md` names a test for each promise: each of them is one.

use std::collections::BTreeSet;
use std::fs;

use moongate_tests::{Source, root};

/// Whether a name could be a test's: words joined by underscores, as nothing else on the page is.
fn is_test(name: &str) -> bool {
    name.matches('_').count() > 2 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

#[test]
fn every_promise_of_the_security_page_names_its_tests() {
    let page = fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let sources = ["gateway", "tests", "plugin-sdk"].map(|folder| Source::below(&root().join(folder)));
    let there: BTreeSet<&str> = sources.iter().flatten().flat_map(Source::tests).collect();
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
