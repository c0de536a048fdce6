//! Calls that use much processor time continue on the background pool: threads of the lowest priority. Callers notice
//! nothing else.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::thread::available_parallelism;
use std::time::Duration;

use moongate_tests::{Http, Workspace, initialize_params, request, stateless_request, text, wait_until};
use serde_json::{Value, json};

use crate::operations::shutdown::start_stateless_call;
use crate::protocol::questions::{accept_result, initialized_client};

/// `limits` is the content of `[plugins.zoo.limits]`.
fn zoo(limits: &str) -> Workspace {
    Workspace::new(&format!(
        "[gateway]\nstop_grace = \"100ms\"\n[http]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"127.0.0.1:0\"\n\
         [plugins.zoo]\nsource = \"@zoo@\"\nallow.client = [\"elicitation\"]\n[plugins.zoo.limits]\n{limits}\n"
    ))
}

/// A thread of the background pool.
struct PoolThread {
    nice: i64,
    cpu_time: Duration,
}

/// The threads of a gateway's background pool.
fn pool_threads(pid: u32) -> Vec<PoolThread> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    tasks
        .filter_map(|task| {
            let stat = fs::read_to_string(task.unwrap().path().join("stat")).ok()?;
            let (name, fields) = stat.rsplit_once(')').unwrap();
            let fields: Vec<&str> = fields.split_whitespace().collect();
            let ticks: u64 = fields[11..13].iter().map(|field| field.parse::<u64>().unwrap()).sum();
            name.contains("(moongate-bg-").then(|| PoolThread {
                nice: fields[16].parse().unwrap(),
                cpu_time: Duration::from_millis(10 * ticks),
            })
        })
        .collect()
}

fn pool_cpu_time(pid: u32) -> Duration {
    pool_threads(pid).iter().map(|thread| thread.cpu_time).sum()
}

fn wait_until_no_call_runs(http: &Http) {
    let running = || http.admin().metric("moongate_plugin_instances{plugin=\"zoo\"}");
    wait_until("no call runs", || running().is_none_or(|calls| calls == 0.0));
}

#[test]
fn long_calls_continue_on_threads_of_the_lowest_priority() {
    let workspace = zoo("");
    let http = Http::start(&workspace);
    for _ in 0..3 {
        assert_eq!(text(&http.call("zoo_compute_then", json!({ "action": "return" }))), "computed");
    }
    let threads = pool_threads(http.pid());
    assert!(!threads.is_empty());
    assert!(threads.iter().all(|thread| thread.nice == 19));
    assert!(pool_cpu_time(http.pid()) > Duration::ZERO);
    assert_eq!(text(&http.call("zoo_echo", json!({ "text": "short" }))), "short");
}

#[test]
fn callers_with_many_requests_give_way_while_others_are_active() {
    let workspace = zoo("");
    let text = fs::read_to_string(workspace.config()).unwrap();
    let tokens =
        ["busy", "quiet"].map(|name| format!("{{ name = \"{name}\", token = {{ file = \"{name}\" }} }}"));
    let tokens = format!("[http]\nauth.tokens = [{}]\n", tokens.join(", "));
    workspace.write("gateway.toml", text.replace("[http]\n", &tokens));
    for name in ["busy", "quiet"] {
        workspace.write(name, format!("the-long-token-of-{name}"));
    }
    let http = Http::start(&workspace);
    let header = |name: &str| format!("Bearer the-long-token-of-{name}");
    let call = |name: &str, id: u64| {
        let message =
            stateless_request(id, "tools/call", json!({ "name": "zoo_echo", "arguments": { "text": name } }));
        let authorization = header(name);
        let headers = [
            ("Authorization", &*authorization),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", "zoo_echo"),
        ];
        let answer = http.post(&headers, &message).messages().pop().unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], name, "{answer}");
    };
    // Requests whose bodies never arrive are in progress without any work.
    let begun = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: 100\r\n\r\n",
        header("busy")
    );
    let count = 2 * available_parallelism().unwrap().get() + 2;
    let begin = |_| {
        let mut stream = TcpStream::connect(http.address()).unwrap();
        stream.write_all(begun.as_bytes()).unwrap();
        stream
    };
    let _unfinished: Vec<TcpStream> = (0..count).map(begin).collect();
    let before = pool_cpu_time(http.pid());
    let mut id = 0;
    wait_until("short calls are made on the pool", || {
        for name in ["quiet", "busy", "busy"] {
            id += 1;
            call(name, id);
        }
        pool_cpu_time(http.pid()) > before
    });
}

