//! A name, a URI or an argument that nobody has leads to the one that was meant.

use super::*;

#[test]
fn a_tool_under_another_name_leads_to_its_own_for_clients_and_for_call() {
    let workspace = Workspace::with_plugin("zoo");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for asked in ["echo", "zoo.echo", "zoo-echo", "zoo/echo", "mcp__moongate__zoo_echo", "Zoo_Echoo"] {
        let message = format!("unknown tool: `{asked}`; did you mean `zoo_echo`?");
        let answer =
            stdio.request_and_wait("tools/call", json!({ "name": asked, "arguments": { "text": "x" } }));
        assert_eq!(refused(&answer), (-32602, message.clone()));
        let told = said(&workspace, &["call", asked, "text=x"]);
        assert!(told.contains(&message), "{told}");
    }
    let answer = stdio.request_and_wait("tools/call", json!({ "name": "weather" }));
    assert_eq!(refused(&answer), (-32602, "unknown tool: `weather`".to_owned()));
}

#[test]
fn a_prompt_or_resource_under_another_name_leads_to_its_own() {
    let workspace = Workspace::with_plugin("zoo");
    for (revision, code) in [("2025-11-25", -32002), ("2025-06-18", -32002)] {
        let mut stdio = Stdio::initialized(&workspace, revision);
        let answer =
            stdio.request_and_wait("prompts/get", json!({ "name": "repeat", "arguments": { "text": "x" } }));
        assert_eq!(
            refused(&answer),
            (-32602, "unknown prompt: `repeat`; did you mean `zoo_repeat`?".to_owned())
        );
        for asked in ["zoo://txt", "text"] {
            let answer = stdio.request_and_wait("resources/read", json!({ "uri": asked }));
            let message = format!("resource not found: `{asked}`; did you mean `zoo://text`?");
            assert_eq!(refused(&answer), (code, message));
            assert_eq!(answer["error"]["data"]["uri"], asked, "{answer}");
        }
    }
}

#[test]
fn a_resource_that_a_plugin_does_not_find_is_told_in_its_words() {
    let workspace = Workspace::with_plugin("zoo");
    for (revision, code) in [("2025-11-25", -32002), ("2025-06-18", -32002)] {
        let mut stdio = Stdio::initialized(&workspace, revision);
        for (asked, told) in [
            ("zoo://bytes/many", "(plugin `zoo`: `count`: invalid digit found in string)"),
            ("zoo://nope", ""),
        ] {
            let (number, message) =
                refused(&stdio.request_and_wait("resources/read", json!({ "uri": asked })));
            assert_eq!(number, code, "{message}");
            assert!(message.starts_with(&format!("resource not found: `{asked}`")), "{message}");
            assert!(message.ends_with(told), "{message}");
            assert_eq!(message.matches(asked).count(), 1, "{message}");
            assert_eq!(message.contains("plugin"), !told.is_empty(), "{message}");
        }
    }
}

#[test]
fn a_wrong_argument_of_a_prompt_is_named_with_the_prompt() {
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
        assert_eq!(refused(&answer), (-32602, format!("invalid arguments: {message}")));
        assert_eq!(answer["error"]["data"]["at"], at, "{answer}");
    }
    // What it doesn't declare goes to the plugin, which may know it.
    let arguments = json!({ "text": "x", "loud": "yes" });
    let answer =
        stdio.request_and_wait("prompts/get", json!({ "name": "zoo_repeat", "arguments": arguments }));
    assert!(answer["result"]["messages"].is_array(), "{answer}");
}

#[test]
fn a_wrong_argument_of_a_tool_is_named_with_what_is_wanted() {
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
        let heard = text(&answer);
        assert!(heard.starts_with("invalid arguments: ") && heard.contains(message), "{heard}");
        // Whoever types it is shown what the tool takes, and with which words it would be called.
        let told = said(&workspace, &["call", tool, "--json", &arguments.to_string()]);
        let typed = match message {
            "`text` is missing" => "`zoo_echo` needs `text`\n",
            "`txt` is unknown (did you mean `text`?)" => "call zoo_echo --json '{\"text\":\"x\"}'",
            same => same,
        };
        assert!(told.contains(typed), "{told}");
    }
}
