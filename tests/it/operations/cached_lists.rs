//! Lists from the cache of descriptions: when they are used, and that calls never rely on them.

use std::fs;
use std::path::{Path, PathBuf};

use moongate_generated::{Behaviour, Plugin};
use moongate_model::names::Digest;
use moongate_tests::{Http, Stdio, initialize_params, request, text, wait_until};
use serde_json::{Value, json};

use super::loading::{ALL, Compiling, Fixture, tools};

/// The lists of the cached description after [`forge`].
const FORGED: [&str; 3] = ["quick_version", "late_version", "late_former"];

/// A workspace whose code and descriptions are cached.
fn cached(gateway: &str) -> Fixture {
    let fixture = Fixture::new(gateway);
    fixture.check();
    fixture
}

fn description(fixture: &Fixture) -> PathBuf {
    let [entry] = &fixture.entries("late.wasm", ".description")[..] else { panic!("no single description") };
    entry.clone()
}

fn write_description(entry: &Path, description: &str) {
    fs::write(entry, format!("{}\n{description}", Digest::of(description.as_bytes()))).unwrap();
}

fn read_description(entry: &Path) -> String {
    fs::read_to_string(entry).unwrap().split_once('\n').unwrap().1.to_owned()
}

/// Makes the cached description of `late` list another tool, as if it had changed since.
fn forge(fixture: &Fixture) {
    let entry = description(fixture);
    let genuine = read_description(&entry);
    let forged = genuine.replace("\"name\":\"extra\"", "\"name\":\"former\"");
    assert_ne!(forged, genuine);
    write_description(&entry, &forged);
}

/// Makes the code of `late` unusable and keeps it from being compiled again, so that `late` can't describe itself.
fn delay_code(fixture: &Fixture) -> Compiling {
    let code = fixture.entries("late.wasm", ".cwasm").remove(0);
    fs::write(&code, "torn").unwrap();
    Compiling::lock(&code)
}

/// Replaces `late` by a plugin that behaves like this when it is asked for its lists, with the description of `late`.
fn replace_late(fixture: &Fixture, list: Behaviour) {
    let former = description(fixture);
    fixture.workspace.write("late.wasm", Plugin::version(3).list(list).build());
    // Compiles it, and finds that it can't be used.
    assert!(!fixture.command(&["check"]).output().unwrap().status.success());
    let digest = Digest::of(&fs::read(fixture.workspace.path().join("late.wasm")).unwrap()).to_string();
    let code = fixture.entries("late.wasm", ".cwasm").remove(0);
    let mut description: Value = serde_json::from_str(&read_description(&former)).unwrap();
    description["code"] = json!(code.file_name().unwrap().to_str().unwrap());
    let name = former.file_name().unwrap().to_str().unwrap();
    write_description(&fixture.cache.join(format!("{digest}{}", &name[64..])), &description.to_string());
}

fn start(fixture: &Fixture) -> Stdio {
    let mut client = Stdio::spawn_loading(fixture.command(&["serve", "--stdio"]));
    client.request_and_wait("initialize", initialize_params("2025-06-18"));
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    client
}

#[test]
fn plugins_are_listed_without_running_them() {
    let fixture = cached("startup_wait = \"0s\"");
    replace_late(&fixture, Behaviour::NeverEnds);
    let mut client = start(&fixture);
    assert_eq!(tools(&client.request_and_wait("tools/list", json!({}))), ALL);
    assert_eq!(text(&client.call("quick_version", json!({}))), "v1");
}

#[test]
fn changed_lists_replace_cached_ones_before_calls() {
    // A tool that isn't in the cached list may be new, so its call waits.
    let fixture = cached("startup_wait = \"1h\"");
    forge(&fixture);
    let compiling = delay_code(&fixture);
    let mut client = start(&fixture);
    assert_eq!(tools(&client.request_and_wait("tools/list", json!({}))), FORGED);
    // One tool exists in both lists, one only in the cache, and one only in the plugin.
    for (id, name) in [(11, "late_version"), (12, "late_former"), (13, "late_extra")] {
        client.send(&request(id, "tools/call", json!({ "name": name, "arguments": {} })));
    }
    assert_eq!(text(&client.call("quick_version", json!({}))), "v1", "other plugins don't wait");
    drop(compiling);
    assert_eq!(text(&client.response(11)), "v2");
    let former = client.response(12);
    assert!(former["error"]["message"].as_str().is_some_and(|it| it.contains("late_former")), "{former}");
    assert_eq!(text(&client.response(13)), "v2");
    let queued = client.take_queued();
    let is_notified = |message: &Value| message["method"] == "notifications/tools/list_changed";
    assert!(queued.iter().any(is_notified) || is_notified(&client.receive()), "{queued:?}");
    assert_eq!(tools(&client.request_and_wait("tools/list", json!({}))), ALL);
    let (_, status, log) = client.finish();
    assert!(status.success() && log.contains("`late` changed its lists"), "{status}: {log}");
    // The cache has the current description again.
    let current = read_description(&description(&fixture));
    assert!(current.contains("\"name\":\"extra\"") && !current.contains("\"former\""), "{current}");
}

