//! Invalid input to the binary: one clear message, the right exit code, nothing on stdout and no listener.

use std::fs;
use std::net::TcpListener;
use std::process::Output;

use moongate_tests::{Stdio, Workspace, project_root};
use serde_json::json;

#[track_caller]
fn refused(output: &Output, code: i32, words: &[&str]) {
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{message}");
    assert!(output.stdout.is_empty(), "unexpected stdout: {}", String::from_utf8_lossy(&output.stdout));
    for word in words {
        assert!(message.contains(word), "`{word}` isn't in: {message}");
    }
    assert!(!message.contains("endpoint"), "the gateway started partially: {message}");
}

#[test]
fn an_invalid_configuration_starts_nothing() {
    for (config, words) in [
        ("[plugins.time]\nsorce = \"@time@\"\n", &["unknown key", "`source`", "gateway.toml:3:1"][..]),
        ("[plugins.time]\nsource = 5\n", &["gateway.toml:3:10"]),
        ("[plugins.time]\nsource = \"${NOT_SET}/time.wasm\"\n", &["NOT_SET", "gateway.toml:3:11"]),
        ("[plugins.time]\nsource = \"@time@\"\n[plugins.time]\nsource = \"@time@\"\n", &["gateway.toml:4"]),
        (
            "[plugins.time]\nsource = \"@time@\"\n[http]\nlisten = \"0.0.0.0:0\"\n",
            &["[http.auth]", "0.0.0.0"],
        ),
        ("[plugins\n", &["gateway.toml:2"]),
    ] {
        let workspace = Workspace::new(config);
        refused(&workspace.run(&["serve"]), 78, words);
        refused(&workspace.run(&["serve", "--stdio"]), 78, words);
        refused(&workspace.run(&["check"]), 78, words);
    }
}

#[test]
fn a_missing_component_fails_check_but_not_other_plugins() {
    for (source, what) in [("nowhere.wasm", "doesn't exist"), (".", "is a directory")] {
        let gone = format!("[plugins.gone]\nsource = \"{source}\"\n");
        let workspace = Workspace::new(&(gone + "[plugins.time]\nsource = \"@time@\"\n"));
        refused(&workspace.run(&["check"]), 78, &[source, what, "gateway.toml:3:10", "hint: "]);
        let (_, status, log) = Stdio::initialized(&workspace, "2025-11-25").finish();
        assert!(status.success() && log.contains(what), "{log}");
    }
}

#[test]
fn check_reports_all_problems_of_a_file() {
    let workspace = Workspace::new(
        "colour = true\n[plugins.a]\nsource = \"a.wasm\"\n[plugins.b]\nsource = 1\n[plugins.\"c d\"]\nsource = \"@time@\"\n",
    );
    let output = workspace.run(&["check"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    for word in ["colour", "a.wasm", "gateway.toml:6:10", "c d", "4 errors"] {
        assert!(message.contains(word), "`{word}` isn't in: {message}");
    }
}

#[test]
fn names_the_path_of_a_missing_configuration() {
    let workspace = Workspace::with_plugin("time");
    let missing = workspace.path().join("elsewhere.toml").display().to_string();
    refused(&workspace.run(&["serve", "-c", &missing]), 78, &["elsewhere.toml"]);
    let output =
        workspace.command(&["check"]).env_remove("MOONGATE_CONFIG").current_dir("/").output().unwrap();
    refused(&output, 78, &["gateway.toml"]);
}

#[test]
fn reports_a_port_in_use_before_loading_plugins() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let workspace =
        Workspace::new(&format!("[plugins.time]\nsource = \"@time@\"\n[http]\nlisten = \"{address}\"\n"));
    let output = workspace.run(&["serve"]);
    refused(&output, 1, &[&address, "the port is in use", "hint"]);
}

#[test]
fn the_first_list_is_complete_with_an_empty_cache() {
    let workspace = Workspace::with_plugin("time");
    let cache = workspace.path().join("empty-cache");
    let mut stdio = Stdio::start_with_cache(&workspace, &cache);
    let _ = stdio.request_and_wait("initialize", moongate_tests::initialize_params("2025-11-25"));
    let list = stdio.request_and_wait("tools/list", json!({}));
    assert_eq!(list["result"]["tools"].as_array().map(Vec::len), Some(2), "{list}");
}

#[test]
fn an_empty_configuration_serves_empty_lists() {
    let workspace = Workspace::new("");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for (method, key) in [
        ("tools/list", "tools"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
        ("prompts/list", "prompts"),
    ] {
        assert_eq!(stdio.request_and_wait(method, json!({}))["result"][key], json!([]), "{method}");
    }
}

/// `UPDATE_GOLDENS=1` rewrites the expected help.
#[test]
fn help_of_every_command_matches_the_golden_file() {
    let workspace = Workspace::new("");
    let help = String::from_utf8(workspace.run(&["--help"]).stdout).unwrap();
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty()).filter_map(|line| line.strip_prefix("  "));
    // Continuation lines are indented further.
    let verbs = commands.filter(|line| !line.starts_with(' ')).filter_map(|line| line.split(' ').next());
    let verbs = verbs.filter(|verb| *verb != "help");
    let verbs: Vec<&str> = [""].into_iter().chain(verbs).collect();
    assert!(verbs.len() > 8, "{help}");
    for verb in verbs {
        let arguments: Vec<&str> = [verb, "--help"].into_iter().filter(|word| !word.is_empty()).collect();
        let output = workspace.command(&arguments).env("COLUMNS", "100").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let stdout = String::from_utf8(output.stdout).unwrap();
        let golden = project_root()
            .join("tests/ui/help")
            .join(format!("{}.txt", if verb.is_empty() { "moongate" } else { verb }));
        if moongate_tests::should_update_goldens() {
            fs::create_dir_all(golden.parent().unwrap()).unwrap();
            fs::write(&golden, &stdout).unwrap();
        }
        let kept = fs::read_to_string(&golden).unwrap_or_else(|_| panic!("no golden for `{verb}`"));
        assert_eq!(stdout, kept, "the help of `{verb}` changed: UPDATE_GOLDENS=1 if it should");
    }
}

#[test]
fn version_lists_engine_and_revisions() {
    let output = Workspace::new("").run(&["--version"]);
    let stdout = String::from_utf8(output.stdout).unwrap();
    for word in [
        "moongate 0.1.0",
        "wasmtime 48.0.8",
        "2024-11-05",
        "2025-03-26",
        "2025-06-18",
        "2025-11-25",
        "2026-07-28",
    ] {
        assert!(stdout.contains(word), "`{word}` isn't in: {stdout}");
    }
}
