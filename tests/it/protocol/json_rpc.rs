//! JSON-RPC edge cases that no client library would send, in one table for both transports and every revision.

use moongate_tests::{Http, Reply, Stdio, Workspace, request, stateless_request};
use serde_json::{Value, json};

mod rows;

use rows::{AppliesTo, Expected, Row};

const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

const ENVELOPE: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;

fn workspace() -> Workspace {
    Workspace::new(
        "[http]\nlisten = \"127.0.0.1:0\"\nmax_body = \"64KiB\"\n[plugins.zoo]\nsource = \"@zoo@\"\n",
    )
}

fn table() -> impl Iterator<Item = &'static Row> {
    [rows::PARSING, rows::BATCH, rows::MEMBERS, rows::MESSAGE_KINDS].into_iter().flatten()
}

fn is_stateless(revision: &str) -> bool {
    revision == "2026-07-28"
}

impl Row {
    fn is_for(&self, revision: &str) -> bool {
        match self.applies_to {
            AppliesTo::Always => true,
            AppliesTo::Handshake => !is_stateless(revision),
            AppliesTo::Stateless => is_stateless(revision),
            AppliesTo::Batches => revision == "2025-03-26",
            AppliesTo::NoBatches => revision != "2025-03-26",
        }
    }

    /// The bytes in a revision; `too_long` is more than the transport takes.
    fn bytes(&self, revision: &str, too_long: usize) -> Vec<u8> {
        let modern = is_stateless(revision);
        let params = if modern { format!("{{\"_meta\":{{{ENVELOPE}}}}}") } else { "{}".to_owned() };
        let deep = format!("{{\"x\":{}{}}}", "[".repeat(200), "]".repeat(200));
        let placeholders = [
            ("@many", format!("[{}]", ["{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"; 101].join(","))),
            ("@m", if modern { "server/discover" } else { "ping" }.to_owned()),
            ("@p", params),
            ("@e", if modern { format!("{ENVELOPE},") } else { String::new() }),
            ("@deep", deep),
            ("@long", "x".repeat(1100)),
            ("@huge", "x".repeat(too_long)),
        ];
        let mut bytes = self.bytes.to_vec();
        for (placeholder, text) in placeholders {
            // `@` starts nothing else, except for the placeholders that are replaced first.
            while let Some(at) =
                bytes.windows(placeholder.len()).position(|part| part == placeholder.as_bytes())
            {
                bytes.splice(at..at + placeholder.len(), text.bytes());
                if placeholder == "@huge" {
                    return bytes;
                }
            }
        }
        bytes
    }

    fn label(&self, revision: &str) -> String {
        format!("{} {} in {revision}", self.number, self.name)
    }
}

/// How an error represents an unreadable id.
#[derive(Clone, Copy)]
enum UnreadableId {
    Null,
    Absent,
}

/// Checks a response against the expectation.
#[track_caller]
fn check_response(answer: &Value, expectation: Expected, unreadable_id: UnreadableId, row: &str) {
    let (id, code) = match expectation {
        Expected::Result(id) => (id, None),
        Expected::Error(code, id) => (id, Some(code)),
        Expected::Batch(all) => {
            let answers = answer.as_array().unwrap_or_else(|| panic!("{row}: not an array: {answer}"));
            assert_eq!(answers.len(), all.len(), "{row}: {answer}");
            return answers
                .iter()
                .zip(all)
                .for_each(|(answer, expectation)| check_response(answer, *expectation, unreadable_id, row));
        }
        Expected::Nothing | Expected::Lines(_) => panic!("{row}: {answer}"),
    };
    let expected: Option<Value> = match (id, unreadable_id) {
        ("-", _) | ("?", UnreadableId::Absent) => None,
        ("?", UnreadableId::Null) => Some(Value::Null),
        (id, _) => Some(serde_json::from_str(id).unwrap()),
    };
    assert_eq!(answer.get("id"), expected.as_ref(), "{row}: {answer}");
    assert_eq!(answer["error"]["code"].as_i64(), code, "{row}: {answer}");
    assert_eq!(answer.get("result").is_some(), code.is_none(), "{row}: {answer}");
}

