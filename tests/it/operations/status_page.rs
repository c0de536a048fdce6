//! The status page of a running gateway.

use moongate_tests::{Admin, Http, Workspace, wait_until};
use serde_json::json;

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
