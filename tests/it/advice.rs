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
    let mut stdio = Stdio::greeted(&workspace, "2025-11-25");
    let answer = stdio.call("zoo_last_words", json!({ "text": printed }));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let said = text(&answer).to_owned();
    let (_, _, log) = stdio.finish();
    (said, log)
}

#[test]
fn a_crash_in_python_is_one_sentence_for_the_caller_and_its_exception_in_the_log() {
    let (said, log) = crashed(
        "Traceback (most recent call last):\n  File \"/0/app.py\", line 108, in call_tool\n  File \"/0/app.py\", line 12, in \
         describe\nValueError: thirteen is unlucky\n\nthread '<unnamed>' (1) panicked at \
         runtime/src/lib.rs:1293:29:\nPython function threw an unexpected exception\nnote: run with `RUST_BACKTRACE=1` \
         environment variable to display a backtrace\n",
    );
    let sentence = "plugin `zoo`: crashed: it raised an exception that it didn't catch; a logged warning says where and why";
    assert_eq!(said, sentence);
    let line = "the plugin raised ValueError: thirteen is unlucky at app.py:12, in `describe`";
    assert!(log.lines().any(|its| its.contains("WARN") && its.contains(line)), "{log}");
}

#[test]
fn a_crash_in_javascript_is_one_sentence_for_the_caller_and_its_exception_in_the_log() {
    let (said, log) = crashed(
        "\nthread '<unnamed>' (1) panicked at crates/runtime/src/interpreter.rs:51:31:\nFailed to call 'callTool': \
         Value(Exception(\n    Exception { message: Some(\"thirteen is unlucky\"), stack: Some(\"    at callTool \
         (/plugin.js:89:47)\\n\") })\n)\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
    );
    let sentence = "plugin `zoo`: crashed: it threw an exception that it didn't catch; a logged warning says where and why";
    assert_eq!(said, sentence);
    let line = "the plugin threw \"thirteen is unlucky\" at plugin.js:89:47, in `callTool`";
    assert!(log.lines().any(|its| its.contains("WARN") && its.contains(line)), "{log}");
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
