//! The rows of the page.

use super::super::table::ClientTable;
use super::CAPABILITIES;

/// The row of a client that passes every check, except for `lines`.
fn row(runs: &[(&str, &str)], lines: &[&str]) -> String {
    let mut table = ClientTable::default();
    for (transport, revision) in runs {
        for capability in CAPABILITIES {
            table.record(&format!("ok python-1.0.0 {transport} {revision} {capability}"));
        }
    }
    for line in lines {
        table.record(line);
    }
    table.page().lines().last().unwrap().to_owned()
}

#[test]
fn shows_a_client_that_passes_every_check_in_one_row() {
    let runs = [("http", "2025-11-25"), ("http", "2026-07-28"), ("sse", "2025-11-25")];
    assert_eq!(
        row(&runs, &[]),
        "| Python SDK 1.0.0 | HTTP, HTTP+SSE (2025-11-25) | 2025-11-25, 2026-07-28 | – |"
    );
}

#[test]
fn groups_exceptions_by_reason_and_names_their_runs() {
    let runs =
        [("http", "2024-11-05"), ("stdio", "2024-11-05"), ("http", "2025-11-25"), ("stdio", "2025-11-25")];
    let lines = [
        "- python-1.0.0 http 2024-11-05 elicitation: no elicitation",
        "- python-1.0.0 stdio 2024-11-05 elicitation: no elicitation",
        "- python-1.0.0 http 2025-11-25 roots: one thing",
        "- python-1.0.0 http 2024-11-05 roots: one thing",
        "ok python-1.0.0 stdio 2025-11-25 call: no headers",
    ];
    let row = row(&runs, &lines);
    assert!(row.contains("**call** over stdio in 2025-11-25: no headers"), "{row}");
    assert!(row.contains("**elicitation** in 2024-11-05: no elicitation"), "{row}");
    assert!(row.contains("**roots** over HTTP: one thing"), "{row}");
}

#[test]
fn never_hides_a_missing_check() {
    let mut table = ClientTable::default();
    table.record("ok python-1.0.0 http 2025-11-25 list");
    assert!(
        table.page().contains("**call**, **read**,") && table.page().contains("FAILED"),
        "{}",
        table.page()
    );
}
