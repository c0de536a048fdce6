//! Edits, and everything that they must not change.

use std::fs;

use serde_json::{Value, json};

use crate::tests::{Directory, error_of, text_of};

fn edit(path: &str, edits: &[(&str, &str)]) -> Value {
    let edits: Vec<Value> =
        edits.iter().map(|(old, new)| json!({ "oldText": old, "newText": new })).collect();
    json!({ "path": path, "edits": edits })
}

#[test]
fn replaces_the_first_exact_match() {
    let directory = Directory::new();
    let path = directory.write("a.txt", "one\ntwo\ntwo\n");
    let shown = text_of("edit_file", edit(&path, &[("two", "2"), ("one\n2", "uno\n2")]));
    let rule = "=".repeat(67);
    assert_eq!(
        shown,
        format!(
            "```diff\nIndex: {path}\n{rule}\n--- {path}\toriginal\n+++ {path}\tmodified\n@@ -1,3 +1,3 @@\n-one\n-two\n+uno\n+2\n two\n```\n\n"
        )
    );
    assert_eq!(fs::read_to_string(path).unwrap(), "uno\n2\ntwo\n");
    assert_eq!(directory.names(), ["a.txt"]);
}

#[test]
fn matches_lines_regardless_of_indentation() {
    let directory = Directory::new();
    let path = directory.write("a.py", "def f():\n    if x:\n        y()\n    z()\n");
    text_of("edit_file", edit(&path, &[("if x:\n  y()", "if not x:\n    y(1)\nw()")]));
    // The second line is indented two more than the original; the third has no original line.
    assert_eq!(fs::read_to_string(path).unwrap(), "def f():\n    if not x:\n      y(1)\nw()\n    z()\n");
}

#[test]
fn makes_no_edit_if_one_does_not_match() {
    let directory = Directory::new();
    let path = directory.write("a.txt", "one\ntwo\n");
    assert_eq!(
        error_of("edit_file", edit(&path, &[("one", "1"), ("three\nfour", "3")])),
        "Could not find exact match for edit:\nthree\nfour"
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
    assert!(error_of("edit_file", edit(&directory.path("gone"), &[])).starts_with("ENOENT: "));
}

#[test]
fn keeps_unchanged_lines_byte_for_byte() {
    let directory = Directory::new();
    let path = directory.write("dos.txt", "one\r\ntwo\r\nthree\nfour\r\n");
    text_of("edit_file", edit(&path, &[("two\nthree", "2\n2.5\nthree")]));
    assert_eq!(fs::read_to_string(&path).unwrap(), "one\r\n2\r\n2.5\r\nthree\nfour\r\n");
    let path = directory.write("latin1.txt", b"caf\xe9\none\n");
    text_of("edit_file", edit(&path, &[("one", "1")]));
    assert_eq!(fs::read(&path).unwrap(), b"caf\xe9\n1\n");
    let text_of = error_of("edit_file", edit(&path, &[("caf", "tea")]));
    assert!(text_of.contains("aren't UTF-8"), "{text_of}");
    assert_eq!(fs::read(&path).unwrap(), b"caf\xe9\n1\n");
}

#[test]
fn fences_text_with_backticks() {
    let directory = Directory::new();
    let path = directory.write("a.md", "````\nx\n````\n");
    let shown = text_of("edit_file", edit(&path, &[("x", "y")]));
    assert!(shown.starts_with("`````diff\n") && shown.ends_with("`````\n\n"), "{shown}");
}

#[test]
fn marks_a_missing_final_newline() {
    let directory = Directory::new();
    let path = directory.write("a.txt", "one");
    let shown = text_of("edit_file", edit(&path, &[("one", "one\ntwo")]));
    assert!(
        shown.contains(
            "@@ -1,1 +1,2 @@\n-one\n\\ No newline at end of file\n+one\n+two\n\\ No newline at end of file\n"
        ),
        "{shown}"
    );
    let empty = directory.write("empty.txt", "");
    let shown = text_of("edit_file", edit(&empty, &[("", "new\n")]));
    assert!(shown.contains("@@ -0,0 +1,1 @@\n+new\n"), "{shown}");
}
