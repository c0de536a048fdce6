//! Results from another gateway.

use serde_json::json;

use super::protocol_document;

#[test]
fn blocks_are_shown_like_those_of_a_local_call() {
    let result = json!({ "content": [
        { "type": "text", "text": "a" },
        { "type": "resource_link", "uri": "x:y", "name": "n", "title": "t" },
        { "type": "resource", "resource": { "uri": "x:z", "mimeType": "m/n", "blob": "AAA=" } },
    ], "structuredContent": { "a": 1 } });
    assert_eq!(
        protocol_document(&result),
        json!({ "isError": false, "structured": { "a": 1 }, "content": [
            { "type": "text", "text": "a" },
            { "type": "link", "uri": "x:y", "name": "n" },
            { "type": "resource", "uri": "x:z", "mimeType": "m/n", "data": "AAA=" },
        ] })
    );
}
