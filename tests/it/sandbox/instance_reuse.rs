//! Reused instances (`instances = "reused"`): an instance serves only one caller, and no state of a call affects
//! another.

use moongate_tests::{Http, Stdio, Workspace, text, wait_until};
use serde_json::{Value, json};

use crate::sandbox::limits::assert_plugins_work;

/// The zoo with reused instances and these limits, and the clock.
fn reused(limits: &str) -> String {
    format!(
        "[plugins.zoo]\nsource = \"@zoo@\"\ninstances = \"reused\"\nallow.dirs = [{{ host = \"in\", guest = \"/in\" }}]\n\
         limits = {{ {limits} }}\n[plugins.time]\nsource = \"@time@\"\n"
    )
}

/// A gateway over stdio, with a granted directory for the zoo.
fn stdio(limits: &str) -> (Workspace, Stdio) {
    let workspace = Workspace::new(&reused(limits));
    workspace.write("in/a.txt", "x".repeat(1000));
    let stdio = Stdio::initialized(&workspace, "2025-11-25");
    (workspace, stdio)
}

/// The number of calls that the answering instance has served.
#[track_caller]
fn calls_served(stdio: &mut Stdio) -> u32 {
    text(&stdio.call("zoo_calls_seen", json!({}))).parse().unwrap()
}

#[test]
fn replaces_an_instance_after_reuse_calls() {
    let (_workspace, mut stdio) = stdio("reuse_calls = 3");
    let all: Vec<u32> = (0..7).map(|_| calls_served(&mut stdio)).collect();
    assert_eq!(all, [1, 2, 3, 1, 2, 3, 1]);
    // An error that the plugin itself returns doesn't end the instance.
    let (_workspace, mut stdio) = self::stdio("");
    assert_eq!(calls_served(&mut stdio), 1);
    for tool in ["error_result", "protocol_error_internal", "bad_structured"] {
        let _ = stdio.call(&format!("zoo_{tool}"), json!({}));
    }
    assert_eq!(calls_served(&mut stdio), 2);
}

#[test]
fn a_failed_call_ends_its_instance() {
    let (_workspace, mut stdio) = stdio(
        "timeout = \"2s\", cpu_time = \"500ms\", memory = \"32MiB\", handles = 200, transfer = \"1MiB\"",
    );
    for (tool, arguments) in [
        ("panic", json!({})),
        ("exit", json!({})),
        ("sleep_forever", json!({})),
        ("spin_forever", json!({})),
        ("exhaust_memory", json!({})),
        ("many_handles", json!({ "count": 1000 })),
        ("huge_result", json!({ "bytes": 2_000_000 })),
        ("random_flood", json!({})),
    ] {
        assert_eq!((calls_served(&mut stdio), calls_served(&mut stdio)), (1, 2), "before {tool}");
        let answer = stdio.call(&format!("zoo_{tool}"), arguments);
        assert_eq!(answer["result"]["isError"], true, "{tool}: {answer}");
        assert_eq!(calls_served(&mut stdio), 1, "after {tool}");
        assert_plugins_work(&mut stdio);
        let _ = stdio.call("zoo_panic", json!({}));
    }
}

#[test]
fn a_cancelled_call_ends_its_instance() {
    let (_workspace, mut stdio) = stdio("");
    assert_eq!(calls_served(&mut stdio), 1);
    let params = json!({ "name": "zoo_report_and_hang", "arguments": {}, "_meta": { "progressToken": "p" } });
    stdio.send(&moongate_tests::request(77, "tools/call", params));
    let progress = stdio.receive();
    assert_eq!(progress["method"], "notifications/progress", "{progress}");
    let cancelled = json!({ "requestId": 77 });
    stdio.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }));
    assert_eq!(calls_served(&mut stdio), 1);
}

#[test]
fn an_instance_above_reuse_memory_is_not_reused() {
    let (_workspace, mut stdio) = stdio("memory = \"32MiB\"");
    assert_eq!(calls_served(&mut stdio), 1);
    let _ = stdio.call("zoo_grow_memory", json!({}));
    assert_eq!((calls_served(&mut stdio), calls_served(&mut stdio)), (1, 2));
    let (_workspace, mut stdio) = self::stdio("memory = \"32MiB\", reuse_memory = \"32MiB\"");
    assert_eq!(calls_served(&mut stdio), 1);
    let _ = stdio.call("zoo_grow_memory", json!({}));
    assert_eq!(calls_served(&mut stdio), 2);
}

