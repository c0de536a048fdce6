//! Plugins in JavaScript and Python, built with their languages' tools, behave like plugins in Rust.

use std::fmt::Write as _;
use std::sync::LazyLock;

use moongate_tests::{Stdio, Workspace, text};
use serde_json::{Value, json};

const BOTH: &str = "[plugins.statistics]\nsource = \"@statistics@\"\n[plugins.text]\nsource = \"@text@\"\n";

/// Compiles both plugins once into the cache of all tests: compiling an interpreter is slow, and much slower if several
/// gateways do it concurrently.
static COMPILED: LazyLock<()> = LazyLock::new(|| {
    let output = Workspace::new(BOTH).run(&["check"]);
    assert!(output.status.success(), "{output:?}");
});

fn workspace(gateway: &str) -> Workspace {
    LazyLock::force(&COMPILED);
    Workspace::new(gateway)
}

/// Both plugins, one of them with these limits.
fn limited(name: &str, limits: &str) -> Workspace {
    workspace(&format!("{BOTH}[plugins.{name}.limits]\n{limits}\n"))
}

fn greeted(workspace: &Workspace) -> Stdio {
    Stdio::initialized(workspace, "2025-11-25")
}

/// Asserts that both plugins still work.
#[track_caller]
fn assert_both_work(stdio: &mut Stdio) {
    let answer = stdio.call("text_change_case", json!({ "text": "all is well", "style": "camel" }));
    assert_eq!(text(&answer), "allIsWell");
    let answer = stdio.call("statistics_describe", json!({ "numbers": [1, 2, 6] }));
    assert_eq!(answer["result"]["structuredContent"]["mean"], 3.0, "{answer}");
}

/// The maximum number of values, large and small: Python's exact fractions take seconds for these.
fn many_numbers() -> Vec<f64> {
    (0..100_000).map(|number| f64::from(number) * 10_f64.powi(number * 37 % 271 - 140)).collect()
}

#[track_caller]
fn assert_tool_error(answer: &Value, expected: &str) {
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(text(answer).contains(expected), "`{expected}` isn't in: {answer}");
}

#[test]
fn lists_tools_prompts_and_resources() {
    let workspace = workspace(BOTH);
    let mut stdio = greeted(&workspace);
    let list = stdio.request_and_wait("tools/list", json!({}));
    let tools = list["result"]["tools"].as_array().unwrap();
    let mut listed = String::new();
    for tool in tools {
        let required = &tool["inputSchema"]["required"];
        let structured = if tool["outputSchema"].is_object() { " structured" } else { "" };
        writeln!(listed, "{} {required}{structured}", tool["name"].as_str().unwrap()).unwrap();
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
    }
    assert_eq!(
        listed,
        "statistics_describe [\"numbers\"] structured\n\
         statistics_quantiles [\"numbers\",\"parts\"] structured\n\
         statistics_regression [\"x\",\"y\"] structured\n\
         text_change_case [\"text\",\"style\"]\n\
         text_slug [\"text\"]\n\
         text_count [\"text\"] structured\n"
    );
    let prompts = stdio.request_and_wait("prompts/list", json!({}));
    assert_eq!(prompts["result"]["prompts"][0]["name"], "text_shorten", "{prompts}");
    assert_eq!(prompts["result"]["prompts"][0]["arguments"][0]["required"], true, "{prompts}");
    let resources = stdio.request_and_wait("resources/list", json!({}));
    assert_eq!(resources["result"]["resources"][0]["uri"], "statistics://formulas", "{resources}");
}

#[test]
fn returns_text_and_structured_results() {
    let workspace = workspace(BOTH);
    let mut stdio = greeted(&workspace);
    assert_both_work(&mut stdio);
    let counted = stdio.call("text_count", json!({ "text": "Größe 👋" }));
    let structured = &counted["result"]["structuredContent"];
    assert_eq!((&structured["characters"], &structured["bytes"]), (&json!(7), &json!(12)), "{counted}");
    let line = stdio.call("statistics_regression", json!({ "x": [1, 2, 3], "y": [3, 5, 7] }));
    let expected = json!({ "slope": 2.0, "intercept": 1.0, "correlation": 1.0 });
    assert_eq!(line["result"]["structuredContent"], expected, "{line}");
}

