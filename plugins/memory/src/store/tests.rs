//! Storage, concurrent changes and full storage.

use moongate_sdk::testing::{Change, Client};
use serde_json::{Value, json};

use super::{KEY, URI};
use crate::Memory;

fn entity(name: &str) -> Value {
    json!({ "name": name, "entityType": "t", "observations": [] })
}

fn create(client: &Client<Memory>, names: &[&str]) -> moongate_sdk::ToolResult {
    let entities: Vec<Value> = names.iter().map(|name| entity(name)).collect();
    client.call("create_entities", json!({ "entities": entities })).unwrap()
}

#[test]
fn stores_the_graph_under_one_key() {
    let client = Client::<Memory>::new();
    create(&client, &["a", "b"]);
    client
        .call("create_relations", json!({ "relations": [{ "from": "a", "to": "b", "relationType": "r" }] }))
        .unwrap();
    let kept: Value = client.kv(KEY).unwrap();
    assert_eq!(
        kept,
        json!({ "form": 1, "entities": [["a", "t", []], ["b", "t", []]], "relations": [["a", "b", "r"]] })
    );
}

#[test]
fn keeps_concurrent_changes() {
    let theirs = |names: &[&str]| {
        let entities: Vec<Value> = names.iter().map(|name| json!([name, "t", []])).collect();
        json!({ "form": 1, "entities": entities, "relations": [] })
    };
    let client =
        Client::<Memory>::new().kv_meanwhile(KEY, theirs(&["x"])).kv_meanwhile(KEY, theirs(&["x", "b"]));
    let made = create(&client, &["a", "b"]);
    assert_eq!(made.structured_value(), json!({ "entities": [entity("a")] }), "`b` existed by then");
    assert_eq!(client.kv::<Value>(KEY).unwrap(), theirs(&["x", "b", "a"]));
}

#[test]
fn retries_contended_changes() {
    assert!(!create(&Client::<Memory>::new().kv_contended(500), &["a"]).failed());
    let busy = create(&Client::<Memory>::new().kv_contended(5000), &["a"]);
    assert_eq!(busy.all_text(), "too many concurrent changes to the knowledge graph; try again");
}

#[test]
fn notifies_subscribers_of_changes_only() {
    let client = Client::<Memory>::new();
    create(&client, &["a"]);
    create(&client, &["a"]);
    client.call("delete_entities", json!({ "entityNames": ["nobody"] })).unwrap();
    client.call("read_graph", json!({})).unwrap();
    assert_eq!(client.changes(), [Change::Resource(URI.to_owned())]);
}

#[test]
fn a_partial_failure_changes_nothing() {
    let client = Client::<Memory>::new();
    create(&client, &["a"]);
    let before: Value = client.kv(KEY).unwrap();
    let add = |name: &str| json!({ "entityName": name, "contents": ["x"] });
    let result = client.call("add_observations", json!({ "observations": [add("a"), add("b")] })).unwrap();
    assert!(result.failed());
    assert_eq!(client.kv::<Value>(KEY), Some(before));
}

#[test]
fn reports_full_storage_and_keeps_the_graph() {
    let client = Client::<Memory>::new();
    create(&client, &[&"a".repeat(1 << 19), "b"]);
    let result = create(&client, &["c", &"d".repeat(1 << 19)]);
    assert!(result.failed());
    assert_eq!(
        result.all_text(),
        "the knowledge graph is full, so nothing was changed: a value can have at most 1 MiB; delete \
         entities, observations or relations that are no longer needed"
    );
    let found = client.call("open_nodes", json!({ "names": ["b", "c"] })).unwrap();
    assert_eq!(found.structured_value(), json!({ "entities": [entity("b")], "relations": [] }));
}

#[test]
fn does_not_overwrite_unreadable_values() {
    for (kept, message) in [
        (json!({ "form": 2, "entities": [], "relations": [] }), "written by a newer version of this plugin"),
        (json!("a string"), "isn't a knowledge graph"),
    ] {
        let client = Client::<Memory>::new().kept(KEY, &kept);
        assert!(create(&client, &["a"]).all_text().contains(message));
        assert!(client.call("read_graph", json!({})).unwrap().all_text().contains(message));
        assert_eq!(client.kv::<Value>(KEY), Some(kept));
    }
}

#[test]
fn names_the_missing_grant() {
    let client = Client::<Memory>::new().kv_denied();
    for result in [create(&client, &["a"]), client.call("read_graph", json!({})).unwrap()] {
        assert!(
            result.failed() && result.all_text().contains("state isn't granted"),
            "{}",
            result.all_text()
        );
    }
}
