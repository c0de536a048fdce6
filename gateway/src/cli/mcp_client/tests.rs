//! Responses from gateways, and request headers.

use serde_json::json;

use super::{header_text, header_values, parse_response};

#[test]
fn finds_the_response_in_a_document_and_an_event_stream() {
    let whole = r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#;
    let events = format!(
        ": hello\n\nevent: message\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}}\n\nid: 7\ndata: {whole}\n"
    );
    let split = "data: {\"jsonrpc\":\"2.0\",\r\ndata: \"id\":1,\"result\":{\"a\":1}}\r\n\r\n";
    for body in [whole, &events, split] {
        assert_eq!(parse_response(body).unwrap()["result"]["a"], 1, "{body}");
    }
    assert_eq!(parse_response("<html>"), None);
}

#[test]
fn repeats_arguments_in_headers_as_in_the_schema() {
    let schema = json!({ "type": "object", "properties": {
        "city": { "type": "string", "x-mcp-header": "City" },
        "count": { "type": "integer", "x-mcp-header": "Count" },
        "more": { "type": "string" },
    }});
    let headers = header_values(&schema, &json!({ "city": "Zürich", "count": 3, "more": "x" }));
    assert_eq!(
        headers,
        [
            ("mcp-param-City".to_owned(), "=?base64?WsO8cmljaA==?=".to_owned()),
            ("mcp-param-Count".to_owned(), "3".to_owned())
        ]
    );
    assert_eq!(header_values(&schema, &json!({ "city": null })), []);
}

#[test]
fn encodes_text_unless_it_is_plain() {
    assert_eq!(header_text("São"), "=?base64?U8Ojbw==?=");
    for plain in ["eu-west 1", "a=b", ""] {
        assert_eq!(header_text(plain), plain);
    }
    for odd in [" x", "x ", "a\nb", "=?base64?eA==?="] {
        assert!(header_text(odd).starts_with("=?base64?"), "{odd:?}");
    }
}
