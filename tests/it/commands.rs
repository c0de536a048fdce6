//! The verbs that look and call: what they print, and how they end.

use moongate_tests::Workspace;
use serde_json::Value;

fn said(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn check_says_what_is_there() {
    let output = Workspace::with_plugin("time").run(&["check"]);
    assert!(output.status.success(), "{output:?}");
    assert!(said(&output.stdout).contains("1 plugin, 2 tools"), "{output:?}");
}

#[test]
fn list_shows_every_kind_as_text_and_as_one_json_document() {
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
fn call_calls_and_its_exit_code_says_how_it_ended() {
    let workspace = Workspace::with_plugin("time");
    let arguments = ["source_timezone=UTC", "time=12:00", "target_timezone=Asia/Kathmandu"];
    let call = |more: &[&str]| {
        let mut all = vec!["call"];
        all.extend_from_slice(more);
        workspace.run(&all)
    };
    let good = call(&[&["time_convert_time"], &arguments[..]].concat());
    assert_eq!(good.status.code(), Some(0), "{good:?}");
    assert!(said(&good.stdout).contains("+5.75h"));
    let json = r#"{"source_timezone":"UTC","time":"12:00","target_timezone":"Asia/Kathmandu"}"#;
    let same = call(&["time_convert_time", "--json", json]);
    assert_eq!(said(&same.stdout), said(&good.stdout));
    let failed = call(&["time_get_current_time", "timezone=Nowhere/At_All"]);
    assert_eq!(failed.status.code(), Some(5), "{failed:?}");
    let unknown = call(&["time_get_curent_time", "timezone=UTC"]);
    assert_eq!(unknown.status.code(), Some(5), "{unknown:?}");
    assert!(said(&unknown.stderr).contains("time_get_current_time"), "no suggestion: {unknown:?}");
    let missing = call(&["time_get_current_time"]);
    assert_eq!(missing.status.code(), Some(5), "{missing:?}");
    assert!(
        said(&missing.stderr).contains("timezone") || said(&missing.stdout).contains("timezone"),
        "{missing:?}"
    );
    for usage in [&["time_get_current_time", "timezone"][..], &["time_get_current_time", "--json", "{"], &[]]
    {
        assert_eq!(call(usage).status.code(), Some(2), "{usage:?}");
    }
}

#[test]
fn check_fails_for_warnings_where_they_are_denied() {
    let workspace = Workspace::new(
        "[plugins.time]\nsource = \"@time@\"\n[plugins.time.allow]\nhttp = [\"https://example.com\"]\n",
    );
    let lenient = workspace.run(&["check"]);
    assert_eq!(lenient.status.code(), Some(0), "{lenient:?}");
    let strict = workspace.run(&["check", "--deny-warnings"]);
    assert_eq!(strict.status.code(), Some(78), "{strict:?}");
    assert!(said(&strict.stderr).contains("0 errors, 1 warning in `"), "{strict:?}");
    let document = workspace.run(&["check", "--deny-warnings", "--format", "json"]);
    let document: Value = serde_json::from_slice(&document.stdout).unwrap();
    assert_eq!((&document["ok"], &document["problems"][0]["severity"]), (&false.into(), &"warning".into()));
    let fine = Workspace::with_plugin("time").run(&["check", "--deny-warnings"]);
    assert_eq!(fine.status.code(), Some(0), "{fine:?}");
}

#[test]
fn what_check_prints_as_resolved_is_a_configuration_that_it_accepts() {
    let workspace = Workspace::new(
        "[http.auth]\ntokens = [{ name = \"ci\", token = { file = \"token.txt\" } }]\n\
         [plugins.time]\nsource = \"@time@\"\n[plugins.time.config]\nzone = \"${HOME}\"\n",
    );
    workspace.write("token.txt", "0123456789abcdef0123456789abcdef");
    let printed = workspace.run(&["check", "--print-resolved"]);
    assert_eq!(printed.status.code(), Some(0), "{printed:?}");
    let text = said(&printed.stdout);
    assert!(text.contains("max_body = \"4MiB\"") && text.contains("zone = \"${HOME}\""), "{text}");
    assert!(!text.contains("0123456789abcdef"), "{text}");
    workspace.write("elsewhere/now.toml", &text);
    let again = workspace.run(&["check", "--config", "elsewhere/now.toml", "--print-resolved"]);
    assert_eq!((again.status.code(), said(&again.stdout)), (Some(0), text.clone()), "{again:?}");
    let document = workspace.run(&["check", "--print-resolved", "--format", "json"]);
    let document: Value = serde_json::from_slice(&document.stdout).unwrap();
    assert_eq!(document["resolved"], text);
}

#[test]
fn the_schema_that_is_printed_is_the_one_in_the_repository() {
    let printed = Workspace::new("").run(&["schema"]);
    let committed = std::fs::read(moongate_tests::root().join("schema/gateway.schema.json")).unwrap();
    assert!(printed.status.success() && printed.stdout == committed, "{:?}", printed.status);
}

#[test]
fn every_shell_gets_a_script_that_knows_the_commands() {
    let workspace = Workspace::new("");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let printed = workspace.run(&["completions", shell]);
        let script = said(&printed.stdout);
        assert!(printed.status.success() && printed.stderr.is_empty(), "{shell}: {printed:?}");
        for word in ["inspect", "deny-warnings", "completions"] {
            assert!(script.contains(word), "{shell} doesn't know `{word}`");
        }
    }
    assert_eq!(workspace.run(&["completions", "tcsh"]).status.code(), Some(2));
    let bash = workspace.path().join("moongate.bash");
    std::fs::write(&bash, workspace.run(&["completions", "bash"]).stdout).unwrap();
    let read = std::process::Command::new("bash").arg("-n").arg(&bash).status();
    assert!(read.is_ok_and(|status| status.success()), "bash can't read it");
}
