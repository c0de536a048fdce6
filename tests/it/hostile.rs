//! Many calls, one in ten of them hostile: every honest call is answered rightly, nothing is left behind, memory stays
//! what it was, the log stays readable; and loops hold nobody up.
//!
//! Which tool a hostile call takes is chance, the same in every run, over all that the guests of the tests offer: a tool
//! that is added there is called here.

use std::io::Write as _;
use std::net::TcpStream;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use moongate_tests::{Http, Stdio, Usage, Workspace, hello, request, rounds, stateless, text, until};
use serde_json::{Map, Value, json};

/// Small limits, so that whoever misbehaves is ended soon.
const GATEWAY: &str = r#"
[http]
listen = "127.0.0.1:0"
[admin]
listen = "127.0.0.1:0"
[defaults.limits]
timeout = "2s"
cpu_time = "200ms"
memory = "48MiB"
handles = 200
transfer = "1MiB"
log_lines = 20
output = "4KiB"
[plugins.zoo]
source = "@zoo@"
uris = ["zoo://"]
allow.dirs = [{ host = "in", guest = "/in", mode = "rw" }]
[plugins.speaker]
source = "@speaker@"
[plugins.time]
source = "@time@"
[plugins.time.limits]
timeout = "60s"
cpu_time = "60s"
[plugins.honest]
source = "@zoo@"
tools.allow = ["echo", "calls_seen"]
[plugins.honest.limits]
timeout = "60s"
cpu_time = "60s"
"#;

/// Clients at once over HTTP, all on one gateway; and over stdio, each with a gateway of its own.
const OVER_HTTP: u64 = 5;
const OVER_STDIO: u64 = 3;

/// Calls of each client: a thousand together. The first fifth warms up.
const CALLS: u32 = 125;

/// One call in so many is hostile, and one of so many of those is never waited for.
const HOSTILE: u64 = 10;
const DROPPED: u64 = 4;

/// What memory may differ by, KiB: the allocator keeps what it got.
const MEMORY: u64 = 48 << 10;

/// What the counts of descriptors and threads may differ by: connections that close, threads that wait for work.
const COUNT: u64 = 40;

/// Chance, the same in every run (xorshift, Marsaglia 2003).
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// A call of a tool: its name and arguments.
type Call = (String, Value);

/// A call of each tool that the list holds, with arguments that its schema asks for.
fn calls(list: &Value) -> Vec<Call> {
    let tools = list["result"]["tools"].as_array().unwrap();
    let is_hostile = |tool: &&Value| {
        let name = tool["name"].as_str().unwrap();
        name.starts_with("zoo_") || name.starts_with("speaker_")
    };
    tools.iter().filter(is_hostile).map(call).collect()
}

fn call(tool: &Value) -> Call {
    let schema = &tool["inputSchema"];
    let mut arguments = Map::new();
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap();
        let value = match (name, schema["properties"][name]["type"].as_str()) {
            ("path", _) => json!("/in/a.txt"),
            (_, Some("integer" | "number")) => json!(1),
            (_, Some("array")) => json!([]),
            // Nobody listens there.
            ("url" | "uri", _) => json!("http://127.0.0.1:9/"),
            _ => json!("127.0.0.1:9"),
        };
        arguments.insert(name.to_owned(), value);
    }
    (tool["name"].as_str().unwrap().to_owned(), Value::Object(arguments))
}

