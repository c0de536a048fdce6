//! Output and exit codes of the commands that inspect and call.

use moongate_tests::{Http, Workspace, component, gateway_binary};
use serde_json::Value;

fn utf8(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn check_prints_a_summary() {
    let output = Workspace::with_plugin("time").run(&["check"]);
    assert!(output.status.success(), "{output:?}");
    assert!(utf8(&output.stdout).contains("1 plugin, 2 tools"), "{output:?}");
}

#[test]
fn list_prints_every_kind_as_text_and_json() {
    let workspace = Workspace::with_plugin("everything");
    for kind in ["tools", "resources", "templates", "prompts", "plugins"] {
        let text = workspace.run(&["list", kind]);
        assert!(text.status.success() && !text.stdout.is_empty(), "{kind}: {text:?}");
        let json = workspace.run(&["list", kind, "--format", "json"]);
        let document: Value =
            serde_json::from_slice(&json.stdout).unwrap_or_else(|error| panic!("{kind}: {error}"));
        assert!(document.to_string().len() > 20, "{kind}: {document}");
    }
}

#[test]
fn exit_codes_of_call_reflect_the_outcome() {
    let workspace = Workspace::with_plugin("time");
    let arguments = ["source_timezone=UTC", "time=12:00", "target_timezone=Asia/Kathmandu"];
    let call = |more: &[&str]| {
        let mut all = vec!["call"];
        all.extend_from_slice(more);
        workspace.run(&all)
    };
    let good = call(&[&["time_convert_time"], &arguments[..]].concat());
    assert_eq!(good.status.code(), Some(0), "{good:?}");
    assert!(utf8(&good.stdout).contains("+5.75h"));
    let json = r#"{"source_timezone":"UTC","time":"12:00","target_timezone":"Asia/Kathmandu"}"#;
    let same = call(&["time_convert_time", "--json", json]);
    assert_eq!(utf8(&same.stdout), utf8(&good.stdout));
    let failed = call(&["time_get_current_time", "timezone=Nowhere/At_All"]);
    assert_eq!(failed.status.code(), Some(5), "{failed:?}");
    let unknown = call(&["time_get_curent_time", "timezone=UTC"]);
    assert_eq!(unknown.status.code(), Some(5), "{unknown:?}");
    assert!(utf8(&unknown.stderr).contains("time_get_current_time"), "no suggestion: {unknown:?}");
    let missing = call(&["time_get_current_time"]);
    assert_eq!(missing.status.code(), Some(5), "{missing:?}");
    assert!(
        utf8(&missing.stderr).contains("timezone") || utf8(&missing.stdout).contains("timezone"),
        "{missing:?}"
    );
    for usage in [&["time_get_current_time", "timezone"][..], &["time_get_current_time", "--json", "{"], &[]]
    {
        assert_eq!(call(usage).status.code(), Some(2), "{usage:?}");
    }
}

#[test]
fn check_fails_on_warnings_with_deny_warnings() {
    let workspace = Workspace::new(
        "[plugins.time]\nsource = \"@time@\"\n[plugins.time.allow]\nhttp = [\"https://example.com\"]\n",
    );
    let lenient = workspace.run(&["check"]);
    assert_eq!(lenient.status.code(), Some(0), "{lenient:?}");
    let strict = workspace.run(&["check", "--deny-warnings"]);
    assert_eq!(strict.status.code(), Some(78), "{strict:?}");
    let report = utf8(&strict.stderr);
    assert!(report.contains("0 errors, 1 warning in `"), "{report}");
    assert!(report.contains("`--deny-warnings` makes warnings fail"), "{report}");
    let document = workspace.run(&["check", "--deny-warnings", "--format", "json"]);
    let document: Value = serde_json::from_slice(&document.stdout).unwrap();
    assert_eq!((&document["ok"], &document["problems"][0]["severity"]), (&false.into(), &"warning".into()));
    let fine = Workspace::with_plugin("time").run(&["check", "--deny-warnings"]);
    assert_eq!(fine.status.code(), Some(0), "{fine:?}");
}

#[test]
fn check_reports_warnings_that_other_commands_only_log() {
    let workspace = Workspace::new("[plugins.time]\nsource = \"@time@\"\nconfig.local_timezone = \"Mars\"\n");
    let warning = "plugin `time`: ignoring `local_timezone` in `config`";
    for words in [&["check"][..], &["check", "--quiet"], &["check", "-v"]] {
        let lenient = workspace.run(words);
        let report = utf8(&lenient.stderr);
        assert_eq!(lenient.status.code(), Some(0), "{report}");
        assert_eq!(report.matches(&format!("warning: {warning}")).count(), 1, "{report}");
        assert!(report.contains("gateway.toml:2:1"), "{report}");
        let strict = workspace.run(&[words, &["--deny-warnings"]].concat());
        assert_eq!(strict.status.code(), Some(78), "{strict:?}");
        assert!(utf8(&strict.stderr).contains("0 errors, 1 warning in `"), "{strict:?}");
    }
    let document = document(&workspace, &["check", "--deny-warnings"], 78);
    let [problem] = &document["problems"].as_array().unwrap()[..] else { panic!("{document}") };
    assert!(problem["message"].as_str().unwrap().starts_with(warning), "{document}");
}

#[test]
fn check_accepts_the_resolved_configuration_that_it_prints() {
    let workspace = Workspace::new(
        "[http.auth]\ntokens = [{ name = \"ci\", token = { file = \"token.txt\" } }]\n\
         [plugins.time]\nsource = \"@time@\"\n[plugins.time.config]\nzone = \"${HOME}\"\n",
    );
    workspace.write("token.txt", "0123456789abcdef0123456789abcdef");
    let printed = workspace.run(&["check", "--print-resolved"]);
    assert_eq!(printed.status.code(), Some(0), "{printed:?}");
    let text = utf8(&printed.stdout);
    assert!(text.contains("max_body = \"4MiB\"") && text.contains("zone = \"${HOME}\""), "{text}");
    assert!(!text.contains("0123456789abcdef"), "{text}");
    workspace.write("elsewhere/now.toml", &text);
    let again = workspace.run(&["check", "--config", "elsewhere/now.toml", "--print-resolved"]);
    assert_eq!((again.status.code(), utf8(&again.stdout)), (Some(0), text.clone()), "{again:?}");
    let document = workspace.run(&["check", "--print-resolved", "--format", "json"]);
    let document: Value = serde_json::from_slice(&document.stdout).unwrap();
    assert_eq!(document["resolved"], text);
}

#[test]
fn prints_the_schema_of_the_repository() {
    let printed = Workspace::new("").run(&["schema"]);
    let committed = std::fs::read(moongate_tests::project_root().join("schema/gateway.schema.json")).unwrap();
    assert!(printed.status.success() && printed.stdout == committed, "{:?}", printed.status);
}

#[test]
fn writes_a_man_page_for_every_command() {
    let workspace = Workspace::new("");
    let output = workspace.run(&["man", "pages/man1"]);
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    let page = |name: &str| {
        let path = workspace.path().join("pages/man1").join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let help = utf8(&workspace.run(&["--help"]).stdout);
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty()).filter_map(|line| line.strip_prefix("  "));
    let mut count = 0;
    let verbs = commands.filter(|line| !line.starts_with(' ')).filter_map(|line| line.split(' ').next());
    for verb in verbs.filter(|verb| *verb != "help") {
        let text = page(&format!("moongate-{verb}.1"));
        assert!(text.contains("Examples:") && text.contains(".SH OPTIONS"), "{verb}: {text}");
        count += 1;
    }
    assert!(count > 8, "{help}");
    assert!(page("moongate.1").contains("Exit codes:"), "{}", page("moongate.1"));
}

#[test]
fn prints_completions_for_every_shell() {
    let workspace = Workspace::new("");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let printed = workspace.run(&["completions", shell]);
        let script = utf8(&printed.stdout);
        assert!(printed.status.success() && printed.stderr.is_empty(), "{shell}: {printed:?}");
        for word in ["inspect", "deny-warnings", "completions"] {
            assert!(script.contains(word), "the {shell} script is missing `{word}`");
        }
    }
    assert_eq!(workspace.run(&["completions", "tcsh"]).status.code(), Some(2));
    let bash = workspace.path().join("moongate.bash");
    std::fs::write(&bash, workspace.run(&["completions", "bash"]).stdout).unwrap();
    let read = std::process::Command::new("bash").arg("-n").arg(&bash).status();
    assert!(read.is_ok_and(|status| status.success()), "bash can't parse the script");
}

