//! How `call`, `inspect` and `list` show arguments, and the errors for wrong ones.

use moongate_generated::Plugin;
use moongate_tests::Workspace;
use serde_json::{Value, json};

fn output_text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The JSON document that a command printed, and its exit code.
fn document(workspace: &Workspace, words: &[&str]) -> (Value, Option<i32>) {
    let output = workspace.run(&[words, &["--format", "json"]].concat());
    let document = serde_json::from_slice(&output.stdout);
    (document.unwrap_or_else(|error| panic!("{error}: {output:?}")), output.status.code())
}

#[test]
fn inspect_shows_arguments_as_call_takes_them() {
    let workspace = Workspace::with_plugin("time");
    let page = output_text(&workspace.run(&["inspect", "time"]).stdout);
    let printed = output_text(&workspace.run(&["call", "time_convert_time"]).stderr);
    let lines: Vec<&str> = printed.lines().filter(|line| line.starts_with("  ")).collect();
    assert_eq!(lines.len(), 3, "{printed}");
    for line in lines {
        assert!(page.contains(&format!("\n  {line}\n")), "`{line}` is missing in: {page}");
    }
    let everything = Workspace::with_plugin("everything");
    let page = output_text(&everything.run(&["inspect", "everything"]).stdout);
    assert!(page.contains("\n    arg1: text (required); "), "a prompt's argument is missing in: {page}");
}

#[test]
fn inspect_shows_allowed_values_of_optional_settings() {
    let schema = json!({ "type": "object", "properties": { "mode": {
        "anyOf": [{ "type": "string", "enum": ["fast", "exact"] }, { "type": "null" }],
        "description": "x".repeat(2000),
    } } });
    let workspace = Workspace::new("");
    workspace.write("p.wasm", Plugin::version(1).settings(schema.to_string()).build());
    let page = output_text(&workspace.run(&["inspect", "./p.wasm"]).stdout);
    let line = format!("\n  mode: one of `fast`, `exact`; {}…\n", "x".repeat(160));
    assert!(page.contains(&line), "{page}");
}

#[test]
fn list_json_includes_prompt_and_template_arguments() {
    let workspace = Workspace::with_plugin("everything");
    let (document, _) = document(&workspace, &["list"]);
    let [prompts, templates] = ["prompts", "templates"].map(|kind| document[kind].as_array().unwrap());
    let arguments = prompts.iter().flat_map(|prompt| prompt["arguments"].as_array().unwrap());
    let arguments: Vec<&Value> = arguments.collect();
    assert!(
        arguments.iter().any(|it| it["required"] == true && it["description"].is_string()),
        "{prompts:?}"
    );
    assert!(
        templates.iter().all(|it| it["uriTemplate"].is_string() && it["name"].is_string()),
        "{templates:?}"
    );
}

#[test]
fn suggested_call_changes_only_the_arguments() {
    let workspace = Workspace::with_plugin("time");
    // The answer, the option and the tool's name look like stray words or like pairs.
    let typed = ["call", "time_convert_time", "tim=12:00", "source_timezone=UTC", "colour=tim=1"];
    let more = ["--answer", "tim=x", "--answer", "colour=y", "--explain"];
    let output = workspace.run(&[&typed[..], &more].concat());
    let printed = output_text(&output.stderr);
    assert!(
        printed.contains("needs `time` and `target_timezone`, and doesn't take `tim` and `colour`\n"),
        "{printed}"
    );
    let hint = printed.lines().find_map(|line| line.strip_prefix("hint: for example: ")).unwrap();
    let (_, words) = hint.split_once(' ').unwrap();
    assert_eq!(
        words,
        "call time_convert_time time=12:00 source_timezone=UTC target_timezone=text --answer tim=x \
         --answer colour=y --explain"
    );
    let config = workspace.config().display().to_string();
    let output =
        workspace.run(&["-c", &config, "call", "--json", "{}", "time_get_current_time", "--no-answers"]);
    let printed = output_text(&output.stderr);
    let words = format!(
        "call --config {config} time_get_current_time --json '{{\"timezone\":\"text\"}}' --no-answers\n"
    );
    assert!(printed.ends_with(&words), "{printed}");
}

#[test]
fn json_output_explains_failed_calls() {
    let workspace = Workspace::new("[plugins.zoo]\nsource = \"@zoo@\"\n");
    let call = ["call", "zoo_ask_name", "--answer", "name=Ada", "--explain"];
    let (failed, code) = document(&workspace, &call);
    assert_eq!(code, Some(5), "{failed:#}");
    assert!(failed["errors"][0]["message"].is_string(), "{failed:#}");
    assert_eq!(failed["grants"]["lacked"][0]["cure"], "client = [\"elicitation\"]", "{failed:#}");
    let output = workspace.run(&[&call[..], &["--format", "json"]].concat());
    assert!(!output_text(&output.stderr).contains("missing\n"), "reported twice: {output:?}");
}

#[test]
fn json_output_reports_usage_errors() {
    let workspace = Workspace::with_plugin("time");
    for (words, message) in [
        (&["list", "tols"][..], "invalid value 'tols'"),
        (&["inspect"], "not provided: <FILE|NAME>"),
        (&["call", "time_get_current_time", "--timezone", "UTC"], "unexpected argument '--timezone'"),
        (&["call", "x", "--json", "{}", "--url", "gate"], "invalid value 'gate'"),
    ] {
        let (failed, code) = document(&workspace, words);
        let error = &failed["errors"][0];
        assert_eq!(code, Some(2), "{failed:#}");
        assert!(error["message"].as_str().unwrap().contains(message), "{failed:#}");
        assert!(!error["hint"].as_str().unwrap().is_empty(), "{failed:#}");
    }
    assert!(workspace.run(&["list", "tols"]).stdout.is_empty());
    let help = workspace.run(&["list", "--format", "json", "--help"]);
    assert!(output_text(&help.stdout).starts_with("List tools"), "{help:?}");
}

#[test]
fn json_output_reports_invalid_log_filter() {
    let workspace = Workspace::with_plugin("time");
    let mut command = workspace.command(&["list", "--format=json"]);
    let output = command.env("MOONGATE_LOG", "a=b=c").output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let failed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(failed["errors"][0]["message"].as_str().unwrap().contains("MOONGATE_LOG"), "{failed:#}");
}
