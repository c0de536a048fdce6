//! Shutdown: the gateway accepts nothing new, gives running calls `stop_grace` to finish, logs the ones it aborts, and
//! exits with 0.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::Stdio as Pipe;
use std::time::{Duration, Instant};

use moongate_tests::{EventStream, Http, Stdio, Workspace, request, send_signal, stateless_request, text};
use serde_json::{Value, json};

/// How long a test waits for an immediate effect. Generous, because the machine can be busy.
const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

/// The zoo, with calls that can wait for a file in `gate`. `gateway` is the content of `[gateway]`.
fn zoo(gateway: &str) -> Workspace {
    let workspace = Workspace::new(&format!(
        "[gateway]\n{gateway}\n[http]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"127.0.0.1:0\"\n[plugins.zoo]\nsource = \"@zoo@\"\nlimits.timeout = \"1h\"\n\
         allow.dirs = [{{ host = \"gate\", guest = \"/gate\", mode = \"ro\" }}]\n",
    ));
    workspace.write("gate/closed", "");
    workspace
}

const LONG_GRACE: &str = "stop_grace = \"1h\"";

/// A call that reports progress when it starts.
fn progress_call(id: u64, tool: &str, arguments: Value) -> Value {
    let meta = json!({ "progressToken": "token" });
    let params = [("name", json!(tool)), ("arguments", arguments), ("_meta", meta)];
    request(id, "tools/call", Value::from_iter(params))
}

/// A call that ends once the file `gate/open` exists.
fn gated_call(id: u64) -> Value {
    progress_call(id, "zoo_report_and_wait", json!({ "path": "/gate/open" }))
}

/// Posts a 2026-07-28 call and waits until it runs.
pub(crate) fn start_stateless_call(http: &Http, tool: &str, arguments: Value) -> EventStream {
    let params = [("name", json!(tool)), ("arguments", arguments)];
    let mut message = stateless_request(1, "tools/call", Value::from_iter(params));
    message["params"]["_meta"]["progressToken"] = json!("token");
    let headers = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", tool),
    ];
    wait_until_started(http.open("POST", &headers, message.to_string().as_bytes()))
}

/// Posts a call in a session and waits until it runs.
fn start_session_call(http: &Http, message: &Value) -> EventStream {
    let session = http.open_session(&[], "2025-11-25");
    let headers = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("Mcp-Session-Id", session.as_str()),
    ];
    wait_until_started(http.open("POST", &headers, message.to_string().as_bytes()))
}

fn wait_until_started(mut stream: EventStream) -> EventStream {
    loop {
        let message = stream.message().expect("the call starts");
        if message["method"] == "notifications/progress" {
            return stream;
        }
    }
}

/// Waits until connections are refused.
#[track_caller]
fn wait_until_refused(http: &Http) {
    let started = Instant::now();
    while TcpStream::connect(http.address()).is_ok() {
        assert!(started.elapsed() < WAIT_TIMEOUT, "the gateway still accepts connections during shutdown");
    }
}

#[test]
fn shutdown_finishes_http_calls_and_rejects_new_ones() {
    for name in ["TERM", "INT"] {
        let workspace = zoo(LONG_GRACE);
        let http = Http::start(&workspace);
        let arguments = json!({ "path": "/gate/open" });
        let mut streams = [
            start_stateless_call(&http, "zoo_report_and_wait", arguments),
            start_session_call(&http, &gated_call(7)),
        ];
        send_signal(http.pid(), name);
        wait_until_refused(&http);
        workspace.write("gate/open", "");
        for stream in &mut streams {
            let answer = stream.message().expect("the response");
            assert_eq!(text(&answer), "/gate/open is there");
            assert_eq!(stream.message(), None);
        }
        let (status, log) = http.wait_for_exit();
        assert!(status.success(), "{status}: {log}");
        assert!(!log.contains("WARN"), "no call should be aborted: {log}");
    }
}

