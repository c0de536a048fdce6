//! Many calls, one in ten of them hostile: every normal call gets the right answer, no resource leaks, memory doesn't
//! grow, the log stays readable, and loops block no other call.
//!
//! The tool of a hostile call is chosen at random, with the same seed in every run, from all tools of the test guests: a
//! tool that is added there is called here. Half of the calls are floods, which need specific arguments to do harm.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use moongate_tests::{
    Http, ResourceUsage, Stdio, TestServer, Workspace, initialize_params, is_unsafe_character, request,
    scaled_rounds, text, wait_until,
};
use serde_json::{Map, Value, json};

/// Small limits, so that misbehaving calls end soon. `@remote@` is replaced by the address of a web server.
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
read = "4MiB"
written = "256KiB"
requests = 20
sent = "1MiB"
received = "1MiB"
state = "64KiB"
[plugins.zoo]
source = "@zoo@"
uris = ["zoo://"]
[plugins.zoo.allow]
dirs = [{ host = "in", guest = "/in", mode = "rw" }]
http = [{ url = "@remote@", networks = ["127.0.0.0/8"] }]
[plugins.malformed]
source = "@malformed@"
[plugins.stateful]
source = "@stateful@"
allow.state = true
tools.deny = ["offer", "withdraw", "break_lists", "mend_lists"]
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

/// All plugins of the gateway.
const PLUGINS: [&str; 5] = ["zoo", "malformed", "stateful", "time", "honest"];

/// The plugins whose tools are hostile.
const HOSTILE_PLUGINS: [&str; 3] = ["zoo", "malformed", "stateful"];