#[test]
fn limits_count_per_call_in_a_reused_instance() {
    let (_workspace, mut stdio) =
        stdio("log_lines = 50, output = \"1KiB\", read = \"1500B\", cpu_time = \"5s\"");
    assert_eq!(calls_served(&mut stdio), 1);
    for call in 0..3 {
        let read = stdio.call("zoo_read_file", json!({ "path": "/in/a.txt" }));
        assert_eq!(text(&read).len(), 1000, "call {call}: {read}");
        let _ = stdio.call("zoo_log_flood", json!({ "lines": 70 }));
        let _ = stdio.call("zoo_stdout_flood", json!({ "bytes": 3000 }));
    }
    assert_eq!(calls_served(&mut stdio), 2, "one instance served all calls, with a granted directory open");
    let (_, _, log) = stdio.finish();
    assert_eq!(log.matches("20 log lines dropped").count(), 3, "{log}");
    assert_eq!(log.matches("bytes of output dropped").count(), 3, "{log}");
}

#[test]
fn call_context_does_not_leak_into_the_next_call() {
    let (_workspace, mut stdio) = stdio("timeout = \"20s\"");
    assert_eq!(calls_served(&mut stdio), 1);
    let mut context_of = |meta: Value| {
        let params = json!({ "name": "zoo_echo_context", "arguments": {}, "_meta": meta });
        stdio.request_and_wait("tools/call", params)["result"]["structuredContent"].clone()
    };
    let first = context_of(json!({ "progressToken": "first", "traceparent": "00-1-2-3" }));
    assert_eq!((&first["progress_token"], &first["traceparent"]), (&json!("first"), &json!("00-1-2-3")));
    let second = context_of(json!({}));
    assert_eq!((&second["progress_token"], &second["traceparent"]), (&Value::Null, &Value::Null), "{second}");
    assert!(second["remaining_ms"].as_u64().unwrap() > 10_000, "{second}");
    assert_eq!(second["cancelled"], false, "{second}");
    assert_eq!(calls_served(&mut stdio), 2);
}

#[test]
fn uses_the_new_directory_after_a_replacement() {
    let (workspace, mut stdio) = stdio("");
    let mut read = |expected: &str| {
        let read = stdio.call("zoo_read_file", json!({ "path": "/in/b.txt" }));
        assert_eq!(text(&read), expected);
    };
    workspace.write("in/b.txt", "before");
    read("before");
    std::fs::rename(workspace.path().join("in"), workspace.path().join("out")).unwrap();
    workspace.write("in/b.txt", "after");
    read("after");
}

#[test]
fn open_directories_do_not_outlive_their_call() {
    let (_workspace, mut stdio) = stdio("");
    assert_eq!(calls_served(&mut stdio), 1);
    let mut take = |what: &str| {
        let steps = json!([{ "what": what, "dir": "/in", "path": "." }]);
        let outcome = stdio.call("zoo_file_steps", json!({ "steps": steps }));
        (text(&outcome).to_owned(), calls_served(&mut stdio))
    };
    assert_eq!(take("list"), ("a.txt".to_owned(), 2), "no directory was left open");
    assert_eq!(take("keep_another"), ("kept".to_owned(), 1));
}

