//! Calls that use much processor time continue on the background pool: threads of the lowest priority. Callers notice
//! nothing else.

use std::fs;
use std::time::Duration;

use moongate_tests::{Http, Workspace, request, text, wait_until};
use serde_json::json;

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
