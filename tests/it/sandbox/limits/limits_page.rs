//! `docs/limits.md` has every limit with its key and default, and `docs/tests.md` names tests that exist for each.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use moongate_tests::{Source, Stdio, Workspace, markdown_tables, project_root};
use serde_json::{Value, json};

/// A limit, from its rows in `docs/limits.md` and `docs/tests.md`.
struct Row {
    limit: String,
    key: String,
    default: String,
    triggers: Vec<LimitTrigger>,
    tests: Vec<String>,
}

/// The cause that exceeds a limit.
#[derive(Debug)]
enum LimitTrigger {
    /// A tool or a prompt of a guest.
    Tool(String),
    /// A mood of the malformed plugin while it describes itself.
    Mood(String),
    /// A property of a generated plugin.
    Made(String),
    /// A file that isn't a usable plugin.
    Case(String),
}

impl LimitTrigger {
    fn read(text: &str) -> Self {
        let name = quoted(text).remove(0);
        match text.split('`').next() {
            Some("") => Self::Tool(name),
            Some("mood ") => Self::Mood(name),
            Some("made ") => Self::Made(name),
            Some("case ") => Self::Case(name),
            _ => panic!("{text}"),
        }
    }
}

/// The parts between backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The rows of all tables with these columns in the page `file`.
fn cells<const COLUMNS: usize>(file: &str, header: [&str; COLUMNS]) -> Vec<[String; COLUMNS]> {
    let rows = markdown_tables(file, &header).into_iter().flat_map(|table| table.rows);
    rows.map(|row| row.try_into().expect("as many cells as columns")).collect()
}

/// Each limit of `docs/limits.md` with its row of `docs/tests.md`: both list the same limits in the same order.
fn rows() -> Vec<Row> {
    let limits = cells("docs/limits.md", ["limit", "key", "default", "effect"]);
    let tests = cells("docs/tests.md", ["limit", "exercised by", "tests"]);
    assert!(limits.len() > 60, "the tables aren't found: {} rows", limits.len());
    let names: Vec<&String> = limits.iter().map(|[limit, ..]| limit).collect();
    let tested: Vec<&String> = tests.iter().map(|[limit, ..]| limit).collect();
    assert_eq!(names, tested, "limits without a row of tests");
    let row = |([limit, key, default, _], [_, triggers, tests]): ([String; 4], [String; 3])| Row {
        limit,
        key: key.trim_matches('`').to_owned(),
        default,
        triggers: triggers.split(", ").map(LimitTrigger::read).collect(),
        tests: quoted(&tests),
    };
    limits.into_iter().zip(tests).map(row).collect()
}

/// The keys of a table of `gateway.toml`, with their defaults. `None` means that the default isn't a value.
fn keys(at: &str) -> BTreeMap<String, Option<String>> {
    let schema = fs::read_to_string(project_root().join("schema/gateway.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let mut table = schema.pointer(at).unwrap_or_else(|| panic!("{at}"));
    if let Some(elsewhere) = table.get("$ref").and_then(Value::as_str) {
        table = schema.pointer(elsewhere.trim_start_matches('#')).unwrap();
    }
    let default = |key: &Value| match key.get("default") {
        Some(Value::String(text)) => Some(text.clone()),
        Some(other) => Some(other.to_string()),
        None => None,
    };
    let properties = table["properties"].as_object().unwrap();
    properties.iter().map(|(name, key)| (name.clone(), default(key))).collect()
}

#[test]
fn limits_page_has_every_key_with_its_default() {
    let rows = rows();
    let limits = keys("/properties/defaults/properties/limits");
    let documented: BTreeMap<_, _> = rows.iter().map(|row| (row.key.clone(), row.default.clone())).collect();
    for (key, default) in &limits {
        let documented = documented.get(key).unwrap_or_else(|| panic!("`{key}` isn't in docs/limits.md"));
        if let Some(default) = default {
            assert_eq!(documented, default, "the default of `{key}`");
        }
    }
    let gateway = keys("/properties/gateway");
    for Row { limit, key, default, .. } in &rows {
        match key.strip_prefix("[gateway] ") {
            Some(own) => {
                let known = gateway.get(own).unwrap_or_else(|| panic!("{limit}: unknown key `{own}`"));
                assert!(known.as_ref().is_none_or(|known| known == default), "{limit}: {known:?}");
            }
            None => assert!(key == "fixed" || limits.contains_key(key), "{limit}: unknown key `{key}`"),
        }
    }
    let counted = rows.iter().filter(|row| row.key != "fixed").count();
    assert_eq!(counted, documented.keys().filter(|key| *key != "fixed").count(), "a key is listed twice");
}

/// The guests' tools and prompts, under their own names.
fn offered() -> BTreeSet<String> {
    let guests = ["zoo", "stateful", "malformed"];
    let config: String =
        guests.iter().map(|guest| format!("[plugins.{guest}]\nsource = \"@{guest}@\"\n")).collect();
    let workspace = Workspace::new(&config);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let mut all = BTreeSet::new();
    for kind in ["tools", "prompts"] {
        let list = stdio.request_and_wait(&format!("{kind}/list"), json!({}));
        let names = list["result"][kind].as_array().unwrap().iter().filter_map(|item| item["name"].as_str());
        all.extend(names.filter_map(|name| Some(name.split_once('_')?.1.to_owned())));
    }
    all
}

#[test]
fn limits_pages_name_existing_triggers_and_tests() {
    let offered = offered();
    let source = |file: &str| fs::read_to_string(project_root().join(file)).unwrap();
    let moods = source("tests/guests/malformed/src/moods.rs");
    let made = source("tests/generated/src/lib.rs");
    let cases = source("tests/it/reload/load_errors.rs");
    let sources = ["gateway", "tests"].map(|directory| Source::below(&project_root().join(directory)));
    let existing: BTreeSet<&str> = sources.iter().flatten().flat_map(Source::tests).collect();
    let assert_tested = |limit: &str, tests: &[String]| {
        assert!(!tests.is_empty(), "{limit}: no test covers it");
        for test in tests {
            assert!(existing.contains(&**test), "{limit}: there is no test `{test}`");
        }
    };
    for Row { limit, triggers, tests, .. } in rows() {
        for trigger in triggers {
            let known = match &trigger {
                LimitTrigger::Tool(name) => offered.contains(name),
                LimitTrigger::Mood(name) => moods.contains(&format!("Some(\"{name}\")")),
                LimitTrigger::Made(name) => made.contains(&format!("pub fn {name}(mut self")),
                LimitTrigger::Case(name) => cases.contains(&format!("\"{name}\",")),
            };
            assert!(known, "{limit}: {trigger:?} doesn't exist");
        }
        assert_tested(&limit, &tests);
    }
    let clients = cells("docs/limits.md", ["limit", "default", "effect"]);
    let tested = cells("docs/tests.md", ["limit", "tests"]);
    assert!(clients.len() > 3, "the table of client limits isn't found");
    let names: Vec<&String> = clients.iter().map(|[limit, ..]| limit).collect();
    assert_eq!(names, tested.iter().map(|[limit, _]| limit).collect::<Vec<_>>());
    for [limit, tests] in &tested {
        assert_tested(limit, &quoted(tests));
    }
}