#[test]
fn an_instance_serves_only_one_caller() {
    let workspace = Workspace::new(&format!(
        "[http.auth]\ntokens = [{{ name = \"ann\", token = {{ file = \"ann\" }} }}, {{ name = \"bob\", token = {{ file = \"bob\" }} }}]\n{}",
        reused("")
    ));
    workspace.write("in/a.txt", "");
    workspace.write("ann", "ann-has-a-long-secret");
    workspace.write("bob", "bob-has-a-long-secret");
    let http = Http::start(&workspace);
    let ann = ("Authorization", "Bearer ann-has-a-long-secret");
    let bob = ("Authorization", "Bearer bob-has-a-long-secret");
    let sessions = [ann, bob, ann].map(|token| (token, http.open_session(&[token], "2025-11-25")));
    let mut seen = Vec::new();
    for (token, session) in sessions.iter().cycle().take(6) {
        let call =
            moongate_tests::request(7, "tools/call", json!({ "name": "zoo_calls_seen", "arguments": {} }));
        let reply = http.post(&[*token, ("Mcp-Session-Id", session)], &call).json();
        seen.push(text(&reply).parse::<u32>().unwrap());
    }
    // Ann calls from two sessions.
    assert_eq!(seen, [1, 1, 2, 3, 2, 4]);
}

#[test]
fn anonymous_callers_share_no_instance() {
    let workspace = Workspace::new(&reused(""));
    workspace.write("in/a.txt", "");
    let http = Http::start(&workspace);
    for _ in 0..3 {
        assert_eq!(text(&http.call("zoo_calls_seen", json!({}))), "1");
    }
}

#[test]
fn an_idle_instance_ends_after_reuse_idle() {
    let workspace = Workspace::new(&format!(
        "[admin]\nlisten = \"127.0.0.1:0\"\n[http.auth]\ntokens = [{{ name = \"ann\", token = {{ file = \"ann\" }} }}]\n{}",
        reused("reuse_idle = \"1s\"")
    ));
    workspace.write("in/a.txt", "");
    workspace.write("ann", "ann-has-a-long-secret");
    let http = Http::start(&workspace);
    let admin = http.admin();
    let ann = ("Authorization", "Bearer ann-has-a-long-secret");
    let session = http.open_session(&[ann], "2025-11-25");
    let idle = || admin.metric("moongate_plugin_idle_instances{plugin=\"zoo\"}");
    assert_eq!(idle(), Some(0.0));
    let call = || {
        let call =
            moongate_tests::request(7, "tools/call", json!({ "name": "zoo_calls_seen", "arguments": {} }));
        text(&http.post(&[ann, ("Mcp-Session-Id", &session)], &call).json()).to_owned()
    };
    assert_eq!(call(), "1");
    wait_until("no instance is idle", || idle() == Some(0.0));
    assert_eq!(call(), "1");
    let pool = "moongate_pool_slots_in_use{kind=\"instances\"}";
    wait_until("its pool slot is free", || admin.metric(pool) == Some(0.0));
}

#[test]
fn a_configuration_change_ends_idle_instances() {
    let (workspace, mut stdio) = stdio("reuse_calls = 1000000");
    assert_eq!((calls_served(&mut stdio), calls_served(&mut stdio)), (1, 2));
    let config = std::fs::read_to_string(workspace.config()).unwrap();
    std::fs::write(workspace.config(), config.replace("reuse_calls = 1000000", "reuse_calls = 2")).unwrap();
    wait_until("the new configuration is in use", || calls_served(&mut stdio) == 1);
    assert_eq!((calls_served(&mut stdio), calls_served(&mut stdio)), (2, 1));
}

/// Many concurrent calls to a plugin with reused instances and to one without: idle instances cause no rejections.
#[test]
fn idle_instances_do_not_block_other_calls() {
    let workspace = Workspace::new(&format!("[gateway]\nconcurrency = 4\n{}", reused("concurrency = 4")));
    workspace.write("in/a.txt", "");
    let mut stdio = Stdio::start_with(&workspace, &["-v"]);
    let _ = stdio.request_and_wait("initialize", moongate_tests::initialize_params("2025-11-25"));
    for round in 0..20 {
        for id in 0..20 {
            let (tool, arguments) = match id % 3 {
                0 => ("time_get_current_time", json!({ "timezone": "UTC" })),
                1 => ("zoo_echo", json!({ "text": "a" })),
                _ => ("zoo_panic", json!({})),
            };
            let call = json!({ "name": tool, "arguments": arguments });
            stdio.send(&moongate_tests::request(1000 + round * 20 + id, "tools/call", call));
        }
        for id in 0..20 {
            let answer = stdio.response(1000 + round * 20 + id);
            assert_eq!(answer["result"]["isError"] == true, id % 3 == 2, "{answer}");
            assert!(!answer.to_string().contains("busy"), "{answer}");
        }
    }
    let (_, status, log) = stdio.finish();
    assert!(status.success());
    let pool = log.lines().find(|line| line.contains("instance pool at shutdown")).unwrap();
    for gauge in ["calls=0", "instances=0", "memories=0", "tables=0", "stacks=0"] {
        assert!(pool.contains(gauge), "{pool}");
    }
}