/// Who calls, and how.
enum Client<'a> {
    Http(&'a Http),
    Stdio(&'a mut Stdio),
}

impl Client<'_> {
    fn call(&mut self, (tool, arguments): &Call) -> Value {
        match self {
            Self::Http(http) => http.call(tool, arguments.clone()),
            Self::Stdio(stdio) => stdio.call(tool, arguments.clone()),
        }
    }

    /// Calls, and goes before there is an answer.
    fn call_and_go(&mut self, (tool, arguments): &Call, id: u64) {
        let params = json!({ "name": tool, "arguments": arguments });
        match self {
            Self::Http(http) => drop(begun(http, tool, params)),
            Self::Stdio(stdio) => {
                stdio.send(&request(id, "tools/call", params));
                let cancel = json!({ "requestId": id });
                stdio.send(
                    &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel }),
                );
            }
        }
    }

    /// A call that must be answered rightly, whatever goes on beside it.
    fn is_served(&mut self, chance: &mut Chance, id: u64) {
        let (call, right) = match chance.below(3) {
            0 => (("honest_echo".to_owned(), json!({ "text": format!("text {id}") })), format!("text {id}")),
            1 => (("honest_calls_seen".to_owned(), json!({})), "1".to_owned()),
            _ => (
                ("time_get_current_time".to_owned(), json!({ "timezone": "Asia/Tokyo" })),
                "+09:00".to_owned(),
            ),
        };
        let answer = self.call(&call);
        assert!(answer["result"]["isError"].is_null(), "{call:?}: {answer}");
        let said = text(&answer);
        assert!(said == right || call.0.starts_with("time") && said.contains(&right), "{call:?}: {answer}");
    }

    /// Some calls, one in ten of them hostile.
    fn calls(&mut self, seed: u64, count: u32, hostile: &[Call]) {
        static NEXT: AtomicU64 = AtomicU64::new(1_000_000);
        let mut chance = Chance(seed);
        for _ in 0..count {
            let id = NEXT.fetch_add(1, Ordering::Relaxed);
            if chance.below(HOSTILE) > 0 {
                self.is_served(&mut chance, id);
                continue;
            }
            let call = &hostile[usize::try_from(chance.below(hostile.len() as u64)).unwrap()];
            if chance.below(DROPPED) == 0 {
                self.call_and_go(call, id);
            } else {
                let answer = self.call(call);
                assert!(answer["result"].is_object() || answer["error"].is_object(), "{call:?}: {answer}");
            }
        }
    }
}

/// A call over HTTP whose answer nobody reads: the connection, to be dropped.
fn begun(http: &Http, tool: &str, params: Value) -> TcpStream {
    let body = stateless(1, "tools/call", params).to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\nContent-Length: {}\r\n\r\n{body}",
        http.address(),
        body.len()
    );
    let mut stream = TcpStream::connect(http.address()).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// No call runs or waits, and the pool is empty.
fn until_at_rest(http: &Http) {
    let gauge = |name: &str| http.admin().metric(name);
    for plugin in ["zoo", "speaker", "time", "honest"] {
        for name in ["moongate_plugin_instances", "moongate_plugin_calls_waiting"] {
            let name = format!("{name}{{plugin=\"{plugin}\"}}");
            until(&format!("{name} is 0"), || gauge(&name) == Some(0.0));
        }
    }
    for kind in ["instances", "memories", "tables", "stacks"] {
        let name = format!("moongate_pool_slots_in_use{{kind=\"{kind}\"}}");
        until(&format!("{name} is 0"), || gauge(&name) == Some(0.0));
    }
}

/// What the log of so many hostile calls holds: lines that are the gateway's, none too long, and not too many.
#[track_caller]
fn assert_readable(log: &str, hostile: u64) {
    for line in log.lines() {
        assert!(!line.contains(|c: char| c.is_control() && c != '\t'), "{line:?}");
        assert!(!line.contains(['\u{202e}', '\u{2066}', '\u{200b}', '\u{e0041}']), "{line:?}");
        assert!(line.len() < 20 << 10, "a line of {} bytes: {}", line.len(), &line[..200]);
        assert!(!line.starts_with("2026-01-01"), "a forged line: {line}");
    }
    let most = 1_000 + 150 * hostile;
    let lines = log.lines().count() as u64;
    assert!(lines < most, "{lines} lines of {hostile} hostile calls");
}

#[test]
fn one_hostile_call_in_ten_harms_no_other_and_leaves_nothing_behind() {
    let workspace = Workspace::new(GATEWAY);
    workspace.write("in/a.txt", "hello");
    let http = Http::start(&workspace);
    let mut piped: Vec<Stdio> = (0..OVER_STDIO)
        .map(|_| {
            let mut stdio = Stdio::start_with(&workspace, &["-v"]);
            stdio.ask("initialize", hello("2025-11-25"));
            stdio.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
            stdio
        })
        .collect();
    let hostile = calls(&http.ask("tools/list", json!({})).json());
    assert!(hostile.len() > 80, "{hostile:?}");
    let mut used = Vec::new();
    for (phase, part) in [(1, 1), (2, 4)] {
        let count = rounds(CALLS) * part / 5;
        thread::scope(|scope| {
            let (http, hostile) = (&http, &hostile);
            for client in 0..OVER_HTTP {
                scope.spawn(move || Client::Http(http).calls(phase * 1000 + client, count, hostile));
            }
            for (client, stdio) in (OVER_HTTP..).zip(&mut piped) {
                scope.spawn(move || Client::Stdio(stdio).calls(phase * 1000 + client, count, hostile));
            }
        });
        until_at_rest(&http);
        let pids = [http.pid()].into_iter().chain(piped.iter().map(Stdio::pid));
        used.push(pids.map(Usage::of).collect::<Vec<_>>());
    }
    for (before, after) in used[0].iter().zip(&used[1]) {
        assert!(after.resident <= before.resident + MEMORY, "{before:?} became {after:?}");
        assert!(after.descriptors <= before.descriptors + COUNT, "{before:?} became {after:?}");
        assert!(after.threads <= before.threads + COUNT, "{before:?} became {after:?}");
    }
    let list = http.ask("tools/list", json!({})).json();
    assert_eq!(calls(&list), hostile, "the lists are what they were");
    let per_client = u64::from(rounds(CALLS)) / HOSTILE * 2;
    assert_readable(&http.log(), OVER_HTTP * per_client);
    for stdio in piped {
        let (_, status, log) = stdio.finish();
        assert!(status.success(), "{log}");
        assert_readable(&log, per_client + u64::from(rounds(CALLS))); // with `-v`, each call has a line
        let pool = log.lines().find(|line| line.contains("what the pool still holds"));
        let pool = pool.unwrap_or_else(|| panic!("what the pool held at the end isn't in the log: {log}"));
        for gauge in ["calls=0", "instances=0", "memories=0", "tables=0", "stacks=0"] {
            assert!(pool.contains(gauge), "{pool}");
        }
    }
}

