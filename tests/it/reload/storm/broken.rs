//! If a file is replaced by a broken one, the running version keeps serving, the operator sees the file and the cause,
//! and the next working version is loaded.

use std::fs;
use std::path::Path;
use std::thread;

use moongate_generated::{Plugin, TOOL};
use moongate_tests::{
    BrokenPlugin, ClientProgress, Http, MAX_FILE_SIZE, ReplaceableFile, TAKEN_TOOL, text, wait_until,
};
use serde_json::{Value, json};

use super::{tool, version, version_in, workspace};

/// The number of calls answered while the file is broken.
const CALLS_MEANWHILE: u64 = 20;

/// Machine code compiled by the gateway.
fn precompiled(cache: &Path) -> Vec<u8> {
    let mut files = fs::read_dir(cache).unwrap().flatten().map(|entry| entry.path());
    fs::read(files.find(|file| file.extension().is_some_and(|it| it == "cwasm")).unwrap()).unwrap()
}

/// The plugin's trouble in the status; empty if there is none.
fn trouble(status: &Value) -> String {
    let plugins = status["plugins"].as_array().unwrap();
    let plugin = plugins.iter().find(|plugin| plugin["id"] == "p").unwrap();
    match plugin["state"].as_str() {
        Some("degraded") => plugin["trouble"]["reason"].as_str().unwrap().to_owned(),
        Some("serving" | "checking" | "compiling") => String::new(),
        other => panic!("{other:?}: {status}"),
    }
}

#[test]
fn broken_replacements_are_reported_and_never_served() {
    let limits = format!("[plugins.p.limits]\ncomponent = \"{MAX_FILE_SIZE}\"\ndescribe_timeout = \"2s\"\n");
    let workspace = workspace(&["q", "p"], &limits);
    workspace.write("q.wasm", Plugin::version(1).without(TOOL).tool(TAKEN_TOOL).build());
    let cache = workspace.path().join("cache");
    let http = Http::start_with_cache(&workspace, &cache);
    let admin = http.admin();
    let progress = ClientProgress::new(2);
    let precompiled = precompiled(&cache);
    let file = workspace.path().join("p.wasm");
    thread::scope(|scope| {
        let _guard = progress.failure_guard();
        for client in [0, 1] {
            let progress = &progress;
            let http = &http;
            scope.spawn(move || {
                let _guard = progress.failure_guard();
                while !progress.should_stop() {
                    let oldest = progress.newest_seen(&[0, 1]);
                    let version = version_in(text(&http.call(TOOL, json!({}))));
                    assert!(version >= oldest, "version {version} answered after {oldest}");
                    progress.record(client, version);
                }
            });
        }
        for (number, broken) in (1..).zip(BrokenPlugin::ALL) {
            progress.wait_until_all_see(number);
            let good = http.request_and_wait("tools/list", json!({})).json();
            broken.write_to(&file, 1000 + number, &precompiled);
            let status = admin
                .wait_until_status(&format!("{broken:?} is reported"), |status| !trouble(status).is_empty());
            let reason = trouble(&status);
            for words in broken.expected_words() {
                assert!(reason.contains(words), "{broken:?}: `{words}` is missing in: {reason}");
            }
            let names_cause = |line: &str| line.contains("plugin=p") && line.contains(&reason);
            wait_until(&format!("{broken:?}: `{reason}` is logged"), || http.log().lines().any(names_cause));
            // A conflict isn't about the file; the message names both plugins.
            let named = if broken == BrokenPlugin::Conflict { "`q` and `p`" } else { "p.wasm" };
            assert!(reason.contains(named), "{broken:?}: `{named}` is missing in: {reason}");
            assert!(admin.plugin("p")["source"].as_str().unwrap().ends_with("p.wasm"));
            progress.wait_for_responses(CALLS_MEANWHILE);
            assert_eq!(progress.newest_seen(&[0, 1]), number, "{broken:?}");
            assert_eq!(
                http.request_and_wait("tools/list", json!({})).json()["result"],
                good["result"],
                "{broken:?}"
            );
            broken.clear(&file);
            ReplaceableFile::new(file.clone()).replace(&version(number + 1).build());
            progress.wait_until_all_see(number + 1);
            let list = http.request_and_wait("tools/list", json!({})).json().to_string();
            assert!(list.contains(&format!("\"{}\"", tool(number + 1))), "{list}");
            admin.wait_until_status("the plugin has recovered", |status| trouble(status).is_empty());
        }
        progress.finish();
    });
}