#[test]
fn serves_prompts_and_resources() {
    let workspace = workspace(BOTH);
    let mut stdio = greeted(&workspace);
    let arguments = json!({ "text": "one two three", "words": "1" });
    let got =
        stdio.request_and_wait("prompts/get", json!({ "name": "text_shorten", "arguments": arguments }));
    let message = got["result"]["messages"][0]["content"]["text"].as_str().unwrap_or_default();
    assert!(
        message.contains("has 3 words, to at most 1 words") && message.ends_with("one two three"),
        "{got}"
    );
    let arguments = json!({ "text": "one", "words": "none" });
    let refused =
        stdio.request_and_wait("prompts/get", json!({ "name": "text_shorten", "arguments": arguments }));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert_eq!(refused["error"]["data"]["at"], "/words", "{refused}");
    let read = stdio.request_and_wait("resources/read", json!({ "uri": "statistics://formulas" }));
    let contents = &read["result"]["contents"][0];
    assert_eq!(contents["mimeType"], "text/markdown", "{read}");
    assert!(contents["text"].as_str().unwrap_or_default().contains("`standard_deviation`"), "{read}");
}

#[test]
fn interpreters_never_get_invalid_arguments() {
    let workspace = workspace(BOTH);
    let mut stdio = greeted(&workspace);
    for (tool, arguments, word) in [
        ("statistics_describe", json!({ "numbers": ["1"] }), "/numbers/0"),
        ("statistics_describe", json!({}), "`numbers` is missing"),
        ("statistics_quantiles", json!({ "numbers": [1, 2], "parts": 1 }), "`parts`"),
        ("text_change_case", json!({ "text": "a", "style": "loud" }), "`style`"),
        ("text_slug", json!({ "text": 1 }), "`text`"),
        ("text_slug", json!({ "text": "a", "longest": 1 }), "`longest`"),
    ] {
        let answer = stdio.call(tool, arguments);
        assert!(text(&answer).contains(word), "`{word}` isn't in: {answer}");
        assert_eq!(answer["result"]["isError"], true, "{answer}");
    }
    assert_both_work(&mut stdio);
}

#[test]
fn returns_the_plugins_own_errors() {
    let workspace = workspace(BOTH);
    let mut stdio = greeted(&workspace);
    let answer = stdio.call("text_slug", json!({ "text": "東京" }));
    assert_tool_error(&answer, "`text` contains no letters or digits with an ASCII form");
    let answer = stdio.call("statistics_regression", json!({ "x": [1, 2], "y": [1] }));
    assert_tool_error(&answer, "`x` has 2 numbers and `y` has 1; they must have the same length");
}

#[test]
fn sends_log_lines_to_the_client_and_the_log() {
    let workspace = workspace(BOTH);
    let mut stdio = greeted(&workspace);
    let _ = stdio.request_and_wait("logging/setLevel", json!({ "level": "info" }));
    let _ = stdio.call("text_slug", json!({ "text": "Tokyo 東京" }));
    let _ = stdio.call("statistics_describe", json!({ "numbers": [1, 2, 3, 4, 100] }));
    let received = stdio.take_queued();
    let logged = |level: &str, word: &str| {
        received.iter().any(|message| {
            message["method"] == "notifications/message"
                && message["params"]["level"] == level
                && message["params"]["data"].to_string().contains(word)
        })
    };
    assert!(logged("warning", "東") && logged("info", "100.0"), "{received:?}");
    let (_, _, log) = stdio.finish();
    for words in [["without an ASCII form", "plugin=text"], ["outliers found", "plugin=statistics"]] {
        assert!(log.lines().any(|line| words.iter().all(|word| line.contains(word))), "{words:?}: {log}");
    }
}

