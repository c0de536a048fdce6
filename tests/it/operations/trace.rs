//! `serve --trace`: one line for every message in either direction, without secrets.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use moongate_tests::{
    Http, Stdio, Workspace, initialize_params, project_root, request, stateless_request, text,
};
use serde_json::{Value, json};

use crate::protocol::questions::{all_capabilities, zoo_with_all_grants};

const TRACE_FILE: &str = "trace.jsonl";

const ANN_TOKEN: &str = "token-of-ann-and-nobody-else";

fn command(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut command = workspace.command(&["serve", "--trace", TRACE_FILE]);
    command.args(arguments);
    command
}

fn over_http(workspace: &Workspace) -> Http {
    Http::spawn(command(workspace, &[]))
}

/// The content of the trace file.
fn trace_text(workspace: &Workspace) -> String {
    fs::read_to_string(workspace.path().join(TRACE_FILE)).unwrap()
}

/// The parsed lines, after checking the members that every line has.
#[track_caller]
fn trace_lines(workspace: &Workspace) -> Vec<Value> {
    let text = trace_text(workspace);
    assert!(text.is_empty() || text.ends_with('\n'), "the last line is incomplete: {text}");
    let line = |line: &str| {
        let read: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let time = read["time"].as_str().unwrap();
        let form: String = time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
        assert_eq!(form, "0000-00-00T00:00:00.000000Z", "{line}");
        assert!(read["direction"] == "in" || read["direction"] == "out", "{line}");
        assert!(read["transport"] == "stdio" || read["transport"] == "http", "{line}");
        assert!(read["client"].is_string(), "{line}");
        assert!(read.get("dropped").is_none(), "{line}");
        read
    };
    text.lines().map(line).collect()
}

/// The messages of one direction.
fn messages(lines: &[Value], direction: &str) -> Vec<Value> {
    lines.iter().filter(|line| line["direction"] == direction).map(|line| line["message"].clone()).collect()
}

/// Checks that every response follows its request.
#[track_caller]
fn assert_responses_follow_requests(lines: &[Value]) {
    let mut open_requests = BTreeMap::new();
    for line in lines {
        let id = line["id"].to_string();
        if line.get("id").is_none() || line["direction"] == "out" && line.get("method").is_some() {
            continue;
        }
        let open: &mut i32 = open_requests.entry(id).or_default();
        *open += if line["direction"] == "in" { 1 } else { -1 };
        assert!(*open >= 0, "a response before its request: {line}");
    }
    assert!(open_requests.values().all(|open| *open == 0), "{open_requests:?}");
}

fn progress_call(id: u64) -> Value {
    request(id, "tools/call", json!({ "name": "test_tool_with_progress", "_meta": { "progressToken": "t" } }))
}

const PLUGINS: &str =
    "[plugins.everything]\nsource = \"@everything@\"\nprefix = \"\"\n[plugins.zoo]\nsource = \"@zoo@\"\n";

#[test]
fn traces_all_stdio_messages_verbatim() {
    let workspace = Workspace::new(PLUGINS);
    let mut sent = vec![request(1, "initialize", initialize_params("2025-11-25"))];
    let mut received = Vec::new();
    let mut stdio = Stdio::start_with(&workspace, &["--trace", TRACE_FILE]);
    stdio.send(&sent[0]);
    received.push(stdio.receive());
    for message in [
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        request(2, "tools/list", json!({})),
        progress_call(3),
        stateless_request(4, "tools/call", json!({ "name": "zoo_echo", "arguments": { "text": "ä\n\"" } })),
        request(5, "nothing/like/it", json!({})),
    ] {
        stdio.send(&message);
        while message.get("id").is_some() {
            received.push(stdio.receive());
            if received.last().unwrap()["id"] == message["id"] {
                break;
            }
        }
        sent.push(message);
    }
    let (left, status, log) = stdio.finish();
    assert!(status.success() && left.is_empty(), "{left:?} {log}");
    assert!(log.contains(TRACE_FILE), "the log names the trace file: {log}");

    let lines = trace_lines(&workspace);
    assert_eq!(messages(&lines, "in"), sent);
    assert_eq!(messages(&lines, "out"), received);
    assert_responses_follow_requests(&lines);
    assert!(received.len() > 6, "progress notifications are missing: {received:?}");
    for line in &lines {
        assert_eq!((&line["transport"], &line["client"]), (&"stdio".into(), &"stdio".into()));
        assert_eq!(
            (line.get("id"), line.get("method")),
            (line["message"].get("id"), line["message"].get("method"))
        );
    }
    let written = serde_json::to_string(&sent[4]).unwrap();
    assert!(trace_text(&workspace).contains(&format!("\"message\":{written}")), "not verbatim");
}

