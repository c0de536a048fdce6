//! Reading of text files and their parts.

use serde_json::json;

use crate::tests::{Directory, error_of, text_of};

#[test]
fn reads_the_first_and_last_lines() {
    let directory = Directory::new();
    let path = directory.write("a.txt", "one\ntwo\nthree\n");
    let lines = |which: &str, count: u32| text_of("read_text_file", json!({ "path": path, which: count }));
    assert_eq!(lines("head", 1), "one");
    assert_eq!(lines("head", 2), "one\ntwo");
    assert_eq!(lines("head", 9), "one\ntwo\nthree");
    assert_eq!(lines("tail", 1), "three\n");
    assert_eq!(lines("tail", 2), "two\nthree\n");
    assert_eq!(lines("tail", 9), "one\ntwo\nthree\n");
    assert_eq!(lines("head", 0), "one\ntwo\nthree\n", "0 is the same as absent");
    let open = directory.write("open.txt", "one\n\ntwo");
    let of_open = |which: &str, count: u32| text_of("read_text_file", json!({ "path": open, which: count }));
    assert_eq!((of_open("tail", 1), of_open("tail", 2)), ("two".to_owned(), "\ntwo".to_owned()));
    assert_eq!(of_open("head", 2), "one\n");
    let empty = directory.write("empty", "");
    assert_eq!(text_of("read_text_file", json!({ "path": empty, "tail": 3 })), "");
    assert_eq!(text_of("read_text_file", json!({ "path": empty, "head": 3 })), "");
}

#[test]
fn finds_lines_across_chunks() {
    let directory = Directory::new();
    let lines: Vec<String> = (0..40_000).map(|at| format!("line {at} ü")).collect();
    let path = directory.write("long.txt", lines.join("\n"));
    for count in [1, 7, 5_000, 20_000, 39_999, 40_000, 50_000] {
        let take = count.min(lines.len());
        let head = text_of("read_text_file", json!({ "path": path, "head": count }));
        assert!(head == lines[..take].join("\n"), "head {count}");
        let tail = text_of("read_text_file", json!({ "path": path, "tail": count }));
        assert!(tail == lines[lines.len() - take..].join("\n"), "tail {count}");
    }
}

#[test]
fn reads_text_that_is_not_utf_8() {
    let directory = Directory::new();
    let path = directory.write("latin1.txt", b"caf\xe9\r\nnext\r\n");
    assert_eq!(text_of("read_text_file", json!({ "path": path })), "caf\u{fffd}\r\nnext\r\n");
    assert_eq!(text_of("read_text_file", json!({ "path": path, "head": 1 })), "caf\u{fffd}\r");
    assert_eq!(text_of("read_text_file", json!({ "path": path, "tail": 1 })), "next\n");
    let marked = directory.write("bom.txt", "\u{feff}x");
    assert_eq!(text_of("read_file", json!({ "path": marked })), "\u{feff}x");
}

#[test]
fn refuses_invalid_line_counts() {
    let directory = Directory::new();
    let path = directory.write("a.txt", "one\n");
    let error_of = |args: serde_json::Value| {
        let mut args = args;
        args["path"] = json!(path);
        error_of("read_text_file", args)
    };
    assert_eq!(error_of(json!({ "head": -1 })), "`head` must be a non-negative integer, not -1");
    assert_eq!(error_of(json!({ "tail": 1.5 })), "`tail` must be a non-negative integer, not 1.5");
    assert_eq!(
        error_of(json!({ "head": 1, "tail": 1 })),
        "Cannot specify both head and tail parameters simultaneously"
    );
}

#[test]
fn refuses_directories() {
    let directory = Directory::new();
    for args in [json!({}), json!({ "head": 1 }), json!({ "tail": 1 })] {
        let mut args = args;
        args["path"] = json!(directory.path(""));
        assert_eq!(error_of("read_text_file", args), "EISDIR: illegal operation on a directory, read");
    }
    assert_eq!(
        error_of("read_media_file", json!({ "path": directory.path("") })),
        "EISDIR: illegal operation on a directory, read"
    );
}
