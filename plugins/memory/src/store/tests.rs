//! What is kept, what others write meanwhile, and when nothing fits in any more.

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
fn the_graph_is_kept_whole_under_one_key() {
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
fn what_others_wrote_meanwhile_stays() {
    let theirs = |names: &[&str]| {
        let entities: Vec<Value> = names.iter().map(|name| json!([name, "t", []])).collect();
        json!({ "form": 1, "entities": entities, "relations": [] })
    };
    let client =
        Client::<Memory>::new().kv_meanwhile(KEY, theirs(&["x"])).kv_meanwhile(KEY, theirs(&["x", "b"]));
    let made = create(&client, &["a", "b"]);
    assert_eq!(made.structured_value(), json!({ "entities": [entity("a")] }), "`b` was there by then");
    assert_eq!(client.kv::<Value>(KEY).unwrap(), theirs(&["x", "b", "a"]));
}

#[test]
fn a_change_is_tried_for_as_long_as_it_is_likely_to_succeed() {
    assert!(!create(&Client::<Memory>::new().kv_contended(500), &["a"]).failed());
    let busy = create(&Client::<Memory>::new().kv_contended(5000), &["a"]);
    assert_eq!(busy.all_text(), "the knowledge graph is changed by too many calls at once; try again");
}

#[test]
fn subscribers_hear_of_changes_and_of_nothing_else() {
    let client = Client::<Memory>::new();
    create(&client, &["a"]);
    create(&client, &["a"]);
    client.call("delete_entities", json!({ "entityNames": ["nobody"] })).unwrap();
    client.call("read_graph", json!({})).unwrap();
    assert_eq!(client.changes(), [Change::Resource(URI.to_owned())]);
}

#[test]
fn a_change_that_fails_halfway_changes_nothing() {
    let client = Client::<Memory>::new();
    create(&client, &["a"]);
    let before: Value = client.kv(KEY).unwrap();
    let add = |name: &str| json!({ "entityName": name, "contents": ["x"] });
    let result = client.call("add_observations", json!({ "observations": [add("a"), add("b")] })).unwrap();
    assert!(result.failed());
    assert_eq!(client.kv::<Value>(KEY), Some(before));
}

#[test]
fn a_full_graph_says_so_and_stays() {
    let client = Client::<Memory>::new();
    create(&client, &[&"a".repeat(1 << 19), "b"]);
    let result = create(&client, &["c", &"d".repeat(1 << 19)]);
    assert!(result.failed());
    assert_eq!(
        result.all_text(),
        "the knowledge graph is full, so nothing was changed: a gateway keeps at most 1 MiB under one key; delete \
         entities, observations or relations that are no longer needed"
    );
    let found = client.call("open_nodes", json!({ "names": ["b", "c"] })).unwrap();
    assert_eq!(found.structured_value(), json!({ "entities": [entity("b")], "relations": [] }));
}

#[test]
fn what_cannot_be_read_is_not_overwritten() {
    for (kept, said) in [
        (json!({ "form": 2, "entities": [], "relations": [] }), "by a newer version of this plugin"),
        (json!("a text"), "is no knowledge graph"),
    ] {
        let client = Client::<Memory>::new().kept(KEY, &kept);
        assert!(create(&client, &["a"]).all_text().contains(said));
        assert!(client.call("read_graph", json!({})).unwrap().all_text().contains(said));
        assert_eq!(client.kv::<Value>(KEY), Some(kept));
    }
}

#[test]
fn without_the_grant_the_cure_is_named() {
    let client = Client::<Memory>::new().kv_denied();
    for result in [create(&client, &["a"]), client.call("read_graph", json!({})).unwrap()] {
        assert!(result.failed() && result.all_text().contains("`state = true`"), "{}", result.all_text());
    }
}
