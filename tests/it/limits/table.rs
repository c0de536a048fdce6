//! `docs/limits.md` says of every limit what is so.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use moongate_tests::{Stdio, Workspace, root};
use serde_json::{Value, json};

/// A row of its table.
struct Row {
    limit: String,
    key: String,
    default: String,
    tools: Vec<String>,
    tests: Vec<String>,
}

/// What stands between backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn rows() -> Vec<Row> {
    let text = fs::read_to_string(root().join("docs/limits.md")).unwrap();
    let lines = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| What |"));
    let rows: Vec<Row> = lines
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            let [limit, key, default, _, tools, tests] = cells.as_slice() else { panic!("{line}") };
            Row {
                limit: (*limit).to_owned(),
                key: key.trim_matches('`').to_owned(),
                default: (*default).to_owned(),
                tools: quoted(tools),
                tests: quoted(tests),
            }
        })
        .collect();
    assert!(rows.len() > 40, "the table isn't found: {} rows", rows.len());
    rows
}

/// The keys of a table of `gateway.toml`, with their defaults where these are values.
fn keys(at: &str) -> BTreeMap<String, Option<String>> {
    let schema = fs::read_to_string(root().join("schema/gateway.schema.json")).unwrap();
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

#[test]
fn the_table_of_limits_names_tools_and_tests_that_there_are() {
    let workspace =
        Workspace::new("[plugins.zoo]\nsource = \"@zoo@\"\n[plugins.keeper]\nsource = \"@keeper@\"\n");
    let mut stdio = Stdio::greeted(&workspace, "2025-11-25");
    let list = stdio.ask("tools/list", json!({}));
    let tools: BTreeSet<&str> =
        list["result"]["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str()).collect();
    let mut sources = String::new();
    for folder in ["gateway", "tests"] {
        read_all(&root().join(folder), &mut sources);
    }
    for Row { limit, tools: named, tests, .. } in rows() {
        for tool in named {
            let known = ["zoo", "keeper"].iter().any(|plugin| tools.contains(&*format!("{plugin}_{tool}")));
            assert!(known, "{limit}: there is no tool `{tool}`");
        }
        assert!(!tests.is_empty(), "{limit}: no test proves it");
        for test in tests {
            assert!(sources.contains(&format!("fn {test}(")), "{limit}: there is no test `{test}`");
        }
    }
}

/// The text of all Rust files in a folder.
fn read_all(folder: &Path, into: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir()
            && !matches!(name.as_str(), "target" | "node_modules" | "dist")
            && !name.starts_with('.')
        {
            read_all(&path, into);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            into.push_str(&fs::read_to_string(&path).unwrap());
        }
    }
}
