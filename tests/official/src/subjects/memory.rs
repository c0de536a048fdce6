//! The plugin `memory` beside `@modelcontextprotocol/server-memory`.

use anyhow::Result;
use serde_json::{Value, json};

use super::Subject;
use crate::bench::Bench;
use crate::difference::Difference;
use crate::random::Random;

pub(super) const SUBJECT: Subject = Subject {
    plugin: "memory",
    package: "@modelcontextprotocol/server-memory",
    compared: "Sequences of calls of all nine tools, each starting with an empty graph. They use few \
               names, so that the same entities come up repeatedly, texts in many scripts, and invalid \
               arguments. After each change, the whole graph is compared, through the tool and through the \
               resource, and so are the notifications to a subscriber.",
    differences: DIFFERENCES,
    check,
};

const DIFFERENCES: &[Difference] = &[Difference {
    what: "An unknown resource is refused with code -32002.",
    reason: "The specification defines this code; the official server's library returns -32602.",
    meant: |gap| {
        gap.method == "resources/read"
            && gap.at == "/refused"
            && gap.theirs == Some(&json!(-32602))
            && gap.ours == Some(&json!(-32002))
    },
}];

/// The resource.
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

fn check(bench: &mut Bench<'_>) -> Result<()> {
    start(bench, "fixed")?;
    bench.lists();
    bench.check("arguments that don't fit", unfit);
    bench.check("a subscriber hears of a change", |bench| {
        bench.ask("resources/subscribe", &json!({ "uri": URI }))?;
        bench.call("create_entities", &json!({ "entities": [entity("new", "thing", &["one"])] }))?;
        bench.hear("notifications/resources/updated")
    });
    bench.check("a resource that isn't there", |bench| {
        bench.ask("resources/read", &json!({ "uri": "memory://other" })).map(drop)
    });
    bench.generated("sequences of calls", 0..6, |bench, random| {
        start(bench, &format!("generated-{}", random.below(usize::MAX >> 16)))?;
        for _ in 0..60 {
            step(bench, random)?;
        }
        Ok(())
    });
    Ok(())
}

/// Starts both with an empty graph; `name` is one that wasn't used yet.
fn start(bench: &mut Bench<'_>, name: &str) -> Result<()> {
    let mut official = bench.node("server-memory/dist/index.js");
    official.env("MEMORY_FILE_PATH", bench.folder().join(format!("{name}.jsonl")));
    bench.start(official, "allow.state = true\n")
}

/// One call, and the whole graph if it may have changed.
fn step(bench: &mut Bench<'_>, random: &mut Random) -> Result<()> {
    let (tool, arguments) = call(random);
    bench.call(tool, &arguments)?;
    match tool {
        "search_nodes" | "open_nodes" | "read_graph" => {}
        _ if random.once_in(2) => drop(bench.call("read_graph", &json!({}))?),
        _ => drop(bench.ask("resources/read", &json!({ "uri": URI }))?),
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

/// Arguments that are refused, and members too many, which are not.
fn unfit(bench: &mut Bench<'_>) -> Result<()> {
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
        bench.call(tool, &arguments)?;
    }
    Ok(())
}
