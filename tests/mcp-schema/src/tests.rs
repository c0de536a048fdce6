//! The judge itself: what is right passes in every revision that has it, what is wrong fails and says where.

use serde_json::{Value, json};

use super::*;

fn fault(verdict: Result<(), Misfit>) -> String {
    verdict.expect_err("it should have been refused").to_string()
}

fn tools(tool: &Value) -> Value {
    json!({ "tools": [tool] })
}

const OLD: Revision = Revision::V2024_11_05;
const LAST: Revision = Revision::V2025_11_25;
const NOW: Revision = Revision::V2026_07_28;

#[test]
fn every_definition_that_a_method_leads_to_exists() {
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
            for members in [Members::Open, Members::Closed] {
                // Compiling is what is tested; nothing fits all of them.
                let _ = revision.check(definition, &none, members);
            }
        }
    }
}

#[test]
fn a_member_of_a_later_revision_is_found() {
    let tool = json!({ "name": "a", "title": "A", "description": "a", "inputSchema": { "type": "object", "anyOf": [] } });
    assert!(fault(check_result(OLD, "tools/list", &tools(&tool), Members::Closed)).contains("title"));
    check_result(OLD, "tools/list", &tools(&tool), Members::Open).expect_err("`anyOf` must not be empty");
    let tool = json!({ "name": "a", "title": "A", "description": "a", "inputSchema": { "type": "object", "not": {} } });
    check_result(OLD, "tools/list", &tools(&tool), Members::Open).unwrap();
    check_result(LAST, "tools/list", &tools(&tool), Members::Closed).unwrap();
    assert!(fault(check_result(NOW, "tools/list", &tools(&tool), Members::Closed)).contains("ttlMs"));
    assert!(
        fault(check_result(LAST, "ping", &json!({ "resultType": "complete" }), Members::Closed))
            .contains("resultType")
    );
    let block = json!({ "content": [{ "type": "audio", "data": "", "mimeType": "audio/wav" }] });
    check_result(OLD, "tools/call", &block, Members::Open).expect_err("2024-11-05 has no audio");
    check_result(LAST, "tools/call", &block, Members::Closed).unwrap();
    check_result(LAST, "server/discover", &json!({}), Members::Open).expect_err("a later method");
    check_result(NOW, "ping", &json!({}), Members::Open).expect_err("an earlier method");
}

#[test]
fn words_of_the_specification_are_checked_too() {
    let offer = |name: &str, description: &str| {
        tools(&json!({ "name": name, "description": description, "inputSchema": { "type": "object" } }))
    };
    check_result(LAST, "tools/list", &offer("a", "does a"), Members::Closed).unwrap();
    check_result(LAST, "tools/list", &offer("a b", "does a"), Members::Closed).expect_err("a blank");
    check_result(LAST, "tools/list", &offer("a", " "), Members::Closed).expect_err("no description");
    let image =
        |data: &str| json!({ "content": [{ "type": "image", "data": data, "mimeType": "image/png" }] });
    check_result(LAST, "tools/call", &image("AQI="), Members::Closed).unwrap();
    check_result(LAST, "tools/call", &image("AQI"), Members::Closed).expect_err("not padded");
    check_result(LAST, "tools/call", &image("AQ-_"), Members::Closed).expect_err("another alphabet");
    let error = json!({ "content": [], "isError": true, "structuredContent": {} });
    check_result(LAST, "tools/call", &error, Members::Closed).expect_err("structured error");
    check_result(LAST, "tools/list", &json!({ "tools": [], "_meta": { "a": null } }), Members::Closed)
        .unwrap();
    let asks = json!({ "resultType": "input_required" });
    check_result(NOW, "tools/call", &asks, Members::Closed).expect_err("neither requests nor state");
}

