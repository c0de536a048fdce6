//! Suggestions for an unknown name, URI or argument.

use super::*;

#[test]
fn suggests_the_nearest_tool_name() {
    let workspace = Workspace::with_plugin("zoo");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for asked in ["echo", "zoo.echo", "zoo-echo", "zoo/echo", "mcp__moongate__zoo_echo", "Zoo_Echoo"] {
        let message = format!("unknown tool: `{asked}`; did you mean `zoo_echo`?");
        let answer =
            stdio.request_and_wait("tools/call", json!({ "name": asked, "arguments": { "text": "x" } }));
        assert_eq!(protocol_error(&answer), (-32602, message.clone()));
        let stderr = stderr_of(&workspace, &["call", asked, "text=x"]);
        assert!(stderr.contains(&message), "{stderr}");
    }
    let answer = stdio.request_and_wait("tools/call", json!({ "name": "weather" }));
    assert_eq!(protocol_error(&answer), (-32602, "unknown tool: `weather`".to_owned()));
}

#[test]
fn suggests_the_nearest_prompt_or_resource() {
    let workspace = Workspace::with_plugin("zoo");
    for (revision, code) in [("2025-11-25", -32002), ("2025-06-18", -32002)] {
        let mut stdio = Stdio::initialized(&workspace, revision);
        let answer =
            stdio.request_and_wait("prompts/get", json!({ "name": "repeat", "arguments": { "text": "x" } }));
        assert_eq!(
            protocol_error(&answer),
            (-32602, "unknown prompt: `repeat`; did you mean `zoo_repeat`?".to_owned())
        );
        for asked in ["zoo://txt", "text"] {
            let answer = stdio.request_and_wait("resources/read", json!({ "uri": asked }));
            let message = format!("resource not found: `{asked}`; did you mean `zoo://text`?");
            assert_eq!(protocol_error(&answer), (code, message));
            assert_eq!(answer["error"]["data"]["uri"], asked, "{answer}");
        }
    }
}

#[test]
fn reports_the_plugins_reason_for_a_missing_resource() {
    let workspace = Workspace::with_plugin("zoo");
    for (revision, code) in [("2025-11-25", -32002), ("2025-06-18", -32002)] {
        let mut stdio = Stdio::initialized(&workspace, revision);
        for (asked, reason) in [
            ("zoo://bytes/many", "(plugin `zoo`: `count`: invalid digit found in string)"),
            ("zoo://nope", ""),
        ] {
            let (number, message) =
                protocol_error(&stdio.request_and_wait("resources/read", json!({ "uri": asked })));
            assert_eq!(number, code, "{message}");
            assert!(message.starts_with(&format!("resource not found: `{asked}`")), "{message}");
            assert!(message.ends_with(reason), "{message}");
            assert_eq!(message.matches(asked).count(), 1, "{message}");
            assert_eq!(message.contains("plugin"), !reason.is_empty(), "{message}");
        }
    }
}

#[test]
fn names_the_invalid_argument_of_a_prompt() {
    let workspace = Workspace::with_plugin("zoo");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for (arguments, message, at) in [
        (json!({}), "prompt `zoo_repeat` requires the argument `text`", "/arguments/text"),
        (
            json!({ "txt": "x" }),
            "prompt `zoo_repeat` requires the argument `text` (did you mean `txt`?)",
            "/arguments/text",
        ),
        (json!({ "text": 3 }), "prompt `zoo_repeat`: `text` must be a string, not number", "/arguments/text"),
    ] {
        let answer =
            stdio.request_and_wait("prompts/get", json!({ "name": "zoo_repeat", "arguments": arguments }));
        assert_eq!(protocol_error(&answer), (-32602, format!("invalid arguments: {message}")));
        assert_eq!(answer["error"]["data"]["at"], at, "{answer}");
    }
    // Undeclared arguments are passed to the plugin, which may use them.
    let arguments = json!({ "text": "x", "loud": "yes" });
    let answer =
        stdio.request_and_wait("prompts/get", json!({ "name": "zoo_repeat", "arguments": arguments }));
    assert!(answer["result"]["messages"].is_array(), "{answer}");
}

#[test]
fn names_the_invalid_argument_of_a_tool() {
    let workspace = Workspace::with_plugin("zoo");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for (tool, arguments, message) in [
        ("zoo_echo", json!({}), "`text` is missing"),
        ("zoo_echo", json!({ "txt": "x" }), "`txt` is unknown (did you mean `text`?)"),
        ("zoo_echo", json!({ "text": 3 }), "`text` must be of type string, not number"),
        ("zoo_echo", json!({ "text": "x", "y": 1 }), "`y` is unknown; known members are `text`"),
        ("zoo_sleep", json!({ "milliseconds": -1 }), "`milliseconds` must be at least 0"),
        ("zoo_sleep", json!({ "milliseconds": "1" }), "`milliseconds` must be of type integer, not string"),
    ] {
        let answer = stdio.call(tool, arguments.clone());
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let message_text = text(&answer);
        assert!(
            message_text.starts_with("invalid arguments: ") && message_text.contains(message),
            "{message_text}"
        );
        // On the command line, the error shows the tool's arguments and an example call.
        let stderr = stderr_of(&workspace, &["call", tool, "--json", &arguments.to_string()]);
        let typed = match message {
            "`text` is missing" => "`zoo_echo` needs `text`\n",
            "`txt` is unknown (did you mean `text`?)" => "call zoo_echo --json '{\"text\":\"x\"}'",
            same => same,
        };
        assert!(stderr.contains(typed), "{stderr}");
    }
}
