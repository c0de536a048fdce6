//! `[audit]`: one record for each decision, in a chain that survives rotation, crashes and full disks.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};
use std::time::{Duration, Instant, SystemTime};

use moongate_generated::Plugin;
use moongate_tests::{
    Http, Stdio, Workspace, component, initialize_params, request, send_signal, stateless_request, text,
    wait_until,
};
use serde_json::{Value, json};

/// The lines of all files, oldest first, after checking the members that every line has.
#[track_caller]
fn records(workspace: &Workspace) -> Vec<Value> {
    let mut files: Vec<_> = fs::read_dir(workspace.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("audit.jsonl"))
        .filter(|path| {
            !path.to_string_lossy().ends_with(".key") && !path.to_string_lossy().ends_with(".lock")
        })
        .collect();
    // The current file has the shortest name and the newest lines.
    files.sort();
    let ordered = files.iter().skip(1).chain(files.first());
    let text: String = ordered.map(|file| fs::read_to_string(file).unwrap_or_default()).collect();
    let line = |line: &str| {
        // `verify` decides about incomplete lines.
        let read: Value = serde_json::from_str(line).ok()?;
        assert!(read["version"] == 1 && read["sequence"].is_u64(), "{line}");
        for member in ["time", "previous", "hash", "gateway", "event", "outcome"] {
            assert!(read[member].is_string(), "{line}");
        }
        Some(read)
    };
    text.lines().filter_map(line).collect()
}

/// Event, outcome and reason.
fn kinds(records: &[Value]) -> BTreeSet<String> {
    let word = |record: &Value, member: &str| record[member].as_str().unwrap_or("-").to_owned();
    records.iter().map(|it| ["event", "outcome", "reason"].map(|member| word(it, member)).join(" ")).collect()
}

fn verify(workspace: &Workspace, arguments: &[&str]) -> Output {
    workspace.run(&[&["audit", "verify"], arguments].concat())
}