#[test]
fn every_case_has_a_row_or_a_test() {
    let own = rows::OWN_TESTS.iter().map(|(number, _)| *number);
    let mut seen: Vec<u8> = table().map(|row| row.number).chain(own).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, (1..=50).collect::<Vec<u8>>());
}

#[test]
fn answers_every_case_over_stdio() {
    let workspace = workspace();
    for revision in REVISIONS {
        let mut stdio = if is_stateless(revision) {
            Stdio::start(&workspace)
        } else {
            Stdio::initialized(&workspace, revision)
        };
        if is_stateless(revision) {
            // Before the revision is known, JSON-RPC's own rule applies.
            stdio.send_raw(b"{nope}\n");
            check_response(
                &stdio.receive(),
                Expected::Error(-32700, "?"),
                UnreadableId::Null,
                "before any request",
            );
            stdio.send(&stateless_request(1, "server/discover", json!({})));
            assert!(stdio.response(1).get("result").is_some());
        }
        let unreadable_id = if revision >= "2025-11-25" { UnreadableId::Absent } else { UnreadableId::Null };
        for row in table().filter(|row| row.is_for(revision) && row.headers.is_empty()) {
            let shown = row.label(revision);
            let mut bytes = row.bytes(revision, 11 << 20);
            bytes.push(b'\n');
            stdio.send_raw(&bytes);
            match row.stdio {
                Expected::Nothing => {}
                Expected::Lines(all) => {
                    for expectation in all {
                        check_response(&stdio.receive(), *expectation, unreadable_id, &shown);
                    }
                }
                expectation => check_response(&stdio.receive(), expectation, unreadable_id, &shown),
            }
            // The next response belongs to the next request: nothing else was sent, and the connection is still open.
            let fence = if is_stateless(revision) {
                stateless_request(777, "server/discover", json!({}))
            } else {
                request(777, "ping", json!({}))
            };
            stdio.send(&fence);
            let next = stdio.receive();
            assert_eq!(next["id"], 777, "{shown}: unexpected second response: {next}");
        }
    }
}

/// The headers that a client sends with this body.
fn headers_of(revision: &'static str, session: &str, bytes: &[u8]) -> Vec<(&'static str, String)> {
    let mut headers = vec![("Accept", "application/json, text/event-stream".to_owned())];
    if !is_stateless(revision) {
        headers.push(("Mcp-Session-Id", session.to_owned()));
    }
    if revision >= "2025-06-18" {
        headers.push(("MCP-Protocol-Version", revision.to_owned()));
    }
    if is_stateless(revision) {
        let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        // The harness's own parser refuses lone surrogates.
        let text = String::from_utf8_lossy(text).replace(r"\ud800", "").replace(r"\udc00", "");
        let message: Value = serde_json::from_str(&text).unwrap_or_default();
        let mirrored = [("Mcp-Method", &message["method"]), ("Mcp-Name", &message["params"]["name"])];
        let mirrored =
            mirrored.into_iter().filter_map(|(name, value)| Some((name, value.as_str()?.to_owned())));
        headers.extend(mirrored);
    }
    headers
}

#[test]
fn answers_every_case_over_http() {
    let workspace = workspace();
    let http = Http::start(&workspace);
    for revision in REVISIONS {
        let session = if is_stateless(revision) { String::new() } else { http.open_session(&[], revision) };
        let unreadable_id = if revision >= "2025-11-25" { UnreadableId::Absent } else { UnreadableId::Null };
        for row in table().filter(|row| row.is_for(revision)) {
            let shown = row.label(revision);
            let bytes = row.bytes(revision, 80 << 10);
            let own = headers_of(revision, &session, &bytes);
            let mut headers: Vec<(&str, &str)> =
                own.iter().map(|(name, value)| (*name, value.as_str())).collect();
            match row.headers {
                [] => headers.push(("Content-Type", "application/json")),
                others => headers.extend_from_slice(others),
            }
            let reply = http.send("POST", "/mcp", &headers, &bytes);
            assert_eq!(reply.status, row.status[usize::from(is_stateless(revision))], "{shown}: {reply:?}");
            match row.http.unwrap_or(row.stdio) {
                Expected::Nothing => assert_eq!(reply.body, "", "{shown}"),
                expectation => check_response(&reply.json(), expectation, unreadable_id, &shown),
            }
        }
    }
}

