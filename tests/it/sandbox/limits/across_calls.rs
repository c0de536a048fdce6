//! Limits across all calls, and of stored state.

use moongate_tests::{Http, Stdio, Workspace, request, text, wait_until};
use serde_json::json;

#[test]
fn calls_beyond_the_gateways_concurrency_wait() {
    let workspace = Workspace::new(
        r#"
        [gateway]
        concurrency = 2
        [http]
        listen = "127.0.0.1:0"
        [admin]
        listen = "127.0.0.1:0"
        [defaults.limits]
        timeout = "1h"
        [plugins.zoo]
        source = "@zoo@"
        uris = ["zoo://"]
        [plugins.another]
        source = "@zoo@"
        [plugins.time]
        source = "@time@"
        "#,
    );
    let http = Http::start(&workspace);
    let gauge = |name: &str, plugin: &str| http.admin().metric(&format!("{name}{{plugin=\"{plugin}\"}}"));
    std::thread::scope(|scope| {
        let time = || http.call("time_get_current_time", json!({ "timezone": "UTC" }));
        // These sleep until they are dropped.
        let sleeping = [(); 2].map(|()| http.start_call("zoo_sleep_forever", json!({})));
        wait_until("one call to the zoo runs", || gauge("moongate_plugin_instances", "zoo") == Some(1.0));
        wait_until("the other one waits", || gauge("moongate_plugin_calls_waiting", "zoo") == Some(1.0));
        assert!(text(&time()).contains("UTC"), "a plugin that has all other slots never gets the last one");
        let another = http.start_call("another_sleep_forever", json!({}));
        wait_until("one call to the other zoo runs", || {
            gauge("moongate_plugin_instances", "another") == Some(1.0)
        });
        let waiting = scope.spawn(time);
        wait_until("no slot is free", || gauge("moongate_plugin_calls_waiting", "time") == Some(1.0));
        assert!(!waiting.is_finished());
        drop((sleeping, another));
        assert!(text(&waiting.join().unwrap()).contains("UTC"));
    });
}

#[test]
fn limits_length_of_keys_and_values_and_counts_each_key() {
    let workspace = Workspace::new(
        "[plugins.stateful]\nsource = \"@stateful@\"\nallow.state = true\n\
         limits = { state = \"2MiB\", cpu_time = \"1m\", timeout = \"2m\" }\n",
    );
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let mut call =
        |tool: &str, arguments| text(&stdio.call(&format!("stateful_{tool}"), arguments)).to_owned();
    assert_eq!(call("set", json!({ "key": "k".repeat(1 << 10), "value": "x", "count": 1 << 20 })), "set");
    assert_eq!(call("delete", json!({ "key": "k".repeat(1 << 10) })), "deleted");
    let long = call("set", json!({ "key": "a", "value": "x", "count": (1 << 20) + 1 }));
    assert!(long.contains("1.0 MiB"), "{long}");
    let long = call("set", json!({ "key": "k".repeat((1 << 10) + 1), "value": "x" }));
    assert!(long.contains("1024"), "{long}");
    // Keys only: each has at most five bytes and costs 64 more.
    let full = call("fill", json!({ "key": "", "value": "" }));
    let count: u64 = full.split(' ').next().unwrap().parse().unwrap_or_else(|_| panic!("{full}"));
    assert!(full.contains("limits.state") && (30_000..32_768).contains(&count), "{full}");
}

#[test]
fn limits_open_questions_per_client() {
    let workspace = crate::protocol::questions::zoo_with_all_grants();
    let mut stdio = crate::protocol::questions::initialized_client(
        &workspace,
        "2025-11-25",
        crate::protocol::questions::all_capabilities("2025-11-25"),
    );
    let questions: Vec<_> =
        (0..16).map(|at| json!({ "key": format!("k{at}"), "method": "roots/list" })).collect();
    for id in 100..104 {
        let call = json!({ "name": "zoo_ask", "arguments": { "questions": questions } });
        stdio.send(&request(id, "tools/call", call));
    }
    for _ in 0..64 {
        assert_eq!(stdio.receive()["method"], "roots/list");
    }
    let answer = stdio.call("zoo_ask", json!({ "questions": questions[..1] }));
    assert!(answer["result"]["isError"] == true && text(&answer).contains("64"), "{answer}");
}

/// Whatever a plugin does in each call, its lines in the log are few, and those of others are complete.
#[test]
fn log_lines_of_a_plugin_have_a_rate() {
    const CALLS: usize = 40;
    let workspace = Workspace::new(
        "[plugins.loud]\nsource = \"@zoo@\"\nuris = [\"loud:\"]\nlimits = { log_rate = \"1KiB\" }\n\
         [plugins.quiet]\nsource = \"@zoo@\"\nuris = [\"zoo:\"]\n",
    );
    let http = Http::start(&workspace);
    let started = std::time::Instant::now();
    for _ in 0..CALLS {
        let _ = http.call("loud_stdout_flood", json!({ "bytes": 64 << 10 }));
        let _ = http.call("loud_log_flood", json!({ "lines": 2000 }));
        let _ = http.call("loud_panic", json!({}));
        let _ = http.call("loud_changes_flood", json!({ "count": 500 }));
        let _ = http.call("loud_change_foreign_resource", json!({}));
    }
    http.wait_for_log(
        "log lines dropped in the last second: plugin `loud` wrote more than `limits.log_rate`",
    );
    let _ = http.call("quiet_log_flood", json!({ "lines": 100 }));
    http.wait_for_log("line 99 of 100");
    let seconds = started.elapsed().as_secs() + 1;
    let (_, log) = http.terminate();
    assert_eq!(log.lines().filter(|line| line.contains("of 100 that")).count(), 100, "{log}");
    let is_of_plugin = |line: &&str| line.contains("loud") && !line.contains("plugin call ended");
    let loud: usize = log.lines().filter(is_of_plugin).map(|line| line.len() + 1).sum();
    // Ten seconds' worth at once, twice for the time and names in each line, and the summaries.
    let most = 4 * 1024 * (10 + usize::try_from(seconds).unwrap());
    assert!(loud < most, "{loud} bytes in {seconds} seconds");
    let summaries = log.lines().filter(|line| line.contains("log lines dropped in the last second")).count();
    assert!(summaries as u64 <= seconds, "{summaries} summaries in {seconds} seconds");
}
