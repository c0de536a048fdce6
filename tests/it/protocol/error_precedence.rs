//! Which error takes precedence: one table for all revisions and transports, against the real binary.
//!
//! Every error carries its request's id, and `data` names the wrong part if there is one. Over HTTP, the handshake
//! revisions answer readable messages with 200; 2026-07-28 has its own status codes.

use moongate_tests::{Http, Stdio, Workspace, envelope};
use serde_json::{Value, json};

/// The expected outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// A result.
    Fine,
    /// An `isError` result for the model.
    Failed,
    /// An error with this code.
    Error(i64),
}

use Outcome::{Error, Failed, Fine};

/// The outcomes up to 2025-06-18, in 2025-11-25, and in 2026-07-28.
type OutcomeByRevision = [Outcome; 3];

const METHOD_NOT_FOUND: OutcomeByRevision = [Error(-32601); 3];
const INVALID_PARAMS: OutcomeByRevision = [Error(-32602); 3];
const INTERNAL: OutcomeByRevision = [Error(-32603); 3];
const TOOL_ERROR: OutcomeByRevision = [Failed; 3];
/// A method that was removed in the newest revision.
const REMOVED: OutcomeByRevision = [Fine, Fine, Error(-32601)];
const REMOVED_PARAMS: OutcomeByRevision = [Error(-32602), Error(-32602), Error(-32601)];

struct Row {
    case: &'static str,
    method: &'static str,
    params: Value,
    expected: OutcomeByRevision,
    /// The HTTP status in 2026-07-28.
    status: u16,
    /// Members that `data` must contain.
    data: Value,
}

fn row(case: &'static str, method: &'static str, params: Value, expected: OutcomeByRevision) -> Row {
    Row { case, method, params, expected, status: 200, data: Value::Null }
}

impl Row {
    fn status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    fn data(self, data: Value) -> Self {
        Self { data, ..self }
    }

    /// Expects this JSON pointer in `data`.
    fn at(self, at: &str) -> Self {
        self.data(json!({ "at": at }))
    }
}

fn call(case: &'static str, tool: &str, arguments: Value, expected: OutcomeByRevision) -> Row {
    let params = Value::from_iter([("name", Value::from(tool)), ("arguments", arguments)]);
    row(case, "tools/call", params, expected)
}

fn complete(case: &'static str, reference: Value, at: &str) -> Row {
    let argument = json!({ "name": "text", "value": "" });
    let params = Value::from_iter([("ref", reference), ("argument", argument)]);
    row(case, "completion/complete", params, INVALID_PARAMS).at(at)
}

fn methods() -> Vec<Row> {
    let none = || json!({});
    vec![
        row("unknown method", "nope/nope", none(), METHOD_NOT_FOUND).status(404),
        row("method in the wrong case", "Tools/List", none(), METHOD_NOT_FOUND).status(404),
        row("client method", "roots/list", none(), METHOD_NOT_FOUND).status(404),
        row("method of a later revision", "server/discover", none(), [Error(-32601), Error(-32601), Fine]),
        row("unsupported tasks method", "tasks/list", none(), METHOD_NOT_FOUND).status(404),
        row("ping", "ping", none(), REMOVED).status(404),
        row("level", "logging/setLevel", json!({ "level": "info" }), REMOVED).status(404),
        row("bad level", "logging/setLevel", json!({ "level": "loud" }), REMOVED_PARAMS)
            .status(404)
            .at("/level"),
        row("no level", "logging/setLevel", none(), REMOVED_PARAMS).status(404).at("/level"),
        row("subscription", "resources/subscribe", json!({ "uri": "zoo://text" }), REMOVED).status(404),
        row("subscription without URI", "resources/subscribe", none(), REMOVED_PARAMS).status(404).at("/uri"),
        row("unsubscription", "resources/unsubscribe", json!({ "uri": "zoo://text" }), REMOVED).status(404),
    ]
}

