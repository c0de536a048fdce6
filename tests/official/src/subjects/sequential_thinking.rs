//! The plugin `sequential-thinking` and `@modelcontextprotocol/server-sequential-thinking`.

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::Subject;
use crate::comparison::Comparison;
use crate::difference::{Difference, Mismatch};
use crate::random::Random;

pub(super) const SUBJECT: Subject = Subject {
    plugin: "sequential-thinking",
    package: "@modelcontextprotocol/server-sequential-thinking",
    compared: "Sequences of thoughts, each starting with an empty history: forward and backward, with \
               revisions, branches, changing estimates, numbers and booleans as strings, and invalid \
               arguments. The plugin has `state = true`.",
    differences: DIFFERENCES,
    check,
};

const TOOL: &str = "sequentialthinking";

/// The arguments that are numbers.
const NUMBERS: [&str; 4] = ["thoughtNumber", "totalThoughts", "revisesThought", "branchFromThought"];

const DIFFERENCES: &[Difference] = &[
    Difference {
        description: "The schema also accepts numbers as strings of digits.",
        reason: "The official server accepts such strings, although its schema doesn't allow them. The gateway \
                 validates arguments against the plugin's schema, so that schema has to allow them.",
        matches: |mismatch| {
            let place = |number: &&str, word: &str| {
                mismatch.is_tool_property(TOOL, &format!("/inputSchema/properties/{number}/{word}"))
            };
            NUMBERS.iter().any(|number| {
                (place(number, "type") && mismatch.ours == Some(&json!(["integer", "string"])))
                    || (place(number, "pattern") && mismatch.theirs.is_none())
            })
        },
    },
    Difference {
        description: "Other values in place of numbers (`true`, `[7]`, `\"0x10\"`, `\" 5 \"`) are refused.",
        reason: "The official server accepts everything that its language converts to a number. A model \
                 that sends such a value has made an error and should see it.",
        matches: |mismatch| {
            let odd = |value: &Value| !value.is_number() && !is_digits(value);
            mismatch.answers.0["isError"] == false
                && mismatch.answers.1["refused"] == -32602
                && NUMBERS.iter().any(|number| mismatch.arguments.get(number).is_some_and(odd))
        },
    },
    Difference {
        description: "Branches are listed in the order in which they started.",
        reason: "The official server lists numeric names first, which is the order of object members in \
                 its language.",
        matches: is_order_of_branches,
    },
    Difference {
        description: "A branch can have the name of a built-in JavaScript property, such as `constructor`.",
        reason: "The official server fails with `this.branches[input.branchId].push is not a function`.",
        matches: |mismatch| {
            let text = mismatch.answers.0["content"][0]["text"].as_str().unwrap_or_default();
            mismatch.answers.0["isError"] == true
                && mismatch.answers.1["isError"] == false
                && text.contains("this.branches[input.branchId].push is not a function")
        },
    },
];

