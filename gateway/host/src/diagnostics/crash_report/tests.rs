//! The end of stderr, as runtimes print it.

use super::*;

fn shown(printed: &str) -> String {
    StderrTail::of(printed).map_or_else(String::new, |tail| tail.to_string())
}

#[test]
fn shows_the_last_lines_verbatim() {
    assert_eq!(
        shown("x\n\nthread 'main' (1) panicked at src/lib.rs:3:9:\nno such city\nnote: run\n"),
        "x | thread 'main' (1) panicked at src/lib.rs:3:9: | no such city | note: run"
    );
    let panic = "thread 'main' (1) panicked at src/lib.rs:3:9:\nno such city\n";
    let note = "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
    assert_eq!(shown(&format!("{panic}{note}")), shown(panic));
    assert_eq!(shown(" \n\n"), "");
    assert_eq!(shown("a\u{1b}[2J\u{202e}b\r\nc"), "a[2Jb | c");
}

#[test]
fn is_bounded_in_lines_and_bytes() {
    let many: String = (0..100).map(|line| format!("{line}\n")).collect();
    let tail = StderrTail::of(&many).unwrap();
    assert_eq!((tail.lines.len(), tail.lines.last().map(String::as_str)), (MAX_LINES, Some("99")));
    let long = format!("{}\n", "x".repeat(10_000)).repeat(100);
    let shown = shown(&long);
    assert!(shown.len() <= MAX_BYTES + 3 * MAX_LINES && shown.contains('…'), "{} bytes", shown.len());
}

#[test]
fn recognises_a_python_traceback() {
    let is_python = |printed: &str| StderrTail::of(printed).unwrap().is_python_traceback();
    assert!(is_python(
        "Traceback (most recent call last):\n  File \"/0/app.py\", line 1, in a\nKeyError: 'a'\n"
    ));
    assert!(!is_python("thread 'main' (1) panicked at src/lib.rs:3:9:\nno such city\n"));
}
