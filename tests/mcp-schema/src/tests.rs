//! Valid messages pass in every revision that has them, and invalid ones fail with a location.

use serde_json::{Value, json};

use super::*;

fn fault(result: Result<(), SchemaViolation>) -> String {
    result.expect_err("the message is invalid").to_string()
}

fn tools(tool: &Value) -> Value {
    json!({ "tools": [tool] })
}

const OLDEST: Revision = Revision::V2024_11_05;
const HANDSHAKE: Revision = Revision::V2025_11_25;
const STATELESS: Revision = Revision::V2026_07_28;

#[test]
fn every_method_has_existing_definitions() {
    let results = [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "server/discover",
        "subscriptions/listen",
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "prompts/list",
        "prompts/get",
        "completion/complete",
    ];
    let asks = json!({ "resultType": "input_required" });
    for revision in Revision::ALL {
        let none = Value::Null;
        let of_results = results.iter().flat_map(|method| {
            [methods::result(revision, method, &none), methods::result(revision, method, &asks)]
        });
        let kinds = [
            "cancelled",
            "progress",
            "message",
            "tools/list_changed",
            "prompts/list_changed",
            "resources/list_changed",
            "resources/updated",
            "elicitation/complete",
            "subscriptions/acknowledged",
        ];
        let of_notifications =
            kinds.iter().map(|kind| methods::notification(revision, &format!("notifications/{kind}")));
        let of_requests = ["ping", "roots/list", "sampling/createMessage", "elicitation/create"]
            .iter()
            .map(|method| methods::request(revision, method));
        let of_errors =
            [-32020, -32021, -32022, -32042].into_iter().map(|code| methods::error(revision, code));
        let all = of_results.chain(of_notifications).chain(of_requests).chain(of_errors).flatten();
        for definition in all.chain([revision.error_definition(), revision.result_definition()]) {
            for members in [ExtraMembers::Allowed, ExtraMembers::Denied] {
                // This tests only that the definition compiles; no value is valid for all of them.
                let _ = revision.check(definition, &none, members);
            }
        }
    }
}

#[test]
fn rejects_members_of_a_later_revision() {
    let tool = json!({ "name": "a", "title": "A", "description": "a", "inputSchema": { "type": "object", "anyOf": [] } });
    assert!(fault(check_result(OLDEST, "tools/list", &tools(&tool), ExtraMembers::Denied)).contains("title"));
    check_result(OLDEST, "tools/list", &tools(&tool), ExtraMembers::Allowed)
        .expect_err("`anyOf` must not be empty");
    let tool = json!({ "name": "a", "title": "A", "description": "a", "inputSchema": { "type": "object", "not": {} } });
    check_result(OLDEST, "tools/list", &tools(&tool), ExtraMembers::Allowed).unwrap();
    check_result(HANDSHAKE, "tools/list", &tools(&tool), ExtraMembers::Denied).unwrap();
    assert!(
        fault(check_result(STATELESS, "tools/list", &tools(&tool), ExtraMembers::Denied)).contains("ttlMs")
    );
    assert!(
        fault(check_result(HANDSHAKE, "ping", &json!({ "resultType": "complete" }), ExtraMembers::Denied))
            .contains("resultType")
    );
    let block = json!({ "content": [{ "type": "audio", "data": "", "mimeType": "audio/wav" }] });
    check_result(OLDEST, "tools/call", &block, ExtraMembers::Allowed).expect_err("2024-11-05 has no audio");
    check_result(HANDSHAKE, "tools/call", &block, ExtraMembers::Denied).unwrap();
    check_result(HANDSHAKE, "server/discover", &json!({}), ExtraMembers::Allowed)
        .expect_err("a later method");
    check_result(STATELESS, "ping", &json!({}), ExtraMembers::Allowed).expect_err("an earlier method");
}

