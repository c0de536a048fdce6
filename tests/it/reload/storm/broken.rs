//! If a file is replaced by a broken one, the running version keeps serving, the operator sees the file and the cause,
//! and the next working version is loaded.

use std::fs;
use std::path::Path;
use std::thread;

use moongate_generated::{Plugin, TOOL};
use moongate_tests::{Board, Broken, Http, LARGEST, Replaced, TAKEN, text, until};
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
        Some("serving") => String::new(),
        other => panic!("{other:?}: {status}"),
    }
}

#[test]
fn broken_replacements_are_reported_and_never_served() {
    let limits = format!("[plugins.p.limits]\ncomponent = \"{LARGEST}\"\ndescribe_timeout = \"2s\"\n");
    let workspace = workspace(&["q", "p"], &limits);
    workspace.write("q.wasm", Plugin::version(1).without(TOOL).tool(TAKEN).build());
    let cache = workspace.path().join("cache");
    let http = Http::start_in(&workspace, &cache);
    let admin = http.admin();
    let board = Board::new(2);
    let precompiled = precompiled(&cache);
    let file = workspace.path().join("p.wasm");
    thread::scope(|scope| {
        let _alarm = board.alarm();
        for client in [0, 1] {
            let board = &board;
            let http = &http;
            scope.spawn(move || {
                let _alarm = board.alarm();
                while !board.is_over() {
                    let oldest = board.newest(&[0, 1]);
                    let version = version_in(text(&http.call(TOOL, json!({}))));
                    assert!(version >= oldest, "version {version} answered after {oldest}");
                    board.saw(client, version);
                }
            });
        }
        for (number, broken) in (1..).zip(Broken::ALL) {
            board.until_all_see(number);
            let good = http.ask("tools/list", json!({})).json();
            broken.put(&file, 1000 + number, &precompiled);
            let status = admin.until(&format!("{broken:?} is noticed"), |status| !trouble(status).is_empty());
            let reason = trouble(&status);
            for words in broken.said() {
                assert!(reason.contains(words), "{broken:?}: `{words}` is missing in: {reason}");
            }
            let told = |line: &str| line.contains("plugin=p") && line.contains(&reason);
            until(&format!("{broken:?}: `{reason}` is logged"), || http.log().lines().any(told));
            // A conflict isn't about the file; the message names both plugins.
            let named = if broken == Broken::Conflict { "`q` and `p`" } else { "p.wasm" };
            assert!(reason.contains(named), "{broken:?}: `{named}` is missing in: {reason}");
            assert!(admin.plugin("p")["source"].as_str().unwrap().ends_with("p.wasm"));
            board.until_answered(CALLS_MEANWHILE);
            assert_eq!(board.newest(&[0, 1]), number, "{broken:?}");
            assert_eq!(http.ask("tools/list", json!({})).json()["result"], good["result"], "{broken:?}");
            broken.clear(&file);
            Replaced::new(file.clone()).with(&version(number + 1).build());
            board.until_all_see(number + 1);
            let list = http.ask("tools/list", json!({})).json().to_string();
            assert!(list.contains(&format!("\"{}\"", tool(number + 1))), "{list}");
            admin.until("it is well again", |status| trouble(status).is_empty());
        }
        board.end();
    });
}