fn parameters() -> Vec<Row> {
    let mut rows = vec![
        row("missing tool name", "tools/call", json!({}), INVALID_PARAMS).at("/name"),
        row("tool name as number", "tools/call", json!({ "name": 5 }), INVALID_PARAMS).at("/name"),
        row("unknown tool", "tools/call", json!({ "name": "zoo_nope" }), INVALID_PARAMS).at("/name"),
        row(
            "arguments as list",
            "tools/call",
            json!({ "name": "zoo_echo", "arguments": [1] }),
            INVALID_PARAMS,
        )
        .at("/arguments"),
        row("missing prompt name", "prompts/get", json!({}), INVALID_PARAMS).at("/name"),
        row("unknown prompt", "prompts/get", json!({ "name": "zoo_nope" }), INVALID_PARAMS).at("/name"),
        row("prompt's argument missing", "prompts/get", json!({ "name": "zoo_repeat" }), INVALID_PARAMS)
            .at("/arguments/text"),
        row(
            "prompt's argument as number",
            "prompts/get",
            json!({ "name": "zoo_repeat", "arguments": { "text": 1 } }),
            INVALID_PARAMS,
        )
        .at("/arguments/text"),
        row("missing resource URI", "resources/read", json!({}), INVALID_PARAMS).at("/uri"),
        row(
            "resource not found",
            "resources/read",
            json!({ "uri": "zoo://nope" }),
            [Error(-32002), Error(-32002), Error(-32602)],
        )
        .data(json!({ "uri": "zoo://nope" })),
        row(
            "invalid URI",
            "resources/read",
            json!({ "uri": "no uri" }),
            [Error(-32002), Error(-32002), Error(-32602)],
        )
        .data(json!({ "uri": "no uri" })),
    ];
    for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        rows.push(row("unknown cursor", method, json!({ "cursor": "x" }), INVALID_PARAMS).at("/cursor"));
        rows.push(row("cursor as number", method, json!({ "cursor": 5 }), INVALID_PARAMS).at("/cursor"));
    }
    rows
}

fn completions() -> Vec<Row> {
    vec![
        complete("completion of a tool", json!({ "type": "ref/tool", "name": "zoo_echo" }), "/ref/type"),
        complete("completion without reference", json!({}), "/ref/type"),
        complete(
            "completion of an unknown prompt",
            json!({ "type": "ref/prompt", "name": "zoo_nope" }),
            "/ref/name",
        ),
        complete(
            "completion of an unknown template",
            json!({ "type": "ref/resource", "uri": "nope://{x}" }),
            "/ref/uri",
        ),
        row(
            "completion without argument",
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "zoo_repeat" } }),
            INVALID_PARAMS,
        )
        .at("/argument/name"),
    ]
}

fn calls() -> Vec<Row> {
    let none = || json!({});
    vec![
        // SEP-1303: since 2025-11-25, the model gets the error and can correct the call.
        call("invalid arguments", "zoo_echo", json!({ "text": 1 }), [Error(-32602), Failed, Failed])
            .at("/arguments/text"),
        call("argument missing", "zoo_echo", none(), [Error(-32602), Failed, Failed]).data(json!({})),
        call("the tool returns an error", "zoo_error_result", none(), TOOL_ERROR),
        call("the tool panics", "zoo_panic", none(), TOOL_ERROR),
        call("the tool traps", "zoo_unreachable_trap", none(), TOOL_ERROR),
        call("the tool takes too long", "zoo_sleep_forever", none(), TOOL_ERROR),
        call("the tool violates its output schema", "zoo_bad_structured", none(), TOOL_ERROR),
        call("the plugin rejects arguments", "zoo_protocol_error_invalid_params", none(), INVALID_PARAMS),
        call("not found by the plugin", "zoo_protocol_error_not_found", none(), INVALID_PARAMS),
        call("internal plugin error", "zoo_protocol_error_internal", none(), INTERNAL),
        call("custom plugin error", "zoo_protocol_error_custom", none(), [Error(1234); 3]),
        call("reserved error code", "zoo_protocol_error_reserved_code", none(), INTERNAL),
        call(
            "missing client capability",
            "zoo_protocol_error_missing_capability",
            none(),
            [Failed, Failed, Error(-32021)],
        )
        .status(400)
        .data(json!({ "requiredCapabilities": { "sampling": {}, "elicitation": { "url": {} } } })),
        row("the prompt panics", "prompts/get", json!({ "name": "zoo_panicking_prompt" }), INTERNAL)
            .data(json!({ "reason": "trap" })),
        row("foreign resource", "resources/read", json!({ "uri": "zoo://foreign" }), INTERNAL)
            .data(json!({ "reason": "bad_output" })),
    ]
}

const REVISIONS: [(&str, usize); 5] =
    [("2024-11-05", 0), ("2025-03-26", 0), ("2025-06-18", 0), ("2025-11-25", 1), ("2026-07-28", 2)];

fn workspace() -> Workspace {
    Workspace::new("[plugins.zoo]\nsource = \"@zoo@\"\n[plugins.zoo.limits]\ntimeout = \"3s\"\n")
}

