//! The status page of a running gateway.

use moongate_tests::{Admin, Http, Workspace, wait_until};
use serde_json::{Value, json};

/// The text of the page without tags.
fn page(admin: Admin) -> String {
    let page = admin.get("/");
    assert_eq!(page.status, 200, "{page:?}");
    let parts = page.body.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    parts.collect::<Vec<_>>().join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn shows_calls_used_permissions_and_refusals() {
    let workspace = Workspace::new(
        "[http]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"127.0.0.1:0\"\n\
         [plugins.notes]\nsource = \"@filesystem@\"\n\
         allow.dirs = [{ host = \"./notes\", guest = \"/notes\" }]\n\
         [plugins.fetch]\nsource = \"@fetch@\"\nallow.http = [\"https://example.com\"]\n",
    );
    workspace.write("notes/a.txt", "hello");
    let http = Http::start(&workspace);
    let admin = http.admin();
    wait_until("the gateway is ready", || page(admin).contains("Ready"));
    let before = page(admin);
    assert!(
        before.contains("No calls in the last hour") && before.contains("1 granted, 1 unused"),
        "{before}"
    );

    assert!(
        http.call("notes_read_text_file", json!({ "path": "/notes/a.txt" })).to_string().contains("hello")
    );
    let _ = http.call("fetch_fetch", json!({ "url": "https://elsewhere.example/a" }));
    wait_until("the calls are counted", || page(admin).contains("fetch_fetch"));
    let after = page(admin);
    for part in [
        "notes_read_text_file notes 1 0",
        "/notes (ro)",
        "elsewhere.example",
        "\"https://elsewhere.example\"",
        "[plugins.fetch.allow]",
        "ok",
    ] {
        assert!(after.replace("&quot;", "\"").contains(part), "{part}: {after}");
    }
    // The directory was used, the other host wasn't.
    assert!(after.contains("notes 1 granted ") && after.contains("fetch 1 granted, 1 unused"), "{after}");
}

#[test]
fn shows_granted_and_refused_questions() {
    let workspace = Workspace::new(
        "[http]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"127.0.0.1:0\"\n\
         [plugins.asking]\nsource = \"builtin:everything\"\nallow.client = [\"elicitation\"]\nallow.state = true\n\
         [plugins.curious]\nsource = \"builtin:everything\"\nallow.client = [\"sampling\"]\nallow.state = true\n\
         [plugins.curious.resources]\nallow = []\n",
    );
    let http = Http::start(&workspace);
    let admin = http.admin();
    wait_until("the gateway is ready", || page(admin).contains("Ready"));
    for plugin in ["asking", "curious"] {
        let _ = http.call(&format!("{plugin}_test_elicitation_sep1330_enums"), json!({}));
    }
    let after = page(admin).replace("&quot;", "\"");
    assert!(
        after.contains("asking 2 granted Kind") && after.contains("curious 2 granted, 1 unused"),
        "{after}"
    );
    assert!(
        after.contains("curious to ask the client for elicitation add \"elicitation\" to client in [plugins.curious.allow]"),
        "{after}"
    );
}

/// The headers of a form of the page itself.
const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\nSec-Fetch-Site: same-origin\r\n";

#[test]
fn tools_are_tried_as_the_operator_and_audited() {
    let workspace = Workspace::new(
        "[http]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"127.0.0.1:0\"\n\
         [audit]\nfile = \"audit.jsonl\"\n\
         [roles.nobody]\nmembers = [{ caller = \"anonymous\" }]\nallow.tools = [\"nothing_*\"]\n\
         [plugins.time]\nsource = \"builtin:time\"\n",
    );
    // With roles, the admin listener needs credentials, too.
    let refused = Http::start(&workspace);
    assert_eq!(refused.admin().get("/try").status, 403);
    let _ = refused.terminate();

    let config = std::fs::read_to_string(workspace.config()).unwrap();
    let trusting = config.replace("[admin]\n", "[admin]\ntry_tools = \"all\"\n");
    workspace.write("gateway.toml", trusting);
    let http = Http::start(&workspace);
    let admin = http.admin();
    let form = admin.get("/try?tool=time_get_current_time").body;
    assert!(form.contains("<code>timezone</code>") && form.contains("Call time_get_current_time"), "{form}");
    let called = admin.send("POST", "/try", FORM, "tool=time_get_current_time&a0=Asia%2FTokyo");
    assert_eq!(called.status, 200, "{called:?}");
    let shown = called.body.replace("&quot;", "\"");
    assert!(shown.contains("\"timezone\": \"Asia/Tokyo\"") && shown.contains("badge good"), "{shown}");
    // The gateway checks the arguments.
    let json = "tool=time_get_current_time&json=%7B%22timezone%22%3A7%7D";
    let invalid = admin.send("POST", "/try", FORM, json).body;
    assert!(invalid.contains("timezone") && invalid.contains("badge bad"), "{invalid}");
    http.wait_for_log("caller=\"operator\"");
    let (_, _) = http.terminate();
    let records = std::fs::read_to_string(workspace.path().join("audit.jsonl")).unwrap();
    let calls: Vec<Value> = records.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let call =
        calls.iter().find(|record| record["event"] == "tool_call").unwrap_or_else(|| panic!("{records}"));
    assert_eq!(call["principal"], json!({ "kind": "operator", "address": "127.0.0.1" }), "{call}");
    assert_eq!(call["client"]["name"], "moongate-status-page", "{call}");
    let denied = |record: &&Value| record["event"] == "admin" && record["reason"] == "try_tools";
    assert!(calls.iter().any(|record| denied(&record)), "{records}");
}
