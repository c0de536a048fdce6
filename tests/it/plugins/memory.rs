//! The plugin `memory`: all gateways with the same state share one graph, also during concurrent changes.

use std::collections::HashSet;
use std::thread;

use moongate_tests::{Stdio, Workspace, peak_memory, request, scaled_rounds, text};
use serde_json::{Value, json};

const GRAPH: &str = r#"
gateway.state = "state"
[plugins.memory]
source = "@memory@"
allow.state = "memory"
"#;

/// The first id of requests that are sent without waiting for earlier answers.
const FIRST_ID: u64 = 10_000;

fn greeted(workspace: &Workspace) -> Stdio {
    Stdio::initialized(workspace, "2025-11-25")
}

fn entity(name: &str, observations: &[&str]) -> Value {
    json!({ "name": name, "entityType": "thing", "observations": observations })
}

/// The structured content of a call that succeeded.
#[track_caller]
fn structured(answer: &Value) -> &Value {
    let result = &answer["result"];
    assert!(result["structuredContent"].is_object() && result["isError"] != true, "{answer}");
    &result["structuredContent"]
}

fn names(graph: &Value) -> Vec<&str> {
    graph["entities"].as_array().unwrap().iter().map(|entity| entity["name"].as_str().unwrap()).collect()
}

/// Sends many concurrent changes, each with its own entity, an entity that both gateways create, and an observation of
/// an existing entity. Returns how often the common entity was new.
fn change(gateway: &mut Stdio, label: &str, count: u64) -> usize {
    for number in 0..count {
        let call = |id: u64, tool: &str, arguments: Value| {
            request(FIRST_ID + 2 * number + id, "tools/call", json!({ "name": tool, "arguments": arguments }))
        };
        let entities = [entity(&format!("{label} {number}"), &[]), entity(&format!("common {number}"), &[])];
        gateway.send(&call(0, "memory_create_entities", json!({ "entities": entities })));
        let observation = json!({ "entityName": "shared", "contents": [format!("{label} {number}")] });
        gateway.send(&call(1, "memory_add_observations", json!({ "observations": [observation] })));
    }
    let mut firsts = 0;
    for number in 0..count {
        let answer = gateway.response(FIRST_ID + 2 * number);
        let new = names(structured(&answer));
        assert_eq!(new[0], format!("{label} {number}"));
        firsts += new.len() - 1;
        let answer = gateway.response(FIRST_ID + 2 * number + 1);
        assert_eq!(
            structured(&answer)["results"][0]["addedObservations"],
            json!([format!("{label} {number}")])
        );
    }
    firsts
}

#[test]
fn concurrent_changes_of_two_gateways_lose_nothing() {
    let workspace = Workspace::new(GRAPH);
    let count = u64::from(scaled_rounds(25));
    let [mut one, mut two] = [greeted(&workspace), greeted(&workspace)];
    let shared = json!({ "entities": [entity("shared", &[])] });
    structured(&one.call("memory_create_entities", shared));
    let firsts = thread::scope(|scope| {
        let other = scope.spawn(|| change(&mut two, "two", count));
        change(&mut one, "one", count) + other.join().unwrap()
    });
    let count = usize::try_from(count).unwrap();
    assert_eq!(firsts, count, "each common entity was new for exactly one gateway");
    let seen = [&mut one, &mut two].map(|gateway| gateway.call("memory_read_graph", json!({})));
    assert_eq!(structured(&seen[0]), structured(&seen[1]));
    drop((one, two));

    // A third gateway finds the whole graph after both have ended.
    let answer = greeted(&workspace).call("memory_read_graph", json!({}));
    let graph = structured(&answer);
    assert_eq!(graph, structured(&seen[0]));
    let names = names(graph);
    assert_eq!(names.len(), 1 + 3 * count);
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len(), "duplicate entities");
    let observations = graph["entities"][0]["observations"].as_array().unwrap();
    assert_eq!(observations.iter().map(Value::to_string).collect::<HashSet<_>>().len(), 2 * count);
}

#[test]
fn a_named_graph_survives_renaming_the_plugin() {
    let workspace = Workspace::new(GRAPH);
    structured(
        &greeted(&workspace).call("memory_create_entities", json!({ "entities": [entity("a", &[])] })),
    );
    let text = std::fs::read_to_string(workspace.config()).unwrap();
    workspace.write("gateway.toml", text.replace("plugins.memory", "plugins.brain"));
    let answer = greeted(&workspace).call("brain_read_graph", json!({}));
    assert_eq!(names(structured(&answer)), ["a"]);
}

#[test]
fn a_call_without_the_grant_says_so() {
    let workspace = Workspace::new(&GRAPH.replace("allow.state", "#"));
    let mut gateway = greeted(&workspace);
    let answer = gateway.call("memory_read_graph", json!({}));
    assert_eq!(answer["result"]["isError"], true);
    assert!(text(&answer).contains("state isn't granted; an operator can allow it"), "{answer}");
}

/// Collecting all errors took 1.3 GiB for this request in an earlier version: two of them exhausted a machine with 2 GiB.
#[test]
fn schema_errors_of_a_large_request_take_little_memory() {
    let workspace = Workspace::new(GRAPH);
    let mut gateway = greeted(&workspace);
    let before = peak_memory(gateway.pid());
    let entities = vec![json!({}); 990_000];
    let answer = gateway.call("memory_create_entities", json!({ "entities": entities }));
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(answer.to_string().len() < 1_000, "{answer}");
    let grown = peak_memory(gateway.pid()).saturating_sub(before);
    assert!(grown < 512 << 20, "one request took {} MiB", grown >> 20);
}
