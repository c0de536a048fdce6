//! Every limit, exceeded by a tool of the zoo: the call returns a tool error that names the plugin, the limit and its
//! key, and the next call and every other plugin work.

/// Questions to the client.
mod questions;
/// Reading, writing and open files.
mod files;
/// What a plugin adds to its directories.
mod disk;
/// Limits while a plugin loads.
mod loading;
/// Limits across calls, and stored state.
mod across_calls;
/// Shares of limits that several callers use.
mod between_callers;
/// Rates of calls, and concurrent calls of a caller.
mod rates;
/// The tables of `docs/limits.md` and `docs/tests.md`.
mod limits_page;
/// Lengths of the strings that a plugin sends.
mod long_strings;

use moongate_tests::{Stdio, Workspace, is_unsafe_character, text};
use serde_json::json;

const LIMITS: &str = r#"
[plugins.zoo]
source = "@zoo@"
[plugins.zoo.limits]
timeout = "4s"
cpu_time = "500ms"
memory = "32MiB"
handles = 200
transfer = "1MiB"
log_lines = 50
output = "16KiB"
[plugins.time]
source = "@time@"
"#;

/// Tools whose calls end, their arguments, and words of the error: the limit, its value and its key.
const ENDED: &[(&str, &str, &[&str])] = &[
    ("spin_forever", "{}", &["500ms", "plugins.zoo.limits.cpu_time"]),
    ("burn_cpu", "{}", &["500ms", "plugins.zoo.limits.cpu_time"]),
    ("sleep_forever", "{}", &["4s", "plugins.zoo.limits.timeout"]),
    ("exhaust_memory", "{}", &["32.0 MiB", "plugins.zoo.limits.memory"]),
    ("huge_result", "{}", &["32.0 MiB", "plugins.zoo.limits.memory"]),
    ("huge_result", r#"{"bytes":2000000}"#, &["1.0 MiB", "plugins.zoo.limits.transfer"]),
    ("huge_structured", r#"{"bytes":2000000}"#, &["1.0 MiB", "plugins.zoo.limits.transfer"]),
    ("many_blocks", r#"{"count":20000}"#, &["1.0 MiB", "plugins.zoo.limits.transfer"]),
    ("huge_log_line", r#"{"bytes":2000000}"#, &["1.0 MiB", "plugins.zoo.limits.transfer"]),
    ("many_handles", r#"{"count":1000}"#, &["200", "plugins.zoo.limits.handles"]),
    ("recurse_forever", "{}", &["crashed"]),
    ("panic", "{}", &["crashed", "aborted"]),
    ("unreachable_trap", "{}", &["crashed"]),
    ("exit", "{}", &["it exited instead of returning a result"]),
    ("random_flood", "{}", &["crashed", "exceeds limit"]),
    ("deep_structured", r#"{"levels":1000}"#, &["invalid answer: "]),
    ("bad_structured", "{}", &["invalid answer: "]),
    ("missing_structured", "{}", &["invalid answer: "]),
    ("broken_structured", "{}", &["invalid answer: "]),
    ("doubled_structured", "{}", &["invalid answer: "]),
];

/// Tools that are denied something or whose excess output is dropped, and that continue; with their arguments.
const CONTINUED: &[(&str, &str)] = &[
    ("grow_memory", "{}"),
    ("log_flood", r#"{"lines":500}"#),
    ("progress_flood", r#"{"reports":500}"#),
    ("progress_backwards", "{}"),
    ("changes_flood", r#"{"count":500}"#),
    ("stdout_flood", r#"{"bytes":100000}"#),
    ("stderr_flood", r#"{"bytes":100000}"#),
    ("print_json_rpc", "{}"),
    ("structured_with_newlines", "{}"),
    ("bidi_text", "{}"),
    ("control_characters", "{}"),
    ("strange_description", "{}"),
    ("change_foreign_resource", "{}"),
    ("echo_context", "{}"),
    ("calls_seen", "{}"),
    ("read_env", "{}"),
    ("list_dirs", "{}"),
];

#[track_caller]
pub(crate) fn assert_plugins_work(stdio: &mut Stdio) {
    assert_eq!(text(&stdio.call("zoo_echo", json!({ "text": "next" }))), "next");
    let time = stdio.call("time_get_current_time", json!({ "timezone": "UTC" }));
    assert!(time["result"]["isError"].is_null(), "{time}");
}

#[test]
fn each_limit_ends_one_call_with_an_error_naming_it() {
    let workspace = Workspace::new(LIMITS);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for (tool, arguments, words) in ENDED {
        let arguments = serde_json::from_str(arguments).unwrap();
        let answer = stdio.call(&format!("zoo_{tool}"), arguments);
        assert_eq!(answer["result"]["isError"], true, "{tool}: {answer}");
        assert!(answer["result"].get("structuredContent").is_none(), "{tool}: {answer}");
        let message = text(&answer);
        assert!(message.contains("plugin `zoo`"), "{tool}: {message}");
        assert!(message.len() < 1000 && !message.contains('\n'), "{tool}: {message}");
        for word in *words {
            assert!(message.contains(word), "{tool}: `{word}` isn't in: {message}");
        }
        assert_plugins_work(&mut stdio);
    }
}

#[test]
fn cuts_excess_output_without_ending_the_call() {
    let workspace = Workspace::new(LIMITS);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for (tool, arguments) in CONTINUED {
        let answer = stdio.call(&format!("zoo_{tool}"), serde_json::from_str(arguments).unwrap());
        assert!(answer["result"]["isError"].is_null(), "{tool}: {answer}");
        assert_plugins_work(&mut stdio);
    }
    let (_, _, log) = stdio.finish();
    assert!(log.len() < 1 << 20, "floods reached the log: {} bytes", log.len());
    assert!(log.lines().count() < 2000, "{} lines", log.lines().count());
}

#[test]
fn every_call_runs_in_a_fresh_sandbox() {
    let workspace = Workspace::new(LIMITS);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for _ in 0..3 {
        assert_eq!(text(&stdio.call("zoo_calls_seen", json!({}))), "1");
    }
}

#[test]
fn calls_beyond_the_queue_get_a_busy_error() {
    let workspace = Workspace::new(
        "[plugins.zoo]\nsource = \"@zoo@\"\n[plugins.zoo.limits]\nconcurrency = 1\nqueue = 1\n[plugins.time]\nsource = \"@time@\"\n",
    );
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for id in 100..103 {
        let sleep = json!({ "name": "zoo_sleep_forever", "arguments": {} });
        stdio.send(&moongate_tests::request(id, "tools/call", sleep));
    }
    let refused = stdio.receive(); // which of the three depends on the order of arrival
    assert!(
        text(&refused).contains("busy") && text(&refused).contains("plugins.zoo.limits.queue"),
        "{refused}"
    );
    let time = stdio.call("time_get_current_time", json!({ "timezone": "UTC" }));
    assert!(time["result"]["isError"].is_null(), "another plugin's queue is full: {time}");
    for id in 100..103 {
        stdio.send(
            &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }),
        );
    }
    // The cancelled calls end at their next tick; until then the plugin may be busy.
    while text(&stdio.call("zoo_echo", json!({ "text": "free again" }))) != "free again" {}
}

#[test]
fn maps_each_plugin_error_to_its_protocol_error() {
    let workspace = Workspace::new(LIMITS);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for (tool, code) in [
        ("protocol_error_invalid_params", -32602),
        ("protocol_error_not_found", -32602),
        ("protocol_error_internal", -32603),
        ("protocol_error_reserved_code", -32603),
    ] {
        let answer = stdio.call(&format!("zoo_{tool}"), json!({}));
        assert_eq!(answer["error"]["code"], code, "{tool}: {answer}");
    }
    let custom = stdio.call("zoo_protocol_error_custom", json!({}));
    let code = custom["error"]["code"].as_i64().expect("an error");
    assert!(!(-32768..=-32000).contains(&code), "{custom}");
    let lacking = stdio.call("zoo_protocol_error_missing_capability", json!({}));
    assert_eq!(lacking["result"]["isError"], true, "{lacking}");
    let failed = stdio.call("zoo_error_result", json!({ "message": "no such city" }));
    assert_eq!((&failed["result"]["isError"], text(&failed)), (&json!(true), "no such city"));
}

#[test]
fn removes_hidden_characters_from_lists_and_logs() {
    let workspace = Workspace::new(LIMITS);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let list = stdio.request_and_wait("tools/list", json!({})).to_string();
    assert!(!list.contains(is_unsafe_character), "{list:?}");
    for escaped in ["\\u202e", "\\u001b", "\\u0007", "\\udb40"] {
        assert!(!list.contains(escaped), "{escaped} is in the list");
    }
    let _ = stdio.call("zoo_control_characters", json!({}));
    let (_, _, log) = stdio.finish();
    assert!(!log.contains(is_unsafe_character), "control characters in the log: {log:?}");
}

/// 2,000 calls of all kinds, many concurrently: every call is answered, and the pool is empty afterwards.
#[test]
fn two_thousand_mixed_calls_leave_the_pool_empty() {
    const CALLS: u64 = 2000;
    let workspace = Workspace::new(LIMITS);
    let mut stdio = Stdio::start_with(&workspace, &["-v"]);
    let _ = stdio.request_and_wait("initialize", moongate_tests::initialize_params("2025-11-25"));
    let tools = [
        "echo",
        "panic",
        "bad_structured",
        "grow_memory",
        "exhaust_memory",
        "error_result",
        "calls_seen",
        "read_env",
    ];
    for first in (0..CALLS).step_by(100) {
        for id in first..first + 100 {
            let tool = tools[usize::try_from(id).unwrap() % tools.len()];
            let arguments = if tool == "echo" { json!({ "text": id.to_string() }) } else { json!({}) };
            let call = json!({ "name": format!("zoo_{tool}"), "arguments": arguments });
            stdio.send(&moongate_tests::request(10_000 + id, "tools/call", call));
        }
        for id in first..first + 100 {
            let answer = stdio.response(10_000 + id);
            assert!(answer["result"]["content"].is_array(), "{answer}");
            if usize::try_from(id).unwrap() % tools.len() == 0 {
                assert_eq!(text(&answer), id.to_string(), "an answer went to another call");
            }
        }
    }
    let (_, status, log) = stdio.finish();
    assert!(status.success());
    let pool = log.lines().find(|line| line.contains("instance pool at shutdown"));
    let pool = pool.unwrap_or_else(|| panic!("the log has no pool usage at shutdown: {log}"));
    for gauge in ["calls=0", "instances=0", "memories=0", "tables=0", "stacks=0"] {
        assert!(pool.contains(gauge), "{pool}");
    }
}
