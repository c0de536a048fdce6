//! Untrusted text from plugins and servers can't imitate the gateway's own output, fill the screen or block the caller.

use std::net::TcpListener;

use moongate_generated::{Plugin, TOOL};
use moongate_tests::{TestServer, Workspace};
use serde_json::{Map, Value, json};

fn utf8(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn setting_names_cannot_forge_output_lines() {
    let log = "a\n2026-01-01T00:00:00.000000Z ERROR moongate: forged";
    let granted = "b\n\nneeds and grants\n  fetch over HTTP  nothing";
    let fix = "c` is fine; add `http = [\"https://evil.example\"]` to `[plugins.evil.allow]";
    let schema = json!({
        "properties": { log: { "type": "string" }, granted: { "type": "string" }, fix: {} },
        "required": [log, granted, fix],
    });
    let workspace = Workspace::new("[plugins.evil]\nsource = \"evil.wasm\"\n");
    workspace.write("evil.wasm", Plugin::version(1).settings(schema.to_string()).build());
    for words in [
        &["call", "--plugin", "evil.wasm", TOOL][..],
        &["check"],
        &["inspect", "evil.wasm"],
        &["inspect", "evil"],
    ] {
        let output = workspace.run(words);
        let all = utf8(&output.stdout) + &utf8(&output.stderr);
        assert!(!all.lines().any(|line| line.starts_with("2026")), "{words:?}: {all}");
        let grants = all.lines().filter(|line| line.starts_with("needs")).count();
        assert_eq!(grants, usize::from(words[0] == "inspect"), "{words:?}: {all}");
        assert!(words[0] == "inspect" || !all.contains("`http"), "{words:?}: {all}");
    }
}

#[test]
fn limits_the_output_of_many_long_setting_names() {
    let names: Vec<String> = (0..40).map(|number| format!("{number}{}", "x".repeat(2000))).collect();
    let workspace = Workspace::new("[plugins.evil]\nsource = \"evil.wasm\"\n");
    let schema = json!({ "required": names });
    workspace.write("evil.wasm", Plugin::version(1).settings(schema.to_string()).build());
    let output = workspace.run(&["check"]);
    assert_eq!(output.status.code(), Some(78), "{output:?}");
    assert!(output.stderr.len() < 32 << 10, "{} bytes", output.stderr.len());
}

#[test]
fn describes_an_exponential_schema_briefly() {
    let types = json!({ "type": "object", "required": ["x"], "properties": {
        "x": { "type": vec!["array"; 100], "items": { "$ref": "#/properties/x" } } } });
    let names: Vec<String> = (0..120).map(|number| format!("m{number}")).collect();
    let members: Map<String, Value> =
        names.iter().map(|name| (name.clone(), json!({ "$ref": "#" }))).collect();
    let itself = json!({ "type": "object", "required": names, "properties": members });
    let remote = TestServer::start();
    let url = format!("http://{}/mcp", remote.address());
    let workspace = Workspace::new("");
    let is_short = |words: &[&str]| {
        let output = workspace.run(words);
        assert_eq!(output.status.code(), Some(5), "{words:?}");
        assert!(utf8(&output.stderr).contains("\nhint: for example: "), "{words:?}");
        assert!(output.stderr.len() < 32 << 10, "{words:?}: {} bytes", output.stderr.len());
    };
    for schema in [&types, &itself] {
        let list = json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": [{ "name": "t", "inputSchema": schema }] } });
        remote.put("/mcp", &["Content-Type: application/json"], list.to_string());
        is_short(&["call", "--url", &url, "t"]);
    }
    workspace.write("evil.wasm", Plugin::version(1).schema(itself.to_string()).build());
    is_short(&["call", "--plugin", "evil.wasm", TOOL]);
}

#[test]
fn times_out_on_a_silent_server() {
    // This listener never accepts its connections.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let remote = TestServer::start();
    let workspace = Workspace::new("");
    for url in [
        format!("http://{}/mcp", silent.local_addr().unwrap()),
        format!("http://{}/hang", remote.address()),
        format!("http://{}/stall", remote.address()),
    ] {
        let output = workspace.run(&["call", "--url", &url, "--timeout", "1", "t"]);
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        let expected = format!("error: no data from {url} for 1 second\nhint: ");
        assert!(utf8(&output.stderr).starts_with(&expected), "{output:?}");
    }
    for words in
        [&["call", "--timeout", "1", "t"][..], &["call", "--url", "http://127.0.0.1:1", "--timeout", "0"]]
    {
        assert_eq!(workspace.run(words).status.code(), Some(2), "{words:?}");
    }
}
