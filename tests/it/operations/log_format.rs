//! `--log-format json`: every line on stderr is a JSON object with the same members, whatever wrote it.

use std::fs;
use std::process::Command;

use moongate_tests::{Http, Stdio, Workspace, component};
use serde_json::{Value, json};

/// A plugin with an unknown setting, which is a warning, and one that can't be loaded.
fn fixture() -> Workspace {
    let workspace = Workspace::new(
        "[plugins.zoo]\nsource = \"@zoo@\"\n[plugins.time]\nsource = \"@time@\"\nconfig.zone = \"UTC\"\n\
         [plugins.torn]\nsource = \"torn.wasm\"\n",
    );
    workspace.write("torn.wasm", b"\0asm");
    workspace
}

/// Parses every line.
#[track_caller]
fn objects(stderr: &str) -> Vec<Value> {
    let parse = |line: &str| -> Value {
        let object: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        for member in ["timestamp", "level", "message", "target"] {
            assert!(object[member].is_string(), "no `{member}`: {line}");
        }
        object
    };
    stderr.lines().map(parse).collect()
}

/// True for a duration in the form of `Debug`, such as `1.2ms`.
fn is_duration_text(text: &str) -> bool {
    let unit = ["ns", "µs", "ms", "s"].into_iter().find_map(|unit| text.strip_suffix(unit));
    unit.is_some_and(|number| number.parse::<f64>().is_ok())
}

#[test]
fn serve_logs_only_json_lines() {
    let workspace = fixture();
    let command = workspace.command(&["serve", "--stdio", "--log-format", "json", "-vv"]);
    let mut stdio = Stdio::spawn_initialized(command, "2025-11-25");
    stdio.call("time_get_current_time", json!({ "timezone": "UTC" }));
    stdio.call("zoo_panic", json!({}));
    let (_, status, log) = stdio.finish();
    assert!(status.success(), "{log}");
    let lines = objects(&log);
    let found = |member: &str, value: Value| lines.iter().filter(|line| line[member] == value).count();
    // The banner, a diagnostic with its location, a plugin's line and a log line.
    let banner = lines.iter().find(|line| !line["config"].is_null()).unwrap_or_else(|| panic!("{log}"));
    assert_eq!(banner["config"], workspace.config().to_str().unwrap());
    assert_eq!((&banner["level"], &banner["stdio"]), (&json!("INFO"), &json!(true)), "{banner}");
    let torn = lines.iter().find(|line| line["target"] == "moongate::cli" && line["level"] == "ERROR");
    let torn = torn.unwrap_or_else(|| panic!("{log}"));
    assert!(torn["message"].as_str().unwrap().contains("torn") && torn["line"].is_u64(), "{torn}");
    assert!(found("target", json!("plugin")) > 0 && found("message", json!("stopped")) == 1, "{log}");

    // Durations have one form.
    let mut durations = 0;
    for (name, value) in lines.iter().filter_map(Value::as_object).flatten() {
        if name.ends_with("_ms") {
            let micros = value.as_f64().unwrap_or_else(|| panic!("{name}: {value}")) * 1000.0;
            assert!(
                value.to_string().len() < 15 && (micros - micros.round()).abs() < 1e-3,
                "{name}: {value}"
            );
            durations += 1;
        }
        assert!(!value.as_str().is_some_and(is_duration_text), "{name}: {value}");
    }
    assert!(durations > 2, "{log}");
}