/// Floods: tools with their arguments.
const FLOODS: &[(&str, &str)] = &[
    ("zoo_read_without_end", r#"{"path":"/in/a.txt","way":"file"}"#),
    ("zoo_read_without_end", r#"{"path":"/in/a.txt","way":"descriptor"}"#),
    ("zoo_read_without_end", r#"{"path":"/in/a.txt","way":"stream"}"#),
    ("zoo_read_without_end", r#"{"path":"/in/a.txt","way":"splice"}"#),
    ("zoo_read_without_end", r#"{"path":"/in","way":"folder"}"#),
    ("zoo_write_without_end", r#"{"path":"/in/b.txt","way":"append"}"#),
    ("zoo_write_without_end", r#"{"path":"/in/b.txt","way":"stream"}"#),
    ("zoo_write_without_end", r#"{"path":"/in/b.txt","way":"zeros"}"#),
    ("zoo_write_without_end", r#"{"path":"/in/b.txt","way":"far"}"#),
    ("zoo_many_files", r#"{"hold":true}"#),
    ("zoo_http_many", r#"{"url":"@remote@/hello"}"#),
    ("zoo_http_at_once", r#"{"url":"@remote@/hello"}"#),
    ("zoo_http_upload", r#"{"url":"@remote@/echo"}"#),
    ("zoo_http_and_hang", r#"{"url":"@remote@/hello"}"#),
    ("zoo_http_lie", r#"{"url":"@remote@/echo","length":"7","body":"much more than seven"}"#),
    ("zoo_huge_result", r#"{"bytes":900000}"#),
    ("stateful_fill", r#"{"key":"k","value":"some words"}"#),
    ("stateful_set", r#"{"key":"large","value":"x","count":60000}"#),
    ("stateful_add_often", r#"{"key":"n","count":1000000}"#),
    ("stateful_swap_often", r#"{"key":"m","count":1000000}"#),
    ("stateful_look_often", r#"{"key":"large","count":1000}"#),
    ("stateful_note", r#"{"key":"notes","value":"x","count":5000}"#),
];

/// The number of concurrent clients over HTTP, all of one gateway.
const HTTP_CLIENTS: u64 = 5;

/// The number of concurrent clients over stdio, each with its own gateway.
const STDIO_CLIENTS: u64 = 3;

/// Calls per client: a thousand in total.
const CALLS_PER_CLIENT: u32 = 125;

/// One call in this many is hostile.
const HOSTILE_ONE_IN: u64 = 10;

/// One hostile call in this many is abandoned before its answer.
const ABANDONED_ONE_IN: u64 = 4;

/// The number of rounds. After each round, all gateways become idle and their resource usage is measured.
const ROUNDS: u32 = 10;

/// A random number generator with a fixed seed (xorshift, Marsaglia 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// A call to a tool: its name and arguments.
type Call = (String, Value);

/// A call to each hostile tool in the list, with arguments that match its schema.
fn calls(list: &Value) -> Vec<Call> {
    let tools = list["result"]["tools"].as_array().unwrap();
    let is_hostile = |tool: &&Value| {
        let (plugin, _) = tool["name"].as_str().unwrap().split_once('_').unwrap();
        HOSTILE_PLUGINS.contains(&plugin)
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
            // A port without a listener.
            ("url" | "uri", _) => json!("http://127.0.0.1:9/"),
            _ => json!("127.0.0.1:9"),
        };
        arguments.insert(name.to_owned(), value);
    }
    (tool["name"].as_str().unwrap().to_owned(), Value::Object(arguments))
}

/// A client, by transport.
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

    /// Sends a call, and abandons it before the answer.
    fn call_and_abandon(&mut self, (tool, arguments): &Call, id: u64) {
        match self {
            Self::Http(http) => drop(http.start_call(tool, arguments.clone())),
            Self::Stdio(stdio) => {
                let params = json!({ "name": tool, "arguments": arguments });
                stdio.send(&request(id, "tools/call", params));
                let cancel = json!({ "requestId": id });
                stdio.send(
                    &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel }),
                );
            }
        }
    }

    /// Sends a normal call, and asserts that the answer is right.
    fn assert_served(&mut self, random: &mut Random, id: u64) {
        let (call, right) = match random.below(3) {
            0 => (("honest_echo".to_owned(), json!({ "text": format!("text {id}") })), format!("text {id}")),
            1 => (("honest_calls_seen".to_owned(), json!({})), "1".to_owned()),
            _ => (
                ("time_get_current_time".to_owned(), json!({ "timezone": "Asia/Tokyo" })),
                "+09:00".to_owned(),
            ),
        };
        let answer = self.call(&call);
        assert!(answer["result"]["isError"].is_null(), "{call:?}: {answer}");
        let message = text(&answer);
        assert!(
            message == right || call.0.starts_with("time") && message.contains(&right),
            "{call:?}: {answer}"
        );
    }

    /// Some calls, one in ten of them hostile.
    fn calls(&mut self, seed: u64, count: u32, hostile: &[Call], floods: &[Call]) {
        static NEXT: AtomicU64 = AtomicU64::new(1_000_000);
        let mut random = Random(seed);
        for _ in 0..count {
            let id = NEXT.fetch_add(1, Ordering::Relaxed);
            if random.below(HOSTILE_ONE_IN) > 0 {
                self.assert_served(&mut random, id);
                continue;
            }
            let kind = if random.below(2) == 0 { hostile } else { floods };
            let call = &kind[usize::try_from(random.below(kind.len() as u64)).unwrap()];
            if random.below(ABANDONED_ONE_IN) == 0 {
                self.call_and_abandon(call, id);
            } else {
                let answer = self.call(call);
                assert!(answer["result"].is_object() || answer["error"].is_object(), "{call:?}: {answer}");
            }
        }
    }
}

/// Waits until no call runs or waits, and the pool is empty.
fn until_idle(http: &Http) {
    let gauge = |name: &str| http.admin().metric(name);
    for plugin in PLUGINS {
        for name in ["moongate_plugin_instances", "moongate_plugin_calls_waiting"] {
            let name = format!("{name}{{plugin=\"{plugin}\"}}");
            wait_until(&format!("{name} is 0"), || gauge(&name) == Some(0.0));
        }
    }
    for kind in ["instances", "memories", "tables", "stacks"] {
        let name = format!("moongate_pool_slots_in_use{{kind=\"{kind}\"}}");
        wait_until(&format!("{name} is 0"), || gauge(&name) == Some(0.0));
    }
}

/// Asserts that the log after this many hostile calls has only lines of the gateway, none too long, and not too many.
#[track_caller]
fn assert_readable(log: &str, hostile: u64) {
    for line in log.lines() {
        assert!(!line.contains(is_unsafe_character), "{line:?}");
        assert!(line.len() < 20 << 10, "a line of {} bytes: {}", line.len(), &line[..200]);
        assert!(!line.starts_with("2026-01-01"), "a forged line: {line}");
    }
    let most = 1_000 + 150 * hostile;
    let lines = log.lines().count() as u64;
    assert!(lines < most, "{lines} lines of {hostile} hostile calls");
}

/// The resource usage of a process after each round.
#[derive(Debug, Default)]
struct UsageHistory(Vec<ResourceUsage>);

impl UsageHistory {
    /// Asserts that the usage at the end is about the usage after warm-up. The minimum of the last three rounds is
    /// compared with the minimum of the second to fourth round, so that peaks don't count. The tolerance doesn't grow with
    /// the number of calls: ten times as many calls find leaks of a tenth of the size. Some growth is normal: pool slots
    /// keep pages for their next instance, and are first used one after the other.
    #[track_caller]
    fn assert_flat(&self) {
        for (unit, of, tolerance) in [
            ("KiB of memory", (|usage| usage.resident) as fn(&ResourceUsage) -> u64, 16 << 10),
            ("descriptors", |usage| usage.descriptors, 8),
            ("threads", |usage| usage.threads, 16),
            ("mappings", |usage| usage.mappings, 96),
        ] {
            let least = |parts: &[ResourceUsage]| parts.iter().map(of).min().unwrap();
            let begin = least(&self.0[1..4]);
            let end = least(&self.0[7..]);
            assert!(end <= begin + tolerance, "{begin} {unit} became {end}: {}", self.summary());
        }
    }

    fn summary(&self) -> String {
        let usage = |ResourceUsage { resident, descriptors, mappings, threads }: &ResourceUsage| {
            format!("{resident} KiB, {descriptors} descriptors, {mappings} mappings, {threads} threads")
        };
        self.0.iter().map(usage).collect::<Vec<_>>().join("; ")
    }
}

/// The gateways: one over HTTP for several clients, and one over stdio for each of the other clients.
struct Gateways {
    http: Http,
    piped: Vec<Stdio>,
}

impl Gateways {
    fn start(workspace: &Workspace) -> Self {
        let greeted = |_| {
            let mut stdio = Stdio::start_with(workspace, &["-v"]);
            stdio.request_and_wait("initialize", initialize_params("2025-11-25"));
            stdio.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
            stdio
        };
        Self { http: Http::start(workspace), piped: (0..STDIO_CLIENTS).map(greeted).collect() }
    }

    /// Runs one round of all clients concurrently, and waits until the gateway is idle.
    fn run_round(&mut self, round: u32, count: u32, hostile: &[Call], floods: &[Call]) {
        let seed = u64::from(round + 1) * 1000;
        let Self { http, piped } = self;
        let http = &*http;
        thread::scope(|scope| {
            for client in 0..HTTP_CLIENTS {
                scope.spawn(move || Client::Http(http).calls(seed + client, count, hostile, floods));
            }
            for (client, stdio) in (HTTP_CLIENTS..).zip(piped) {
                scope.spawn(move || Client::Stdio(stdio).calls(seed + client, count, hostile, floods));
            }
        });
        until_idle(http);
    }

    fn usage(&self) -> impl Iterator<Item = ResourceUsage> {
        [self.http.pid()].into_iter().chain(self.piped.iter().map(Stdio::pid)).map(ResourceUsage::of)
    }
}

#[test]
fn hostile_calls_affect_no_other_call_and_leak_nothing() {
    let remote = TestServer::start();
    let workspace = Workspace::new(&GATEWAY.replace("@remote@", &remote.origin()));
    workspace.write("in/a.txt", "hello ".repeat(10_000));
    let mut gateways = Gateways::start(&workspace);
    let hostile = calls(&gateways.http.request_and_wait("tools/list", json!({})).json());
    assert!(hostile.len() > 100, "{hostile:?}");
    let flood = |(tool, arguments): &(&str, &str)| {
        let arguments = arguments.replace("@remote@", &remote.origin());
        ((*tool).to_owned(), serde_json::from_str(&arguments).unwrap())
    };
    let floods: Vec<Call> = FLOODS.iter().map(flood).collect();
    let mut histories: Vec<UsageHistory> = (0..=STDIO_CLIENTS).map(|_| UsageHistory::default()).collect();
    let calls_of_each = scaled_rounds(CALLS_PER_CLIENT);
    for round in 0..ROUNDS {
        let count = calls_of_each * (round + 1) / ROUNDS - calls_of_each * round / ROUNDS;
        gateways.run_round(round, count, &hostile, &floods);
        for (history, usage) in histories.iter_mut().zip(gateways.usage()) {
            history.0.push(usage);
        }
    }
    if let Some(file) = std::env::var_os("MOONGATE_FIGURES") {
        let figures: String = histories.iter().map(|history| history.summary() + "\n").collect();
        std::fs::write(file, figures).unwrap();
    }
    histories.iter().for_each(UsageHistory::assert_flat);
    let Gateways { http, piped } = gateways;
    let list = http.request_and_wait("tools/list", json!({})).json();
    assert_eq!(calls(&list), hostile, "the lists are unchanged");
    let per_client = u64::from(calls_of_each) / HOSTILE_ONE_IN * 2;
    assert_readable(&http.log(), HTTP_CLIENTS * per_client);
    for stdio in piped {
        let (_, status, log) = stdio.finish();
        assert!(status.success(), "{log}");
        assert_readable(&log, per_client + u64::from(calls_of_each)); // with `-v`, each call has a line
        let pool = log.lines().find(|line| line.contains("instance pool at shutdown"));
        let pool = pool.unwrap_or_else(|| panic!("the log has no pool usage at shutdown: {log}"));
        for gauge in ["calls=0", "instances=0", "memories=0", "tables=0", "stacks=0"] {
            assert!(pool.contains(gauge), "{pool}");
        }
    }
}

/// Tools that loop until they are ended: in their own code, in the host, or in polls that are ready.
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
fn eight_looping_guests_block_no_other_calls_or_timers() {
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
        concurrency = 10 # one caller can use nine
        cancel_grace = "0s"
        [plugins.time]
        source = "@time@"
        [plugins.honest]
        source = "@zoo@"
        tools.allow = ["echo", "sleep"]
        "#,
    );
    let http = Http::start(&workspace);
    let looping = LOOPS.map(|tool| http.start_call(&format!("zoo_{tool}"), json!({})));
    let instances = "moongate_plugin_instances{plugin=\"zoo\"}";
    wait_until("all of them loop", || http.admin().metric(instances) == Some(8.0));
    for count in 0..20 {
        let message = http.call("honest_echo", json!({ "text": count.to_string() }));
        assert_eq!(text(&message), count.to_string());
        assert_eq!(text(&http.call("honest_sleep", json!({ "milliseconds": 1 }))), "slept for 1 ms");
        let time = http.call("time_get_current_time", json!({ "timezone": "UTC" }));
        assert!(time["result"]["isError"].is_null(), "{time}");
    }
    assert_eq!(http.admin().metric(instances), Some(8.0), "the loops are still running");
    drop(looping);
    wait_until("the abandoned calls have ended", || http.admin().metric(instances) == Some(0.0));
}

#[test]
fn files_held_open_by_a_plugin_leave_room_for_connections() {
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
        concurrency = 10 # one caller can use nine
        [plugins.time]
        source = "@time@"
        "#,
    );
    workspace.write("in/a.txt", "hello");
    // A descriptor limit as on most systems, or lower.
    let plain = workspace.command(&["serve"]);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -Sn 512; exec \"$0\" serve"]).arg(plain.get_program()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let http = Http::spawn(command);
    let call = json!({ "count": HELD, "hold": true });
    let _open_calls = [(); 8].map(|()| http.start_call("zoo_many_files", call.clone()));
    wait_until("all files are open", || ResourceUsage::of(http.pid()).descriptors > 8 * HELD);
    let time = http.call("time_get_current_time", json!({ "timezone": "UTC" }));
    assert!(time["result"]["isError"].is_null(), "{time}");
}
