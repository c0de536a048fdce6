//! Plugins in JavaScript and Python, built by their languages' own tools: everything holds for them that holds for
//! those in Rust.

use std::fmt::Write as _;
use std::sync::LazyLock;

use moongate_tests::{Stdio, Workspace, text};
use serde_json::{Value, json};

const BOTH: &str = "[plugins.statistics]\nsource = \"@statistics@\"\n[plugins.text]\nsource = \"@text@\"\n";

/// Both compiled once and kept in the cache of all tests: compiling an interpreter takes long, and much longer where
/// several gateways do it at the same time.
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

/// Neither plugin is the worse for what happened before.
#[track_caller]
fn both_answer(stdio: &mut Stdio) {
    let answer = stdio.call("text_change_case", json!({ "text": "all is well", "style": "camel" }));
    assert_eq!(text(&answer), "allIsWell");
    let answer = stdio.call("statistics_describe", json!({ "numbers": [1, 2, 6] }));
    assert_eq!(answer["result"]["structuredContent"]["mean"], 3.0, "{answer}");
}

/// As many numbers as are taken, large and small ones: exact fractions of them have Python calculate for seconds.
fn many_numbers() -> Vec<f64> {
    (0..100_000).map(|number| f64::from(number) * 10_f64.powi(number * 37 % 271 - 140)).collect()
}

#[track_caller]
fn ended(answer: &Value, by: &str) {
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(text(answer).contains(by), "`{by}` isn't in: {answer}");
}