#[track_caller]
fn verified(workspace: &Workspace) -> Value {
    let output = verify(workspace, &["--format", "json"]);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A command without files above this number of 512-byte blocks.
fn limited(workspace: &Workspace, blocks: u32, arguments: &[&str]) -> Command {
    let plain = workspace.command(arguments);
    let mut command = Command::new("sh");
    let script = format!("trap '' XFSZ; ulimit -S -f {blocks}; exec \"$@\"");
    command.args(["-c", &script, "sh"]).arg(plain.get_program()).args(plain.get_args()).env_clear();
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(workspace.path());
    command
}

const ZOO: &str = "[audit]\n[plugins.zoo]\nsource = \"@zoo@\"\n";

#[test]
fn records_every_kind_of_call() {
    let workspace = Workspace::new(
        "[audit]\narguments = \"full\"\nmask = [\"message\"]\n\
         [plugins.zoo]\nsource = \"@zoo@\"\nlimits = { timeout = \"2s\", memory = \"16MiB\" }\n\
         [plugins.everything]\nsource = \"@everything@\"\nprefix = \"\"\n",
    );
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    assert_eq!(
        text(&stdio.call("zoo_echo", json!({ "text": "line\nbreak \u{1b}[2J" }))),
        "line\nbreak \u{1b}[2J"
    );
    stdio.call("zoo_error_result", json!({ "message": "a-secret" }));
    stdio.call("zoo_echo", json!({ "text": 7 }));
    stdio.call("zoo_nope\n\u{202e}", json!({}));
    stdio.call("zoo_ask_name", json!({}));
    stdio.call("zoo_panic", json!({}));
    stdio.call("zoo_sleep_forever", json!({}));
    stdio.send(&request(90, "tools/call", json!({ "name": "zoo_sleep_forever", "arguments": {} })));
    stdio.call("zoo_echo", json!({ "text": "meanwhile" }));
    stdio.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 90 } }),
    );
    stdio.request_and_wait("resources/read", json!({ "uri": "test://static-text" }));
    stdio.request_and_wait("resources/read", json!({ "uri": "nothing://here" }));
    stdio.request_and_wait("prompts/get", json!({ "name": "test_simple_prompt" }));
    let meta = json!({ "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" });
    let traced = json!({ "name": "zoo_echo", "arguments": { "text": "" }, "_meta": meta });
    stdio.request_and_wait("tools/call", traced);
    let (_, status, log) = stdio.finish();
    assert!(status.success(), "{log}");
    let records = records(&workspace);
    let kinds = kinds(&records);
    for expected in [
        "gateway_start allowed -",
        "code allowed added",
        "tool_call allowed -",
        "tool_call failed tool_error",
        "tool_call denied invalid_arguments",
        "tool_call denied unknown",
        "tool_call denied not_granted",
        "tool_call failed trap",
        "tool_call timed_out timeout",
        "tool_call cancelled cancelled",
        "resource_read allowed -",
        "resource_read denied unknown",
        "prompt_get allowed -",
        "gateway_stop allowed -",
    ] {
        assert!(kinds.contains(expected), "{expected}: {kinds:#?}");
    }
    let echo = records.iter().find(|record| record["name"] == "zoo_echo").unwrap();
    assert_eq!(echo["principal"], json!({ "kind": "local" }));
    assert_eq!(echo["client"]["name"], initialize_params("2025-11-25")["clientInfo"]["name"]);
    assert!(echo["duration_ms"].is_f64() && echo["result_bytes"] == 15 && echo["plugin"] == "zoo", "{echo}");
    assert!(echo["digest"].as_str().unwrap().len() == 64, "{echo}");
    assert_eq!(echo["arguments"]["value"], json!({ "text": "line\nbreak \u{1b}[2J" }));
    assert_eq!(echo["arguments"]["hmac"].as_str().unwrap().len(), 64);
    // Of a long URI, the record contains only the start.
    let read = records.iter().find(|record| record["uri"] == "test://static-text").unwrap();
    assert_eq!(read["arguments"]["bytes"], "test://static-text".len(), "{read}");
    assert_eq!(read["arguments"]["hmac"].as_str().unwrap().len(), 64, "{read}");
    assert!(read["arguments"]["value"].is_null(), "{read}");
    let failed = records.iter().find(|record| record["name"] == "zoo_error_result").unwrap();
    assert_eq!(failed["arguments"]["value"], json!({ "message": "***" }));
    assert!(records.iter().any(|record| record["trace_id"] == "0af7651916cd43dd8448eb211c80319c"));
    assert_eq!(verified(&workspace)["lines"], records.len());
    for file in ["audit.jsonl", "audit.jsonl.key", "audit.jsonl.lock"] {
        let mode = fs::metadata(workspace.path().join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}

#[test]
fn records_callers_and_failed_authentication() {
    let workspace = Workspace::new(
        "[http]\nlisten = \"127.0.0.1:0\"\n[http.auth]\n\
         tokens = [{ name = \"ann\", token = { file = \"ann.token\" } }]\n\
         [audit]\n[plugins.zoo]\nsource = \"@zoo@\"\n",
    );
    workspace.write("ann.token", "token-of-ann-and-nobody-else-32-chars");
    let http = Http::start(&workspace);
    let initialize = request(1, "initialize", initialize_params("2025-11-25"));
    for token in ["", "Bearer wrong-wrong-wrong", "Bearer wrong-wrong-wrong"] {
        assert_eq!(http.post(&[("Authorization", token)], &initialize).status, 401);
    }
    let ann = ("Authorization", "Bearer token-of-ann-and-nobody-else-32-chars");
    let session = http.open_session(&[ann], "2025-11-25");
    let call = request(2, "tools/call", json!({ "name": "zoo_echo", "arguments": { "text": "a" } }));
    let reply = http.post(&[ann, ("Mcp-Session-Id", &session)], &call);
    assert_eq!(reply.status, 200);
    let (status, log) = http.terminate();
    assert!(status.success(), "{log}");
    let records = records(&workspace);
    let failures: u64 = records
        .iter()
        .filter(|record| record["event"] == "authentication")
        .map(|record| record["count"].as_u64().unwrap())
        .sum();
    assert_eq!(failures, 3, "{records:#?}");
    let call = records.iter().find(|record| record["event"] == "tool_call").unwrap();
    assert_eq!(call["principal"], json!({ "kind": "token", "name": "ann" }));
    assert!(call["session"].is_string() && !call["session"].as_str().unwrap().contains(&session), "{call}");
    let all = fs::read_to_string(workspace.path().join("audit.jsonl")).unwrap();
    assert!(
        !all.contains("token-of-ann") && !all.contains("wrong-wrong") && !all.contains(&session),
        "{all}"
    );
    assert!(log.contains("head of the audit log"), "{log}");
}

#[test]
fn floods_of_refused_calls_are_counted() {
    let workspace = Workspace::new(ZOO);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let begun = Instant::now();
    for at in 0..50 {
        stdio.call(&format!("zoo_nothing{at}"), json!({}));
        stdio.call("zoo_echo", json!({ "text": at }));
    }
    let seconds = begun.elapsed().as_secs();
    stdio.finish();
    let records = records(&workspace);
    for reason in ["unknown", "invalid_arguments"] {
        let found: Vec<_> = records.iter().filter(|record| record["reason"] == reason).collect();
        let counted: u64 = found.iter().map(|record| record["count"].as_u64().unwrap()).sum();
        assert_eq!(counted, 50, "{found:#?}");
        assert!(found.len() as u64 <= seconds + 3, "{seconds} s: {found:#?}");
        assert!(found.iter().all(|record| record["arguments"]["hmac"].is_null()), "{found:#?}");
    }
    verified(&workspace);
}

#[test]
fn large_arguments_are_hashed_as_a_whole() {
    let workspace = Workspace::new(ZOO);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let texts = ["a", "b", "a"].map(|end| format!("{}{end}", "x".repeat(300_000)));
    for argument in &texts {
        assert_eq!(text(&stdio.call("zoo_echo", json!({ "text": argument }))), *argument);
    }
    stdio.finish();
    let calls = records(&workspace).into_iter().filter(|record| record["event"] == "tool_call");
    let hashes: Vec<_> =
        calls.map(|record| record["arguments"]["hmac"].as_str().unwrap().to_owned()).collect();
    assert!(hashes[0] == hashes[2] && hashes[0] != hashes[1], "{hashes:?}");
}

#[test]
fn records_refused_credentials_of_the_admin_listener() {
    let workspace = Workspace::new(
        "[http]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"127.0.0.1:0\"\n\
         token = { file = \"admin-token\" }\n[audit]\n[plugins.zoo]\nsource = \"@zoo@\"\n",
    );
    workspace.write("admin-token", "the-token-of-this-test");
    let http = Http::start(&workspace);
    for headers in ["", "Authorization: Bearer wrong\r\n"] {
        assert_eq!(http.admin().send("GET", "/status.json", headers, "").status, 401);
    }
    let (status, log) = http.terminate();
    assert!(status.success(), "{log}");
    let kinds = kinds(&records(&workspace));
    for reason in ["missing_token", "unknown_token"] {
        assert!(kinds.contains(&format!("admin denied {reason}")), "{kinds:#?}");
    }
}

#[test]
fn records_requests_that_can_be_attacks() {
    let workspace = Workspace::new(
        "[http]\nlisten = \"127.0.0.1:0\"\n[http.auth]\n\
         tokens = [{ name = \"ann\", token = { file = \"ann\" } }, { name = \"bob\", token = { file = \"bob\" } }]\n\
         [admin]\nlisten = \"127.0.0.1:0\"\n[audit]\n[plugins.zoo]\nsource = \"@zoo@\"\nallow.client = [\"elicitation\"]\n",
    );
    let token = |name: &str| format!("token-of-{name}-and-of-nobody-else");
    let bearer = |name: &str| format!("Bearer {}", token(name));
    for name in ["ann", "bob"] {
        workspace.write(name, token(name));
    }
    let http = Http::start(&workspace);
    let (ann, bob) = (bearer("ann"), bearer("bob"));
    let as_ann = ("Authorization", ann.as_str());
    let as_bob = ("Authorization", bob.as_str());
    // The state of another caller, and a changed one.
    let ask = |caller: (&str, &str), name: &str, state: Option<&str>| {
        let mut message =
            stateless_request(1, "tools/call", json!({ "name": "zoo_ask_name", "arguments": {} }));
        message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
            json!({ "elicitation": {} });
        if let Some(state) = state {
            message["params"]["requestState"] = json!(state);
            message["params"]["inputResponses"] =
                json!({ "name": { "action": "accept", "content": { "name": "Ann" } } });
        }
        let headers = [
            caller,
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", name),
        ];
        http.post(&headers, &message).json()
    };
    let state = ask(as_ann, "zoo_ask_name", None)["result"]["requestState"].as_str().unwrap().to_owned();
    assert!(ask(as_bob, "zoo_ask_name", Some(&state))["error"].is_object());
    assert!(ask(as_ann, "zoo_ask_name", Some(&state[1..]))["error"].is_object());
    // Used twice.
    assert_eq!(text(&ask(as_ann, "zoo_ask_name", Some(&state))), "Hello, Ann!");
    assert!(ask(as_ann, "zoo_ask_name", Some(&state))["error"].is_object());
    assert!(ask(as_bob, "zoo_echo", None)["error"].is_object());
    // A session of another caller, and one that doesn't exist.
    let session = http.open_session(&[as_ann], "2025-11-25");
    let list = request(2, "tools/list", json!({}));
    let revision = ("MCP-Protocol-Version", "2025-11-25");
    for verb in ["POST", "DELETE", "GET"] {
        for id in [session.as_str(), "0000"] {
            let headers = [
                as_bob,
                revision,
                ("Mcp-Session-Id", id),
                ("Accept", "application/json, text/event-stream"),
                ("Content-Type", "application/json"),
            ];
            let body = if verb == "POST" { list.to_string() } else { String::new() };
            assert_eq!(http.send(verb, "/mcp", &headers, body.as_bytes()).status, 404, "{verb} {id}");
        }
    }
    // Web pages.
    for (name, value) in [("Host", "evil.example"), ("Origin", "https://evil.example")] {
        assert_eq!(http.post(&[as_ann, (name, value)], &list).status, 403, "{name}");
        let header = format!("{name}: {value}\r\n");
        assert_eq!(http.admin().send("GET", "/status.json", &header, "").status, 403, "{name}");
    }
    let (status, log) = http.terminate();
    assert!(status.success(), "{log}");
    let records = records(&workspace);
    let count = |event: &str, reason: &str, caller: &Value| -> u64 {
        let found = records.iter().filter(|record| record["event"] == event && record["reason"] == reason);
        let found = found.filter(|record| record["principal"] == *caller && record["outcome"] == "denied");
        found.map(|record| record["count"].as_u64().unwrap()).sum()
    };
    let [ann, bob] = ["ann", "bob"].map(|name| json!({ "kind": "token", "name": name }));
    let page = json!({ "kind": "anonymous", "address": "127.0.0.1" });
    for (event, reason, caller, expected) in [
        ("request", "request_state", &ann, 2),
        ("request", "request_state", &bob, 1),
        ("request", "header_mismatch", &bob, 1),
        ("request", "foreign_session", &bob, 3),
        ("request", "foreign_session", &ann, 0),
        ("request", "host", &page, 1),
        ("request", "origin", &page, 1),
        ("admin", "host", &page, 1),
        ("admin", "origin", &page, 1),
    ] {
        assert_eq!(count(event, reason, caller), expected, "{event} {reason} {caller}: {records:#?}");
    }
}

#[test]
fn records_what_roles_hide_and_live_changes_of_callers() {
    let text = |members: &str, tokens: &str| {
        format!(
            "version = 1\n[http]\nlisten = \"127.0.0.1:0\"\n[http.auth]\n\
             tokens = [{{ name = \"ann\", token = {{ file = \"ann\" }} }}{tokens}]\n[audit]\n\
             [roles.echo]\nmembers = [{members}]\nallow.tools = [\"zoo_echo\"]\n[plugins.zoo]\nsource = \"@zoo@\"\n"
        )
    };
    let ann = "{ token = \"ann\" }";
    let workspace = Workspace::new(&text(ann, ""));
    for name in ["ann", "bob"] {
        workspace.write(name, format!("token-of-{name}-and-of-nobody-else"));
    }
    let http = Http::start(&workspace);
    let call = |name: &str, tool: &str| {
        let call = stateless_request(1, "tools/call", json!({ "name": tool, "arguments": { "text": "a" } }));
        let token = format!("Bearer token-of-{name}-and-of-nobody-else");
        let headers = [
            ("Authorization", &*token),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", tool),
        ];
        http.post(&headers, &call).status
    };
    assert_eq!(call("ann", "zoo_echo"), 200);
    call("ann", "zoo_panic");
    let written = fs::read_to_string(workspace.config()).unwrap();
    let zoo = written.lines().last().unwrap().to_owned();
    let live =
        text(&format!("{ann}, {{ token = \"bob\" }}"), ", { name = \"bob\", token = { file = \"bob\" } }");
    fs::write(workspace.config(), live.replace("source = \"@zoo@\"", &zoo)).unwrap();
    wait_until("the new token is used", || call("bob", "zoo_echo") == 200);
    let (status, log) = http.terminate();
    assert!(status.success(), "{log}");
    let records = records(&workspace);
    let hidden = records.iter().find(|record| record["name"] == "zoo_panic").unwrap();
    assert_eq!(hidden["principal"], json!({ "kind": "token", "name": "ann" }));
    assert!(hidden["outcome"] == "denied" && hidden["reason"] == "unknown", "{hidden}");
    assert!(hidden["plugin"].is_null(), "the caller doesn't see the plugin: {hidden}");
    let applied = records.iter().find(|record| record["event"] == "configuration").unwrap();
    assert_eq!(applied["changes"], json!(["`roles` (`echo` changed)", "token `bob` added"]));
    let start = records.iter().find(|record| record["event"] == "gateway_start").unwrap();
    assert!(applied["digest"].is_string() && applied["digest"] != start["digest"], "{applied}");
    assert!(records.iter().any(|record| record["principal"]["name"] == "bob"));
    verified(&workspace);
}

#[test]
fn records_changes_of_code_grants_and_configuration() {
    let text = |more: &str| format!("version = 1\n[audit]\n[plugins.one]\nsource = \"one.wasm\"\n{more}\n");
    let notes =
        |mode| format!("allow.dirs = [{{ host = \"notes\", guest = \"/notes\", mode = \"{mode}\" }}]");
    let workspace = Workspace::new(&text(&format!("allow.env = [\"PATH\"]\n{}", notes("rw"))));
    fs::create_dir(workspace.path().join("notes")).unwrap();
    workspace.write("one.wasm", Plugin::version(1).build());
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let narrowed = format!("allow.state = true\n{}", notes("ro"));
    // Stopped, so that it notices the signal before the files.
    send_signal(stdio.pid(), "STOP");
    fs::write(workspace.config(), text(&narrowed)).unwrap();
    workspace.write("one.wasm", Plugin::version(2).build());
    send_signal(stdio.pid(), "HUP");
    send_signal(stdio.pid(), "CONT");
    let is_recorded = |expected: &str| kinds(&records(&workspace)).contains(expected);
    wait_until("the code is replaced", || is_recorded("code allowed replaced"));
    // A change before the reload has read the file would belong to it.
    wait_until("the reload has applied the file", || {
        ["admin allowed reload_signal", "configuration allowed -", "grants allowed -"]
            .into_iter()
            .all(is_recorded)
    });
    stdio.request_and_wait("ping", json!({}));
    // With stdio, wider grants in the file wait.
    fs::write(workspace.config(), text(&format!("{narrowed}\nallow.env = [\"HOME\"]"))).unwrap();
    wait_until("the wider grant waits", || is_recorded("grants denied waits"));
    fs::write(workspace.config(), "version = 1\nnonsense = 1\n").unwrap();
    send_signal(stdio.pid(), "HUP");
    wait_until("the configuration is rejected", || is_recorded("configuration denied rejected"));
    stdio.request_and_wait("ping", json!({}));
    let (_, status, log) = stdio.finish();
    assert!(status.success(), "{log}");
    let records = records(&workspace);
    let kinds = kinds(&records);
    assert!(kinds.contains("admin allowed reload_signal"), "{kinds:#?}");
    assert!(kinds.contains("configuration allowed -"), "{kinds:#?}");
    let grants: Vec<_> = records.iter().filter(|record| record["event"] == "grants").collect();
    let [start, changed, waits] = grants[..] else { panic!("{grants:#?}") };
    assert!(waits["added"].to_string().contains("HOME") && waits["plugin"] == "one", "{waits}");
    assert!(start["reason"] == "start" && start["added"].to_string().contains("PATH"), "{start}");
    assert!(changed["added"].to_string().contains("state"), "{changed}");
    assert!(changed["removed"].to_string().contains("PATH"), "{changed}");
    // A narrowed grant isn't gone.
    assert!(changed["removed"].to_string().contains("(rw)"), "{changed}");
    let remaining = changed["remaining"].to_string();
    assert!(
        remaining.contains("/notes") && remaining.contains("(ro)") && !remaining.contains("state"),
        "{changed}"
    );
    let replaced = records.iter().find(|record| record["reason"] == "replaced").unwrap();
    assert_ne!(replaced["digest"], replaced["previous_digest"]);
    fs::write(workspace.config(), text("")).unwrap();
    verified(&workspace);
}

#[test]
fn verify_detects_what_was_done_to_a_log() {
    let workspace = Workspace::new(ZOO);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for _ in 0..5 {
        stdio.call("zoo_echo", json!({ "text": "a" }));
    }
    stdio.finish();
    let head = verified(&workspace)["head"].as_str().unwrap().to_owned();
    assert!(verify(&workspace, &["--head", &head]).status.success());
    let path = workspace.path().join("audit.jsonl");
    let key = workspace.path().join("audit.jsonl.key");
    let good = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    let failure = |content: &str, arguments: &[&str]| {
        fs::write(&path, content).unwrap();
        let output = verify(&workspace, arguments);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let forged = good.replacen("\"outcome\":\"allowed\"", "\"outcome\":\"denied\"", 1);
    assert!(failure(&forged, &[]).contains("audit.jsonl:1: its hash is wrong"));
    // The same for programs.
    let output = verify(&workspace, &["--format", "json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(document["errors"][0]["message"].to_string().contains("its hash is wrong"), "{document}");
    assert_eq!((&document["line"], &document["file"]), (&json!(1), &json!(path)), "{document}");
    let without = [&lines[..3], &lines[4..]].concat().join("\n") + "\n";
    assert!(failure(&without, &[]).contains("audit.jsonl:4: it has the number 5, and 4 is expected"));
    let cut = lines[..lines.len() - 1].join("\n") + "\n";
    assert!(failure(&cut, &["--head", &head]).contains("the log was cut"));
    // A gateway doesn't continue a changed log, and says so.
    fs::write(&path, good.replace("gateway_stop", "gateway_stap")).unwrap();
    let output = workspace.run(&["serve", "--stdio"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains("its end isn't valid"), "{stderr}");
    // A log whose key is gone isn't continued with a new one.
    fs::write(&path, &good).unwrap();
    fs::rename(&key, workspace.path().join("kept")).unwrap();
    let output = workspace.run(&["serve", "--stdio"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains("restore the key") && !key.exists(), "{stderr}");
    fs::rename(workspace.path().join("kept"), &key).unwrap();
    // A copy, without the configuration.
    fs::write(workspace.path().join("copy"), &good).unwrap();
    let output = Command::new(moongate_tests::gateway_binary())
        .args(["audit", "verify", "--key-file"])
        .arg(&key)
        .arg(workspace.path().join("copy"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn what_verify_needs_is_in_its_hints() {
    let workspace = Workspace::new(ZOO);
    let printed = |arguments: &[&str]| {
        let output = verify(&workspace, arguments);
        assert!(!output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(printed(&[]).contains("creates the key and the log when it starts"));
    Stdio::initialized(&workspace, "2025-11-25").finish();
    let key = workspace.path().join("audit.jsonl.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(printed(&[]).contains("chmod 600"));
    fs::rename(workspace.config(), workspace.path().join("moved.toml")).unwrap();
    assert!(printed(&["audit.jsonl"]).contains("pass FILE and `--key-file`"));
}

/// Someone who removes a log can't make it look like the first start.
#[test]
fn a_key_without_its_log_is_a_warning() {
    let workspace = Workspace::new(ZOO);
    let warning = "doesn't exist, but its key";
    let start = || Stdio::initialized(&workspace, "2025-11-25").finish().2;
    assert!(!start().contains(warning));
    let (log, key) = (workspace.path().join("audit.jsonl"), workspace.path().join("audit.jsonl.key"));
    let age = |by| {
        let file = fs::OpenOptions::new().write(true).open(&key).unwrap();
        file.set_modified(SystemTime::now() - by).unwrap();
    };
    fs::remove_file(&log).unwrap();
    assert!(!start().contains(warning), "other gateways can start at the same time");
    fs::remove_file(&log).unwrap();
    age(Duration::from_secs(120));
    assert!(start().contains(warning));
    assert!(!start().contains(warning), "there is a log again");
}

#[test]
fn a_chain_survives_rotation_and_kills_of_several_gateways() {
    let workspace = Workspace::new(&ZOO.replace("[audit]", "[audit]\nmax_size = \"4KiB\"\nkeep = 1000"));
    let calls = || records(&workspace).iter().filter(|record| record["event"] == "tool_call").count();
    for _ in 0..4 {
        let before = calls();
        let mut gateways: Vec<_> = (0..2).map(|_| Stdio::initialized(&workspace, "2025-11-25")).collect();
        for at in 0..20 {
            let gateway = &mut gateways[at % 2];
            assert_eq!(text(&gateway.call("zoo_echo", json!({ "text": "a" }))), "a");
        }
        // The other half may still be in the queues.
        wait_until("half of the calls are recorded", || calls() >= before + 10);
        let pids: Vec<_> = gateways.iter().map(Stdio::pid).collect();
        pids.into_iter().for_each(|pid| send_signal(pid, "KILL"));
        for gateway in gateways {
            gateway.wait_for_exit();
        }
        // A crash can cut the last line.
        let path = workspace.path().join("audit.jsonl");
        let size = fs::metadata(&path).unwrap().len();
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(size.saturating_sub(30)).unwrap();
    }
    Stdio::initialized(&workspace, "2025-11-25").finish();
    let found = verified(&workspace);
    assert_eq!(found["firstSequence"], 1);
    assert!(calls() >= 4 * (10 - 1), "of those, each crash cuts only the last one: {}", calls());
    assert!(kinds(&records(&workspace)).contains("log_rotated allowed -"));
}

#[test]
fn verify_checks_more_files_than_descriptors() {
    let workspace = Workspace::new(&ZOO.replace("[audit]", "[audit]\nmax_size = \"4KiB\"\nkeep = 1000"));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    // How many records fit in a file depends on the speed of the disk.
    wait_until("there are many files", || {
        (0..20).for_each(|_| drop(stdio.call("zoo_echo", json!({ "text": "a" }))));
        fs::read_dir(workspace.path()).unwrap().count() > 80
    });
    stdio.finish();
    let plain = workspace.command(&["audit", "verify"]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 64; exec \"$@\"", "sh"]).arg(plain.get_program()).args(plain.get_args());
    limited.env_clear().envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = limited.current_dir(workspace.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_full_disk_refuses_calls_or_drops_records() {
    for (when_full, runs) in [("refuse", false), ("drop", true)] {
        let workspace =
            Workspace::new(&ZOO.replace("[audit]", &format!("[audit]\nwhen_full = \"{when_full}\"")));
        // Compiles the plugin.
        assert!(workspace.run(&["call", "zoo_echo", "text=a"]).status.success());
        let command = limited(&workspace, 40, &["serve", "--stdio"]);
        let mut stdio = Stdio::spawn_initialized(command, "2025-11-25");
        let mut refused = 0;
        for _ in 0..200 {
            let answer = stdio.call("zoo_echo", json!({ "text": "a" }));
            if text(&answer) != "a" {
                assert!(text(&answer).contains("can't record calls now; try again later"), "{answer}");
                refused += 1;
            }
        }
        assert_eq!(refused == 0, runs, "{when_full}: {refused}");
        let (_, _, log) = stdio.finish();
        assert!(log.contains("can't write the audit log"), "{log}");
        verified(&workspace);
        // With room again, the chain goes on.
        let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
        assert_eq!(text(&stdio.call("zoo_echo", json!({ "text": "a" }))), "a");
        stdio.finish();
        verified(&workspace);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_torn_end_on_a_full_disk_is_repaired_later() {
    let workspace = Workspace::new(ZOO);
    assert!(workspace.run(&["call", "zoo_echo", "text=a"]).status.success());
    let mut stdio = Stdio::spawn_initialized(limited(&workspace, 40, &["serve", "--stdio"]), "2025-11-25");
    assert_eq!(text(&stdio.call("zoo_echo", json!({ "text": "a" }))), "a");
    let path = workspace.path().join("audit.jsonl");
    let is_recorded =
        |count: usize| fs::read_to_string(&path).unwrap().matches("\"name\":\"zoo_echo\"").count() == count;
    wait_until("the call is recorded", || is_recorded(1));
    // As another gateway leaves it that crashed, above the limit of this one.
    let torn = format!("{{\"version\":1,{}", "x".repeat(30_000));
    fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(torn.as_bytes()).unwrap();
    let refused = |answer: &Value| text(answer).contains("can't record calls now");
    wait_until("calls are refused", || refused(&stdio.call("zoo_echo", json!({ "text": "a" }))));
    let pid = stdio.pid().to_string();
    let lifted =
        Command::new("prlimit").args(["--pid", &pid, "--fsize=unlimited:unlimited"]).status().unwrap();
    assert!(lifted.success());
    wait_until("calls run again", || !refused(&stdio.call("zoo_echo", json!({ "text": "a" }))));
    stdio.finish();
    let found = verified(&workspace);
    assert!(found["notes"].to_string().contains("30013 bytes that aren't a record"), "{found}");
}

#[test]
fn plugins_cannot_reach_the_log_or_its_key() {
    for (file, granted) in [("log/audit.jsonl", "log"), ("log/audit.jsonl", "."), ("audit.jsonl", ".")] {
        let workspace = Workspace::new(&format!(
            "[audit]\nfile = \"{file}\"\n[plugins.zoo]\nsource = \"zoo.wasm\"\n\
             allow.dirs = [{{ host = \"{granted}\", guest = \"/x\" }}]\n"
        ));
        fs::create_dir(workspace.path().join("log")).unwrap();
        fs::copy(component("zoo"), workspace.path().join("zoo.wasm")).unwrap();
        let output = workspace.run(&["check"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(78), "{stderr}");
        assert!(stderr.contains("could reach") && stderr.contains("the audit log"), "{stderr}");
    }
}
