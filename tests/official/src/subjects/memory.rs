//! The plugin `memory` and `@modelcontextprotocol/server-memory`.

use anyhow::Result;
use serde_json::{Value, json};

use super::Subject;
use crate::comparison::Comparison;
use crate::difference::Difference;
use crate::random::Random;

pub(super) const SUBJECT: Subject = Subject {
    plugin: "memory",
    package: "@modelcontextprotocol/server-memory",
    compared: "Sequences of calls to all nine tools, each starting with an empty graph. They use few \
               names, so that the same entities come up repeatedly, texts in many scripts, and invalid \
               arguments. After each change, the whole graph is compared, through the tool and through the \
               resource, and so are the notifications to a subscriber.",
    differences: DIFFERENCES,
    check,
};

const DIFFERENCES: &[Difference] = &[Difference {
    description: "An unknown resource is refused with code -32002.",
    reason: "The specification defines this code; the official server's library returns -32602.",
    matches: |mismatch| {
        mismatch.method == "resources/read"
            && mismatch.at == "/refused"
            && mismatch.theirs == Some(&json!(-32602))
            && mismatch.ours == Some(&json!(-32002))
    },
}];

/// The URI of the resource.
const URI: &str = "memory://knowledge-graph";

const NAMES: [&str; 12] = [
    "Ada",
    "ada",
    "Ada ",
    "",
    "Грейс",
    "Σίσυφος",
    "İstanbul",
    "a\"b\\c",
    "line\nbreak",
    "👩‍🚀",
    "null",
    "__proto__",
];

const TYPES: [&str; 5] = ["person", "PERSON", "", "место", "a type of several words"];

const TEXTS: [&str; 10] = [
    "writes programs",
    "Writes Programs",
    "",
    "пишет программы",
    "ΤΈΛΟΣ τέλος",
    "tab\tand\u{1}control",
    "</script>&amp;\u{2028}",
    "{\"json\": [1, 2]}",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 \u{200d}\u{fe0f}",
    "ß ẞ ss SS ŉ ǆ ﬁ",
];

const QUERIES: [&str; 12] =
    ["", "a", "ADA", "Person", "WRITES", "σ", "ς", "i̇", "ẞ", "\n", "{\"JSON\"", "there is no such text"];

fn check(comparison: &mut Comparison<'_>) -> Result<()> {
    start(comparison, "fixed")?;
    comparison.compare_lists();
    comparison.check("invalid arguments", invalid_arguments);
    comparison.check("change notification of a subscription", |comparison| {
        comparison.ask("resources/subscribe", &json!({ "uri": URI }))?;
        comparison.call("create_entities", &json!({ "entities": [entity("new", "thing", &["one"])] }))?;
        comparison.wait_for_notification("notifications/resources/updated")
    });
    comparison.check("an unknown resource", |comparison| {
        comparison.ask("resources/read", &json!({ "uri": "memory://other" })).map(drop)
    });
    comparison.generated("sequences of calls", 0..6, |comparison, random| {
        start(comparison, &format!("generated-{}", random.below(usize::MAX >> 16)))?;
        for _ in 0..60 {
            step(comparison, random)?;
        }
        Ok(())
    });
    Ok(())
}

/// Starts both servers with an empty graph. `name` must be unused.
fn start(comparison: &mut Comparison<'_>, name: &str) -> Result<()> {
    let mut official = comparison.node("server-memory/dist/index.js");
    official.env("MEMORY_FILE_PATH", comparison.directory().join(format!("{name}.jsonl")));
    comparison.start(official, "allow.state = true\n")
}

/// Makes one call, and reads the whole graph if the call may have changed it.
fn step(comparison: &mut Comparison<'_>, random: &mut Random) -> Result<()> {
    let (tool, arguments) = call(random);
    comparison.call(tool, &arguments)?;
    match tool {
        "search_nodes" | "open_nodes" | "read_graph" => {}
        _ if random.once_in(2) => drop(comparison.call("read_graph", &json!({}))?),
        _ => drop(comparison.ask("resources/read", &json!({ "uri": URI }))?),
    }
    Ok(())
}

fn call(random: &mut Random) -> (&'static str, Value) {
    match random.below(16) {
        0..=3 => ("create_entities", json!({ "entities": random.some(4, any_entity) })),
        4..=6 => ("create_relations", json!({ "relations": random.some(4, any_relation) })),
        7 | 8 => {
            let additions = random.some(2, |random| {
                json!({ "entityName": random.pick(&NAMES), "contents": random.some(3, |random| random.pick(&TEXTS)) })
            });
            ("add_observations", json!({ "observations": additions }))
        }
        9 => ("delete_entities", json!({ "entityNames": random.some(2, |random| random.pick(&NAMES)) })),
        10 => {
            let deletions = random.some(2, |random| {
                let texts = random.some(3, |random| random.pick(&TEXTS));
                json!({ "entityName": random.pick(&NAMES), "observations": texts })
            });
            ("delete_observations", json!({ "deletions": deletions }))
        }
        11 => ("delete_relations", json!({ "relations": random.some(3, any_relation) })),
        12 => ("read_graph", json!({})),
        13 | 14 => ("search_nodes", json!({ "query": random.pick(&QUERIES) })),
        _ => ("open_nodes", json!({ "names": random.some(3, |random| random.pick(&NAMES)) })),
    }
}

fn any_entity(random: &mut Random) -> Value {
    let observations = random.some(3, |random| random.pick(&TEXTS));
    entity(random.pick(&NAMES), random.pick(&TYPES), &observations)
}

fn entity(name: &str, entity_type: &str, observations: &[&str]) -> Value {
    json!({ "name": name, "entityType": entity_type, "observations": observations })
}

fn any_relation(random: &mut Random) -> Value {
    json!({
        "from": random.pick(&NAMES),
        "to": random.pick(&NAMES),
        "relationType": random.pick(&["knows", "is", ""]),
    })
}

/// Tests invalid arguments, which are refused, and extra members, which aren't.
fn invalid_arguments(comparison: &mut Comparison<'_>) -> Result<()> {
    for (tool, arguments) in [
        ("create_entities", json!({})),
        ("create_entities", json!({ "entities": null })),
        ("create_entities", json!({ "entities": {} })),
        ("create_entities", json!({ "entities": [{ "name": "a", "entityType": "t" }] })),
        ("create_entities", json!({ "entities": [{ "name": 1, "entityType": "t", "observations": [] }] })),
        ("create_relations", json!({ "relations": [{ "from": "a", "to": "b" }] })),
        ("add_observations", json!({ "observations": [{ "entityName": "a", "contents": "x" }] })),
        ("add_observations", json!({ "observations": [{ "entityName": "nobody", "contents": ["x"] }] })),
        ("delete_entities", json!({ "entityNames": ["a", null] })),
        ("delete_observations", json!({ "deletions": [[]] })),
        ("delete_relations", json!({})),
        ("search_nodes", json!({ "query": ["a"] })),
        ("open_nodes", json!({ "names": "a" })),
        ("no_such_tool", json!({})),
        ("read_graph", json!({ "random_string": "" })),
        ("search_nodes", json!({ "query": "a", "limit": 1 })),
        (
            "create_entities",
            json!({ "entities": [{ "name": "m", "entityType": "t", "observations": [], "more": 1 }] }),
        ),
        ("read_graph", json!({})),
    ] {
        comparison.call(tool, &arguments)?;
    }
    Ok(())
}
