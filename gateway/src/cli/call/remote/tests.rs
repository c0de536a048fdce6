//! What comes from a gateway, and what goes to it in headers.

use serde_json::json;

use super::{answer, document, header_text, repeated};

#[test]
fn an_answer_is_found_in_a_document_and_among_events() {
    let whole = r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#;
    let events = format!(
        ": hello\n\nevent: message\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}}\n\nid: 7\ndata: {whole}\n"
    );
    let split = "data: {\"jsonrpc\":\"2.0\",\r\ndata: \"id\":1,\"result\":{\"a\":1}}\r\n\r\n";
    for body in [whole, &events, split] {
        assert_eq!(answer(body).unwrap()["result"]["a"], 1, "{body}");
    }
    assert_eq!(answer("<html>"), None);
}

#[test]
fn arguments_are_repeated_as_the_schema_wants() {
    let schema = json!({ "type": "object", "properties": {
        "city": { "type": "string", "x-mcp-header": "City" },
        "count": { "type": "integer", "x-mcp-header": "Count" },
        "more": { "type": "string" },
    }});
    let headers = repeated(&schema, &json!({ "city": "Zürich", "count": 3, "more": "x" }));
    assert_eq!(
        headers,
        [
            ("mcp-param-City".to_owned(), "=?base64?WsO8cmljaA==?=".to_owned()),
            ("mcp-param-Count".to_owned(), "3".to_owned())
        ]
    );
    assert_eq!(repeated(&schema, &json!({ "city": null })), []);
}

#[test]
fn only_plain_text_goes_as_it_is() {
    assert_eq!(header_text("São"), "=?base64?U8Ojbw==?=");
    for plain in ["eu-west 1", "a=b", ""] {
        assert_eq!(header_text(plain), plain);
    }
    for odd in [" x", "x ", "a\nb", "=?base64?eA==?="] {
        assert!(header_text(odd).starts_with("=?base64?"), "{odd:?}");
    }
}

#[test]
fn blocks_are_those_of_a_call_in_this_process() {
    let result = json!({ "content": [
        { "type": "text", "text": "a" },
        { "type": "resource_link", "uri": "x:y", "name": "n", "title": "t" },
        { "type": "resource", "resource": { "uri": "x:z", "mimeType": "m/n", "blob": "AAA=" } },
    ], "structuredContent": { "a": 1 } });
    assert_eq!(
        document(&result),
        json!({ "isError": false, "structured": { "a": 1 }, "content": [
            { "type": "text", "text": "a" },
            { "type": "link", "uri": "x:y", "name": "n" },
            { "type": "resource", "uri": "x:z", "mimeType": "m/n", "data": "AAA=" },
        ] })
    );
}
