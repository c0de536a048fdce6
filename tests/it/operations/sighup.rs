//! SIGHUP: the gateway reloads everything without interrupting service.

use moongate_tests::{Http, Stdio, Workspace, send_signal};
use serde_json::{Value, json};

/// A gateway that reloads only on request.
fn fixture() -> Workspace {
    Workspace::new("[gateway]\nwatch = false\n[plugins.time]\nsource = \"@time@\"\n")
}

/// Removes a tool from the configuration.
fn remove_tool(workspace: &Workspace) {
    let config = std::fs::read_to_string(workspace.config()).unwrap();
    let config = config.replace("[plugins.time]", "[plugins.time]\ntools.deny = [\"convert_time\"]");
    workspace.write("gateway.toml", config);
}

fn tool_count(answer: &Value) -> usize {
    answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("no tool list: {answer}")).len()
}

#[test]
fn sighup_reloads_stdio_gateway_and_notifies_client() {
    let workspace = fixture();
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    assert_eq!(tool_count(&stdio.request_and_wait("tools/list", json!({}))), 2);
    remove_tool(&workspace);
    send_signal(stdio.pid(), "HUP");
    assert_eq!(stdio.receive()["method"], "notifications/tools/list_changed");
    assert_eq!(tool_count(&stdio.request_and_wait("tools/list", json!({}))), 1);
    let (_, status, log) = stdio.finish();
    assert!(status.success(), "{status}: {log}");
}

#[test]
fn repeated_sighups_do_not_interrupt_service() {
    let workspace = fixture();
    let http = Http::start(&workspace);
    remove_tool(&workspace);
    for _ in 0..20 {
        send_signal(http.pid(), "HUP");
    }
    http.wait_for_log("changed=2 failed=0"); // the configuration and the plugin
    assert_eq!(tool_count(&http.request_and_wait("tools/list", json!({})).json()), 1);
    workspace.write("gateway.toml", "version = 1\n[plugins.time]\nsorce = \"x\"\n");
    send_signal(http.pid(), "HUP");
    http.wait_for_log("failed=1");
    assert_eq!(
        tool_count(&http.request_and_wait("tools/list", json!({})).json()),
        1,
        "the running version keeps serving"
    );
    let (status, log) = http.terminate();
    assert!(status.success(), "{status}: {log}");
    let reloads = log.matches("signal=\"SIGHUP\"").count();
    assert!((2..=21).contains(&reloads), "{reloads}: {log}");
}