#[test]
fn wrong_lists_are_replaced_even_if_nobody_calls() {
    let fixture = cached("");
    forge(&fixture);
    let http = Http::spawn(fixture.command(&["serve"]));
    wait_until("the list is current", || {
        tools(&http.request_and_wait("tools/list", json!({})).json()) == ALL
    });
    http.wait_for_log("`late` changed its lists");
}

#[test]
fn plugins_that_fail_after_they_were_listed_are_reported() {
    let fixture = cached("");
    replace_late(&fixture, Behaviour::Traps);
    let http = Http::spawn(fixture.command(&["serve"]));
    assert_eq!(tools(&http.request_and_wait("tools/list", json!({})).json()), ALL);
    let failed = http.call("late_version", json!({}));
    let message = format!("{failed}");
    assert!(message.contains("crashed") || message.contains("describe"), "{message}");
    let admin = http.admin();
    let status =
        admin.wait_until_status("`late` is degraded", |status| status["plugins"][1]["state"] == "degraded");
    let reason = status["plugins"][1]["trouble"]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("list-tools"), "{status}");
    http.wait_for_log("list-tools");
    assert_eq!(text(&http.call("quick_version", json!({}))), "v1");
}

#[test]
fn damaged_descriptions_and_those_of_other_grants_are_ignored() {
    let list = |fixture: &Fixture| {
        let mut client = start(fixture);
        let list = client.request_and_wait("tools/list", json!({}));
        let (_, status, log) = client.finish();
        assert!(status.success() && !log.contains("ERROR"), "{status}: {log}");
        tools(&list).iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()
    };
    let damages: [fn(&Fixture); 4] = [
        |fixture| fs::write(description(fixture), "torn").unwrap(),
        |fixture| {
            forge(fixture);
            let entry = description(fixture);
            let checksum = Digest::of(b"another");
            fs::write(&entry, format!("{checksum}\n{}", read_description(&entry))).unwrap();
        },
        |fixture| write_description(&description(fixture), "{}"),
        |fixture| fs::write(fixture.cache.join("files.digests"), "torn").unwrap(),
    ];
    for damage in damages {
        let fixture = cached("");
        damage(&fixture);
        assert_eq!(list(&fixture), ALL);
        assert_eq!(fixture.entries("late.wasm", ".description").len(), 1);
    }
    for line in ["allow.env = [\"PATH\"]", "config.zone = \"UTC\"", "limits.handles = 77"] {
        let fixture = cached("");
        forge(&fixture);
        let config = fs::read_to_string(fixture.workspace.config()).unwrap();
        fixture.workspace.write("gateway.toml", format!("{config}{line}\n"));
        assert_eq!(list(&fixture), ALL, "the description without `{line}` was used");
        assert_eq!(fixture.entries("late.wasm", ".description").len(), 2, "{line}");
    }
}

#[test]
fn changed_components_are_not_listed_from_the_cache() {
    let fixture = cached("");
    // Later starts know the digests of files that had settled when they were read.
    let source = fixture.workspace.path().join("late.wasm");
    wait_until("the file is known", || {
        fixture.check();
        let digest = Digest::of(&fs::read(&source).unwrap()).to_string();
        fs::read_to_string(fixture.cache.join("files.digests")).is_ok_and(|list| list.contains(&digest))
    });
    fixture.workspace.write("late.wasm", Plugin::version(4).tool("newer").build());
    let mut client = start(&fixture);
    let newer = ["quick_version", "late_version", "late_newer"];
    wait_until("the new component serves", || {
        tools(&client.request_and_wait("tools/list", json!({}))) == newer
    });
    assert_eq!(text(&client.call("late_version", json!({}))), "v4");
}