#[test]
fn shutdown_finishes_running_stdio_calls() {
    let workspace = zoo(LONG_GRACE);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    stdio.send(&gated_call(100));
    assert_eq!(stdio.receive()["method"], "notifications/progress");
    send_signal(stdio.pid(), "TERM");
    workspace.write("gate/open", "");
    let (remaining, status, log) = stdio.wait_for_exit();
    let [answer] = remaining.as_slice() else { panic!("expected one message: {remaining:?}: {log}") };
    assert_eq!((&answer["id"], text(answer)), (&json!(100), "/gate/open is there"));
    assert!(status.success(), "{status}: {log}");
}

#[test]
fn aborts_calls_after_stop_grace_and_logs_their_plugin() {
    let workspace = zoo("stop_grace = \"100ms\"");
    let http = Http::start(&workspace);
    let hanging = progress_call(7, "zoo_report_and_hang", json!({}));
    let mut streams = vec![
        start_stateless_call(&http, "zoo_report_and_hang", json!({})),
        start_session_call(&http, &hanging),
    ];
    drop(start_session_call(&http, &hanging)); // in a session, a lost connection doesn't cancel the call
    let (status, log) = http.terminate();
    assert!(status.success(), "{status}: {log}");
    assert!(log.contains("unfinished calls were aborted") && log.contains("unfinished=zoo 3"), "{log}");
    for stream in &mut streams {
        assert_eq!(stream.message(), None, "the aborted call got a response");
    }

    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    stdio.send(&hanging);
    assert_eq!(stdio.receive()["method"], "notifications/progress");
    let (remaining, status, log) = stdio.terminate();
    assert!(status.success(), "{status}: {log}");
    assert_eq!(remaining, Vec::<Value>::new());
    assert!(log.contains("requests=1 unfinished=zoo 1"), "{log}");
}

#[test]
fn admin_reports_live_but_not_ready_during_shutdown() {
    let workspace = zoo(LONG_GRACE);
    let http = Http::start(&workspace);
    let admin = http.admin();
    assert_eq!(admin.get("/readyz").status, 200);
    let mut stream = start_stateless_call(&http, "zoo_report_and_wait", json!({ "path": "/gate/open" }));
    send_signal(http.pid(), "TERM");
    wait_until_refused(&http);
    let ready = admin.get("/readyz?verbose");
    assert_eq!(ready.status, 503, "{ready:?}");
    let health = workspace.run(&["health", "--admin", &admin.address().to_string()]);
    assert_eq!(health.status.code(), Some(1), "{health:?}");
    assert_eq!(admin.get("/livez").status, 200);
    assert!(admin.get("/metrics").body.contains("moongate_"));
    workspace.write("gate/open", "");
    assert_eq!(text(&stream.message().unwrap()), "/gate/open is there");
    let (status, log) = http.wait_for_exit();
    assert!(status.success(), "{status}: {log}");
}

#[test]
fn shutdown_uses_the_current_stop_grace() {
    let workspace = zoo(LONG_GRACE);
    let http = Http::start(&workspace);
    let config = std::fs::read_to_string(workspace.config()).unwrap();
    workspace.write("gateway.toml", config.replace(LONG_GRACE, "stop_grace = \"100ms\""));
    let _ = http.admin().reload();
    let _stream = start_stateless_call(&http, "zoo_report_and_hang", json!({}));
    let (status, log) = http.terminate();
    assert!(status.success(), "{status}: {log}");
    assert!(log.contains("unfinished calls were aborted"), "{log}");
}

#[test]
fn second_signal_stops_immediately() {
    let workspace = zoo(LONG_GRACE);
    let http = Http::start(&workspace);
    let _stream = start_stateless_call(&http, "zoo_report_and_hang", json!({}));
    send_signal(http.pid(), "TERM");
    wait_until_refused(&http);
    let (status, log) = http.terminate();
    assert!(status.success(), "{status}: {log}");
    assert!(log.contains("gateway stopped immediately") && log.contains("unfinished=zoo 1"), "{log}");
}

