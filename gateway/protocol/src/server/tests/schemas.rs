//! Portable schemas are listed, and the plugin's own ones are used for validation.

use super::*;
use crate::json::Json;

/// A gateway with a tool whose schemas have alternatives.
fn server(portable: bool) -> Arc<Server> {
    let one =
        json!({ "type": "object", "properties": { "x": { "$ref": "#/$defs/small" } }, "required": ["x"] });
    let other = json!({ "type": "object", "properties": { "y": { "type": "string" } }, "required": ["y"] });
    let schema = json!({ "oneOf": [one, other], "$defs": { "small": { "type": "integer", "maximum": 3 } } });
    let mut input = schema.clone();
    input["type"] = json!("object");
    let mut fake = FakePlugin::new("a").tool("fine", &input, Some(&schema));
    fake.on_tool = Some(Box::new(|_, (_, text)| {
        let structured = Some(Json::parse(text).unwrap());
        ready(Ok(Outcome::Done(ToolResult { structured, ..ToolResult::default() })))
    }));
    serving(catalog(vec![fake.into_catalog_plugin(|config| config.portable_schemas = portable)]))
}

async fn asked(server: &Arc<Server>, revision: &str, method: &str, params: &Value) -> Value {
    let connection = StdioConnection::new();
    let client = json!({ "name": "t", "version": "1" });
    let initialize = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": client });
    line(server, &connection, &request(0, "initialize", &initialize)).await.unwrap();
    let answer = line(server, &connection, &request(1, method, params)).await.unwrap();
    answer["result"].clone()
}

#[tokio::test]
async fn schemas_are_verbatim_unless_portable() {
    let list = asked(&server(false), "2025-11-25", "tools/list", &json!({})).await;
    assert!(list["tools"][0]["inputSchema"].get("oneOf").is_some(), "{list}");
    assert_eq!(
        list["tools"][0]["outputSchema"]["properties"]["result"]["oneOf"][1]["required"],
        json!(["y"])
    );
    let list = asked(&server(true), "2025-11-25", "tools/list", &json!({})).await;
    let small = json!({ "type": "integer", "maximum": 3 });
    let members = json!({ "x": small, "y": { "type": "string" } });
    assert_eq!(list["tools"][0]["inputSchema"], json!({ "type": "object", "properties": members }));
    assert_eq!(list["tools"][0]["outputSchema"], json!({ "type": "object" }));
}

#[tokio::test]
async fn validates_against_the_original_schema() {
    for (portable, wrapped) in [(false, true), (true, false)] {
        let server = server(portable);
        let call = |arguments: Value| json!({ "name": "a_fine", "arguments": arguments });
        let result = asked(&server, "2025-11-25", "tools/call", &call(json!({ "x": 1 }))).await;
        let value =
            if wrapped { &result["structuredContent"]["result"] } else { &result["structuredContent"] };
        assert_eq!(value, &json!({ "x": 1 }), "{result}");
        for wrong in [json!({ "x": 4 }), json!({ "x": 1, "y": "both" }), json!({})] {
            let result = asked(&server, "2025-11-25", "tools/call", &call(wrong)).await;
            assert_eq!(result["isError"], true, "{result}");
        }
    }
}

#[tokio::test]
async fn null_for_an_optional_argument_is_absent() {
    let item = json!({ "type": "object", "properties": { "id": { "type": "integer" }, "note": { "type": "string" } }, "required": ["id"] });
    let schema = json!({
        "type": "object",
        "properties": {
            "limit": { "type": "integer" },
            "cleared": { "type": ["string", "null"] },
            "items": { "type": "array", "items": item },
        },
    });
    let mut fake = FakePlugin::new("a").tool("fine", &schema, Some(&json!({ "type": "object" })));
    fake.on_tool = Some(Box::new(|_, (_, text)| {
        let structured = Some(Json::parse(text).unwrap());
        ready(Ok(Outcome::Done(ToolResult { structured, ..ToolResult::default() })))
    }));
    let server = serving(catalog(vec![fake.into_catalog_plugin(|_| ())]));
    let call = |arguments: Value| json!({ "name": "a_fine", "arguments": arguments });
    for (given, received) in [
        (json!({ "limit": null, "cleared": null }), json!({ "cleared": null })),
        (
            json!({ "items": [{ "id": 1, "note": null }, { "id": 2 }], "limit": 3 }),
            json!({ "items": [{ "id": 1 }, { "id": 2 }], "limit": 3 }),
        ),
        (json!({ "limit": null, "unknown": null }), json!({ "unknown": null })),
    ] {
        let result = asked(&server, "2025-11-25", "tools/call", &call(given)).await;
        assert_eq!(result["structuredContent"], received, "{result}");
    }
    let wrong = json!({ "items": [{ "id": null, "note": null }] });
    let result = asked(&server, "2025-11-25", "tools/call", &call(wrong)).await;
    assert_eq!(result["isError"], true, "{result}");
    assert!(
        result["content"][0]["text"].as_str().unwrap().contains("`/items/0/id` must be of type integer"),
        "{result}"
    );
}