/// Runs a command with `--format json`, and parses its single document on success and failure.
fn document(workspace: &Workspace, words: &[&str], code: i32) -> Value {
    let output = workspace.run(&[words, &["--format", "json"]].concat());
    assert_eq!(output.status.code(), Some(code), "{words:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{words:?}: {error}: {output:?}"))
}

#[test]
fn prints_one_json_document_on_success_and_failure() {
    let workspace = Workspace::new(
        "[plugins.everything]\nsource = \"@everything@\"\nallow.client = [\"elicitation\"]\n\
         [http]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"127.0.0.1:0\"\n",
    );
    let http = Http::start(&workspace);
    let admin = http.admin().address().to_string();
    let url = format!("http://{}/mcp", http.address());
    let everything = component("everything");
    let everything = everything.to_str().unwrap();
    for words in [
        &["check"][..],
        &["list"],
        &["list", "plugins", "--admin", &admin],
        &["inspect", "everything"],
        &["inspect", everything],
        &["call", "everything_test_simple_text"],
        &["call", "--plugin", everything, "test_simple_text"],
        &["call", "--url", &url, "everything_test_simple_text"],
        &["client", "cursor"],
        &["health", "--admin", &admin],
        &["reload", "--admin", &admin],
    ] {
        assert!(document(&workspace, words, 0).get("errors").is_none(), "{words:?}");
    }
    assert!(serde_json::from_slice::<Value>(&workspace.run(&["schema"]).stdout).is_ok());

    workspace.write("bad.wasm", "no component");
    for (words, code) in [
        (&["call", "everything_test_simple_tex"][..], 5),
        (&["call", "everything_test_elicitation"], 5),
        (&["call", "everything_test_elicitation", "message=x"], 5),
        (&["call", "everything_test_elicitation", "message=x", "--answer", "user.x=1"], 2),
        (&["call", "everything_test_elicitation", "message"], 2),
        (&["call", "everything_test_elicitation", "message=x", "--answer", "x"], 2),
        (&["call"], 2),
        (&["call", "--plugin", "bad.wasm", "x"], 78),
        (&["call", "--url", &url, "nothing"], 5),
        (&["call", "--url", &url], 2),
        (&["call", "--url", "http://127.0.0.1:1/mcp", "x"], 4),
        (&["list", "tools", "--admin", &admin], 2),
        (&["list", "plugins", "--admin", "127.0.0.1:1"], 4),
        (&["inspect", "nobody"], 2),
        (&["inspect", "bad.wasm"], 78),
        (&["client", "claude-desktop", "--url", &url], 2),
        (&["health", "--admin", "127.0.0.1:1"], 4),
        (&["reload", "--admin", "127.0.0.1:1"], 4),
    ] {
        assert_error(&document(&workspace, words, code), words);
    }
    // A tool error is still a result.
    assert_eq!(document(&workspace, &["call", "everything_test_error_handling"], 5)["isError"], true);

    let broken = Workspace::new("[plugins.time]\nsorce = \"time.wasm\"\n");
    for words in [&["list"][..], &["inspect", "time"], &["call", "x"], &["client", "cursor"], &["health"]] {
        assert_error(&document(&broken, words, 78), words);
    }
    let problems = document(&broken, &["check"], 78);
    assert_eq!(
        (&problems["ok"], problems["problems"].as_array().unwrap().is_empty()),
        (&false.into(), false)
    );
}