#[test]
fn problems_of_a_reload_have_the_members_of_those_of_a_start() {
    let workspace = Workspace::new("[plugins.time]\nsource = \"time.wasm\"\n");
    workspace.write("time.wasm", fs::read(component("time")).unwrap());
    let http = Http::spawn(workspace.command(&["serve", "--http", "127.0.0.1:0", "--log-format", "json"]));
    let lines = || objects(&http.log());
    let line_with = |text: &str| {
        http.wait_for_log(text);
        let has = |line: &Value| line["message"].as_str().is_some_and(|message| message.contains(text));
        lines().into_iter().find(has).unwrap()
    };
    workspace.write("gateway.toml", "version = 1\n[plugins.time]\nsorce = \"time.wasm\"\n");
    let rejected = line_with("unknown key");
    assert_eq!(rejected["level"], "ERROR", "{rejected}");
    assert_eq!(rejected["file"], workspace.config().canonicalize().unwrap().to_str().unwrap(), "{rejected}");
    assert_eq!((&rejected["line"], &rejected["column"]), (&json!(3), &json!(1)), "{rejected}");
    assert_eq!(rejected["hint"], "did you mean `source`?", "{rejected}");
    workspace
        .write("gateway.toml", "version = 1\n[plugins.time]\nsource = \"time.wasm\"\ntools.allow = []\n");
    let warned = line_with("an empty `allow`");
    assert_eq!((&warned["level"], &warned["line"]), (&json!("WARN"), &json!(4)), "{warned}");
    assert!(warned["hint"].is_string(), "{warned}");
    workspace.write("time.wasm", b"\0asm");
    let failed = line_with("the earlier version keeps serving");
    assert_eq!((&failed["level"], &failed["plugin"]), (&json!("WARN"), &json!("time")), "{failed}");
    assert!(failed["hint"].is_string() && !failed["message"].to_string().contains("hint:"), "{failed}");
}

#[test]
fn an_invalid_variable_is_named_instead_of_its_option() {
    let workspace = Workspace::with_plugin("time");
    let run = |words: &[&str]| {
        let mut command = workspace.command(words);
        let output = command.env("MOONGATE_LOG_FORMAT", "xml").output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let named = run(&["check"]);
    assert!(named.contains("invalid value 'xml' for 'MOONGATE_LOG_FORMAT'"), "{named}");
    for words in [&["check", "--log-format", "yaml"][..], &["check", "--log-format=yaml"]] {
        let named = run(words);
        assert!(named.contains("invalid value 'yaml' for '--log-format <FORMAT>'"), "{named}");
    }
}

#[test]
fn every_command_writes_only_json_lines_to_stderr() {
    let workspace = fixture();
    let invalid = Workspace::new("[plugins.time]\nsorce = \"@time@\"\n");
    for (workspace, words, code) in [
        (&workspace, &["check"][..], 78),
        (&workspace, &["check", "--format", "json"], 78),
        (&workspace, &["list"], 0),
        (&workspace, &["call"], 2),
        (&workspace, &["call", "time_get_current_time", "timezone=UTC", "zone=x"], 0),
        (&workspace, &["call", "time_get_current_time", "--explain"], 5),
        (&workspace, &["call", "torn_tool"], 78),
        (&workspace, &["call", "x", "--answer", "x"], 2),
        (&workspace, &["call", "--plugin", "torn.wasm", "x"], 78),
        (&workspace, &["inspect", "time"], 0),
        (&workspace, &["inspect", "nobody"], 2),
        (&workspace, &["client", "cursor"], 0),
        (&workspace, &["new", "fresh", "--sdk", "https://git.example/m"], 0),
        (&workspace, &["health"], 4),
        (&workspace, &["reload", "--admin", "127.0.0.1:1"], 4),
        (&workspace, &["serve", "--admin", "0.0.0.0:0"], 78),
        (&workspace, &["sevre"], 2),
        (&workspace, &["client", "--format", "json"], 2),
        (&workspace, &[], 2),
        (&invalid, &["serve"], 78),
        (&invalid, &["check"], 78),
        (&invalid, &["call", "x"], 78),
    ] {
        let run = |mut command: Command| {
            let output = command.output().unwrap();
            assert_eq!(output.status.code(), Some(code), "{words:?}: {output:?}");
            let stderr = String::from_utf8(output.stderr).unwrap();
            let lines = objects(&stderr);
            let is_document = words == ["check", "--format", "json"];
            assert!(
                code == 0 || is_document || lines.iter().any(|line| line["level"] == "ERROR"),
                "{words:?}: {stderr}"
            );
        };
        if !words.is_empty() && words.first() != Some(&"new") {
            run(workspace.command(&[words, &["--log-format", "json"]].concat()));
        }
        let mut command = workspace.command(words);
        command.env("MOONGATE_LOG_FORMAT", "json");
        run(command);
    }
    let mut command = workspace.command(&["check", "--log-format=json"]);
    let output = command.env("MOONGATE_LOG", "a=b=c").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(objects(&stderr)[0]["message"].as_str().unwrap().contains("MOONGATE_LOG"), "{stderr}");
}
