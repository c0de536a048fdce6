//! Limits while a plugin loads, and of components that Rust can't produce.

use moongate_generated::{Plugin, TOOL};
use moongate_tests::{Stdio, Workspace, text};
use serde_json::json;

/// A generated plugin with these limits, next to the zoo and the clock.
fn with_others(plugin: &Plugin, limits: &str) -> Workspace {
    let workspace = Workspace::new(&format!(
        "[plugins.p]\nsource = \"p.wasm\"\nlimits = {{ {limits} }}\n\
         [plugins.zoo]\nsource = \"@zoo@\"\n[plugins.time]\nsource = \"@time@\"\n"
    ));
    workspace.write("p.wasm", plugin.build());
    workspace
}

/// The stderr of `check` for a plugin that fails to load. The other plugins still serve.
#[track_caller]
fn refused(plugin: &Plugin, limits: &str) -> String {
    let workspace = with_others(plugin, limits);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    super::assert_plugins_work(&mut stdio);
    drop(stdio);
    let checked = workspace.run(&["check"]);
    assert!(!checked.status.success(), "{checked:?}");
    String::from_utf8(checked.stderr).unwrap()
}

/// The warnings of `check` for a plugin with a tool that is left out.
#[track_caller]
fn left_out(plugin: &Plugin, limits: &str) -> String {
    let checked = with_others(plugin, limits).run(&["check"]);
    assert!(checked.status.success(), "{checked:?}");
    let output = String::from_utf8(checked.stderr).unwrap();
    assert!(output.contains("of plugin `p` is left out"), "{output}");
    output
}

#[test]
fn growing_tables_beyond_the_limit_ends_the_call() {
    let limits = "table_elements = 5000";
    let workspace = with_others(&Plugin::version(1).elements(10_000), limits);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for _ in 0..2 {
        let answer = stdio.call(&format!("p_{TOOL}"), json!({}));
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        for word in ["plugin `p`", "5000 table elements", "plugins.p.limits.table_elements"] {
            assert!(text(&answer).contains(word), "{answer}");
        }
        super::assert_plugins_work(&mut stdio);
    }
    let workspace = with_others(&Plugin::version(1).elements(4_000), limits);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for _ in 0..2 {
        assert_eq!(text(&stdio.call(&format!("p_{TOOL}"), json!({}))), "v1", "the limit is per call");
    }
}

#[test]
fn limits_time_and_memory_of_compilation() {
    // A version that no other test uses, so that it isn't in the cache.
    let output = refused(&Plugin::version(71).functions(100), "compile_memory = \"32MiB\"");
    assert!(
        output.contains("more than 32.0 MiB of memory") && output.contains("limits.compile_memory"),
        "{output}"
    );
    let output = refused(&Plugin::version(72).functions(12_000), "compile_time = \"1s\"");
    assert!(output.contains("more than 1 seconds") && output.contains("limits.compile_time"), "{output}");
}

#[test]
fn limits_a_plugins_descriptions() {
    // Too many items are the plugin's problem, and the others that of one item.
    let output = refused(&Plugin::version(1).tool("another"), "items = 1");
    assert!(output.contains("`limits.items`"), "{output}");
    let deep = format!("{{\"properties\":{}1{}}}", "{\"a\":".repeat(20), "}".repeat(20));
    for (plugin, limits, key) in [
        (
            Plugin::version(1).schema(format!("{{\"title\":\"{}\"}}", "x".repeat(2_000))),
            "schema = \"1KiB\"",
            "limits.schema",
        ),
        (Plugin::version(1).schema(deep.clone()), "schema_depth = 20", "limits.schema_depth"),
    ] {
        let output = left_out(&plugin, limits);
        assert!(output.contains(&format!("`{key}`")), "{key}: {output}");
        assert!(output.contains(&format!("raise `{key}`")), "{output}");
    }
    // Fixed limits.
    let output = left_out(&Plugin::version(1).tool("x".repeat(129)), "");
    assert!(output.contains("128"), "{output}");
    let workspace = with_others(&Plugin::version(1).tool("x".repeat(63)), "");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let tools = stdio.request_and_wait("tools/list", json!({}));
    let name = tools["result"]["tools"][1]["name"].as_str().unwrap();
    assert_eq!(name.len(), 64, "a long name is shortened: {name}");
    assert_eq!(text(&stdio.call(name, json!({}))), "v1");
    drop(stdio);
    let mut definitions = json!({ "d30": {} });
    for level in 0..30 {
        let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
        definitions[format!("d{level}")] = json!({ "allOf": [next, next] });
    }
    let multiplies = json!({ "type": "object", "$ref": "#/$defs/d0", "$defs": definitions });
    let output = left_out(&Plugin::version(1).schema(multiplies.to_string()), "");
    assert!(output.contains("multiply"), "{output}");
    let workspace = with_others(&Plugin::version(1).schema(deep), "schema_depth = 22");
    let checked = workspace.run(&["check"]);
    assert!(checked.status.success(), "{checked:?}");
}
