//! Compared and ignored parts of an answer.

use serde_json::{Value, json};

use crate::server::Answer;

use super::answer;

fn tools(schema: &Value) -> Value {
    let tool = json!({ "name": "t", "description": "words", "inputSchema": schema });
    answer("tools/list", Answer::Result(json!({ "tools": [tool] })))
}

#[test]
fn ignores_titles_and_order_in_schemas() {
    let pydantic = json!({
        "title": "tArguments", "type": "object", "required": ["b", "a"],
        "properties": {
            "a": { "title": "A", "anyOf": [{ "type": "string" }, { "type": "null" }] },
            "b": { "$ref": "#/$defs/B" },
        },
        "$defs": { "B": { "title": "B", "type": "object", "properties": { "title": { "type": "string" } } } },
    });
    let schemars = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "required": ["a", "b"],
        "properties": {
            "b": { "type": "object", "properties": { "title": { "type": "string" } } },
            "a": { "type": ["null", "string"] },
        },
    });
    assert_eq!(tools(&pydantic), tools(&schemars));
}

#[test]
fn compares_what_descriptions_quote() {
    let of = |text: &str| {
        let tool = json!({
            "name": "t",
            "description": text,
            "inputSchema": { "properties": { "a": { "description": text }, "b": { "$ref": "#/$defs/b", "description": text } },
                "$defs": { "b": { "type": "string", "description": "`other`" } } },
        });
        answer("tools/list", Answer::Result(json!({ "tools": [tool] })))
    };
    let tool = &of("Don't use `head` with the file's 'tail' or 'a/b'.")["items"]["t"];
    let quoted = json!({ "head": true, "tail": true, "a/b": true });
    assert_eq!(tool["description"], quoted);
    assert_eq!(tool["inputSchema"]["properties"]["a"]["description"], quoted);
    assert_eq!(tool["inputSchema"]["properties"]["b"]["description"], quoted);
    assert_eq!(of("Names `head`."), of("`head`"));
    assert_ne!(of("Use 'Etc/UTC' as local zone."), of("Use 'UTC' as the local zone."));
}

#[test]
fn compares_the_values_that_schemas_allow() {
    let of = |property: Value| tools(&json!({ "type": "object", "properties": { "title": property } }));
    assert_ne!(of(json!({ "type": "string" })), of(json!({ "type": "integer" })));
    assert_ne!(of(json!({ "type": "integer" })), of(json!({ "type": "integer", "minimum": 1 })));
    assert_ne!(of(json!({ "type": "string" })), tools(&json!({ "type": "object", "properties": {} })));
}

#[test]
fn ignores_messages_of_refusals_but_not_of_failures() {
    let call = |text: &str| {
        let content = [json!({ "type": "text", "text": text })];
        answer("tools/call", Answer::Result(json!({ "isError": true, "content": content })))
    };
    let refused = answer("tools/call", Answer::Error(json!({ "code": -32602, "message": "no" })));
    assert_eq!(call("MCP error -32602: Input validation error: x"), refused);
    assert_eq!(call("Error executing tool t: 1 validation error for tArguments\nx"), refused);
    assert_eq!(call("invalid arguments: `x` is missing"), refused);
    assert_ne!(call("Error executing tool t: no such zone"), refused);
    assert_ne!(call("one"), call("another"));
}

#[test]
fn an_unsupported_list_method_equals_an_empty_list() {
    let none = answer("prompts/list", Answer::Error(json!({ "code": -32601, "message": "no" })));
    assert_eq!(none, answer("prompts/list", Answer::Result(json!({ "prompts": [] }))));
}