#[test]
fn stdin_eof_ends_calls_soon_whatever_stop_grace() {
    let workspace = zoo(LONG_GRACE);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    stdio.send(&progress_call(100, "zoo_report_and_hang", json!({})));
    assert_eq!(stdio.receive()["method"], "notifications/progress");
    stdio.send(&request(
        101,
        "tools/call",
        json!({ "name": "zoo_sleep", "arguments": { "milliseconds": 5 } }),
    ));
    let (remaining, status, log) = stdio.finish();
    let [answer] = remaining.as_slice() else { panic!("expected one message: {remaining:?}: {log}") };
    assert_eq!(answer["id"], 101);
    assert!(status.success(), "{status}: {log}");
    assert!(log.contains("requests=1 unfinished=zoo 1"), "{log}");
}

/// The time in which load balancers notice a stop isn't a part of `stop_grace`, and isn't waited for after the end of stdin.
#[test]
fn a_stop_with_health_probes_abandons_nothing() {
    let workspace = Workspace::new(
        "[gateway]\nstop_grace = \"2s\"\n[http]\nlisten = \"127.0.0.1:0\"\nhealth = true\n[plugins.zoo]\nsource = \"@zoo@\"\n",
    );
    let http = Http::start(&workspace);
    let (status, log) = http.terminate();
    assert!(status.success() && !log.contains("aborted"), "{status}: {log}");
    let mut command = workspace.command(&["serve", "--stdio", "--http", "127.0.0.1:0"]);
    let child = command.stdin(Pipe::piped()).stdout(Pipe::piped()).stderr(Pipe::piped()).spawn().unwrap();
    let ended = child.wait_with_output().unwrap(); // closes stdin
    let log = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.success() && !log.contains("aborted"), "{}: {log}", ended.status);
}

#[test]
fn signal_after_stdin_eof_does_not_shorten_calls() {
    let workspace = zoo(LONG_GRACE);
    let mut command = workspace.command(&["serve", "--stdio"]);
    command.env("MOONGATE_LOG", "moongate=debug");
    let mut child = command.stdin(Pipe::piped()).stdout(Pipe::piped()).stderr(Pipe::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let hanging = progress_call(2, "zoo_report_and_hang", json!({}));
    let initialize = request(1, "initialize", moongate_tests::initialize_params("2025-11-25"));
    stdin.write_all(format!("{initialize}\n{hanging}\n").as_bytes()).unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("notifications/progress")));
    drop(stdin);
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(log.any(|line| line.unwrap().contains("stdin was closed")));
    send_signal(child.id(), "TERM");
    let log: Vec<_> = log.map(Result::unwrap).collect();
    assert!(child.wait().unwrap().success());
    assert!(
        log.iter()
            .any(|line| line.contains("unfinished calls were aborted") && line.contains("unfinished=zoo 1")),
        "{log:?}"
    );
}

#[test]
fn exits_when_the_host_never_reads_and_closes_stdin() {
    let workspace = zoo(LONG_GRACE);
    let mut command = workspace.command(&["serve", "--stdio"]);
    let mut child = command.stdin(Pipe::piped()).stdout(Pipe::piped()).stderr(Pipe::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let lines = (0..10_000).map(|id| format!("{}\n", request(id, "ping", json!({})))).collect::<String>();
    stdin.write_all(lines.as_bytes()).unwrap();
    drop(stdin);
    assert!(child.wait().unwrap().success());
    drop(child.stdout.take());
}

#[test]
fn shutdown_waits_for_cleanup_of_cancelled_calls() {
    let workspace = Workspace::new(
        "[gateway]\nstop_grace = \"1h\"\n[plugins.stateful]\nsource = \"@stateful@\"\nallow.state = true\n\
         limits.cancel_grace = \"30s\"\n",
    );
    let http = Http::start(&workspace);
    drop(start_stateless_call(&http, "stateful_wait_and_tidy", json!({ "key": "a" })));
    let (status, log) = http.terminate();
    assert!(status.success(), "{status}: {log}");
    assert!(log.contains("said too late"), "the call had no time to clean up: {log}");
    assert!(!log.contains("unfinished calls were aborted"), "{log}");
}
