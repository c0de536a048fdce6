//! Each habit, broken and kept.

use super::{Finding, LONGEST, is_test, median, source, spec, text};

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

fn of_protocol(path: &str, opening: &str) -> Vec<String> {
    let mut findings = Vec::new();
    spec::check(path, &format!("{opening}\n\nuse std::fmt; // (2025-11-25, server/tools)\n"), &mut findings);
    findings.into_iter().map(|Finding { message, .. }| message).collect()
}

#[test]
fn a_file_of_the_protocol_names_its_page() {
    let file = "gateway/core/src/mcp/lists.rs";
    for right in [
        "//! Lists (2025-11-25, server/tools).",
        "//! Lists (2025-11-25, server/tools, \"Data types\").",
        "//! Lists (2024-11-05, basic/messages and\n//! server/tools; 2026-07-28, basic/patterns/mrtr).",
        "//! Cursors.\n//!\n//! Some (see there) are sealed (2025-11-25, server/utilities/pagination: they are opaque, always).",
    ] {
        assert_eq!(of_protocol(file, right), Vec::<String>::new(), "{right}");
    }
    for (wrong, said) in [
        ("//! Lists.", "must name the page"),
        ("//! Lists (server/tools).", "must name the page"),
        ("//! Lists (2026-07-28).", "no page of it"),
        ("//! Lists (2025-12-24, server/tools).", "is no revision"),
        ("//! Lists (2025-11-25, basic/patterns/mrtr).", "has no page"),
        ("//! Lists (2025-11-25, server/tools; 2026-07-28, server/tool).", "has no page `server/tool`"),
    ] {
        let findings = of_protocol(file, wrong);
        assert!(matches!(findings.as_slice(), [one] if one.contains(said)), "{wrong}: {findings:?}");
    }
    assert_eq!(of_protocol("gateway/core/src/mcp.rs", "//! All.").len(), 1);
    for other in
        ["gateway/core/src/mcp/tests.rs", "gateway/core/src/mcp/lists/tests.rs", "gateway/core/src/gate.rs"]
    {
        assert_eq!(of_protocol(other, "//! All.").len(), 0, "{other}");
    }
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