#[test]
fn errors_have_the_codes_and_ids_of_their_revision() {
    let error = |id: Value, code: i64| json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": "m" } });
    for revision in Revision::ALL {
        check_error(revision, &error(json!("x"), -32601)).unwrap();
        assert_eq!(
            check_error(revision, &error(Value::Null, -32700)).is_ok(),
            revision < LAST,
            "{revision:?}"
        );
        assert_eq!(check_error(revision, &error(json!(1), -32002)).is_ok(), revision < NOW);
        assert_eq!(check_error(revision, &error(json!(1), -32020)).is_ok(), revision == NOW);
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
fn a_conversation_knows_what_was_asked() {
    let mut conversation = greeted(LAST, &json!({ "elicitation": {} }));
    let result = json!({ "jsonrpc": "2.0", "id": 7, "result": { "tools": [] } });
    conversation.received(&result).expect_err("nobody asked");
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
    conversation.received(&asks(json!(2), "elicitation/create", form)).expect_err("no string");
    let ask = json!({ "messages": [], "maxTokens": 1 });
    conversation.received(&asks(json!("s-2"), "sampling/createMessage", ask)).expect_err("not declared");
}

#[test]
fn progress_belongs_to_a_running_request_and_increases() {
    let mut conversation = greeted(LAST, &json!({}));
    let progress = |token: Value, value: f64| {
        let params = json!({ "progressToken": token, "progress": value });
        json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params })
    };
    conversation.received(&progress(json!(1), 1.0)).expect_err("nobody asked");
    conversation.sent(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":1}}}"#);
    conversation.received(&progress(json!(1), 1.0)).unwrap();
    conversation.received(&progress(json!("1"), 2.0)).expect_err("another type");
    conversation.received(&progress(json!(1), 1.0)).expect_err("not more");
    conversation.received(&progress(json!(1), 2.5)).unwrap();
    conversation.received(&json!({ "jsonrpc": "2.0", "id": 1, "result": { "content": [] } })).unwrap();
    conversation.received(&progress(json!(1), 3.0)).expect_err("after the response");
}

#[test]
fn a_structured_result_fits_what_was_listed() {
    let mut conversation = greeted(LAST, &json!({}));
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let tool = json!({ "name": "a", "description": "a", "inputSchema": { "type": "object" }, "outputSchema": schema });
    conversation.sent(br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    conversation.received(&json!({ "jsonrpc": "2.0", "id": 1, "result": tools(&tool) })).unwrap();
    for (structured, fits) in [(json!({ "n": 1 }), true), (json!({ "n": "1" }), false)] {
        conversation.sent(br#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}"#);
        let result = json!({ "content": [], "structuredContent": structured });
        let verdict = conversation.received(&json!({ "jsonrpc": "2.0", "id": 2, "result": result }));
        assert_eq!(verdict.is_ok(), fits);
    }
}

#[test]
fn a_stream_of_changes_is_acknowledged_first_and_named_in_each_message() {
    let mut conversation = Conversation::of(Some(NOW));
    let note = |method: &str, id: Value, mut params: Value| {
        params["_meta"]["io.modelcontextprotocol/subscriptionId"] = id;
        json!({ "jsonrpc": "2.0", "method": method, "params": params })
    };
    let changed = |id| note("notifications/tools/list_changed", id, json!({}));
    let begins = |id| note("notifications/subscriptions/acknowledged", id, json!({ "notifications": {} }));
    conversation.received(&changed(json!(7))).expect_err("nobody listens");
    conversation.sent(br#"{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{}}"#);
    conversation.received(&begins(json!("7"))).expect_err("an id of another type");
    conversation.received(&begins(json!(7))).unwrap();
    conversation.received(&begins(json!(7))).expect_err("twice");
    conversation.received(&changed(json!(7))).unwrap();
    let bare = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    conversation.received(&bare).expect_err("it names no stream");
    let end = json!({ "resultType": "complete", "_meta": { "io.modelcontextprotocol/subscriptionId": 7 } });
    conversation.received(&json!({ "jsonrpc": "2.0", "id": 7, "result": end })).unwrap();
    conversation.received(&changed(json!(7))).expect_err("after the end");
}

#[test]
fn log_messages_are_those_that_the_request_wants() {
    let mut conversation = Conversation::of(Some(NOW));
    let said = |level: &str| json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": level, "data": null } });
    conversation.received(&said("alert")).expect_err("nobody asked");
    conversation.sent(br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/logLevel":"error"}}}"#);
    conversation.received(&said("error")).unwrap();
    conversation.received(&said("warning")).expect_err("too low");
}

#[test]
fn a_server_withdraws_only_what_it_asked() {
    let mut conversation = greeted(LAST, &json!({ "roots": {} }));
    let withdrawn =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": "s-1" } });
    conversation.received(&withdrawn).expect_err("nothing was asked");
    conversation.received(&json!({ "jsonrpc": "2.0", "id": "s-1", "method": "roots/list" })).unwrap();
    conversation.received(&withdrawn).unwrap();
}
