//! The tools and the resource as a client sees them.

use moongate_sdk::ResourceBody;
use moongate_sdk::testing::Client;
use serde_json::{Value, json};

use super::Memory;

fn client() -> Client<Memory> {
    let client = Client::new();
    let entities = json!([{ "name": "Ada", "entityType": "person", "observations": ["writes programs"] }]);
    client.call("create_entities", json!({ "entities": entities })).unwrap();
    client
}

#[test]
fn returns_additions_as_text_and_structured_content() {
    let args = json!({ "observations": [{ "entityName": "Ada", "contents": ["writes programs", "plays the harp"] }] });
    let result = client().call("add_observations", args).unwrap();
    let added = json!([{ "entityName": "Ada", "addedObservations": ["plays the harp"] }]);
    assert_eq!(result.structured_value(), json!({ "results": added }));
    assert_eq!(result.all_text(), serde_json::to_string_pretty(&added).unwrap());
}

#[test]
fn returns_a_message_for_deletions() {
    let client = client();
    for (tool, args, what) in [
        ("delete_observations", json!({ "deletions": [] }), "Observations"),
        ("delete_relations", json!({ "relations": [] }), "Relations"),
        ("delete_entities", json!({ "entityNames": ["Ada"] }), "Entities"),
    ] {
        let result = client.call(tool, args).unwrap();
        let message = format!("{what} deleted successfully");
        assert_eq!(result.structured_value(), json!({ "success": true, "message": message }));
        assert_eq!(result.all_text(), message);
    }
    let left = client.call("read_graph", json!({ "random_string": "" })).unwrap().structured_value();
    assert_eq!(left, json!({ "entities": [], "relations": [] }));
}

#[test]
fn resource_contains_the_whole_graph() {
    let client = client();
    let listed = client.resources();
    assert_eq!(listed.len(), 1);
    let read = client.read(&listed[0].uri).unwrap();
    let ResourceBody::Text(text) = &read.contents[0].body else { panic!("not text") };
    assert_eq!(*text, client.call("read_graph", json!({})).unwrap().all_text());
    assert_eq!(read.contents[0].mime_type.as_deref(), Some("application/json"));
}

#[test]
fn tools_have_hints_and_output_schemas() {
    let tools = Client::<Memory>::new().tools();
    assert_eq!(tools.len(), 9);
    for tool in tools {
        let hints = tool.annotations.unwrap();
        let reads = !tool.name.starts_with("create")
            && !tool.name.starts_with("add")
            && !tool.name.starts_with("delete");
        assert_eq!(hints.read_only, Some(reads), "{}", tool.name);
        assert_eq!(hints.destructive, Some(tool.name.starts_with("delete")), "{}", tool.name);
        let schema: Value = serde_json::from_str(&tool.output_schema.unwrap()).unwrap();
        assert_eq!(schema["type"], "object", "{}", tool.name);
    }
}