/// The request of a row, with the row as its id.
fn message(row: &Row, id: &str, column: usize) -> Value {
    let mut params = row.params.clone();
    if column == 2 {
        params["_meta"] = envelope();
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": row.method, "params": params })
}

#[track_caller]
fn check_response(answer: &Value, row: &Row, id: &str, column: usize) {
    let shown = format!("{} ({}): {answer}", row.case, row.method);
    assert_eq!(answer["id"], id, "{shown}");
    let outcome = match (answer["error"]["code"].as_i64(), &answer["result"]["isError"]) {
        (Some(code), _) => Error(code),
        (None, Value::Bool(true)) => Failed,
        (None, _) => Fine,
    };
    assert_eq!(outcome, row.expected[column], "{shown}");
    if let (Error(code), Value::Object(expected)) = (outcome, &row.data) {
        // A method that doesn't exist doesn't check its parameters.
        let data = &answer["error"]["data"];
        assert!(code == -32601 || data.is_object(), "{shown}");
        for (key, value) in expected.iter().filter(|_| code != -32601) {
            assert_eq!(&data[key], value, "{shown}");
        }
    }
}

#[test]
fn error_table_holds_over_stdio() {
    let workspace = workspace();
    let rows: Vec<Row> = [methods(), parameters(), completions(), calls()].into_iter().flatten().collect();
    for (revision, column) in REVISIONS {
        let mut stdio =
            if column == 2 { Stdio::start(&workspace) } else { Stdio::initialized(&workspace, revision) };
        for (at, row) in rows.iter().enumerate() {
            let id = format!("{revision} {at}");
            stdio.send(&message(row, &id, column));
            check_response(&stdio.receive(), row, &id, column);
        }
    }
}

#[test]
fn error_table_holds_over_http() {
    let workspace = workspace();
    let http = Http::start(&workspace);
    let rows: Vec<Row> = [methods(), parameters(), completions(), calls()].into_iter().flatten().collect();
    for (revision, column) in REVISIONS {
        let session = if column == 2 { String::new() } else { http.open_session(&[], revision) };
        for (at, row) in rows.iter().enumerate() {
            let id = format!("{revision} {at}");
            let name = row.params.get("name").or(row.params.get("uri")).and_then(Value::as_str);
            let mut headers = vec![("Mcp-Session-Id", session.as_str())];
            if column == 2 {
                headers = vec![("MCP-Protocol-Version", revision), ("Mcp-Method", row.method)];
                headers.extend(name.map(|name| ("Mcp-Name", name)));
            }
            let reply = http.post(&headers, &message(row, &id, column));
            check_response(&reply.json(), row, &id, column);
            let expected = match (column, row.expected[column]) {
                (2, Error(_)) => row.status,
                _ => 200,
            };
            assert_eq!(reply.status, expected, "{}: {reply:?}", row.case);
        }
    }
}

#[test]
fn names_mismatched_headers() {
    let workspace = workspace();
    let http = Http::start(&workspace);
    let list =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": envelope() } });
    let read = json!({
        "jsonrpc": "2.0", "id": 1, "method": "resources/read",
        "params": { "uri": "zoo://text", "_meta": envelope() },
    });
    let version = ("MCP-Protocol-Version", "2026-07-28");
    let method = ("Mcp-Method", "resources/read");
    for (message, headers, named) in [
        (&list, &[("Mcp-Method", "tools/list")][..], "MCP-Protocol-Version"),
        (
            &list,
            &[("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Method", "tools/list")],
            "MCP-Protocol-Version",
        ),
        (&list, &[version], "Mcp-Method"),
        (&list, &[version, ("Mcp-Method", "TOOLS/LIST")], "Mcp-Method"),
        (&list, &[version, ("Mcp-Method", "tools/list"), ("Mcp-Method", "tools/list")], "Mcp-Method"),
        (&read, &[version, method], "Mcp-Name"),
        (&read, &[version, method, ("Mcp-Name", "zoo://other")], "Mcp-Name"),
        (&read, &[version, method, ("Mcp-Name", "=?base64?????=")], "Mcp-Name"),
    ] {
        let reply = http.post(headers, message);
        let answer = reply.json();
        assert_eq!((reply.status, &answer["error"]["code"]), (400, &json!(-32020)), "{headers:?}: {answer}");
        assert_eq!(
            (&answer["id"], &answer["error"]["data"]),
            (&json!(1), &json!({ "header": named })),
            "{answer}"
        );
    }
}

#[test]
fn unknown_revision_in_a_session_is_a_bad_request() {
    let workspace = workspace();
    let http = Http::start(&workspace);
    let session = http.open_session(&[], "2025-11-25");
    let ping = json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" });
    for (version, status) in [("2025-11-25", 200), ("2025-06-18", 200), ("2099-01-01", 400), ("", 400)] {
        let reply = http.post(&[("Mcp-Session-Id", &session), ("MCP-Protocol-Version", version)], &ping);
        assert_eq!((reply.status, &reply.json()["id"]), (status, &json!("p")), "{version}: {reply:?}");
    }
}
