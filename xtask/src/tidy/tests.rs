//! Each convention, broken and kept.

use super::{Finding, MAX_FILE_LINES, check_source, is_test, spec};

fn source_findings(path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    check_source(path, text, &mut findings);
    findings.into_iter().map(|Finding { message, .. }| message).collect()
}

#[test]
fn a_source_starts_with_its_purpose_and_is_short() {
    assert!(source_findings("a/b.rs", "//! Its purpose.\n").is_empty());
    assert_eq!(source_findings("a/b.rs", "use std::fs;\n").len(), 1);
    assert_eq!(source_findings("a/mod.rs", "//! Grouped.\n").len(), 1);
    let long = format!("//! Long.\n{}", "//\n".repeat(MAX_FILE_LINES));
    assert_eq!(source_findings("a/b.rs", &long).len(), 1);
    assert!(source_findings("a/b/tests.rs", &long).is_empty());
}

fn protocol_findings(path: &str, opening: &str) -> Vec<String> {
    let mut findings = Vec::new();
    spec::check(path, &format!("{opening}\n\nuse std::fmt; // (2025-11-25, server/tools)\n"), &mut findings);
    findings.into_iter().map(|Finding { message, .. }| message).collect()
}

#[test]
fn a_file_of_the_protocol_names_its_page() {
    let file = "gateway/protocol/src/mcp/lists.rs";
    for good in [
        "//! Lists (2025-11-25, server/tools).",
        "//! Lists (2025-11-25, server/tools, \"Data types\").",
        "//! Lists (2024-11-05, basic/messages and\n//! server/tools; 2026-07-28, basic/patterns/mrtr).",
        "//! Cursors.\n//!\n//! Some (see there) are sealed (2025-11-25, server/utilities/pagination: they are opaque, always).",
    ] {
        assert_eq!(protocol_findings(file, good), Vec::<String>::new(), "{good}");
    }
    for (bad, expected) in [
        ("//! Lists.", "name the page"),
        ("//! Lists (server/tools).", "name the page"),
        ("//! Lists (2026-07-28).", "no page"),
        ("//! Lists (2025-12-24, server/tools).", "isn't a revision"),
        ("//! Lists (2025-11-25, basic/patterns/mrtr).", "has no page"),
        ("//! Lists (2025-11-25, server/tools; 2026-07-28, server/tool).", "has no page `server/tool`"),
    ] {
        let findings = protocol_findings(file, bad);
        assert!(matches!(findings.as_slice(), [one] if one.contains(expected)), "{bad}: {findings:?}");
    }
    let module = "gateway/protocol/src/mcp.rs";
    assert_eq!(protocol_findings(module, "//! All.").len(), 1);
    for other in [
        "gateway/protocol/src/mcp/tests.rs",
        "gateway/protocol/src/mcp/lists/tests.rs",
        "gateway/protocol/src/limiter.rs",
    ] {
        assert_eq!(protocol_findings(other, "//! All.").len(), 0, "{other}");
    }
}

#[test]
fn tests_are_recognised_by_their_path() {
    for path in ["a/src/b/tests.rs", "tests/it/main.rs", "a/tests/b.rs"] {
        assert!(is_test(path), "{path}");
    }
    for path in ["a/src/latests.rs", "xtask/src/test.rs"] {
        assert!(!is_test(path), "{path}");
    }
}
