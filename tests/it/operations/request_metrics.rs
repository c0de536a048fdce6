//! What an operator is told of each call: one line at the level `debug`, without what was said.

use moongate_tests::{Stdio, Workspace};
use serde_json::json;

#[test]
fn logs_one_line_per_call_without_arguments() {
    let workspace = Workspace::with_plugin("zoo");
    let mut stdio = Stdio::start_with(&workspace, &["-v"]);
    let hello = stdio.ask("initialize", moongate_tests::hello("2025-11-25"));
    assert!(hello["result"].is_object(), "{hello}");
    for (tool, arguments) in [
        ("zoo_echo", json!({ "text": "a secret" })),
        ("zoo_error_result", json!({})),
        ("zoo_unreachable_trap", json!({})),
        ("zoo_nobody_has_this", json!({})),
    ] {
        let _ = stdio.call(tool, arguments);
    }
    let (_, _, log) = stdio.finish();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("plugin call ended")).collect();
    let expected = [("zoo_echo", "ok"), ("zoo_error_result", "tool_error"), ("zoo_unreachable_trap", "trap")];
    assert_eq!(lines.len(), expected.len(), "{lines:?}");
    for (line, (tool, outcome)) in lines.iter().zip(expected) {
        for part in [
            "plugin=zoo",
            "kind=\"tool\"",
            &format!("tool=\"{tool}\""),
            &format!("outcome=\"{outcome}\""),
            "duration_ms=",
        ] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
    assert!(!log.contains("a secret"), "{log}");
}