#[test]
fn checks_rules_of_the_specifications_prose() {
    let offer = |name: &str, description: &str| {
        tools(&json!({ "name": name, "description": description, "inputSchema": { "type": "object" } }))
    };
    check_result(HANDSHAKE, "tools/list", &offer("a", "does a"), ExtraMembers::Denied).unwrap();
    check_result(HANDSHAKE, "tools/list", &offer("a b", "does a"), ExtraMembers::Denied)
        .expect_err("a space in the name");
    check_result(HANDSHAKE, "tools/list", &offer("a", " "), ExtraMembers::Denied)
        .expect_err("no description");
    let image =
        |data: &str| json!({ "content": [{ "type": "image", "data": data, "mimeType": "image/png" }] });
    check_result(HANDSHAKE, "tools/call", &image("AQI="), ExtraMembers::Denied).unwrap();
    check_result(HANDSHAKE, "tools/call", &image("AQI"), ExtraMembers::Denied).expect_err("not padded");
    check_result(HANDSHAKE, "tools/call", &image("AQ-_"), ExtraMembers::Denied)
        .expect_err("another alphabet");
    let error = json!({ "content": [], "isError": true, "structuredContent": {} });
    check_result(HANDSHAKE, "tools/call", &error, ExtraMembers::Denied).expect_err("structured error");
    check_result(
        HANDSHAKE,
        "tools/list",
        &json!({ "tools": [], "_meta": { "a": null } }),
        ExtraMembers::Denied,
    )
    .unwrap();
    let asks = json!({ "resultType": "input_required" });
    check_result(STATELESS, "tools/call", &asks, ExtraMembers::Denied)
        .expect_err("neither requests nor state");
}

#[test]
fn checks_error_codes_and_ids_by_revision() {
    let error = |id: Value, code: i64| json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": "m" } });
    for revision in Revision::ALL {
        check_error(revision, &error(json!("x"), -32601)).unwrap();
        assert_eq!(
            check_error(revision, &error(Value::Null, -32700)).is_ok(),
            revision < HANDSHAKE,
            "{revision:?}"
        );
        assert_eq!(check_error(revision, &error(json!(1), -32002)).is_ok(), revision < STATELESS);
        assert_eq!(check_error(revision, &error(json!(1), -32020)).is_ok(), revision == STATELESS);
        check_error(revision, &error(json!(1), -32022)).expect_err("no `data`");
        let mut more = error(json!(1), -32601);
        more["extra"] = json!(1);
        check_error(revision, &more).expect_err("a member that JSON-RPC doesn't have");
    }
}

fn greeted(revision: Revision, capabilities: &Value) -> Conversation {
    let mut conversation = Conversation::new();
    let params = json!({ "protocolVersion": revision.name(), "capabilities": capabilities });
    conversation.sent(
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string().as_bytes(),
    );
    let result = json!({ "protocolVersion": revision.name(), "capabilities": {}, "serverInfo": { "name": "s", "version": "1" } });
    conversation.received(&json!({ "jsonrpc": "2.0", "id": 0, "result": result })).unwrap();
    assert_eq!(conversation.revision(), Some(revision));
    conversation
}

