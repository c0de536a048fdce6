//! Patches.

use super::*;

fn patch(before: &str, after: &str, context: u32) -> String {
    String::from_utf8(hunks(before.as_bytes(), after.as_bytes(), context)).unwrap()
}

#[test]
fn shows_changed_lines_with_context() {
    let before = "fn a() {\n  1\n  2\n  3\n  4\n  5\n}\n";
    let after = before.replace("  4\n", "  four\n");
    assert_eq!(patch(before, &after, 1), "@@ -4,3 +4,3 @@ fn a() {\n   3\n-  4\n+  four\n   5\n");
    assert_eq!(patch("", "a\nb", 3), "@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n");
    assert_eq!(patch("a\n", "a\n", 3), "");
}

#[test]
fn joins_hunks_whose_contexts_touch() {
    let before: String = (0..10).map(|line| format!(" {line}\n")).collect();
    let after = before.replace(" 2\n", " x\n").replace(" 5\n", " y\n");
    assert_eq!(patch(&before, &after, 1).matches("@@ -").count(), 1);
    assert_eq!(patch(&before, &after, 0).matches("@@ -").count(), 2);
}

#[test]
fn quotes_unusual_paths() {
    assert_eq!(quoted("a b".into()), "a b");
    assert_eq!(quoted("é\t\"".into()), "\"\\303\\251\\t\\\"\"");
}
