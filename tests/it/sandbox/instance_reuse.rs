//! Instances that serve several calls, where a plugin's table asks for that: for one caller only, and nothing of one
//! call counts for another.

use moongate_tests::{Http, Stdio, Workspace, text, wait_until};
use serde_json::{Value, json};

use crate::sandbox::limits::all_is_well;

/// The zoo with reused instances and these limits, beside the clock.
fn reused(limits: &str) -> String {
    format!(
        "[plugins.zoo]\nsource = \"@zoo@\"\ninstances = \"reused\"\nallow.dirs = [{{ host = \"in\", guest = \"/in\" }}]\n\
         limits = {{ {limits} }}\n[plugins.time]\nsource = \"@time@\"\n"
    )
}

/// A gateway over stdio, with a folder for the zoo.
fn stdio(limits: &str) -> (Workspace, Stdio) {
    let workspace = Workspace::new(&reused(limits));
    workspace.write("in/a.txt", "x".repeat(1000));
    let stdio = Stdio::initialized(&workspace, "2025-11-25");
    (workspace, stdio)
}

/// How many calls the instance has served that answers.
#[track_caller]
fn seen(stdio: &mut Stdio) -> u32 {
    text(&stdio.call("zoo_calls_seen", json!({}))).parse().unwrap()
}

#[test]
fn an_instance_serves_so_many_calls_and_no_more() {
    let (_workspace, mut stdio) = stdio("reuse_calls = 3");
    let all: Vec<u32> = (0..7).map(|_| seen(&mut stdio)).collect();
    assert_eq!(all, [1, 2, 3, 1, 2, 3, 1]);
    // What the plugin itself refuses, or says to have failed, is a good answer.
    let (_workspace, mut stdio) = self::stdio("");
    assert_eq!(seen(&mut stdio), 1);
    for tool in ["error_result", "protocol_error_internal", "bad_structured"] {
        let _ = stdio.call(&format!("zoo_{tool}"), json!({}));
    }
    assert_eq!(seen(&mut stdio), 2);
}

#[test]
fn an_instance_whose_call_ended_badly_is_not_used_again() {
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
        assert_eq!((seen(&mut stdio), seen(&mut stdio)), (1, 2), "before {tool}");
        let answer = stdio.call(&format!("zoo_{tool}"), arguments);
        assert_eq!(answer["result"]["isError"], true, "{tool}: {answer}");
        assert_eq!(seen(&mut stdio), 1, "after {tool}");
        all_is_well(&mut stdio);
        let _ = stdio.call("zoo_panic", json!({}));
    }
}

#[test]
fn an_instance_whose_call_was_cancelled_is_not_used_again() {
    let (_workspace, mut stdio) = stdio("");
    assert_eq!(seen(&mut stdio), 1);
    let params = json!({ "name": "zoo_report_and_hang", "arguments": {}, "_meta": { "progressToken": "p" } });
    stdio.send(&moongate_tests::request(77, "tools/call", params));
    let progress = stdio.receive();
    assert_eq!(progress["method"], "notifications/progress", "{progress}");
    let cancelled = json!({ "requestId": 77 });
    stdio.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled }));
    assert_eq!(seen(&mut stdio), 1);
}

#[test]
fn an_instance_with_much_memory_is_not_used_again() {
    let (_workspace, mut stdio) = stdio("memory = \"32MiB\"");
    assert_eq!(seen(&mut stdio), 1);
    let _ = stdio.call("zoo_grow_memory", json!({}));
    assert_eq!((seen(&mut stdio), seen(&mut stdio)), (1, 2));
    let (_workspace, mut stdio) = self::stdio("memory = \"32MiB\", reuse_memory = \"32MiB\"");
    assert_eq!(seen(&mut stdio), 1);
    let _ = stdio.call("zoo_grow_memory", json!({}));
    assert_eq!(seen(&mut stdio), 2);
}

#[test]
fn what_a_call_may_use_is_its_own_in_a_reused_instance_too() {
    let (_workspace, mut stdio) =
        stdio("log_lines = 50, output = \"1KiB\", read = \"1500B\", cpu_time = \"5s\"");
    assert_eq!(seen(&mut stdio), 1);
    for call in 0..3 {
        let read = stdio.call("zoo_read_file", json!({ "path": "/in/a.txt" }));
        assert_eq!(text(&read).len(), 1000, "call {call}: {read}");
        let _ = stdio.call("zoo_log_flood", json!({ "lines": 70 }));
        let _ = stdio.call("zoo_stdout_flood", json!({ "bytes": 3000 }));
    }
    assert_eq!(seen(&mut stdio), 2, "one instance served them all, with a granted folder open");
    let (_, _, log) = stdio.finish();
    assert_eq!(log.matches("20 log lines dropped").count(), 3, "{log}");
    assert_eq!(log.matches("bytes of output dropped").count(), 3, "{log}");
}

