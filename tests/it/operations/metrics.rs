//! The metrics and the log line of each call: every call counts once, by its outcome, without client-supplied text.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;

use moongate_tests::{Admin, Http, Stdio, Workspace, component, initialize_params, stateless_request};
use serde_json::{Value, json};

const GATEWAY: &str = r#"
[http]
listen = "127.0.0.1:0"
[admin]
listen = "127.0.0.1:0"
[plugins.zoo]
source = "zoo.wasm"
[plugins.zoo.limits]
timeout = "120s"
cpu_time = "500ms"
memory = "32MiB"
handles = 200
transfer = "1MiB"
[plugins.narrow]
source = "@stateful@"
allow.state = true
[plugins.narrow.limits]
timeout = "60s"
concurrency = 1
queue = 0
"#;

/// Tools of the zoo, their arguments and the outcome of calling them.
const CALL_OUTCOMES: &[(&str, &str, &str)] = &[
    ("echo", r#"{"text":"a"}"#, "ok"),
    ("error_result", "{}", "tool_error"),
    ("protocol_error_internal", "{}", "refused"),
    ("spin_forever", "{}", "cpu_time"),
    ("exhaust_memory", "{}", "memory"),
    ("many_handles", r#"{"count":1000}"#, "handles"),
    ("huge_structured", r#"{"bytes":2000000}"#, "too_large"),
    ("panic", "{}", "trap"),
    ("bad_structured", "{}", "bad_output"),
];

fn workspace() -> Workspace {
    let workspace = Workspace::new(GATEWAY);
    workspace.write("zoo.wasm", fs::read(component("zoo")).unwrap());
    workspace
}

fn calls_metric(plugin: &str, tool: &str, outcome: &str) -> String {
    format!(
        r#"moongate_plugin_calls_total{{plugin="{plugin}",kind="tool",tool="{plugin}_{tool}",outcome="{outcome}"}}"#
    )
}

/// Waits until a metric has this value.
#[track_caller]
fn wait_for_metric(admin: &Admin, name: &str, value: f64) {
    moongate_tests::wait_until(name, || admin.metric(name) == Some(value));
}

#[test]
fn counts_each_call_once_by_outcome() {
    let workspace = workspace();
    let http = Http::start(&workspace);
    let admin = http.admin();
    for (tool, arguments, outcome) in CALL_OUTCOMES {
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        let _ = http.call(&format!("zoo_{tool}"), arguments);
        assert_eq!(admin.metric(&calls_metric("zoo", tool, outcome)), Some(1.0), "{tool}");
    }
    let body = admin.get("/metrics").body;
    let all = body.lines().filter(|line| line.starts_with("moongate_plugin_calls_total{"));
    assert_eq!(all.count(), CALL_OUTCOMES.len(), "{body}");
    let of = |tool: &str, error: &str| {
        format!(
            r#"mcp_server_operation_duration_seconds_count{{mcp_method_name="tools/call",gen_ai_tool_name="zoo_{tool}",error_type="{error}",network_transport="tcp",mcp_protocol_version="2026-07-28"}}"#
        )
    };
    for (tool, error) in [("echo", ""), ("error_result", "tool_error"), ("protocol_error_internal", "-32603")]
    {
        assert_eq!(admin.metric(&of(tool, error)), Some(1.0), "{tool}: {body}");
    }
    let durations = r#"moongate_plugin_call_duration_seconds_count{plugin="zoo"}"#;
    assert_eq!(admin.metric(durations), Some(CALL_OUTCOMES.len() as f64));
    let peak = admin.metric(r#"moongate_plugin_memory_peak_bytes{plugin="zoo"}"#);
    assert!(peak.is_some_and(|peak| peak > 1e6 && peak <= 32.0 * 1024.0 * 1024.0), "{peak:?}");
    assert!(body.contains("# TYPE moongate_plugin_calls_total counter\n"), "{body}");
}

#[test]
fn counts_timed_out_calls() {
    let workspace = Workspace::new(&GATEWAY.replace("120s", "300ms"));
    workspace.write("zoo.wasm", fs::read(component("zoo")).unwrap());
    let http = Http::start(&workspace);
    let _ = http.call("zoo_sleep_forever", json!({}));
    assert_eq!(http.admin().metric(&calls_metric("zoo", "sleep_forever", "timeout")), Some(1.0));
}

#[test]
fn counts_busy_and_cancelled_calls() {
    let workspace = workspace();
    let http = Http::start(&workspace);
    let admin = http.admin();
    let arguments = json!({ "key": "a" });
    let call = json!({ "name": "narrow_wait_and_tidy", "arguments": arguments });
    let body = stateless_request(1, "tools/call", call).to_string();
    let mut connection = TcpStream::connect(http.address()).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: narrow_wait_and_tidy\r\n\r\n",
        http.address(),
        body.len()
    );
    connection.write_all((head + &body).as_bytes()).unwrap();
    wait_for_metric(&admin, r#"moongate_plugin_instances{plugin="narrow"}"#, 1.0);
    let _ = http.call("narrow_get", arguments);
    assert_eq!(admin.metric(&calls_metric("narrow", "get", "busy")), Some(1.0));
    drop(connection);
    wait_for_metric(&admin, &calls_metric("narrow", "wait_and_tidy", "cancelled"), 1.0);
    wait_for_metric(&admin, r#"moongate_plugin_instances{plugin="narrow"}"#, 0.0);
}

#[test]
fn metrics_omit_unknown_client_supplied_names() {
    let workspace = workspace();
    let http = Http::start(&workspace);
    let admin = http.admin();
    let _ = http.call("zoo_made_up", json!({}));
    let _ = http.request_and_wait("made/up", json!({}));
    let body = admin.get("/metrics").body;
    assert!(!body.contains("made"), "{body}");
    let count = |method: &str, error: &str| {
        format!(
            r#"mcp_server_operation_duration_seconds_count{{mcp_method_name="{method}",gen_ai_tool_name="",error_type="{error}",network_transport="tcp",mcp_protocol_version="2026-07-28"}}"#
        )
    };
    assert_eq!(admin.metric(&count("tools/call", "-32602")), Some(1.0), "{body}");
    assert_eq!(admin.metric(&count("_OTHER", "-32601")), Some(1.0), "{body}");
}

#[test]
fn counters_survive_reloads_and_end_with_their_plugin() {
    let workspace = workspace();
    let http = Http::start(&workspace);
    let admin = http.admin();
    let echo = || http.call("zoo_echo", json!({ "text": "a" }));
    let _ = echo();

    let mut changed = fs::read(component("zoo")).unwrap();
    changed.extend_from_slice(b"\0\x02\x01x"); // an empty custom section
    workspace.write("zoo.wasm", changed);
    let _ = admin.reload();
    wait_for_metric(&admin, r#"moongate_reloads_total{outcome="replaced"}"#, 1.0);
    let _ = echo();
    assert_eq!(admin.metric(&calls_metric("zoo", "echo", "ok")), Some(2.0));
    wait_for_metric(&admin, r#"moongate_plugin_generations{plugin="zoo"}"#, 1.0);

    workspace.write(
        "gateway.toml",
        "version = 1\n[http]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"127.0.0.1:0\"\n",
    );
    let _ = admin.reload();
    let body = admin.get("/metrics").body;
    assert!(!body.contains("\"zoo") && !body.contains("narrow"), "{body}");
    assert_eq!(admin.metric(r#"moongate_catalog_items{kind="tools"}"#), Some(0.0));
}

#[test]
fn logs_one_line_per_call_without_arguments() {
    let workspace = Workspace::with_plugin("zoo");
    let mut stdio = Stdio::start_with(&workspace, &["-v"]);
    let initialized = stdio.request_and_wait("initialize", initialize_params("2025-11-25"));
    assert!(initialized["result"].is_object(), "{initialized}");
    for (tool, arguments) in [
        ("zoo_echo", json!({ "text": "a secret" })),
        ("zoo_error_result", json!({})),
        ("zoo_unreachable_trap", json!({})),
        ("zoo_nobody_has_this", json!({})),
    ] {
        let _ = stdio.call(tool, arguments);
    }
    let (_, _, log) = stdio.finish();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("plugin call ended")).collect();
    let expected = [("zoo_echo", "ok"), ("zoo_error_result", "tool_error"), ("zoo_unreachable_trap", "trap")];
    assert_eq!(lines.len(), expected.len(), "{lines:?}");
    for (line, (tool, outcome)) in lines.iter().zip(expected) {
        for part in [
            "plugin=zoo",
            "kind=\"tool\"",
            &format!("tool=\"{tool}\""),
            &format!("outcome=\"{outcome}\""),
            "duration_ms=",
        ] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }
    assert!(!log.contains("a secret"), "{log}");
}