/// Over HTTP+SSE, the response to a POST is sent at once, while the call is still in progress.
#[test]
fn calls_over_http_sse_are_requests_in_progress() {
    let workspace = zoo("");
    let text = fs::read_to_string(workspace.config()).unwrap();
    let tokens =
        ["busy", "quiet"].map(|name| format!("{{ name = \"{name}\", token = {{ file = \"{name}\" }} }}"));
    let http_table = format!("[http]\nlegacy_sse = true\nauth.tokens = [{}]\n", tokens.join(", "));
    workspace.write("gateway.toml", text.replace("[http]\n", &http_table));
    for name in ["busy", "quiet"] {
        workspace.write(name, format!("the-long-token-of-{name}"));
    }
    let http = Http::start(&workspace);
    let connect = |authorization: &'static str| {
        let headers = [("Accept", "text/event-stream"), ("Authorization", authorization)];
        let mut stream = http.open_at("GET", "/sse", &headers, b"");
        let path = format!("/{}", stream.event().unwrap().data);
        (stream, path)
    };
    let post = |authorization: &str, path: &str, message: &Value| {
        let headers = [("Authorization", authorization), ("Content-Type", "application/json")];
        let reply = http.send("POST", path, &headers, message.to_string().as_bytes());
        assert_eq!(reply.status, 202, "{reply:?}");
    };
    let busy = "Bearer the-long-token-of-busy";
    let quiet = "Bearer the-long-token-of-quiet";
    let (mut stream, path) = connect(busy);
    let (_other_stream, other_path) = connect(quiet);
    post(busy, &path, &request(0, "initialize", initialize_params("2024-11-05")));
    assert_eq!(stream.message().unwrap()["id"], 0);
    let count = 2 * available_parallelism().unwrap().get() as u64 + 2;
    for id in 1..=count {
        let call = request(
            id,
            "tools/call",
            json!({ "name": "zoo_sleep", "arguments": { "milliseconds": 20_000 } }),
        );
        post(busy, &path, &call);
    }
    let before = pool_cpu_time(http.pid());
    let mut id = count;
    wait_until("short calls are made on the pool", || {
        id += 1;
        post(quiet, &other_path, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        let call = request(id, "tools/call", json!({ "name": "zoo_echo", "arguments": { "text": "x" } }));
        post(busy, &path, &call);
        assert_eq!(stream.message().unwrap()["id"], id);
        pool_cpu_time(http.pid()) > before
    });
}

#[test]
fn calls_ask_and_fail_alone_after_they_moved() {
    let workspace = zoo("");
    let mut stdio = initialized_client(&workspace, "2025-11-25", json!({ "elicitation": {} }));
    let call = |id: u64, action: &str| {
        request(id, "tools/call", json!({ "name": "zoo_compute_then", "arguments": { "action": action } }))
    };
    for id in [10, 20] {
        stdio.send(&call(id, "ask"));
        let question = stdio.receive();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        stdio.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": accept_result(json!({ "name": "Ada" })) }));
        assert_eq!(text(&stdio.response(id)), "Hello, Ada!");
        stdio.send(&call(id + 1, "panic"));
        assert!(text(&stdio.response(id + 1)).contains("aborted"));
        assert_eq!(text(&stdio.call("zoo_echo", json!({ "text": "next" }))), "next");
    }
    assert!(pool_cpu_time(stdio.pid()) > Duration::ZERO);
}

#[test]
fn moved_calls_end_at_their_limits() {
    for (limits, reason) in [
        ("cpu_time = \"500ms\"\ntimeout = \"1h\"", "plugins.zoo.limits.cpu_time"),
        ("cpu_time = \"1h\"\ntimeout = \"2s\"", "plugins.zoo.limits.timeout"),
    ] {
        let workspace = zoo(limits);
        let http = Http::start(&workspace);
        for _ in 0..2 {
            let answer = http.call("zoo_spin_forever", json!({}));
            assert!(text(&answer).contains(reason), "{answer}");
        }
        assert!(pool_cpu_time(http.pid()) > Duration::ZERO);
        wait_until_no_call_runs(&http);
    }
}

#[test]
fn moved_calls_report_and_end_with_their_caller() {
    let workspace = zoo("cpu_time = \"1h\"\ntimeout = \"1h\"");
    let http = Http::start(&workspace);
    let arguments = json!({ "action": "report" });
    let streams = [(); 3].map(|()| start_stateless_call(&http, "zoo_compute_then", arguments.clone()));
    drop(streams);
    wait_until_no_call_runs(&http);
    assert_eq!(text(&http.call("zoo_echo", json!({ "text": "next" }))), "next");
}

#[test]
fn moved_calls_dont_delay_shutdown() {
    let workspace = zoo("cpu_time = \"1h\"\ntimeout = \"1h\"");
    let http = Http::start(&workspace);
    let arguments = json!({ "action": "report" });
    let streams = [(); 3].map(|()| start_stateless_call(&http, "zoo_compute_then", arguments.clone()));
    let (status, log) = http.terminate();
    assert!(status.success(), "{log}");
    assert!(!log.contains("panicked"), "{log}");
    drop(streams);
}
