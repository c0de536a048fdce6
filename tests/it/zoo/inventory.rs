//! Every tool of the guests is called by a test, and no test calls one that isn't there: read from the sources of the
//! tests, so that nobody has to keep a list.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use moongate_tests::{Stdio, Workspace, root};
use serde_json::{Value, json};

/// The plugins that are there to be tested with.
const GUESTS: [&str; 3] = ["keeper", "speaker", "zoo"];

/// Those whose lists never change: what they offer now is all that there is to call.
const FIXED: [&str; 2] = ["speaker", "zoo"];

/// Names that tests call because nobody has them.
const NOBODYS: [&str; 3] = ["made_up", "nobody_has_this", "nope"];

/// What guests offer under their own names: tools and prompts.
fn offered() -> BTreeMap<&'static str, BTreeSet<String>> {
    let mut config = String::new();
    for guest in GUESTS {
        config.push_str(&format!("[plugins.{guest}]\nsource = \"@{guest}@\"\nallow.state = true\n"));
    }
    let mut stdio = Stdio::greeted(&Workspace::new(&config), "2025-11-25");
    let mut all = Vec::new();
    for kind in ["tools", "prompts"] {
        let list = stdio.ask(&format!("{kind}/list"), json!({}));
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

/// The texts in quotation marks of each test's source, but for this one's.
fn sources() -> Vec<(String, BTreeSet<String>)> {
    let mut found = Vec::new();
    for folder in ["tests/it", "gateway/src/host", "plugin-sdk/tests"] {
        read(&root().join(folder), &mut found);
    }
    found
}

fn read(folder: &Path, found: &mut Vec<(String, BTreeSet<String>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("zoo/inventory.rs") {
            found.push((path.display().to_string(), quoted(&fs::read_to_string(&path).unwrap())));
        }
    }
}

/// What stands between quotation marks in the code, line by line, and what stands between those; comments don't count.
fn quoted(source: &str) -> BTreeSet<String> {
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(|line| line.split('"')).map(str::to_owned).collect()
}

#[test]
fn every_tool_of_the_guests_is_called_by_a_test() {
    let sources = sources();
    let mut missing = Vec::new();
    for (guest, names) in offered() {
        assert!(names.len() > 5, "{guest}: {names:?}");
        let about = |texts: &BTreeSet<String>| texts.iter().any(|text| text.contains(guest));
        let own: Vec<_> = sources.iter().filter(|(_, texts)| about(texts)).collect();
        for name in names {
            let public = format!("{guest}_{name}");
            if !own.iter().any(|(_, texts)| texts.contains(&name) || texts.contains(&public)) {
                missing.push(public);
            }
        }
    }
    assert!(missing.is_empty(), "no test under `tests/it` calls {missing:?}");
}

#[test]
fn no_test_calls_a_tool_that_no_guest_has() {
    let offered = offered();
    let all: BTreeSet<&String> = offered.values().flatten().collect();
    let is_name =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let mut unknown = Vec::new();
    for (file, texts) in sources() {
        for text in texts {
            let name = FIXED.iter().find_map(|guest| text.strip_prefix(guest)?.strip_prefix('_'));
            let Some(name) = name.filter(|name| is_name(name)) else { continue };
            // A plugin's table may name another's component.
            let other = ["get_current_time", "convert_time"].contains(&name);
            if !(all.contains(&name.to_owned()) || NOBODYS.contains(&name) || other) {
                unknown.push(format!("{file}: {text}"));
            }
        }
    }
    assert!(unknown.is_empty(), "no guest has {unknown:?}");
}
