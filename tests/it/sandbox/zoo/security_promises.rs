//! Each promise of `SECURITY.md` has a row in `docs/tests.md`, which names tests that exist.

use std::collections::BTreeSet;

use moongate_tests::{Source, markdown_tables, project_root};

/// The first cell of each row of these tables.
fn promises(file: &str, header: &[&str]) -> Vec<String> {
    markdown_tables(file, header)
        .into_iter()
        .flat_map(|table| table.rows)
        .map(|mut row| row.swap_remove(0))
        .collect()
}

#[test]
fn every_security_promise_names_tests_that_exist() {
    let promised = promises("SECURITY.md", &["promise", "how"]);
    assert!(promised.len() > 35, "{} promises", promised.len());
    assert_eq!(promised, promises("docs/tests.md", &["promise", "tests"]), "promises without a row of tests");

    let sources =
        ["gateway", "tests", "plugin-sdk"].map(|directory| Source::below(&project_root().join(directory)));
    let existing: BTreeSet<&str> = sources.iter().flatten().flat_map(Source::tests).collect();
    for row in
        markdown_tables("docs/tests.md", &["promise", "tests"]).into_iter().flat_map(|table| table.rows)
    {
        let named: Vec<&str> = row[1].split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "no test for: {}", row[0]);
        for name in named {
            assert!(existing.contains(name), "there is no test `{name}`");
        }
    }
}