#[test]
fn interpreters_load_without_grants_and_with_default_limits() {
    let output = workspace(BOTH).run(&["check"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("2 plugins, 6 tools"), "{output:?}");
}

#[test]
fn names_the_limit_that_is_too_small_for_an_interpreter() {
    for (limit, value) in [("memory", "4MiB"), ("component", "4MiB")] {
        let output = limited("statistics", &format!("{limit} = \"{value}\"")).run(&["check"]);
        assert_eq!(output.status.code(), Some(78), "{output:?}");
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(stderr.contains("plugin `statistics`") && stderr.contains("4.0 MiB"), "{stderr}");
        assert!(stderr.contains(&format!("raise `limits.{limit}`")), "{stderr}");
    }
}

#[test]
fn javascript_out_of_memory_ends_one_call() {
    let workspace = limited("text", "memory = \"8MiB\"");
    let mut stdio = greeted(&workspace);
    assert_both_work(&mut stdio);
    for _ in 0..3 {
        let answer = stdio.call("text_count", json!({ "text": "word ".repeat(600_000) }));
        assert_tool_error(&answer, "plugins.text.limits.memory");
        assert_both_work(&mut stdio);
    }
}

#[test]
fn python_out_of_memory_ends_one_call() {
    let workspace = limited("statistics", "memory = \"18MiB\"");
    let mut stdio = greeted(&workspace);
    assert_both_work(&mut stdio);
    let points = json!({ "x": many_numbers(), "y": many_numbers() });
    assert_tool_error(&stdio.call("statistics_regression", points), "plugins.statistics.limits.memory");
    assert_both_work(&mut stdio);
}

#[test]
fn cpu_time_interrupts_python() {
    let workspace = limited("statistics", "cpu_time = \"150ms\"");
    let mut stdio = greeted(&workspace);
    assert_both_work(&mut stdio);
    let numbers = json!({ "numbers": many_numbers() });
    assert_tool_error(&stdio.call("statistics_describe", numbers), "plugins.statistics.limits.cpu_time");
    assert_both_work(&mut stdio);
}

#[test]
fn timeout_interrupts_python() {
    let workspace = limited("statistics", "timeout = \"150ms\"");
    let mut stdio = greeted(&workspace);
    let numbers = json!({ "numbers": many_numbers() });
    assert_tool_error(&stdio.call("statistics_describe", numbers), "plugins.statistics.limits.timeout");
    // On a busy machine, even a short call may exceed the timeout.
    while stdio.call("statistics_describe", json!({ "numbers": [1] }))["result"]["isError"] == true {}
}

#[test]
fn reused_instances_answer_like_new_ones() {
    let reused = BOTH.replace("@\"\n", "@\"\ninstances = \"reused\"\n");
    let fresh = workspace(BOTH);
    let reused = workspace(&reused);
    let mut fresh = greeted(&fresh);
    let mut reused = greeted(&reused);
    for round in 1..30 {
        for (tool, arguments) in [
            ("text_change_case", json!({ "text": format!("round {round}"), "style": "snake" })),
            ("text_slug", json!({ "text": "東京" })),
            ("statistics_describe", json!({ "numbers": [round, 2, 3, 400] })),
            ("statistics_regression", json!({ "x": [round], "y": [1, 2] })),
        ] {
            let answer = reused.call(tool, arguments.clone());
            assert_eq!(answer["result"], fresh.call(tool, arguments)["result"], "{tool}, round {round}");
        }
    }
}

#[test]
fn explain_reports_no_directories_without_file_access() {
    let workspace = workspace(BOTH);
    for (tool, arguments) in
        [("text_slug", json!({ "text": "/data/x" })), ("statistics_describe", json!({ "numbers": [1] }))]
    {
        let output = workspace.run(&["call", tool, "--json", &arguments.to_string(), "--explain"]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && message.ends_with("used no grants\n"), "{tool}: {message}");
    }
}

#[test]
fn suggests_the_nearest_option_for_an_invalid_value() {
    let workspace = workspace(BOTH);
    let answer = greeted(&workspace).call("text_change_case", json!({ "text": "a b", "style": "snaek" }));
    let message = text(&answer);
    let options = "`style` must be one of \"camel\", \"pascal\", \"snake\"";
    assert!(message.contains(options) && message.ends_with("(did you mean \"snake\"?)"), "{message}");
}