#[track_caller]
fn assert_error(document: &Value, words: &[&str]) {
    let first = &document["errors"][0];
    assert!(first["message"].as_str().is_some_and(|text| !text.contains('\n')), "{words:?}: {document:#}");
    assert!(first.get("hint").is_some(), "{words:?}: {document:#}");
}

#[test]
fn call_without_a_tool_lists_the_tools() {
    let workspace = Workspace::with_plugin("time");
    let output = workspace.run(&["call"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let own = workspace.run(&["call", "--plugin", component("time").to_str().unwrap()]);
    let http = Http::start(&workspace);
    let url = format!("http://{}/mcp", http.address());
    let remote = Workspace::new("").run(&["call", "--url", &url]);
    for (output, name) in
        [(output, "time_get_current_time"), (own, "get_current_time"), (remote, "time_get_current_time")]
    {
        let stderr = utf8(&output.stderr);
        assert!(stderr.starts_with("error: missing tool name\n"), "{stderr}");
        assert!(stderr.contains(&format!("\n  {name}  Get the current time in a time zone.\n")), "{stderr}");
    }
}

#[test]
fn call_prints_a_tools_arguments_and_a_working_example() {
    let workspace = Workspace::with_plugin("everything");
    let http = Http::start(&workspace);
    let url = format!("http://{}/mcp", http.address());
    for start in [&["call"][..], &["call", "--url", &url]] {
        let output = workspace.run(&[start, &["everything_test_x_mcp_header"]].concat());
        let err = utf8(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{err}");
        assert!(err.contains("error: `everything_test_x_mcp_header` needs `region`\n"), "{err}");
        assert!(err.contains("\n  region: text (required)"), "{err}");
        let example = err.lines().find_map(|line| line.strip_prefix("hint: for example: ")).unwrap();
        let words: Vec<&str> = example.split(' ').skip(1).collect();
        let followed = workspace.run(&words);
        assert_eq!(followed.status.code(), Some(0), "{example}: {followed:?}");
    }
    let time = Workspace::with_plugin("time");
    let whole = utf8(&time.run(&["call", "time_get_current_time", "--json", "{}"]).stderr);
    assert!(whole.contains("call time_get_current_time --json '{\"timezone\":\"text\"}'\n"), "{whole}");
    let wrong = utf8(&time.run(&["call", "time_get_current_time", "--json", "{\"timezone\": 5}"]).stderr);
    assert!(
        wrong.contains("`timezone` must be") && wrong.contains("\n  timezone: text (required)"),
        "{wrong}"
    );
    let unknown = utf8(&time.run(&["call", "time_get_current_time", "timezone=UTC", "zone=x"]).stderr);
    let sentence = "`zone` isn't in the tool's schema and is passed on; the schema has `timezone`\n";
    assert_eq!(unknown, format!("note: {sentence}"));
}

#[test]
fn suggests_the_right_syntax_for_arguments() {
    let workspace = Workspace::with_plugin("time");
    for (words, fix) in [
        (&["--timezone", "UTC"][..], "tool arguments have no dashes"),
        (&["--timezone=UTC"], "tool arguments have no dashes"),
        (&["timezone:UTC"], "`timezone=UTC`"),
        (&["timezone", "UTC"], "`timezone=UTC`"),
        (&["UTC"], "`timezone=UTC`"),
        (&["timezone=UTC", "--formt", "json"], "'--format'"),
    ] {
        let output = workspace.run(&[&["call", "time_get_current_time"], words].concat());
        assert_eq!(output.status.code(), Some(2), "{words:?}: {output:?}");
        assert!(utf8(&output.stderr).contains(fix), "{words:?}: {output:?}");
    }
}

#[test]
fn call_prints_plugin_logs_with_verbose_and_panics_always() {
    let workspace = Workspace::new(
        "[plugins.everything]\nsource = \"@everything@\"\n[plugins.zoo]\nsource = \"@zoo@\"\n",
    );
    let err = |words: &[&str]| utf8(&workspace.run(words).stderr);
    let tool = "everything_test_tool_with_logging";
    assert!(!err(&["call", tool]).contains("Tool execution started"));
    assert!(err(&["call", tool, "-v"]).contains("plugin: Tool execution started plugin=everything"));
    let printed = err(&["call", "zoo_print_json_rpc", "-v"]);
    assert!(printed.contains("jsonrpc") && printed.contains("plugin=zoo"), "{printed}");
    assert!(err(&["call", "zoo_panic"]).contains("the plugin crashed; last lines on stderr: "));
}

#[test]
fn other_commands_refer_to_check_for_problems() {
    let workspace = Workspace::new(
        "[plugins.time]\nsource = \"@time@\"\nconfig.zone = \"UTC\"\n[plugins.torn]\nsource = \"torn.wasm\"\n",
    );
    workspace.write("torn.wasm", b"\0asm");
    let config = workspace.config().display().to_string();
    let stderr = |words: &[&str]| utf8(&workspace.run(words).stderr);
    let call = ["call", "time_get_current_time", "timezone=UTC"];
    let noted = format!("note: `{config}` has errors and warnings; for details, run `moongate check`\n");
    assert_eq!(stderr(&call), noted);
    assert_eq!(stderr(&[&call[..], &["--quiet"]].concat()), "");
    let typed = stderr(&[&call[..], &["--config", &config]].concat());
    assert!(typed.ends_with(&format!("run `moongate check --config {config}`\n")), "{typed}");
    // A plugin that can't be loaded is the reason if its items are missing.
    for words in [&["call", "torn_tool"][..], &["list"]] {
        let shown = stderr(words);
        assert!(shown.contains("torn.wasm") && !shown.contains("zone"), "{words:?}: {shown}");
        assert!(shown.contains("gateway.toml` has warnings; for details"), "{words:?}: {shown}");
    }
    let all = stderr(&["check"]);
    assert!(all.contains("torn.wasm") && all.contains("zone"), "{all}");
}

#[cfg(unix)]
#[test]
fn client_prints_paths_that_outlive_a_version() {
    use std::os::unix::fs::symlink;
    use std::os::unix::process::CommandExt as _;

    let workspace = Workspace::new("");
    let root = workspace.path();
    for dir in ["bin", "etc-1.2"] {
        std::fs::create_dir(root.join(dir)).unwrap();
    }
    symlink(gateway_binary(), root.join("bin/moongate")).unwrap();
    symlink("etc-1.2", root.join("etc")).unwrap();
    workspace.write("etc/gateway.toml", "version = 1\n");
    let expected =
        [root.join("bin/moongate"), root.join("etc/gateway.toml")].map(|path| path.display().to_string());
    for (program, config) in [
        ("moongate", "etc/gateway.toml"),
        (&*expected[0], &*expected[1]),
        ("bin/moongate", "./etc/gateway.toml"),
    ] {
        let mut command = workspace.command(&[]);
        let output = command
            .arg0(program)
            .env("PATH", root.join("bin"))
            .args(["client", "cursor", "--config", config])
            .output()
            .unwrap();
        let snippet: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
        let server = &snippet["mcpServers"]["moongate"];
        assert_eq!([&server["command"], &server["args"][3]], [&expected[0], &expected[1]], "{program}");
    }
}
