//! Limits of the questions that a plugin asks the client: oversized questions aren't sent.

use moongate_tests::text;
use serde_json::{Value, json};

use crate::protocol::questions::{all_capabilities, initialized_client, zoo_with_all_grants};

fn form(properties: &Value) -> Value {
    let schema = json!({ "type": "object", "properties": properties });
    json!({ "key": "k", "method": "elicitation/create", "params": { "message": "?", "requestedSchema": schema } })
}

fn fields(count: usize) -> Value {
    form(&(0..count).map(|at| (format!("field{at}"), json!({ "type": "string" }))).collect())
}

fn choice(count: usize) -> Value {
    let values: Vec<String> = (0..count).map(|at| at.to_string()).collect();
    form(&json!({ "one": { "type": "string", "enum": values } }))
}

fn page(length: usize) -> Value {
    let url = format!("https://example.com/{}", "x".repeat(length - 20));
    json!({ "key": "k", "method": "elicitation/create", "params": { "message": "?", "mode": "url", "url": url } })
}

fn messages(count: usize, tools: usize) -> Value {
    let message = json!({ "role": "user", "content": { "type": "text", "text": "hello" } });
    let mut params = json!({ "maxTokens": 1 });
    params["messages"] = vec![message; count].into();
    if tools > 0 {
        let tool = |at: usize| json!({ "name": format!("t{at}"), "inputSchema": { "type": "object" } });
        params["tools"] = (0..tools).map(tool).collect();
    }
    json!({ "key": "k", "method": "sampling/createMessage", "params": params })
}

fn named(key: usize) -> Value {
    json!({ "key": "k".repeat(key), "method": "roots/list" })
}

fn values(count: usize) -> Value {
    json!({ "key": "k", "method": "roots/list", "params": { "other": vec![0; count] } })
}

/// The largest allowed question, one that is too large, and words of the error.
fn questions() -> Vec<(Value, Value, &'static str)> {
    vec![
        (named(128), named(129), "1 to 128 bytes"),
        (fields(64), fields(65), "at most 64"),
        (choice(512), choice(513), "`enum`"),
        (
            form(&json!({ ("x".repeat(128)): { "type": "string" } })),
            form(&json!({ ("x".repeat(129)): { "type": "string" } })),
            "1 to 128 bytes",
        ),
        (page(2_048), page(2_049), "`url` must be"),
        (messages(256, 0), messages(257, 0), "1 to 256 messages"),
        (messages(1, 64), messages(1, 65), "`tools`"),
        (values(19_990), values(20_000), "more than 20000 values"),
    ]
}

#[test]
fn rejects_oversized_questions() {
    let mut declared = all_capabilities("2025-11-25");
    declared["sampling"] = json!({ "tools": {} });
    let mut stdio = initialized_client(&zoo_with_all_grants(), "2025-11-25", declared);
    for (fits, too_much, words) in questions() {
        let answer = stdio.call("zoo_ask", json!({ "questions": [too_much] }));
        assert!(answer["result"]["isError"] == true && text(&answer).contains(words), "{words}: {answer}");
        let asked = json!({ "name": "zoo_ask", "arguments": { "questions": [fits] } });
        stdio.send(&moongate_tests::request(500, "tools/call", asked));
        let question = stdio.receive();
        assert!(question["method"].is_string(), "{words}: {question}");
        let refusal = json!({ "code": -1, "message": "not today" });
        stdio.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "error": refusal }));
        let _ = stdio.response(500);
    }
    let many: Vec<Value> =
        (0..17).map(|at| json!({ "key": format!("k{at}"), "method": "roots/list" })).collect();
    let answer = stdio.call("zoo_ask", json!({ "questions": many }));
    assert!(text(&answer).contains("17 questions at once; at most 16 are allowed"), "{answer}");
}

#[test]
fn truncates_long_texts_of_a_question() {
    let mut stdio = initialized_client(&zoo_with_all_grants(), "2025-11-25", all_capabilities("2025-11-25"));
    let mut question = form(&json!({ "word": { "type": "string", "description": "d".repeat(5_000) } }));
    question["params"]["message"] = "m".repeat(10_000).into();
    let asked = json!({ "name": "zoo_ask", "arguments": { "questions": [question] } });
    stdio.send(&moongate_tests::request(500, "tools/call", asked));
    let asked = stdio.receive();
    let length = |text: &Value| text.as_str().unwrap_or_else(|| panic!("no text: {asked}")).len();
    let message = length(&asked["params"]["message"]);
    assert!((4 << 10..(4 << 10) + 50).contains(&message), "{message} bytes");
    assert_eq!(length(&asked["params"]["requestedSchema"]["properties"]["word"]["description"]), 1 << 10);
}

#[test]
fn rejects_an_oversized_answer_of_the_client() {
    let mut stdio = initialized_client(&zoo_with_all_grants(), "2025-11-25", all_capabilities("2025-11-25"));
    stdio.send(&moongate_tests::request(
        500,
        "tools/call",
        json!({ "name": "zoo_ask", "arguments": { "questions": [messages(1, 0)] } }),
    ));
    let question = stdio.receive();
    let reply = crate::protocol::questions::sampling_result(&"x".repeat(1 << 20));
    stdio.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": reply }));
    let answer = stdio.response(500);
    assert!(answer["result"]["isError"] == true && text(&answer).contains("1024 KiB"), "{answer}");
}