fn is_digits(value: &Value) -> bool {
    value.as_str().is_some_and(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns true if the answers are equal except for the order of branches, some of which have numeric names.
fn is_order_of_branches(mismatch: &Mismatch<'_>) -> bool {
    let sorted = |answer: &Value| {
        let mut state = answer["structuredContent"].clone();
        // The text must equal the structured content, so that there is no other difference.
        let text = answer["content"][0]["text"].as_str().unwrap_or_default();
        if serde_json::from_str::<Value>(text).ok()? != state {
            return None;
        }
        state["branches"].as_array_mut()?.sort_by_key(ToString::to_string);
        Some(state)
    };
    let theirs = sorted(mismatch.answers.0);
    let ours = sorted(mismatch.answers.1);
    let numbered = |state: &Value| state["branches"].as_array().is_some_and(|all| all.iter().any(is_digits));
    mismatch.name == TOOL && theirs.is_some() && theirs == ours && theirs.as_ref().is_some_and(numbered)
}

const BRANCHES: [&str; 8] = ["other", "", "Other", "the long way", "путь", "a\"b", "10", "2"];

const WORDS: [&str; 4] = ["true", "False", "TRUE", "false"];

fn check(comparison: &mut Comparison<'_>) -> Result<()> {
    start(comparison)?;
    comparison.compare_lists();
    comparison.check("invalid arguments", |comparison| {
        for (name, value) in invalid_arguments() {
            let mut arguments = thought(1, 2);
            match value {
                Some(value) => drop(arguments.insert(name.to_owned(), value)),
                None => drop(arguments.remove(name)),
            }
            comparison.call(TOOL, &Value::Object(arguments))?;
        }
        comparison.call(TOOL, &Value::Object(thought(1, 2))).map(drop)
    });
    for (name, arguments) in diverging_calls() {
        comparison.check(name, |comparison| {
            start(comparison)?; // only one of the servers counts the thought
            comparison.call(TOOL, &Value::Object(arguments)).map(drop)
        });
    }
    comparison.generated("sequences of thoughts", 0..5, |comparison, random| {
        start(comparison)?;
        (0..60).try_for_each(|_| comparison.call(TOOL, &Value::Object(any_thought(random))).map(drop))
    });
    Ok(())
}

/// Starts both servers with an empty history.
fn start(comparison: &mut Comparison<'_>) -> Result<()> {
    let mut official = comparison.node("server-sequential-thinking/dist/index.js");
    official.env("DISABLE_THOUGHT_LOGGING", "true");
    comparison.start(official, "allow.state = true\n")
}

fn thought(number: u64, total: u64) -> Map<String, Value> {
    let mut arguments = Map::new();
    arguments.insert("thought".to_owned(), json!("hm"));
    arguments.insert("nextThoughtNeeded".to_owned(), json!(true));
    arguments.insert("thoughtNumber".to_owned(), json!(number));
    arguments.insert("totalThoughts".to_owned(), json!(total));
    arguments
}

/// Invalid arguments. `None` means that the argument is missing.
fn invalid_arguments() -> Vec<(&'static str, Option<Value>)> {
    let some = |name, value: Value| (name, Some(value));
    vec![
        ("thought", None),
        ("nextThoughtNeeded", None),
        ("thoughtNumber", None),
        ("totalThoughts", None),
        some("thought", json!(1)),
        some("thought", json!(null)),
        some("nextThoughtNeeded", json!("yes")),
        some("nextThoughtNeeded", json!(1)),
        some("nextThoughtNeeded", json!(null)),
        some("thoughtNumber", json!(0)),
        some("thoughtNumber", json!(-1)),
        some("thoughtNumber", json!(1.5)),
        some("thoughtNumber", json!("0")),
        some("thoughtNumber", json!("x")),
        some("thoughtNumber", json!("1.5")),
        some("thoughtNumber", json!(9_007_199_254_740_992_u64)),
        some("totalThoughts", json!("9007199254740992")),
        some("totalThoughts", json!(null)),
        some("totalThoughts", json!({})),
        some("isRevision", json!("maybe")),
        some("isRevision", json!(null)),
        some("revisesThought", json!(0)),
        some("branchFromThought", json!("")),
        some("branchId", json!(1)),
        some("branchId", json!(null)),
        some("needsMoreThoughts", json!("")),
    ]
}

/// Calls after which the two histories differ.
fn diverging_calls() -> Vec<(&'static str, Map<String, Value>)> {
    let with = |members: Value| {
        let mut arguments = thought(1, 2);
        arguments.extend(members.as_object().cloned().unwrap_or_default());
        arguments
    };
    vec![
        ("a number that is true", with(json!({ "thoughtNumber": true }))),
        ("a number in a list", with(json!({ "totalThoughts": [7] }))),
        ("a number in hexadecimal", with(json!({ "revisesThought": "0x10" }))),
        ("a number between spaces", with(json!({ "branchFromThought": " 5 " }))),
        ("a branch called `constructor`", with(json!({ "branchFromThought": 1, "branchId": "constructor" }))),
    ]
}

fn any_thought(random: &mut Random) -> Map<String, Value> {
    let mut arguments = thought(1, 1);
    for name in ["thoughtNumber", "totalThoughts"] {
        arguments.insert(name.to_owned(), number(random));
    }
    for (name, seldom) in [("nextThoughtNeeded", 1), ("isRevision", 3), ("needsMoreThoughts", 5)] {
        if random.once_in(seldom) {
            arguments.insert(name.to_owned(), flag(random));
        }
    }
    for (name, seldom) in [("revisesThought", 4), ("branchFromThought", 2)] {
        if random.once_in(seldom) {
            arguments.insert(name.to_owned(), number(random));
        }
    }
    if random.once_in(2) {
        arguments.insert("branchId".to_owned(), json!(random.pick(&BRANCHES)));
    }
    arguments
}

/// A random number, sometimes as digits, rarely a large one.
fn number(random: &mut Random) -> Value {
    let number = if random.once_in(30) { 9_007_199_254_740_991 } else { random.below(12) + 1 };
    if random.once_in(4) { json!(number.to_string()) } else { json!(number) }
}

/// A random boolean, sometimes as a string.
fn flag(random: &mut Random) -> Value {
    if random.once_in(4) { json!(random.pick(&WORDS)) } else { json!(random.once_in(2)) }
}