#[test]
fn request_without_id_has_no_effect() {
    let workspace = workspace();
    for (id, logged) in [(None, false), (Some(5), true)] {
        let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
        let mut call = request(5, "tools/call", json!({ "name": "zoo_print_json_rpc" }));
        if id.is_none() {
            call.as_object_mut().unwrap().remove("id");
        }
        stdio.send(&call);
        let (_, _, log) = stdio.finish();
        assert_eq!(log.contains("forged"), logged, "the tool's output decides whether it ran: {log}");
    }
}

/// Waits until a request with this id runs in the session, so that the id is rejected.
fn wait_until_running(ping: impl Fn() -> Reply) {
    while ping().json().get("result").is_some() {}
}

#[test]
fn ids_differ_by_type_and_are_unique_while_running() {
    let workspace = workspace();
    let call = |id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"zoo_sleep_forever"}}}}"#
        )
    };
    let ping = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    let cancel = |id: &str| {
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#)
    };
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    stdio.send_raw(format!("{}\n{}\n", call("1000"), ping("\"1000\"")).as_bytes());
    let other = stdio.receive();
    assert_eq!((&other["id"], &other["result"]), (&json!("1000"), &json!({})), "a string is a different id");
    stdio.send_raw(format!("{}\n", ping("1000")).as_bytes());
    let twice = stdio.receive();
    assert_eq!((&twice["id"], &twice["error"]["code"]), (&json!(1000), &json!(-32600)));
    stdio.send_raw(format!("{}\n{}\n", cancel("1000"), ping("1000")).as_bytes());
    let free = stdio.receive();
    assert_eq!(
        (&free["id"], &free["result"]),
        (&json!(1000), &json!({})),
        "the id is free after the cancellation"
    );

    let http = Http::start(&workspace);
    let session = http.open_session(&[], "2025-11-25");
    let send = |text: String| {
        let headers = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json"),
            ("Mcp-Session-Id", session.as_str()),
        ];
        http.send("POST", "/mcp", &headers, text.as_bytes())
    };
    std::thread::scope(|scope| {
        // If the ping arrives first, the call is rejected instead.
        let hanging = scope.spawn(|| {
            loop {
                let reply = send(call("1000"));
                if reply.json()["error"]["code"] != -32600 {
                    return reply;
                }
            }
        });
        wait_until_running(|| send(ping("1000")));
        assert_eq!(send(ping("\"1000\"")).json()["result"], json!({}));
        assert_eq!(send(ping("1000")).json()["error"]["code"], -32600);
        assert_eq!(send(cancel("1000")).status, 202);
        // HTTP needs a response; JSON-RPC has no code for this, so the language server protocol's code is used.
        assert_eq!(hanging.join().unwrap().json()["error"]["code"], -32800);
        assert_eq!(send(ping("1000")).json()["result"], json!({}));
    });
}

#[test]
fn accepts_chunked_bodies_and_expect_continue() {
    let workspace = workspace();
    let http = Http::start(&workspace);
    let text = request(1, "initialize", moongate_tests::initialize_params("2025-11-25")).to_string();
    let (first, second) = text.split_at(20);
    let chunked = format!("{:x}\r\n{first}\r\n{:x}\r\n{second}\r\n0\r\n\r\n", first.len(), second.len());
    let headers = [("Content-Type", "application/json"), ("Transfer-Encoding", "chunked")];
    let reply = http.send("POST", "/mcp", &headers, chunked.as_bytes());
    assert_eq!(reply.json()["result"]["protocolVersion"], "2025-11-25", "{reply:?}");

    let length = text.len().to_string();
    let headers = [
        ("Content-Type", "application/json"),
        ("Content-Length", length.as_str()),
        ("Expect", "100-continue"),
    ];
    let reply = http.send("POST", "/mcp", &headers, text.as_bytes());
    assert_eq!(reply.json()["result"]["protocolVersion"], "2025-11-25", "{reply:?}");
}