/// Guests that loop until somebody ends them, each in its own way: in code, in the host, in waiting for what is ready.
const LOOPS: [&str; 8] = [
    "spin_forever",
    "burn_cpu",
    "poll_without_end",
    "poll_crowds",
    "copy_memory",
    "spin_forever",
    "poll_without_end",
    "spin_forever",
];

#[test]
fn honest_calls_and_timers_go_on_beside_eight_guests_that_loop() {
    let workspace = Workspace::new(
        r#"
        [http]
        listen = "127.0.0.1:0"
        [admin]
        listen = "127.0.0.1:0"
        [plugins.zoo]
        source = "@zoo@"
        uris = ["zoo://"]
        [plugins.zoo.limits]
        timeout = "1h"
        cpu_time = "1h"
        concurrency = 8
        cancel_grace = "0s"
        [plugins.time]
        source = "@time@"
        [plugins.honest]
        source = "@zoo@"
                tools.allow = ["echo", "sleep"]
        "#,
    );
    let http = Http::start(&workspace);
    let looping =
        LOOPS.map(|tool| begun(&http, &format!("zoo_{tool}"), json!({ "name": format!("zoo_{tool}") })));
    let instances = "moongate_plugin_instances{plugin=\"zoo\"}";
    until("all of them loop", || http.admin().metric(instances) == Some(8.0));
    for count in 0..20 {
        let said = http.call("honest_echo", json!({ "text": count.to_string() }));
        assert_eq!(text(&said), count.to_string());
        assert_eq!(text(&http.call("honest_sleep", json!({ "milliseconds": 1 }))), "slept for 1 ms");
        let time = http.call("time_get_current_time", json!({ "timezone": "UTC" }));
        assert!(time["result"]["isError"].is_null(), "{time}");
    }
    assert_eq!(http.admin().metric(instances), Some(8.0), "they loop to the end of time");
    drop(looping);
    until("nobody waits for them, so they are ended", || http.admin().metric(instances) == Some(0.0));
}

#[test]
fn files_that_one_plugin_holds_open_keep_nobody_from_connecting() {
    const HELD: u64 = 200;
    let workspace = Workspace::new(
        r#"
        [http]
        listen = "127.0.0.1:0"
        [plugins.zoo]
        source = "@zoo@"
        allow.dirs = [{ host = "in", guest = "/in", mode = "ro" }]
        [plugins.zoo.limits]
        timeout = "1h"
        concurrency = 8
        [plugins.time]
        source = "@time@"
        "#,
    );
    workspace.write("in/a.txt", "hello");
    // Started as most systems start a program, or with less.
    let plain = workspace.command(&["serve"]);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -Sn 512; exec \"$0\" serve"]).arg(plain.get_program()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let http = Http::spawn(command);
    let call = json!({ "name": "zoo_many_files", "arguments": { "count": HELD, "hold": true } });
    let _holding: Vec<_> = (0..8).map(|_| begun(&http, "zoo_many_files", call.clone())).collect();
    until("all of them are open", || Usage::of(http.pid()).descriptors > 8 * HELD);
    let time = http.call("time_get_current_time", json!({ "timezone": "UTC" }));
    assert!(time["result"]["isError"].is_null(), "{time}");
}
