//! `docs/limits.md` has every limit with its key and default, and `docs/tests.md` names tests that exist for each.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use moongate_tests::{Source, Stdio, Workspace, markdown_tables, project_root};
use serde_json::{Value, json};

/// A limit, as `docs/limits.md` and `docs/tests.md` describe it together.
struct Row {
    limit: String,
    key: String,
    default: String,
    tried: Vec<Tried>,
    tests: Vec<String>,
}

/// What runs into the limit.
#[derive(Debug)]
enum Tried {
    /// A tool or a prompt of a guest.
    Tool(String),
    /// A way in which the speaker describes itself.
    Mood(String),
    /// A property of a generated plugin.
    Made(String),
    /// A file that is no usable plugin.
    Case(String),
}

impl Tried {
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

/// What stands between backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The rows of all tables of the page `file` with these columns.
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
    let row = |([limit, key, default, _], [_, tried, tests]): ([String; 4], [String; 3])| Row {
        limit,
        key: key.trim_matches('`').to_owned(),
        default,
        tried: tried.split(", ").map(Tried::read).collect(),
        tests: quoted(&tests),
    };
    limits.into_iter().zip(tests).map(row).collect()
}

/// The keys of a table of `gateway.toml`, with their defaults where these are values.
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
fn the_table_of_limits_has_every_key_with_its_default() {
    let rows = rows();
    let limits = keys("/properties/defaults/properties/limits");
    let told: BTreeMap<_, _> = rows.iter().map(|row| (row.key.clone(), row.default.clone())).collect();
    for (key, default) in &limits {
        let told = told.get(key).unwrap_or_else(|| panic!("`{key}` isn't in docs/limits.md"));
        if let Some(default) = default {
            assert_eq!(told, default, "the default of `{key}`");
        }
    }
    let gateway = keys("/properties/gateway");
    for Row { limit, key, default, .. } in &rows {
        match key.strip_prefix("[gateway] ") {
            Some(own) => assert_eq!(gateway.get(own), Some(&Some(default.clone())), "{limit}"),
            None => assert!(key == "fixed" || limits.contains_key(key), "{limit}: `{key}` is no key"),
        }
    }
    let counted = rows.iter().filter(|row| row.key != "fixed").count();
    assert_eq!(counted, told.keys().filter(|key| *key != "fixed").count(), "a key stands there twice");
}

/// What the guests offer, under their own names.
fn offered() -> BTreeSet<String> {
    let guests = ["zoo", "keeper", "speaker"];
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
fn the_table_of_limits_names_what_tries_them_and_tests_that_there_are() {
    let offered = offered();
    let source = |file: &str| fs::read_to_string(project_root().join(file)).unwrap();
    let moods = source("tests/guests/speaker/src/moods.rs");
    let (made, cases) = (source("tests/generated/src/lib.rs"), source("tests/it/reload/load_errors.rs"));
    let sources = ["gateway", "tests"].map(|folder| Source::below(&project_root().join(folder)));
    let there: BTreeSet<&str> = sources.iter().flatten().flat_map(Source::tests).collect();
    let proven = |limit: &str, tests: &[String]| {
        assert!(!tests.is_empty(), "{limit}: no test proves it");
        for test in tests {
            assert!(there.contains(&**test), "{limit}: there is no test `{test}`");
        }
    };
    for Row { limit, tried, tests, .. } in rows() {
        for tried in tried {
            let known = match &tried {
                Tried::Tool(name) => offered.contains(name),
                Tried::Mood(name) => moods.contains(&format!("Some(\"{name}\")")),
                Tried::Made(name) => made.contains(&format!("pub fn {name}(mut self")),
                Tried::Case(name) => cases.contains(&format!("(\"{name}\", ")),
            };
            assert!(known, "{limit}: there is no {tried:?}");
        }
        proven(&limit, &tests);
    }
    let clients = cells("docs/limits.md", ["limit", "default", "effect"]);
    let tested = cells("docs/tests.md", ["limit", "tests"]);
    assert!(clients.len() > 3, "the table of clients isn't found");
    let names: Vec<&String> = clients.iter().map(|[limit, ..]| limit).collect();
    assert_eq!(names, tested.iter().map(|[limit, _]| limit).collect::<Vec<_>>());
    for [limit, tests] in &tested {
        proven(limit, &quoted(tests));
    }
}
