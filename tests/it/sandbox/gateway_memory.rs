//! `[gateway] memory`: all instances together stay below their part, and other callers keep theirs.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use moongate_tests::{Http, Workspace, peak_memory, request, text};
use serde_json::{Value, json};

/// The memory of the process.
const MEMORY: u64 = 256 << 20;

const GATEWAY: &str = r#"
[gateway]
memory = "256MiB"
[http]
listen = "127.0.0.1:0"
[http.auth]
tokens = [{ name = "ann", token = { file = "ann" } }, { name = "ben", token = { file = "ben" } }]
[plugins.a]
source = "@zoo@"
uris = ["zoo://"]
[plugins.b]
source = "@zoo@"
instances = "reused"
[plugins.c]
source = "@zoo@"
[plugins.d]
source = "@zoo@"
[plugins.time]
source = "@time@"
"#;

/// A client with a session.
struct Client<'h> {
    http: &'h Http,
    token: &'static str,
    session: String,
}

impl<'h> Client<'h> {
    fn new(http: &'h Http, token: &'static str) -> Self {
        Self { http, token, session: http.open_session(&[("Authorization", token)], "2025-11-25") }
    }

    fn call(&self, id: u64, tool: &str, arguments: &Value) -> Value {
        let headers = [("Authorization", self.token), ("Mcp-Session-Id", self.session.as_str())];
        self.http
            .post(&headers, &request(id, "tools/call", json!({ "name": tool, "arguments": arguments })))
            .json()
    }
}

#[test]
fn hostile_instances_stay_below_the_gateways_memory() {
    const CLIENTS_PER_PLUGIN: usize = 5;
    const CALLS: u64 = 4;
    let workspace = Workspace::new(GATEWAY);
    workspace.write("ann", "ann-has-a-long-secret");
    workspace.write("ben", "ben-has-a-long-secret");
    let http = Http::start(&workspace);
    let denied = AtomicU32::new(0);
    thread::scope(|scope| {
        for plugin in ["a", "b", "c", "d"] {
            for client in 0..CLIENTS_PER_PLUGIN {
                let (http, denied) = (&http, &denied);
                scope.spawn(move || {
                    let ann = Client::new(http, "Bearer ann-has-a-long-secret");
                    let tool = if client == 0 { "grow_memory" } else { "exhaust_memory" };
                    for id in 1..=CALLS {
                        let answer = ann.call(id, &format!("{plugin}_{tool}"), &json!({}));
                        let said = text(&answer);
                        denied.fetch_add(u32::from(said.contains("`[gateway] memory`")), Ordering::Relaxed);
                        let is_expected = said.contains("`[gateway] memory`")
                            || said.contains(".limits.memory")
                            || said.starts_with("got ");
                        assert!(is_expected, "{answer}");
                    }
                });
            }
        }
        let ben = Client::new(&http, "Bearer ben-has-a-long-secret");
        for id in 1..=50 {
            let answer = ben.call(id, "time_get_current_time", &json!({ "timezone": "UTC" }));
            assert!(answer["result"]["isError"].is_null() && text(&answer).contains("UTC"), "{answer}");
        }
    });
    assert!(denied.into_inner() > 0, "the instances never reached the limit");
    let peak = peak_memory(http.pid());
    assert!(peak < MEMORY / 10 * 11, "{} MiB", peak >> 20);
    http.wait_for_log("use up their part of `[gateway] memory`; to allow more, raise it");
}

#[test]
fn idle_instances_make_room_for_calls() {
    let workspace = Workspace::new(&GATEWAY.replace(
        "[plugins.b]",
        "[plugins.b.limits]\nreuse_memory = \"64MiB\"\nreuse_idle = \"1h\"\n[plugins.b]",
    ));
    workspace.write("ann", "ann-has-a-long-secret");
    workspace.write("ben", "ben-has-a-long-secret");
    let http = Http::start(&workspace);
    let ann = Client::new(&http, "Bearer ann-has-a-long-secret");
    let ben = Client::new(&http, "Bearer ben-has-a-long-secret");
    // Each caller has an idle instance with nearly 64 MiB.
    for client in [&ann, &ben] {
        assert!(text(&client.call(1, "b_grow_memory", &json!({}))).starts_with("got "));
    }
    let answer = ann.call(2, "a_grow_memory", &json!({}));
    let got: u32 = text(&answer).trim_start_matches("got ").split(' ').next().unwrap().parse().unwrap();
    assert!(got > 55, "{answer}");
    assert!(peak_memory(http.pid()) < MEMORY / 10 * 11);
}
