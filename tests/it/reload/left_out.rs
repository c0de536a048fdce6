//! Items that aren't offered: hidden by the configuration, or left out because they don't fit. The plugin's other items
//! are offered.

use moongate_generated::Plugin;
use moongate_tests::{Stdio, Workspace, component, text};
use serde_json::{Value, json};

/// A plugin with unusual and invalid items of every kind.
const ODD: &str = "[plugins.p]\nsource = \"@malformed@\"\nconfig = { describes = \"odd items\" }\n";

/// The items that don't fit, each with a word of the reason.
const LEFT_OUT: [(&str, &str); 10] = [
    ("tool `a.b`", "same public name, `p_a_b`"),
    ("tool `get_*`", "contains `*`"),
    ("tool `broken`", "invalid input schema"),
    ("tool `array`", "`input-schema`"),
    ("tool `ping`", "an earlier tool has the same name"),
    ("prompt `hidden\\u{202e}`", "contains"),
    ("prompt `twice`", "duplicate argument `a`"),
    ("resource `odd://with blank`", "white space"),
    ("resource `no uri`", "no scheme"),
    ("resource template `{whole}`", "scheme"),
];

fn utf8(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The values of `key` of all items in a list of `kind`.
fn listed(stdio: &mut Stdio, method: &str, kind: &str, key: &str) -> Vec<String> {
    let list = stdio.request_and_wait(method, json!({}));
    let items = list["result"][kind].as_array().unwrap_or_else(|| panic!("no list: {list}"));
    items.iter().map(|item| item[key].as_str().unwrap().to_owned()).collect()
}

fn read(stdio: &mut Stdio, uri: &str) -> Value {
    stdio.request_and_wait("resources/read", json!({ "uri": uri }))
}

#[test]
fn reports_every_item_that_is_left_out() {
    let workspace = Workspace::new(ODD);
    let checked = workspace.run(&["check"]);
    let report = utf8(&checked.stderr);
    assert!(checked.status.success(), "{report}");
    let inspected = utf8(&workspace.run(&["inspect", "p"]).stdout);
    let (_, left_out) = inspected.split_once("\nleft out\n").unwrap_or_else(|| panic!("{inspected}"));
    for (item, reason) in LEFT_OUT {
        let line =
            report.lines().find(|line| line.contains(&format!("the {item} of plugin `p` is left out")));
        assert!(line.is_some_and(|line| line.contains(reason)), "{item}: {report}");
        let line = left_out.lines().find(|line| line.contains(item));
        assert!(line.is_some_and(|line| line.contains(reason)), "{item}: {inspected}");
    }
    assert!(report.contains("`tools.deny = [\"broken\"]`"), "{report}");
    assert!(report.contains("`[plugins.p.tools.rename]`"), "{report}");
    assert_eq!(report.matches("is left out").count(), LEFT_OUT.len(), "{report}");
    let strict = workspace.run(&["check", "--deny-warnings"]);
    assert_eq!(strict.status.code(), Some(78), "{strict:?}");
    let document: Value =
        serde_json::from_slice(&workspace.run(&["inspect", "p", "--format", "json"]).stdout).unwrap();
    assert_eq!(document["leftOut"].as_array().unwrap().len(), LEFT_OUT.len(), "{document}");
}

#[test]
fn items_that_fit_are_offered_and_the_others_are_unreachable() {
    let mut stdio = Stdio::initialized(&Workspace::new(ODD), "2025-11-25");
    let tools = listed(&mut stdio, "tools/list", "tools", "name");
    let (last, short) = tools.split_last().unwrap();
    assert_eq!(short, ["p_ping", "p_admin_tools_list", "p_a_b"]);
    assert!(last.len() == 64 && last.starts_with("p_long_long_"), "{last}");
    let is_accepted = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    assert!(tools.iter().all(|name| name.len() <= 64 && name.chars().all(is_accepted)), "{tools:?}");
    // The plugin gets its own names.
    for (public, own) in
        [("p_admin_tools_list", "admin.tools.list"), ("p_a_b", "a_b"), (last.as_str(), &*"long.".repeat(20))]
    {
        assert_eq!(text(&stdio.call(public, json!({}))), own);
    }
    for hidden in
        ["admin.tools.list", "p_admin.tools.list", "p_a.b", "p_broken", "p_array", "p_get_*", "p_get__"]
    {
        assert_eq!(stdio.call(hidden, json!({}))["error"]["code"], -32602, "{hidden}");
    }
    assert_eq!(listed(&mut stdio, "prompts/list", "prompts", "name"), ["p_Summarise_thread"]);
    let prompt = stdio.request_and_wait("prompts/get", json!({ "name": "p_Summarise_thread" }));
    assert_eq!(prompt["result"]["messages"][0]["content"]["text"], "Summarise thread", "{prompt}");
    for hidden in ["p_twice", "p_hidden", "Summarise thread"] {
        let answer = stdio.request_and_wait("prompts/get", json!({ "name": hidden }));
        assert_eq!(answer["error"]["code"], -32602, "{hidden}: {answer}");
    }
    assert_eq!(listed(&mut stdio, "resources/list", "resources", "uri"), ["odd://plain", "odd://diary"]);
    let templates = listed(&mut stdio, "resources/templates/list", "resourceTemplates", "uriTemplate");
    assert_eq!(templates, ["odd://{name}"]);
    for (uri, is_there) in [
        ("odd://plain", true),
        ("odd://anything/else", true),
        ("odd://with blank", false),
        ("odd://with%20blank", false),
        ("no uri", false),
    ] {
        let answer = read(&mut stdio, uri);
        assert_eq!(answer.get("result").is_some(), is_there, "{uri}: {answer}");
    }
}

#[test]
fn hidden_items_are_neither_judged_nor_reachable() {
    let denied = "[plugins.p.tools]\ndeny = [\"admin.tools.list\", \"a.b\", \"broken\", \"array\"]\n\
         [plugins.p.prompts]\ndeny = [\"twice\"]\n\
         [plugins.p.resources]\ndeny = [\"odd://diary\", \"odd://secret\", \"odd://with blank\", \"no uri\", \"{whole}\"]\n";
    let allowed = "[plugins.p.tools]\nallow = [\"a_b\"]\nrename = { a_b = \"now\" }\n\
         [plugins.p.prompts]\nallow = [\"Summarise thread\"]\nrename = { \"Summarise thread\" = \"summary\" }\n\
         [plugins.p.resources]\nallow = [\"odd://plain\"]\n";
    let workspace = Workspace::new(&format!("{ODD}allow.client = [\"elicitation\"]\n{allowed}"));
    let checked = utf8(&workspace.run(&["check"]).stderr);
    let mut judged =
        checked.lines().filter(|line| line.starts_with("warning: ") || line.starts_with("error: "));
    assert!(judged.all(|line| line.contains("icon")), "nothing that isn't offered is judged: {checked}");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    assert_eq!(listed(&mut stdio, "tools/list", "tools", "name"), ["now"]);
    assert_eq!(listed(&mut stdio, "prompts/list", "prompts", "name"), ["summary"]);
    assert_eq!(listed(&mut stdio, "resources/list", "resources", "uri"), ["odd://plain"]);
    assert!(stdio.request_and_wait("prompts/get", json!({ "name": "summary" })).get("result").is_some());
    for uri in ["odd://diary", "odd://anything"] {
        assert!(read(&mut stdio, uri).get("error").is_some(), "{uri}");
    }
    drop(stdio);

    let workspace = Workspace::new(&format!("{ODD}{denied}"));
    let checked = workspace.run(&["check"]);
    let report = utf8(&checked.stderr);
    assert!(checked.status.success(), "{report}");
    for hidden in ["a.b", "broken", "array", "twice", "odd://", "no uri", "whole"] {
        assert!(!report.contains(&format!("`{hidden}")), "`{hidden}`: {report}");
    }
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    assert_eq!(stdio.call("p_admin_tools_list", json!({}))["error"]["code"], -32602);
    // A denied URI isn't read through the template either, however it is written.
    for uri in ["odd://diary", "ODD://diary", "odd://%64iary", "odd://diary#1", "odd://secret"] {
        assert!(read(&mut stdio, uri).get("error").is_some(), "{uri}");
    }
    assert!(read(&mut stdio, "odd://else").get("result").is_some());
}

#[test]
fn misspelt_denials_refuse_the_plugin() {
    for (table, meant) in [
        ("tools.deny = [\"admin.tools.lst\"]", "did you mean `admin.tools.list`?"),
        ("prompts.deny = [\"Summarise thred\"]", "did you mean `Summarise thread`?"),
        ("resources.deny = [\"odd://{nam}\"]", "did you mean `odd://{name}`?"),
        ("resources.deny = [\"od://plain\"]", "did you mean `odd://plain`?"),
    ] {
        let workspace = Workspace::new(&format!("{ODD}{table}\n"));
        let checked = workspace.run(&["check"]);
        let report = utf8(&checked.stderr);
        assert_eq!(checked.status.code(), Some(78), "{table}: {report}");
        assert!(report.contains(meant), "{table}: {report}");
    }
}

#[test]
fn a_component_file_gets_its_warnings_without_hints_for_a_configuration() {
    let workspace = Workspace::new("");
    let file = component("malformed").display().to_string();
    let called = workspace.run(&["call", "--plugin", &file, "nobody"]);
    assert!(!utf8(&called.stderr).contains("[plugins."), "{called:?}");
    let long = Plugin::version(1).tool(format!("long_{}", "x".repeat(50))).build();
    workspace.write("a-plugin-with-a-long-name.wasm", long);
    let listed = workspace.run(&["call", "--plugin", "./a-plugin-with-a-long-name.wasm"]);
    let printed = utf8(&listed.stderr);
    assert!(printed.contains("warning: "), "{printed}");
    assert!(!printed.contains("[plugins."), "{printed}");
}

#[test]
fn plugins_with_the_same_scheme_conflict_until_uris_select_one() {
    let two =
        format!("{ODD}[plugins.q]\nsource = \"@malformed@\"\nconfig = {{ describes = \"odd items\" }}\n");
    let checked = Workspace::new(&two).run(&["check"]);
    let report = utf8(&checked.stderr);
    assert_eq!(checked.status.code(), Some(78), "{report}");
    assert!(report.contains("`uris = [\"odd://\"]`"), "{report}");
    let workspace = Workspace::new(&format!("{two}uris = [\"odd://\"]\n"));
    let checked = workspace.run(&["check"]);
    assert!(checked.status.success(), "{checked:?}");
}

#[test]
fn an_item_that_no_longer_fits_is_the_only_one_that_goes() {
    let workspace = Workspace::new("[plugins.stateful]\nsource = \"@stateful@\"\nallow.state = true\n");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let before = listed(&mut stdio, "tools/list", "tools", "name");
    let _ = stdio.call("stateful_break_lists", json!({ "key": "schema" }));
    let _ = stdio.call("stateful_offer", json!({ "key": "later" }));
    while stdio.receive()["method"] != "notifications/tools/list_changed" {}
    let after = listed(&mut stdio, "tools/list", "tools", "name");
    let new: Vec<_> = after.iter().filter(|name| !before.contains(name)).collect();
    assert_eq!(new, ["stateful_later"], "the others stay");
    let (_, _, log) = stdio.finish();
    assert!(log.contains("the tool `broken` of plugin `stateful` is left out"), "{log}");
}

#[test]
fn a_plugin_that_fails_delays_no_other_and_is_announced_when_it_recovers() {
    let table = |id: &str| format!("[plugins.{id}]\nsource = \"@stateful@\"\nallow.state = \"shared\"\n");
    let config = format!(
        "[gateway]\nwider_grants = \"live\"\n{}[plugins.other]\nsource = \"other.wasm\"\n",
        table("one")
    );
    let workspace = Workspace::new(&config);
    workspace.write("other.wasm", Plugin::version(1).build());
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    // Lists the tools after each announcement of a change, until one has this name.
    let wait_until_announced = |stdio: &mut Stdio, tool: &str| loop {
        while stdio.receive()["method"] != "notifications/tools/list_changed" {}
        let tools = listed(stdio, "tools/list", "tools", "name");
        if tools.iter().any(|name| name == tool) {
            return tools;
        }
    };
    assert_eq!(text(&stdio.call("one_break_lists", json!({ "key": "trap" }))), "broken");
    let before = std::fs::read_to_string(workspace.config()).unwrap();
    let two = table("two").replace("@stateful@", component("stateful").to_str().unwrap());
    workspace.write("gateway.toml", format!("{before}{two}prefix = \"late\"\n"));
    // A change of another plugin is served while the failing one waits for its next attempt.
    workspace.write("other.wasm", Plugin::version(2).tool("more").build());
    let tools = wait_until_announced(&mut stdio, "other_more");
    assert!(!tools.iter().any(|name| name.starts_with("late_")), "{tools:?}");
    let _ = stdio.call("one_mend_lists", json!({}));
    wait_until_announced(&mut stdio, "late_get");
    let (_, _, log) = stdio.finish();
    assert!(log.contains("`tools.list-tools` failed"), "{log}");
}