/// A plugin can read its configuration in one call and use it in the next: an old instance could keep using a revoked
/// secret.
#[test]
fn replacing_a_secret_ends_instances_that_read_it() {
    let config = reused("").replace("instances = ", "config.key = { file = \"key\" }\ninstances = ");
    let workspace = Workspace::new(&config);
    workspace.write("in/a.txt", "");
    workspace.write("key", "the-first-secret");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    assert_eq!((calls_served(&mut stdio), calls_served(&mut stdio)), (1, 2));
    workspace.write("key", "the-second-secret");
    wait_until("the new secret is in use", || calls_served(&mut stdio) == 1);
}

/// The new token may have another holder.
#[test]
fn a_replaced_token_gives_no_access_to_earlier_instances() {
    let workspace = Workspace::new(&format!(
        "[http.auth]\ntokens = [{{ name = \"ann\", token = {{ file = \"ann\" }} }}]\n{}",
        reused("")
    ));
    workspace.write("in/a.txt", "");
    workspace.write("ann", "ann-has-a-long-secret");
    let http = Http::start(&workspace);
    let calls_seen = |token: &str| {
        let token = ("Authorization", token);
        let session = http.open_session(&[token], "2025-11-25");
        let call =
            moongate_tests::request(7, "tools/call", json!({ "name": "zoo_calls_seen", "arguments": {} }));
        let reply = http.post(&[token, ("Mcp-Session-Id", &session)], &call);
        text(&reply.json()).to_owned()
    };
    assert_eq!([(); 2].map(|()| calls_seen("Bearer ann-has-a-long-secret")), ["1", "2"]);
    workspace.write("ann", "eve-has-a-long-secret");
    http.wait_for_log("configuration applied: token `ann` replaced");
    assert_eq!([(); 2].map(|()| calls_seen("Bearer eve-has-a-long-secret")), ["1", "2"]);
}

/// Six callers with an instance each and a concurrency of four: each new call replaces the instance that was idle for
/// the longest time, and no call is rejected.
#[test]
fn idle_instances_of_other_callers_are_replaced() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let tokens = names.map(|name| format!("{{ name = \"{name}\", token = {{ file = \"{name}\" }} }}"));
    let workspace = Workspace::new(&format!(
        "[gateway]\nconcurrency = 4\n[admin]\nlisten = \"127.0.0.1:0\"\n[http.auth]\ntokens = [{}]\n{}",
        tokens.join(", "),
        reused("")
    ));
    workspace.write("in/a.txt", "");
    for name in names {
        workspace.write(name, format!("{name}-has-a-long-secret-of-its-own"));
    }
    let http = Http::start(&workspace);
    let admin = http.admin();
    let bearer = names.map(|name| format!("Bearer {name}-has-a-long-secret-of-its-own"));
    let sessions =
        bearer.each_ref().map(|bearer| http.open_session(&[("Authorization", bearer)], "2025-11-25"));
    let call = |at: usize, tool: &str, arguments: Value| {
        let call = moongate_tests::request(7, "tools/call", json!({ "name": tool, "arguments": arguments }));
        let headers = [("Authorization", bearer[at].as_str()), ("Mcp-Session-Id", sessions[at].as_str())];
        text(&http.post(&headers, &call).json()).to_owned()
    };
    for round in 0..3 {
        for at in 0..names.len() {
            assert_eq!(call(at, "zoo_calls_seen", json!({})), "1", "{at} in round {round}");
            assert!(call(at, "time_get_current_time", json!({ "timezone": "UTC" })).contains("UTC"));
        }
    }
    let idle = admin.metric("moongate_plugin_idle_instances{plugin=\"zoo\"}").unwrap();
    assert!(idle <= 4.0, "{idle} idle instances");
}
