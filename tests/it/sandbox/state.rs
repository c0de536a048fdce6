//! Plugins' state: shared by all calls to a plugin, and by other plugins only if they are granted the same store.

use std::thread;

use moongate_tests::{Http, Stdio, Workspace, text};
use serde_json::json;

const TWO_PLUGINS: &str = r#"
[plugins.one]
source = "@keeper@"
allow.state = true
[plugins.two]
source = "@keeper@"
allow.state = true
"#;

#[test]
fn state_is_visible_to_later_calls() {
    let workspace = Workspace::new(TWO_PLUGINS);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let mut call = |tool: &str, arguments| text(&stdio.call(&format!("one_{tool}"), arguments)).to_owned();
    assert_eq!(call("get", json!({ "key": "a" })), "nothing");
    assert_eq!(call("set", json!({ "key": "a", "value": "one" })), "set");
    assert_eq!(call("get", json!({ "key": "a" })), "one");
    assert_eq!(call("exists", json!({ "key": "a" })), "true");
    assert_eq!(call("add", json!({ "key": "n", "count": -3 })), "-3");
    assert!(call("add", json!({ "key": "a" })).contains("isn't a 64-bit integer"), "`one` isn't a number");
    assert_eq!(call("keys", json!({})), "a asked n");
    assert_eq!(call("delete", json!({ "key": "a" })), "deleted");
    assert_eq!(call("exists", json!({ "key": "a" })), "false");
    for (name, expected) in [("", "opened"), ("default", "opened"), ("other", "no such store")] {
        assert_eq!(call("open", json!({ "key": name })), expected, "{name}");
    }
}

#[test]
fn concurrent_updates_lose_nothing() {
    const CLIENTS: usize = 6;
    const CALLS: usize = 25;
    let workspace = Workspace::new(TWO_PLUGINS);
    let http = Http::start(&workspace);
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                for _ in 0..CALLS {
                    for (tool, key) in [("add", "added"), ("swap", "swapped"), ("swap", "added")] {
                        let answer = http.call(&format!("one_{tool}"), json!({ "key": key }));
                        assert!(text(&answer).parse::<usize>().is_ok(), "{answer}");
                    }
                }
            });
        }
    });
    for (key, sum) in [("added", 2 * CLIENTS * CALLS), ("swapped", CLIENTS * CALLS)] {
        assert_eq!(text(&http.call("one_get", json!({ "key": key }))), sum.to_string(), "{key}");
    }
}

#[test]
fn denies_state_without_a_grant_and_logs_the_line_to_add() {
    let workspace = Workspace::with_plugin("keeper");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let answer = stdio.call("keeper_set", json!({ "key": "a", "value": "b" }));
    assert_eq!((&answer["result"]["isError"], text(&answer)), (&json!(true), "access denied"));
    let (_, _, log) = stdio.finish();
    assert!(log.contains("add `state = true` to `[plugins.keeper.allow]`"), "{log}");
}

#[test]
fn plugins_share_state_only_through_a_common_store() {
    let workspace = Workspace::new(TWO_PLUGINS);
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let _ = stdio.call("one_set", json!({ "key": "a", "value": "secret" }));
    assert_eq!(text(&stdio.call("two_get", json!({ "key": "a" }))), "nothing");

    let workspace = Workspace::new(&TWO_PLUGINS.replace("state = true", "state = \"common\""));
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let _ = stdio.call("one_set", json!({ "key": "a", "value": "known to both" }));
    assert_eq!(text(&stdio.call("two_get", json!({ "key": "a" }))), "known to both");
}

#[test]
fn rejects_state_above_the_limit_and_keeps_the_rest() {
    let workspace = Workspace::new(
        "[plugins.keeper]\nsource = \"@keeper@\"\nallow.state = true\n[plugins.keeper.limits]\nstate = \"10KiB\"\n",
    );
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let mut call = |tool: &str, arguments| text(&stdio.call(&format!("keeper_{tool}"), arguments)).to_owned();
    assert_eq!(call("set", json!({ "key": "a", "value": "x", "count": 9_500 })), "set");
    let refused = call("set", json!({ "key": "b", "value": "x", "count": 2_000 }));
    assert!(refused.contains("limits.state") && refused.contains("10.0 KiB"), "{refused}");
    assert!(call("swap", json!({ "key": "k".repeat(1_000) })).contains("limits.state"));
    assert_eq!(call("exists", json!({ "key": "b" })), "false");
    assert_eq!(call("get", json!({ "key": "a" })).len(), 9_500);
    assert!(call("set", json!({ "key": "k".repeat(1_025), "value": "" })).contains("1024"));
    assert_eq!(call("delete", json!({ "key": "a" })), "deleted");
    assert_eq!(call("set", json!({ "key": "b", "value": "x", "count": 2_000 })), "set");
    let (_, _, log) = stdio.finish();
    assert!(log.contains("`state` in `[plugins.keeper.limits]`"), "{log}");
}

#[test]
fn limits_large_values_read_by_one_call() {
    let workspace = Workspace::new(
        "[plugins.keeper]\nsource = \"@keeper@\"\nallow.state = true\nlimits = { transfer = \"1MiB\", handles = 500 }\n",
    );
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    let mut call = |tool: &str, arguments| text(&stdio.call(&format!("keeper_{tool}"), arguments)).to_owned();
    assert_eq!(call("set", json!({ "key": "a", "value": "x", "count": 300_000 })), "set");
    assert_eq!(call("look_often", json!({ "key": "a", "count": 3 })), "looked 3 times");
    assert!(call("look_often", json!({ "key": "a", "count": 4 })).contains("limits.transfer"));
    assert!(call("look_often", json!({ "key": "none", "count": 501 })).contains("limits.handles"));
}

#[test]
fn accumulates_many_updates_of_one_call() {
    let workspace = Workspace::new("[plugins.keeper]\nsource = \"@keeper@\"\nallow.state = true\n");
    let mut stdio = Stdio::initialized(&workspace, "2025-11-25");
    for tool in ["keeper_add_often", "keeper_swap_often"] {
        let call = json!({ "key": tool, "count": 100 });
        assert_eq!(text(&stdio.call(tool, call.clone())), "100", "{tool}");
        assert_eq!(text(&stdio.call(tool, call)), "200", "{tool}");
    }
}
