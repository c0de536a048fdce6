//! Messages that suggest a correction, explain a failed call, or name a fix, for the caller and for the operator.

use moongate_tests::{Stdio, Workspace, text};
use serde_json::{Value, json};

/// Unknown names and invalid arguments.
mod corrections;

/// Missing grants, as reported to the caller and the operator.
mod missing_grants;

/// The message to the caller and the log of a crash.
#[track_caller]
fn crashed(printed: &str) -> (String, String) {
    let workspace = Workspace::with_plugin("zoo");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let answer = stdio.call("zoo_last_words", json!({ "text": printed }));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    let output = text(&answer).to_owned();
    let (_, _, log) = stdio.finish();
    (output, log)
}

#[test]
fn a_crash_logs_the_last_lines_of_stderr() {
    for printed in [
        "Traceback (most recent call last):\n  File \"/0/app.py\", line 12, in describe\nValueError: thirteen is unlucky\n\n\
         thread '<unnamed>' (1) panicked at runtime/src/lib.rs:1293:29:\nPython function threw an unexpected exception\n",
        "\nthread '<unnamed>' (1) panicked at crates/runtime/src/interpreter.rs:51:31:\nFailed to call 'callTool': \
         Value(Exception(\n    Exception { message: Some(\"thirteen is unlucky\") })\n)\n",
    ] {
        let (output, log) = crashed(printed);
        assert!(
            output.starts_with("plugin `zoo`: ")
                && output.ends_with("the log has the last lines of its stderr"),
            "{output}"
        );
        assert!(!output.contains("unlucky"), "{output}");
        let is_report = |line: &&str| {
            line.contains("WARN") && line.contains("the plugin crashed; last lines on stderr: ")
        };
        let report = log.lines().find(is_report).unwrap_or_else(|| panic!("{log}"));
        assert!(report.contains("thirteen is unlucky"), "{report}");
    }
}

/// The code and the message of a protocol error.
#[track_caller]
fn protocol_error(answer: &Value) -> (i64, String) {
    let error = &answer["error"];
    (error["code"].as_i64().unwrap_or_default(), error["message"].as_str().unwrap_or_default().to_owned())
}

/// The stderr of a command.
fn stderr_of(workspace: &Workspace, arguments: &[&str]) -> String {
    String::from_utf8_lossy(&workspace.run(arguments).stderr).into_owned()
}