#[test]
fn matches_answers_to_requests() {
    let mut conversation = greeted(HANDSHAKE, &json!({ "elicitation": {} }));
    let result = json!({ "jsonrpc": "2.0", "id": 7, "result": { "tools": [] } });
    conversation.received(&result).expect_err("no request");
    conversation.sent(br#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#);
    conversation
        .received(&json!({ "jsonrpc": "2.0", "id": "7", "result": { "tools": [] } }))
        .expect_err("another id");
    conversation.received(&result).unwrap();
    conversation.received(&result).expect_err("answered already");
    conversation.received(&json!([result])).expect_err("no batches");
    let asks = |id: Value, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    let form =
        json!({ "mode": "form", "message": "m", "requestedSchema": { "type": "object", "properties": {} } });
    conversation.received(&asks(json!("s-1"), "elicitation/create", form.clone())).unwrap();
    conversation.received(&asks(json!("s-1"), "elicitation/create", form.clone())).expect_err("an id twice");
    conversation.received(&asks(json!(2), "elicitation/create", form)).expect_err("not a string");
    let ask = json!({ "messages": [], "maxTokens": 1 });
    conversation.received(&asks(json!("s-2"), "sampling/createMessage", ask)).expect_err("not declared");
}

#[test]
fn checks_progress_of_running_requests() {
    let mut conversation = greeted(HANDSHAKE, &json!({}));
    let progress = |token: Value, value: f64| {
        let params = json!({ "progressToken": token, "progress": value });
        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
    };
    conversation.received(&progress(json!(1), 1.0)).expect_err("no request");
    conversation.sent(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":1}}}"#);
    conversation.received(&progress(json!(1), 1.0)).unwrap();
    conversation.received(&progress(json!("1"), 2.0)).expect_err("another type");
    conversation.received(&progress(json!(1), 1.0)).expect_err("not more");
    conversation.received(&progress(json!(1), 2.5)).unwrap();
    conversation.received(&json!({ "jsonrpc": "2.0", "id": 1, "result": { "content": [] } })).unwrap();
    conversation.received(&progress(json!(1), 3.0)).expect_err("after the response");
}

#[test]
fn checks_structured_results_against_listed_schemas() {
    let mut conversation = greeted(HANDSHAKE, &json!({}));
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let tool = json!({ "name": "a", "description": "a", "inputSchema": { "type": "object" }, "outputSchema": schema });
    conversation.sent(br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    conversation.received(&json!({ "jsonrpc": "2.0", "id": 1, "result": tools(&tool) })).unwrap();
    for (structured, fits) in [(json!({ "n": 1 }), true), (json!({ "n": "1" }), false)] {
        conversation.sent(br#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}"#);
        let result = json!({ "content": [], "structuredContent": structured });
        let result = conversation.received(&json!({ "jsonrpc": "2.0", "id": 2, "result": result }));
        assert_eq!(result.is_ok(), fits);
    }
}

#[test]
fn checks_messages_of_subscription_streams() {
    let mut conversation = Conversation::of(Some(STATELESS));
    let note = |method: &str, id: Value, mut params: Value| {
        params["_meta"]["io.modelcontextprotocol/subscriptionId"] = id;
        json!({ "jsonrpc": "2.0", "method": method, "params": params })
    };
    let changed = |id| note("notifications/tools/list_changed", id, json!({}));
    let begins = |id| note("notifications/subscriptions/acknowledged", id, json!({ "notifications": {} }));
    conversation.received(&changed(json!(7))).expect_err("no stream");
    conversation.sent(br#"{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{}}"#);
    conversation.received(&begins(json!("7"))).expect_err("an id of another type");
    conversation.received(&begins(json!(7))).unwrap();
    conversation.received(&begins(json!(7))).expect_err("twice");
    conversation.received(&changed(json!(7))).unwrap();
    let bare = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    conversation.received(&bare).expect_err("no subscription id");
    let end = json!({ "resultType": "complete", "_meta": { "io.modelcontextprotocol/subscriptionId": 7 } });
    conversation.received(&json!({ "jsonrpc": "2.0", "id": 7, "result": end })).unwrap();
    conversation.received(&changed(json!(7))).expect_err("after the end");
}

#[test]
fn checks_log_levels_of_stateless_requests() {
    let mut conversation = Conversation::of(Some(STATELESS));
    let log = |level: &str| json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": level, "data": null } });
    conversation.received(&log("alert")).expect_err("no request");
    conversation.sent(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/logLevel":"error"}}}"#);
    conversation.received(&log("error")).unwrap();
    conversation.received(&log("warning")).expect_err("too low");
}

#[test]
fn a_server_can_cancel_only_its_own_requests() {
    let mut conversation = greeted(HANDSHAKE, &json!({ "roots": {} }));
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "s-1" } });
    conversation.received(&cancelled).expect_err("no such request");
    conversation.received(&json!({ "jsonrpc": "2.0", "id": "s-1", "method": "roots/list" })).unwrap();
    conversation.received(&cancelled).unwrap();
}
