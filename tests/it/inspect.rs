//! `inspect`, `check` and `call --explain`: what a plugin asks for, beside what it is granted.

use moongate_tests::{Workspace, component};
use serde_json::Value;

fn said(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The document that a command printed.
fn document(workspace: &Workspace, arguments: &[&str]) -> Value {
    let output = workspace.run(arguments);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// What a document says of one need.
fn need<'a>(document: &'a Value, key: &str) -> Option<&'a Value> {
    document["grants"].as_array().unwrap().iter().find(|grant| grant["key"] == key)
}

#[test]
fn a_file_is_shown_without_a_configuration_and_without_grants() {
    let workspace = Workspace::new("");
    std::fs::remove_file(workspace.config()).unwrap();
    let file = component("keeper").display().to_string();
    let text = workspace.run(&["inspect", &file]);
    assert!(text.status.success(), "{text:?}");
    let page = said(&text.stdout);
    for part in
        ["contract  moongate:plugin@0.1.0", "keep state", "`state = true` would grant it", "\ntools\n"]
    {
        assert!(page.contains(part), "`{part}` is missing:\n{page}");
    }
    let document = document(&workspace, &["inspect", &file, "--format", "json"]);
    assert_eq!(document["size"].as_u64(), Some(std::fs::metadata(component("keeper")).unwrap().len()));
    assert_eq!(need(&document, "state").unwrap()["asked"], "yes");
    assert_eq!(need(&document, "http"), None);
    let imports = document["imports"].as_array().unwrap();
    assert!(imports.iter().any(|name| name == "wasi:keyvalue/store@0.2.0-draft2"), "{imports:?}");
    let schema = &document["tools"][0]["input"];
    assert_eq!(schema["type"], "object", "{document}");
}

#[test]
fn a_plugin_of_the_configuration_is_shown_with_its_grants() {
    let workspace = Workspace::new(
        "[plugins.a]\nsource = \"@keeper@\"\n[plugins.a.allow]\nstate = \"notes\"\nenv = [\"PATH\"]\n\
         [plugins.b]\nsource = \"nowhere.wasm\"\n",
    );
    let found = document(&workspace, &["inspect", "a", "--format", "json"]);
    assert_eq!(need(&found, "state").unwrap()["granted"][0], "the store notes");
    assert_eq!(need(&found, "env").unwrap()["granted"][0], "PATH");
    let unknown = workspace.run(&["inspect", "c"]);
    assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");
    assert!(said(&unknown.stderr).contains("it has `a`, `b`"), "{unknown:?}");
    let broken = workspace.run(&["inspect", "b"]);
    assert_eq!(broken.status.code(), Some(78), "{broken:?}");
    assert!(said(&broken.stderr).contains("gateway.toml:"), "{broken:?}");
}

#[test]
fn a_file_that_is_no_plugin_is_told_with_its_cure() {
    let workspace = Workspace::new("");
    for (file, content, told) in [
        ("text.wasm", "(component)", "text format"),
        ("module.wasm", "\0asm\u{1}\0\0\0", "wasm-tools component new"),
        ("empty.wasm", "", "it is empty"),
    ] {
        workspace.write(file, content);
        let output = workspace.run(&["inspect", file]);
        assert_eq!(output.status.code(), Some(78), "{file}: {output:?}");
        assert!(said(&output.stderr).contains(told), "{file}: {output:?}");
        assert!(output.stdout.is_empty(), "{file}: {output:?}");
    }
    let absent = workspace.run(&["inspect", "./absent.wasm"]);
    assert_eq!(absent.status.code(), Some(78), "{absent:?}");
    assert!(said(&absent.stderr).contains("isn't there"), "{absent:?}");
}

#[test]
fn check_names_grants_that_nothing_uses_and_wishes_that_nothing_grants() {
    let workspace = Workspace::new(
        "[plugins.keeper]\nsource = \"@keeper@\"\n\
         [plugins.time]\nsource = \"@time@\"\n[plugins.time.allow]\nhttp = [\"https://example.com\"]\n",
    );
    let output = workspace.run(&["check"]);
    assert!(output.status.success(), "warnings don't fail: {output:?}");
    let told = said(&output.stderr);
    assert!(told.contains("`keeper` was built to keep state, which isn't granted"), "{told}");
    assert!(told.contains("`time` is granted `http`, but can't send requests"), "{told}");
    let fitting = Workspace::new(
        "[plugins.keeper]\nsource = \"@keeper@\"\n[plugins.keeper.allow]\nstate = true\n[plugins.time]\nsource = \"@time@\"\n",
    );
    let output = fitting.run(&["check"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_call_says_which_grants_it_used_and_which_it_lacked() {
    let without = Workspace::new("[plugins.keeper]\nsource = \"@keeper@\"\n");
    let call = ["call", "keeper_get", "key=a", "--explain"];
    let output = without.run(&call);
    let told = said(&output.stderr);
    assert!(
        told.contains("lacked\n") && told.contains("[plugins.keeper.allow]\n  state = true\n"),
        "{output:?}"
    );
    let with =
        Workspace::new("[plugins.keeper]\nsource = \"@keeper@\"\n[plugins.keeper.allow]\nstate = true\n");
    let output = with.run(&call);
    assert!(output.status.success() && said(&output.stderr).contains("used\n  state\n"), "{output:?}");
    let explained = document(&with, &["call", "keeper_get", "key=a", "--explain", "--format", "json"]);
    assert_eq!(explained["grants"]["used"][0], "state", "{explained}");
    assert_eq!(explained["grants"]["lacked"], serde_json::json!([]), "{explained}");
    let plain = document(&with, &["call", "keeper_get", "key=a", "--format", "json"]);
    assert!(plain.get("grants").is_none(), "{plain}");
}
