//! What runtimes print before they end, as they print it.

use super::*;

fn told(printed: &str) -> String {
    LastWords::in_output(printed).map_or_else(String::new, |words| words.to_string())
}

const PANIC_OF_PYTHON: &str = "\nthread '<unnamed>' (1) panicked at runtime/src/lib.rs:1293:29:\nPython function threw an \
                               unexpected exception\nnote: run with `RUST_BACKTRACE=1` environment variable\n";

#[test]
fn a_panic_is_told_with_its_place_and_its_first_line() {
    assert_eq!(
        told("x\nthread 'main' (1) panicked at src/lib.rs:3:9:\nno such city\nnote: run\n"),
        "panicked at src/lib.rs:3:9: no such city"
    );
    assert_eq!(told("nothing of it"), "");
    assert_eq!(told("panicked at "), "");
}

#[test]
fn an_exception_of_python_is_told_with_the_last_step_of_the_authors_own() {
    let traceback = "Traceback (most recent call last):\n  File \"/0/app.py\", line 108, in call_tool\n  File \"/0/tools/a.py\", \
                     line 12, in run\n";
    let library =
        "  File \"/python/json/decoder.py\", line 355, in raw_decode\n    raise error\n    ^^^^^^^^^^^\n";
    for (printed, expected) in [
        (
            format!("{traceback}ValueError: thirteen is unlucky\n{PANIC_OF_PYTHON}"),
            "raised ValueError: thirteen is unlucky at tools/a.py:12, in `run`",
        ),
        (
            format!("{traceback}{library}json.decoder.JSONDecodeError: no\n{PANIC_OF_PYTHON}"),
            "raised json.decoder.JSONDecodeError: no at tools/a.py:12, in `run`",
        ),
        (
            format!(
                "{traceback}KeyError: 'a'\n\nThe above exception was the direct cause of the following exception:\n\n\
                 Traceback (most recent call last):\n  File \"/0/app.py\", line 138, in describe\nRuntimeError: wrapped:\nsecond \
                 line\n{PANIC_OF_PYTHON}"
            ),
            "raised RuntimeError: wrapped: at app.py:138, in `describe`",
        ),
        (
            format!(
                "{traceback}  File \"/0/app.py\", line 1, in r\n  [Previous line repeated 995 more times]\nRecursionError: \
                 deep\n{PANIC_OF_PYTHON}"
            ),
            "raised RecursionError: deep at app.py:1, in `r`",
        ),
        (format!("{traceback}Exception\n"), "raised Exception at tools/a.py:12, in `run`"),
        // The beginning is gone.
        (
            format!("n call_tool\n  File \"/0/app.py\", line 3\nSyntaxError: no\n{PANIC_OF_PYTHON}"),
            "raised SyntaxError: no at app.py:3",
        ),
    ] {
        assert_eq!(told(&printed), expected);
    }
    let nothing = format!("  File \"/0/app.py\n{PANIC_OF_PYTHON}");
    assert_eq!(
        told(&nothing),
        "panicked at runtime/src/lib.rs:1293:29: Python function threw an unexpected exception"
    );
}

#[test]
fn an_earlier_traceback_is_no_reason_for_a_later_panic() {
    let traceback =
        "Traceback (most recent call last):\n  File \"/0/app.py\", line 108, in a\nKeyError: 'a'\n";
    let printed = format!("{traceback}thread panicked at src/a.rs:1:2:\nanother\n");
    assert_eq!(told(&printed), "panicked at src/a.rs:1:2: another");
}

#[test]
fn an_exception_of_javascript_is_told_with_where_it_was_thrown() {
    let thrown = |exception: &str| {
        format!(
            "\nthread '<unnamed>' (1) panicked at crates/runtime/src/interpreter.rs:51:31:\nFailed to call 'callTool': \
             Value(Exception(\n    {exception})\n)\nnote: run with `RUST_BACKTRACE=1`\n"
        )
    };
    let stack = r#"stack: Some("    at run (/text.js:89:47)\n    at callTool (/plugin.js:3:4)\n") }"#;
    for (exception, expected) in [
        (
            format!(r#"Exception {{ message: Some("thirteen is \"unlucky\""), {stack}"#),
            r#"threw "thirteen is "unlucky"" at text.js:89:47, in `run`"#,
        ),
        (
            r#"Exception { message: Some("a\u{1b}b"), stack: Some("    at /plugin.js:3:9\n") }"#.to_owned(),
            r#"threw "ab" at plugin.js:3:9"#,
        ),
        (
            r#"Exception { message: Some("unknown variant tag: x"), stack: Some("") }"#.to_owned(),
            r#"threw "unknown variant tag: x""#,
        ),
        (
            r#"FromJs { from: "string", to: "variant", message: None }"#.to_owned(),
            "gave back or threw a value of type string where the contract wants a variant",
        ),
        (
            r#"FromJs { from: "string", to: "object", message: None }"#.to_owned(),
            "gave back or threw a value of type string where the contract wants an object",
        ),
    ] {
        assert_eq!(told(&thrown(&exception)), expected);
    }
    let cut = thrown(r#"Exception { message: Some("never ends"#);
    assert!(told(&cut).starts_with("panicked at crates/runtime/src/interpreter.rs:51:31: Failed to call"));
}
