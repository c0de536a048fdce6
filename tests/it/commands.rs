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
