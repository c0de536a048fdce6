//! Messages that say what was probably meant, why a call came to nothing, and what would help: followed by whoever reads
//! them, the caller or the operator.

use moongate_tests::{Stdio, Workspace, text};
use serde_json::{Value, json};

/// Names and arguments that nobody has.
mod meant;

/// Grants that are missing, as caller and operator hear of them.
mod missing;

/// What the gateway says of a crash, to the caller and in its log.
#[track_caller]
fn crashed(printed: &str) -> (String, String) {
    let workspace = Workspace::with_plugin("zoo");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let answer = stdio.call("zoo_last_words", json!({ "text": printed }));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let said = text(&answer).to_owned();
    let (_, _, log) = stdio.finish();
    (said, log)
}

#[test]
fn a_crash_logs_the_last_lines_of_stderr() {
    for printed in [
        "Traceback (most recent call last):\n  File \"/0/app.py\", line 12, in describe\nValueError: thirteen is unlucky\n\n\
         thread '<unnamed>' (1) panicked at runtime/src/lib.rs:1293:29:\nPython function threw an unexpected exception\n",
        "\nthread '<unnamed>' (1) panicked at crates/runtime/src/interpreter.rs:51:31:\nFailed to call 'callTool': \
         Value(Exception(\n    Exception { message: Some(\"thirteen is unlucky\") })\n)\n",
    ] {
        let (said, log) = crashed(printed);
        assert!(
            said.starts_with("plugin `zoo`: ") && said.ends_with("the log has the last lines of its stderr"),
            "{said}"
        );
        assert!(!said.contains("unlucky"), "{said}");
        let is_report = |line: &&str| {
            line.contains("WARN") && line.contains("the plugin crashed; last lines on stderr: ")
        };
        let report = log.lines().find(is_report).unwrap_or_else(|| panic!("{log}"));
        assert!(report.contains("thirteen is unlucky"), "{report}");
    }
}

/// The error of the protocol.
#[track_caller]
fn refused(answer: &Value) -> (i64, String) {
    let error = &answer["error"];
    (error["code"].as_i64().unwrap_or_default(), error["message"].as_str().unwrap_or_default().to_owned())
}

/// What a command says on stderr.
fn said(workspace: &Workspace, arguments: &[&str]) -> String {
    String::from_utf8_lossy(&workspace.run(arguments).stderr).into_owned()
}