#[test]
fn nothing_of_the_earlier_call_is_told_to_the_next_one() {
    let (_workspace, mut stdio) = stdio("timeout = \"20s\"");
    assert_eq!(seen(&mut stdio), 1);
    let mut about = |meta: Value| {
        let params = json!({ "name": "zoo_echo_context", "arguments": {}, "_meta": meta });
        stdio.request_and_wait("tools/call", params)["result"]["structuredContent"].clone()
    };
    let first = about(json!({ "progressToken": "first", "traceparent": "00-1-2-3" }));
    assert_eq!((&first["progress_token"], &first["traceparent"]), (&json!("first"), &json!("00-1-2-3")));
    let second = about(json!({}));
    assert_eq!((&second["progress_token"], &second["traceparent"]), (&Value::Null, &Value::Null), "{second}");
    assert!(second["remaining_ms"].as_u64().unwrap() > 10_000, "{second}");
    assert_eq!(second["cancelled"], false, "{second}");
    assert_eq!(seen(&mut stdio), 2);
}

#[test]
fn a_granted_folder_that_was_replaced_is_the_new_one() {
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
fn a_directory_that_is_open_in_place_of_a_granted_one_is_left_to_no_other_call() {
    let (_workspace, mut stdio) = stdio("");
    assert_eq!(seen(&mut stdio), 1);
    let mut take = |what: &str| {
        let steps = json!([{ "what": what, "dir": "/in", "path": "." }]);
        let told = stdio.call("zoo_file_steps", json!({ "steps": steps }));
        (text(&told).to_owned(), seen(&mut stdio))
    };
    assert_eq!(take("list"), ("a.txt".to_owned(), 2), "nothing was left behind");
    assert_eq!(take("keep_another"), ("kept".to_owned(), 1));
}

#[test]
fn no_instance_serves_two_callers() {
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
    // Ann's calls come from two sessions of hers.
    assert_eq!(seen, [1, 1, 2, 3, 2, 4]);
}

#[test]
fn callers_without_a_name_share_nothing() {
    let workspace = Workspace::new(&reused(""));
    workspace.write("in/a.txt", "");
    let http = Http::start(&workspace);
    for _ in 0..3 {
        assert_eq!(text(&http.call("zoo_calls_seen", json!({}))), "1");
    }
}

#[test]
fn an_instance_ends_when_nobody_calls() {
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
    wait_until("nobody waits any more", || idle() == Some(0.0));
    assert_eq!(call(), "1");
    let pool = "moongate_pool_slots_in_use{kind=\"instances\"}";
    wait_until("its place in the pool is free", || admin.metric(pool) == Some(0.0));
}

#[test]
fn a_change_of_the_table_ends_instances_that_wait() {
    let (workspace, mut stdio) = stdio("reuse_calls = 1000000");
    assert_eq!((seen(&mut stdio), seen(&mut stdio)), (1, 2));
    let config = std::fs::read_to_string(workspace.config()).unwrap();
    std::fs::write(workspace.config(), config.replace("reuse_calls = 1000000", "reuse_calls = 2")).unwrap();
    wait_until("the new table holds", || seen(&mut stdio) == 1);
    assert_eq!((seen(&mut stdio), seen(&mut stdio)), (2, 1));
}

/// Many calls at once, of a plugin that reuses and of one that doesn't: nobody is turned away for those that wait.
#[test]
fn instances_that_wait_are_in_nobodys_way() {
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

/// What a plugin learns from its table holds for the next call: an instance that read it earlier may go on with what was
/// taken back.
#[test]
fn a_secret_that_is_replaced_ends_instances_that_know_the_old_one() {
    let config = reused("").replace("instances = ", "config.key = { file = \"key\" }\ninstances = ");
    let workspace = Workspace::new(&config);
    workspace.write("in/a.txt", "");
    workspace.write("key", "the-first-secret");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    assert_eq!((seen(&mut stdio), seen(&mut stdio)), (1, 2));
    workspace.write("key", "the-second-secret");
    wait_until("the new secret holds", || seen(&mut stdio) == 1);
}

/// Tokens are those of the start: who has a new one is nobody until then, and an instance of whoever had the name before
/// serves no one else.
#[test]
fn a_token_that_is_replaced_gives_nobody_an_instance_of_its_earlier_holder() {
    let workspace = Workspace::new(&format!(
        "[http.auth]\ntokens = [{{ name = \"ann\", token = {{ file = \"ann\" }} }}]\n{}",
        reused("")
    ));
    workspace.write("in/a.txt", "");
    workspace.write("ann", "ann-has-a-long-secret");
    let http = Http::start(&workspace);
    let ann = ("Authorization", "Bearer ann-has-a-long-secret");
    let session = http.open_session(&[ann], "2025-11-25");
    let call = |token| {
        let call =
            moongate_tests::request(7, "tools/call", json!({ "name": "zoo_calls_seen", "arguments": {} }));
        http.post(&[token, ("Mcp-Session-Id", &session)], &call)
    };
    assert_eq!(text(&call(ann).json()), "1");
    workspace.write("ann", "eve-has-a-long-secret");
    http.wait_for_log(
        "`http.auth.tokens` changed and needs a restart; until then, the earlier tokens stay in use",
    );
    assert_eq!(call(("Authorization", "Bearer eve-has-a-long-secret")).status, 401);
    assert_eq!(text(&call(ann).json()), "2");
}

/// Six callers with an instance each, where four calls run at once: whoever comes takes the place of the one that waited
/// longest, and nobody is turned away.
#[test]
fn callers_who_fill_the_pool_with_instances_that_wait_keep_nobody_out() {
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
    assert!(idle <= 4.0, "{idle} wait");
}