#[test]
fn traces_all_http_messages_with_caller_and_session() {
    let tokens =
        format!("[http.auth]\ntokens = [{{ name = \"ann\", token = {{ env = \"ANN\" }} }}]\n{PLUGINS}");
    let workspace = Workspace::new(&tokens);
    let mut command = command(&workspace, &[]);
    command.env("ANN", ANN_TOKEN);
    let http = Http::spawn(command);
    let bearer = format!("Bearer {ANN_TOKEN}");
    let ann = ("Authorization", bearer.as_str());

    let session = http.open_session(&[ann], "2025-06-18");
    let within = [ann, ("Mcp-Session-Id", session.as_str())];
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(http.post(&within, &initialized).status, 202);
    let reply = http.post(&within, &progress_call(2));
    assert_eq!(reply.header("content-type"), Some("text/event-stream"), "{reply:?}");
    let params = json!({ "name": "zoo_echo", "arguments": { "text": "hi" } });
    let headers =
        [ann, ("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "zoo_echo")];
    let stateless = stateless_request(3, "tools/call", params);
    let whole = http.post(&headers, &stateless).json();
    assert_eq!(http.post(&[("Authorization", "Bearer wrong-but-long-enough")], &initialized).status, 401);
    assert!(http.terminate().0.success());

    let lines = trace_lines(&workspace);
    let mut expected = vec![json!(["in", "initialize"]), json!(["out", null, 200])];
    expected.extend([json!(["in", "notifications/initialized"]), json!(["in", "tools/call"])]);
    expected.extend((0..3).map(|_| json!(["out", "notifications/progress"])));
    expected.extend([json!(["out", null]), json!(["in", "tools/call"]), json!(["out", null, 200])]);
    expected.push(json!(["out", null, 401]));
    let shape = |line: &Value| {
        let mut shape = vec![line["direction"].clone(), line["method"].clone()];
        shape.extend(line.get("status").cloned());
        if line["direction"] == "in" || line.get("method").is_some() {
            shape.truncate(2);
        }
        Value::from(shape)
    };
    assert_eq!(lines.iter().map(shape).collect::<Vec<_>>(), expected, "{lines:#?}");
    assert_responses_follow_requests(&lines);
    let streamed: Vec<_> = lines[4..8].iter().map(|line| line["message"].clone()).collect();
    assert_eq!(streamed, reply.messages());
    assert_eq!((&lines[8]["message"], &lines[9]["message"]), (&stateless, &whole));

    let short = lines[1]["session"].as_str().unwrap();
    assert!(short.len() == 12 && !session.contains(short), "{short}");
    assert!(lines[2..8].iter().all(|line| line["session"] == short), "{lines:#?}");
    assert!(lines[0].get("session").is_none() && lines[8].get("session").is_none(), "{lines:#?}");
    assert!(lines[..10].iter().all(|line| line["token"] == "ann") && lines[10].get("token").is_none());
    for line in &lines {
        let client: std::net::SocketAddr = line["client"].as_str().unwrap().parse().unwrap();
        assert!(client.ip().is_loopback() && client.port() != 0, "{line}");
    }
    let raw = trace_text(&workspace);
    for secret in [ANN_TOKEN, &session, "wrong-but-long-enough"] {
        assert!(!raw.contains(secret), "{secret} is in {raw}");
    }
}

#[test]
fn traces_legacy_sse_streams() {
    let workspace =
        Workspace::new(&format!("[http]\nlegacy_sse = true\nlisten = \"127.0.0.1:0\"\n{PLUGINS}"));
    let http = over_http(&workspace);
    let mut stream = http.open_at("GET", "/sse", &[("Accept", "text/event-stream")], b"");
    let uri = stream.event().unwrap().data;
    let mut received = Vec::new();
    let mut sent = vec![request(1, "initialize", initialize_params("2024-11-05")), progress_call(2)];
    for message in &sent {
        let json = [("Content-Type", "application/json")];
        assert_eq!(http.send("POST", &uri, &json, message.to_string().as_bytes()).status, 202);
        loop {
            received.push(stream.message().unwrap());
            if received.last().unwrap()["id"] == message["id"] {
                break;
            }
        }
    }
    let json = [("Content-Type", "application/json")];
    assert_eq!(
        http.send("POST", "/messages?sessionId=nobody", &json, sent[0].to_string().as_bytes()).status,
        404
    );
    sent.push(sent[0].clone());
    drop(stream);
    assert!(http.terminate().0.success());

    let lines = trace_lines(&workspace);
    assert_eq!(messages(&lines, "in"), sent);
    assert_eq!(messages(&lines, "out")[..received.len()], received);
    let (_, id) = uri.split_once('=').unwrap();
    assert!(!trace_text(&workspace).contains(id), "the session id gives access to the stream");
    let first = &lines[0]["session"];
    assert!(first.is_string() && lines[..received.len() + 2].iter().all(|line| line["session"] == *first));
    let last = lines.last().unwrap();
    assert_eq!(last["status"], 404, "{last}");
    assert_ne!(last["session"], *first);
}

#[test]
fn traces_batches_and_invalid_messages() {
    let workspace = Workspace::with_plugin("time");
    let mut stdio = Stdio::start_with(&workspace, &["--trace", TRACE_FILE]);
    stdio.send(&request(1, "initialize", initialize_params("2025-03-26")));
    stdio.receive();
    stdio.send(&json!([request(2, "ping", json!({})), request(3, "ping", json!({}))]));
    stdio.receive();
    stdio.send_raw(b"{\"jsonrpc\":\"2.0\",\"id\":4,\n\xff\n");
    stdio.receive();
    stdio.receive();
    let mut long = vec![b'x'; 11 << 20];
    long.push(b'\n');
    stdio.send_raw(&long);
    stdio.receive();
    assert!(stdio.finish().1.success());
    let lines = trace_lines(&workspace);
    let incoming: Vec<_> = lines.iter().filter(|line| line["direction"] == "in").collect();
    assert_eq!((&incoming[1]["ids"], incoming[1]["message"].as_array().unwrap().len()), (&json!([2, 3]), 2));
    assert_eq!(
        (&incoming[2]["text"], &incoming[2]["id"]),
        (&json!("{\"jsonrpc\":\"2.0\",\"id\":4,"), &json!(4))
    );
    assert_eq!(incoming[3]["text"], "\u{fffd}");
    assert!(incoming[4]["note"].as_str().unwrap().contains("discarded"), "{}", incoming[4]);
    let left: Vec<_> = lines.iter().filter(|line| line["direction"] == "out").collect();
    assert_eq!(left[1]["ids"], json!([2, 3]), "{}", left[1]);
    assert!(left[2..].iter().all(|line| line["message"]["error"]["code"].is_i64()), "{left:?}");
}

#[test]
fn traces_http_rejections() {
    let workspace = Workspace::with_plugin("time");
    let http = over_http(&workspace);
    let json = ("Content-Type", "application/json");
    for (path, headers, body, status) in [
        ("/", vec![json], "{}", 404),
        ("/mcp", vec![("Content-Type", "text/plain")], "{}", 415),
        ("/mcp", vec![json, ("Host", "evil.example")], "{}", 403),
        ("/mcp", vec![json], "{", 400),
    ] {
        assert_eq!(http.send("POST", path, &headers, body.as_bytes()).status, status, "{path} {headers:?}");
    }
    assert!(http.terminate().0.success());
    let lines = trace_lines(&workspace);
    let traced: Vec<_> = lines.iter().map(|line| (&line["direction"], line["status"].as_u64())).collect();
    let incoming = json!("in");
    let outgoing = json!("out");
    let expected = [
        (&outgoing, Some(404)),
        (&outgoing, Some(415)),
        (&outgoing, Some(403)),
        (&incoming, None),
        (&outgoing, Some(400)),
    ];
    assert_eq!(traced, expected, "{lines:#?}");
    assert_eq!(lines[3]["text"], "{");
}

#[test]
fn trace_redacts_config_secrets_across_reloads() {
    let configured = |key: &str| {
        format!(
            "version = 1\n[admin]\nlisten = \"127.0.0.1:0\"\n[http]\nlisten = \"127.0.0.1:0\"\n[http.auth]\ntokens = [{{ name = \"ann\", token = {{ env = \"ANN\" }} }}]\n[gateway]\nsealing_key = {{ env = \"SEAL\" }}\n[plugins.zoo]\nsource = \"{}\"\n[plugins.zoo.config]\ngreeting = {{ file = \"{key}\" }}\napi_token = \"x-${{PART}}-in-the-file\"\nzone = \"Europe/Paris\"\n",
            moongate_tests::component("zoo").display()
        )
    };
    let workspace = Workspace::new(&configured("first"));
    let first = "the \"first\" key/ä";
    let second = "the\tsecond\\key";
    workspace.write("first", first);
    workspace.write("second", second);
    let seal = "a-sealing-key-that-nobody-may-see-1234";
    let mut command = command(&workspace, &[]);
    command.env("ANN", ANN_TOKEN).env("SEAL", seal).env("PART", "a-part-of-it");
    let http = Http::spawn(command);
    let bearer = format!("Bearer {ANN_TOKEN}");
    let call = |tool: &str, arguments: Value| {
        let params = Value::from_iter([("name", tool.into()), ("arguments", arguments)]);
        let headers = [
            ("Authorization", bearer.as_str()),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", tool),
        ];
        text(&http.post(&headers, &stateless_request(1, "tools/call", params)).json()).to_owned()
    };
    let get = |key: &str| call("zoo_config_get", json!({ "key": key }));
    let secrets = [ANN_TOKEN, seal, first, second, "x-a-part-of-it-in-the-file", "a-part-of-it"];
    for secret in secrets {
        assert_eq!(call("zoo_echo", json!({ "text": format!("<{secret}>") })), format!("<{secret}>"));
        let inside = json!({ "inner": secret }).to_string();
        assert_eq!(call("zoo_echo", json!({ "text": inside })), inside);
    }
    assert_eq!((get("greeting"), get("zone")), (first.to_owned(), "Europe/Paris".to_owned()));
    assert_eq!(get("api_token"), "x-a-part-of-it-in-the-file");
    workspace.write("gateway.toml", configured("second"));
    let _ = http.admin().reload();
    assert_eq!(get("greeting"), second);
    assert_eq!(call("zoo_echo", json!({ "text": format!("{first}{second}") })), format!("{first}{second}"));
    assert!(http.terminate().0.success());

    let lines = trace_lines(&workspace);
    // `second` is a secret only after the reload; earlier lines aren't redacted.
    let since = lines.len() - 4;
    for (at, line) in lines.iter().enumerate() {
        for secret in secrets.into_iter().filter(|secret| at >= since || *secret != second) {
            let escaped = serde_json::to_string(secret).unwrap();
            let inner = &escaped[1..escaped.len() - 1];
            assert!(!line.to_string().contains(inner) && !all_strings(line).contains(inner), "{line}");
            assert!(!all_strings(line).contains(secret), "{line}");
        }
    }
    let texts = all_strings(&Value::from(lines));
    assert!(texts.contains("<secret>") && texts.contains("Europe/Paris"), "other text must not be redacted");
}

/// All strings in a value, one per line.
fn all_strings(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{text}\n"),
        Value::Array(items) => items.iter().map(all_strings).collect(),
        Value::Object(members) => members.values().map(all_strings).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

#[test]
fn trace_truncates_request_state() {
    let workspace = zoo_with_all_grants();
    let mut stdio = Stdio::start_with(&workspace, &["--trace", TRACE_FILE]);
    let mut ask = |id: u64, more: Value| {
        let mut params = json!({ "name": "zoo_ask_name", "arguments": {} });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut message = stateless_request(id, "tools/call", params);
        message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            all_capabilities("2026-07-28");
        stdio.send(&message);
        stdio.response(id)
    };
    let state = ask(1, json!({}))["result"]["requestState"].as_str().unwrap().to_owned();
    let _ = ask(2, json!({ "requestState": state, "inputResponses": {} }));
    assert!(stdio.finish().1.success());
    let lines = trace_lines(&workspace);
    let shown = format!("{}…", &state[..8]);
    assert_eq!(lines[1]["message"]["result"]["requestState"], shown);
    assert_eq!(lines[2]["message"]["params"]["requestState"], shown);
    assert!(!trace_text(&workspace).contains(&state[..20]));
}

#[test]
fn trace_file_is_private_and_appended_to() {
    let workspace = Workspace::with_plugin("time");
    let file = workspace.path().join(TRACE_FILE);
    for _ in 0..2 {
        let (_, status, log) =
            Stdio::spawn_initialized(command(&workspace, &["--stdio"]), "2025-11-25").finish();
        assert!(status.success(), "{log}");
    }
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(trace_lines(&workspace).len(), 6, "{}", trace_text(&workspace));
    fs::write(&file, "{\"torn\":").unwrap();
    let _ = Stdio::spawn_initialized(command(&workspace, &["--stdio"]), "2025-11-25").finish();
    assert!(trace_text(&workspace).starts_with("{\"torn\":\n{\"time\":"), "{}", trace_text(&workspace));
}

#[test]
fn unusable_trace_file_fails_startup() {
    let workspace = Workspace::new(
        "[plugins.time]\nsource = \"@time@\"\nallow.dirs = [{ host = \"shared\", guest = \"/s\", mode = \"ro\" }]\n",
    );
    let at = |name: &str| workspace.path().join(name);
    fs::create_dir(at("shared")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    let made = Command::new("mkfifo").arg(at("pipe")).status().unwrap();
    assert!(made.success());
    symlink("somewhere", at("link")).unwrap();
    workspace.write("open", "");
    fs::set_permissions(at("open"), fs::Permissions::from_mode(0o644)).unwrap();
    workspace.write("one", "");
    fs::set_permissions(at("one"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::hard_link(at("one"), at("two")).unwrap();
    for (file, code, why, hint) in [
        (PathBuf::from("nowhere/trace"), 1, "No such file", "create the directory"),
        (PathBuf::from("shared"), 78, "where a plugin can access it", "outside of"),
        (PathBuf::from("folder"), 1, "not a regular file", "another file"),
        (PathBuf::from("pipe"), 1, "not a regular file", "another file"),
        (PathBuf::from("/dev/null"), 1, "not a regular file", "another file"),
        (PathBuf::from("link"), 1, "it is a symlink", "the file itself"),
        (PathBuf::from("open"), 1, "other users can access it (mode 644)", "chmod 600"),
        (PathBuf::from("two"), 1, "hard link", "remove it"),
        (PathBuf::from("gateway.toml"), 1, "the gateway reads this file", "another file"),
        (PathBuf::from("shared/trace"), 78, "where a plugin can access it", "outside of"),
    ] {
        let file = file.to_str().unwrap();
        for how in [&["--stdio"][..], &[]] {
            let mut command = workspace.command(&["serve", "--trace", file]);
            let output = command.args(how).output().unwrap();
            let message = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{file}: {message}");
            assert!(message.contains(why) && message.contains(hint), "{file}: {message}");
            assert!(!message.contains("endpoint") && output.stdout.is_empty(), "half-started: {message}");
        }
    }
    assert!(!at("shared/trace").exists() && !at("somewhere").exists());
}

#[test]
fn reload_cannot_grant_the_trace_directory() {
    let configured = |dirs: &str| {
        format!(
            "version = 1\n[admin]\nlisten = \"127.0.0.1:0\"\n[http]\nlisten = \"127.0.0.1:0\"\n[plugins.zoo]\nsource = \"{}\"\nallow.dirs = [{dirs}]\n",
            moongate_tests::component("zoo").display()
        )
    };
    let workspace = Workspace::new(&configured(""));
    fs::create_dir(workspace.path().join("traces")).unwrap();
    let http = Http::spawn(workspace.command(&["serve", "--trace", "traces/t"]));
    workspace.write("gateway.toml", configured("{ host = \"traces\", guest = \"/t\", mode = \"ro\" }"));
    let reload = http.admin().reload();
    assert!(reload["failed"].to_string().contains("could reach the trace"), "{reload}");
    http.wait_for_log("the current one stays in effect");
    assert!(http.terminate().0.success());
}

#[test]
fn documented_trace_line_is_real() {
    let page = fs::read_to_string(project_root().join("docs/operations.md")).unwrap();
    let (_, section) = page.split_once("--trace").unwrap();
    let shown = section.lines().find(|line| line.starts_with("{\"time\"")).unwrap();
    let workspace = Workspace::with_plugin("time");
    let http = over_http(&workspace);
    let session = http.open_session(&[], "2025-11-25");
    let call = json!({ "name": "time_get_current_time", "arguments": { "timezone": "Asia/Tokyo" } });
    assert_eq!(http.post(&[("Mcp-Session-Id", &session)], &request(2, "tools/call", call)).status, 200);
    assert!(http.terminate().0.success());
    let mut real = trace_lines(&workspace).remove(2);
    let read: Value = serde_json::from_str(shown).unwrap();
    for differs in ["time", "client", "session"] {
        real[differs] = read[differs].clone();
    }
    assert_eq!(real.to_string(), shown);
}

#[test]
fn tracing_does_not_change_responses() {
    let conversation = |arguments: &[&str]| {
        let workspace = Workspace::new(PLUGINS);
        let mut stdio = Stdio::start_with(&workspace, arguments);
        let mut received = vec![
            stdio.request_and_wait("initialize", initialize_params("2025-11-25")),
            stdio.request_and_wait("tools/list", json!({})),
        ];
        received.push(stdio.call("zoo_echo", json!({ "text": "hi" })));
        received.push(stdio.call("nothing", json!({})));
        assert!(stdio.finish().1.success());
        (received, file_names(workspace.path()))
    };
    let (untraced_messages, untraced_files) = conversation(&[]);
    let (traced_messages, traced_files) = conversation(&["--trace", TRACE_FILE]);
    assert_eq!(untraced_messages, traced_messages);
    let added: Vec<_> = traced_files.iter().filter(|name| !untraced_files.contains(name)).collect();
    assert_eq!(added, [TRACE_FILE]);
}

fn file_names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn trace_loses_no_message_under_load() {
    let workspace = Workspace::with_plugin("time");
    let mut stdio = Stdio::spawn_initialized(command(&workspace, &["--stdio"]), "2025-11-25");
    let many = 1000..6000;
    for id in many.clone() {
        stdio.send(&request(id, "ping", json!({})));
    }
    for id in many.clone() {
        let _ = stdio.response(id);
    }
    assert!(stdio.finish().1.success());
    let lines = trace_lines(&workspace);
    assert_eq!(lines.len(), 3 + 2 * many.count());
    assert_responses_follow_requests(&lines);
}