#[test]
fn what_they_offer_is_listed() {
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
fn they_answer_calls_with_text_and_with_structure() {
    let workspace = workspace(BOTH);
    let mut stdio = greeted(&workspace);
    both_answer(&mut stdio);
    let counted = stdio.call("text_count", json!({ "text": "Größe 👋" }));
    let structured = &counted["result"]["structuredContent"];
    assert_eq!((&structured["characters"], &structured["bytes"]), (&json!(7), &json!(12)), "{counted}");
    let line = stdio.call("statistics_regression", json!({ "x": [1, 2, 3], "y": [3, 5, 7] }));
    let expected = json!({ "slope": 2.0, "intercept": 1.0, "correlation": 1.0 });
    assert_eq!(line["result"]["structuredContent"], expected, "{line}");
}

#[test]
fn prompts_and_resources_of_theirs_can_be_had() {
    let workspace = workspace(BOTH);
    let mut stdio = greeted(&workspace);
    let arguments = json!({ "text": "one two three", "words": "1" });
    let got =
        stdio.request_and_wait("prompts/get", json!({ "name": "text_shorten", "arguments": arguments }));
    let said = got["result"]["messages"][0]["content"]["text"].as_str().unwrap_or_default();
    assert!(said.contains("has 3 words, to at most 1 words") && said.ends_with("one two three"), "{got}");
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
fn arguments_that_do_not_fit_never_reach_them() {
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
    both_answer(&mut stdio);
}

#[test]
fn what_they_can_not_do_is_an_answer_that_says_why() {
    let workspace = workspace(BOTH);
    let mut stdio = greeted(&workspace);
    let answer = stdio.call("text_slug", json!({ "text": "東京" }));
    ended(&answer, "nothing in `text` can be written in letters of ASCII or digits");
    let answer = stdio.call("statistics_regression", json!({ "x": [1, 2], "y": [1] }));
    ended(&answer, "`x` has 2 numbers and `y` has 1; each point needs one of both");
}

#[test]
fn what_they_log_reaches_the_client_and_the_log() {
    let workspace = workspace(BOTH);
    let mut stdio = greeted(&workspace);
    let _ = stdio.request_and_wait("logging/setLevel", json!({ "level": "info" }));
    let _ = stdio.call("text_slug", json!({ "text": "Tokyo 東京" }));
    let _ = stdio.call("statistics_describe", json!({ "numbers": [1, 2, 3, 4, 100] }));
    let heard = stdio.take_queued();
    let told = |level: &str, word: &str| {
        heard.iter().any(|message| {
            message["method"] == "notifications/message"
                && message["params"]["level"] == level
                && message["params"]["data"].to_string().contains(word)
        })
    };
    assert!(told("warning", "東") && told("info", "100.0"), "{heard:?}");
    let (_, _, log) = stdio.finish();
    for words in [["without a form in ASCII", "plugin=text"], ["far outside", "plugin=statistics"]] {
        assert!(log.lines().any(|line| words.iter().all(|word| line.contains(word))), "{words:?}: {log}");
    }
}

#[test]
fn they_need_no_grant_and_no_limit_raised() {
    let output = workspace(BOTH).run(&["check"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("2 plugins, 6 tools"), "{output:?}");
}

#[test]
fn a_limit_that_an_interpreter_does_not_fit_in_is_named() {
    for (limit, value) in [("memory", "4MiB"), ("component", "4MiB")] {
        let output = limited("statistics", &format!("{limit} = \"{value}\"")).run(&["check"]);
        assert_eq!(output.status.code(), Some(78), "{output:?}");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains("plugin `statistics`") && told.contains("4.0 MiB"), "{told}");
        assert!(told.contains(&format!("raise `limits.{limit}`")), "{told}");
    }
}

#[test]
fn javascript_out_of_memory_ends_one_call() {
    let workspace = limited("text", "memory = \"8MiB\"");
    let mut stdio = greeted(&workspace);
    both_answer(&mut stdio);
    for _ in 0..3 {
        let answer = stdio.call("text_count", json!({ "text": "word ".repeat(600_000) }));
        ended(&answer, "plugins.text.limits.memory");
        both_answer(&mut stdio);
    }
}

#[test]
fn python_out_of_memory_ends_one_call() {
    let workspace = limited("statistics", "memory = \"18MiB\"");
    let mut stdio = greeted(&workspace);
    both_answer(&mut stdio);
    let points = json!({ "x": many_numbers(), "y": many_numbers() });
    ended(&stdio.call("statistics_regression", points), "plugins.statistics.limits.memory");
    both_answer(&mut stdio);
}

#[test]
fn python_that_calculates_for_too_long_is_interrupted() {
    let workspace = limited("statistics", "cpu_time = \"150ms\"");
    let mut stdio = greeted(&workspace);
    both_answer(&mut stdio);
    let numbers = json!({ "numbers": many_numbers() });
    ended(&stdio.call("statistics_describe", numbers), "plugins.statistics.limits.cpu_time");
    both_answer(&mut stdio);
}

#[test]
fn the_clock_holds_for_python_too() {
    let workspace = limited("statistics", "timeout = \"150ms\"");
    let mut stdio = greeted(&workspace);
    let numbers = json!({ "numbers": many_numbers() });
    ended(&stdio.call("statistics_describe", numbers), "plugins.statistics.limits.timeout");
    // On a busy machine a short call may take as long.
    while stdio.call("statistics_describe", json!({ "numbers": [1] }))["result"]["isError"] == true {}
}

#[test]
fn instances_that_are_used_again_answer_as_new_ones_do() {
    let reused = BOTH.replace("@\"\n", "@\"\ninstances = \"reused\"\n");
    let (fresh, reused) = (workspace(BOTH), workspace(&reused));
    let (mut fresh, mut reused) = (greeted(&fresh), greeted(&reused));
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
fn what_looks_for_no_file_is_told_of_no_missing_directory() {
    let workspace = workspace(BOTH);
    for (tool, arguments) in
        [("text_slug", json!({ "text": "/data/x" })), ("statistics_describe", json!({ "numbers": [1] }))]
    {
        let output = workspace.run(&["call", tool, "--json", &arguments.to_string(), "--explain"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && said.ends_with("used no grants\n"), "{tool}: {said}");
    }
}

#[test]
fn a_word_that_is_none_of_the_options_leads_to_the_nearest() {
    let workspace = workspace(BOTH);
    let answer = greeted(&workspace).call("text_change_case", json!({ "text": "a b", "style": "snaek" }));
    let said = text(&answer);
    let options = "`style` must be one of \"camel\", \"pascal\", \"snake\"";
    assert!(said.contains(options) && said.ends_with("(did you mean \"snake\"?)"), "{said}");
}
