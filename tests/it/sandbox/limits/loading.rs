//! What ends while a plugin is loaded; and what a component in Rust can't do.

use moongate_generated::{Plugin, TOOL};
use moongate_tests::{Stdio, Workspace, text};
use serde_json::json;

/// A plugin that is made for the test, with these limits, beside the zoo and the clock.
fn beside_others(plugin: &Plugin, limits: &str) -> Workspace {
    let workspace = Workspace::new(&format!(
        "[plugins.p]\nsource = \"p.wasm\"\nlimits = {{ {limits} }}\n\
         [plugins.zoo]\nsource = \"@zoo@\"\n[plugins.time]\nsource = \"@time@\"\n"
    ));
    workspace.write("p.wasm", plugin.build());
    workspace
}

/// What `check` says where the plugin is refused; the others serve all the same.
#[track_caller]
fn refused(plugin: &Plugin, limits: &str) -> String {
    let workspace = beside_others(plugin, limits);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    super::all_is_well(&mut stdio);
    drop(stdio);
    let checked = workspace.run(&["check"]);
    assert!(!checked.status.success(), "{checked:?}");
    String::from_utf8(checked.stderr).unwrap()
}

#[test]
fn tables_that_grow_too_far_end_the_call() {
    let limits = "table_elements = 5000";
    let workspace = beside_others(&Plugin::version(1).elements(10_000), limits);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for _ in 0..2 {
        let answer = stdio.call(&format!("p_{TOOL}"), json!({}));
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        for word in ["plugin `p`", "5000 table elements", "plugins.p.limits.table_elements"] {
            assert!(text(&answer).contains(word), "{answer}");
        }
        super::all_is_well(&mut stdio);
    }
    let workspace = beside_others(&Plugin::version(1).elements(4_000), limits);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for _ in 0..2 {
        assert_eq!(text(&stdio.call(&format!("p_{TOOL}"), json!({}))), "v1", "each call has as many");
    }
}

#[test]
fn compiling_has_a_limit_of_time_and_one_of_memory() {
    // Of each test its own, so that none finds it compiled.
    let said = refused(&Plugin::version(71).functions(100), "compile_memory = \"32MiB\"");
    assert!(
        said.contains("more than 32.0 MiB of memory") && said.contains("limits.compile_memory"),
        "{said}"
    );
    let said = refused(&Plugin::version(72).functions(12_000), "compile_time = \"1s\"");
    assert!(said.contains("more than 1 seconds") && said.contains("limits.compile_time"), "{said}");
}

#[test]
fn what_a_plugin_says_of_itself_has_limits() {
    let deep = format!("{{\"properties\":{}1{}}}", "{\"a\":".repeat(20), "}".repeat(20));
    for (plugin, limits, key) in [
        (Plugin::version(1).tool("another"), "items = 1", "limits.items"),
        (
            Plugin::version(1).schema(format!("{{\"title\":\"{}\"}}", "x".repeat(2_000))),
            "schema = \"1KiB\"",
            "limits.schema",
        ),
        (Plugin::version(1).schema(deep.clone()), "schema_depth = 20", "limits.schema_depth"),
    ] {
        let said = refused(&plugin, limits);
        assert!(said.contains(&format!("`{key}`")), "{key}: {said}");
    }
    // What can't be configured.
    let said = refused(&Plugin::version(1).tool("x".repeat(63)), "");
    assert!(said.contains("64"), "{said}");
    let mut definitions = json!({ "d30": {} });
    for level in 0..30 {
        let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
        definitions[format!("d{level}")] = json!({ "allOf": [next, next] });
    }
    let multiplies = json!({ "type": "object", "$ref": "#/$defs/d0", "$defs": definitions });
    let said = refused(&Plugin::version(1).schema(multiplies.to_string()), "");
    assert!(said.contains("multiply"), "{said}");
    let workspace = beside_others(&Plugin::version(1).schema(deep), "schema_depth = 22");
    let checked = workspace.run(&["check"]);
    assert!(checked.status.success(), "{checked:?}");
}
