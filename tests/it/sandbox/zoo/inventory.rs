//! Every guest tool is called by a test, and no test calls a missing one. The names are read from the sources of the
//! tests, so there is no list to maintain.
//!
//! Only calls count (see `calls`): a name elsewhere in a test's source, in `gateway.toml` or in a message is ignored.

use std::collections::{BTreeMap, BTreeSet};

use moongate_tests::{Source, Stdio, Workspace, project_root};
use serde_json::{Value, json};

mod calls;

/// The test plugins.
const GUESTS: [&str; 3] = ["keeper", "speaker", "zoo"];

/// The guests whose lists never change, so that the current tools are all of their tools.
const FIXED_GUESTS: [&str; 2] = ["speaker", "zoo"];

/// Nonexistent names that tests call deliberately.
const UNKNOWN_NAMES: [&str; 3] = ["made_up", "nobody_has_this", "nope"];

/// Tools and prompts by guest, under the guest's own names.
fn offered() -> BTreeMap<&'static str, BTreeSet<String>> {
    let mut config = String::new();
    for guest in GUESTS {
        config.push_str(&format!("[plugins.{guest}]\nsource = \"@{guest}@\"\nallow.state = true\n"));
    }
    let mut stdio = Stdio::initialized(&Workspace::new(&config), "2025-11-25");
    let mut all = Vec::new();
    for kind in ["tools", "prompts"] {
        let list = stdio.request_and_wait(&format!("{kind}/list"), json!({}));
        all.extend(list["result"][kind].as_array().unwrap().clone());
    }
    let of = |guest: &'static str| {
        let its = |item: &Value| {
            item["name"].as_str().unwrap().strip_prefix(&format!("{guest}_")).map(str::to_owned)
        };
        (guest, all.iter().filter_map(its).collect())
    };
    GUESTS.map(of).into()
}

/// The sources of all tests except this one.
fn sources() -> impl Iterator<Item = Source> {
    let is_this = |source: &Source| source.path.ends_with("inventory.rs");
    Source::below(&project_root().join("tests/it")).into_iter().filter(move |source| !is_this(source))
}

/// Returns true if the source configures this guest, explicitly or with `with_plugin`.
fn uses_guest(source: &Source, guest: &str) -> bool {
    source.text.contains(&format!("@{guest}@")) || source.text.contains(&format!("\"{guest}\""))
}

#[test]
fn every_guest_tool_is_called_by_a_test() {
    let called: Vec<(Source, BTreeSet<String>)> = sources()
        .map(|source| (calls::in_source(&source.text), source))
        .map(|(its, source)| (source, its))
        .collect();
    let mut missing = Vec::new();
    for (guest, names) in offered() {
        assert!(names.len() > 5, "{guest}: {names:?}");
        for name in names {
            let public = format!("{guest}_{name}");
            let is_called = called.iter().any(|(source, its)| {
                its.contains(&public) || (its.contains(&name) && uses_guest(source, guest))
            });
            if !is_called {
                missing.push(public);
            }
        }
    }
    assert!(missing.is_empty(), "no test under `tests/it` calls {missing:?}");
}

#[test]
fn no_test_calls_an_unknown_guest_tool() {
    let offered = offered();
    let all: BTreeSet<&String> = offered.values().flatten().collect();
    let is_name =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let mut unknown = Vec::new();
    for source in sources() {
        for text in source.code().split('"') {
            let name = FIXED_GUESTS.iter().find_map(|guest| text.strip_prefix(guest)?.strip_prefix('_'));
            let Some(name) = name.filter(|name| is_name(name)) else { continue };
            // A plugin's configuration may use another guest's component.
            let other = ["get_current_time", "convert_time"].contains(&name);
            if !(all.contains(&name.to_owned()) || UNKNOWN_NAMES.contains(&name) || other) {
                unknown.push(format!("{}: {text}", source.path.display()));
            }
        }
    }
    assert!(unknown.is_empty(), "unknown guest tools: {unknown:?}");
}

#[test]
fn counts_names_only_where_they_are_called() {
    let source = r##"
        const ENDED: &[(&str, &str)] = &[("in_a_table", "{}")];
        const UNUSED: [&str; 1] = ["in_no_table_of_a_call"];
        const GATEWAY: &str = r#"tools.allow = ["in_toml"]"#;
        const ASKED: &str = r#"{"name":"zoo_in_json"}"#;
        // client.call("in_a_comment", json!({}));
        fn helper(stdio: &mut Stdio, tool: &str) { stdio.call(&format!("zoo_{tool}"), json!({})); }
        fn ended() { for (tool, _) in ENDED { helper(&mut stdio, tool); } }
        fn direct() {
            helper(&mut stdio, "by_a_helper");
            stdio.call("zoo_directly", json!({ "text": "as_an_argument" }));
            assert!(text.contains("in_a_message"));
            stdio.send(&request(1, "tools/call", json!({ "name": "as_a_parameter" })));
            for tool in ["in_a_list"] { helper(&mut stdio, tool); }
        }
        fn no_call() { let names = ["in_a_list_of_no_call"]; UNUSED.contains(&names[0]); }
    "##;
    let called: Vec<String> = calls::in_source(source).into_iter().collect();
    assert_eq!(
        called,
        [
            "as_a_parameter",
            "by_a_helper",
            "in_a_list",
            "in_a_table",
            "zoo_directly",
            "zoo_in_json",
            "zoo_{tool}",
            "{}"
        ]
    );
}
