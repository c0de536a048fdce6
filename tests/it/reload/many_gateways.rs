//! Several gateways on one `gateway.toml`: each host starts its own.

use std::fs;
use std::path::PathBuf;

use moongate_tests::{Http, Stdio, Workspace, text};
use serde_json::json;

#[test]
fn concurrent_gateways_share_the_code_cache() {
    let workspace = Workspace::with_plugin("time");
    let mut one = Stdio::initialized(&workspace, "2025-11-25");
    let mut two = Stdio::initialized(&workspace, "2024-11-05");
    let http = Http::start(&workspace);
    for _ in 0..3 {
        for answer in [
            one.call("time_get_current_time", json!({ "timezone": "UTC" })),
            two.call("time_get_current_time", json!({ "timezone": "UTC" })),
            http.call("time_get_current_time", json!({ "timezone": "UTC" })),
        ] {
            assert!(text(&answer).contains("UTC"), "{answer}");
        }
    }
}

#[test]
fn concurrent_gateways_fill_an_empty_cache_once() {
    let workspace = Workspace::with_plugin("time");
    let cache = workspace.path().join("cache");
    let start = || workspace.command(&["list"]).env("MOONGATE_CACHE_DIR", &cache).spawn().unwrap();
    let mut running: Vec<_> = (0..3).map(|_| start()).collect();
    for process in &mut running {
        assert!(process.wait().unwrap().success());
    }
    let files = || {
        let mut names: Vec<_> =
            fs::read_dir(&cache).unwrap().flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        names
    };
    let filled = files();
    assert_eq!(
        filled.iter().filter(|name| name.to_string_lossy().ends_with(".cwasm")).count(),
        1,
        "{filled:?}"
    );
    assert!(!filled.iter().any(|name| name.to_string_lossy().contains("tmp")), "{filled:?}");
    assert!(start().wait().unwrap().success());
    assert_eq!(files(), filled);
}

#[test]
fn rebuilds_corrupt_cache_entries() {
    let workspace = Workspace::with_plugin("time");
    let cache = workspace.path().join("cache");
    let list = || {
        let output = workspace.command(&["list"]).env("MOONGATE_CACHE_DIR", &cache).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let entry = || {
        let entries = fs::read_dir(&cache).unwrap().flatten().map(|entry| entry.path());
        let is_code = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "cwasm");
        let entries: Vec<_> = entries.filter(is_code).collect();
        let [entry] = &entries[..] else { panic!("{entries:?}") };
        entry.clone()
    };
    list();
    let whole = fs::read(entry()).unwrap();
    let flipped =
        whole.iter().enumerate().map(|(at, byte)| if at == whole.len() / 2 { byte ^ 1 } else { *byte });
    for damaged in [Vec::new(), whole[..whole.len() / 2].to_vec(), flipped.collect()] {
        fs::write(entry(), damaged).unwrap();
        list();
        assert!(fs::read(entry()).unwrap() == whole, "the entry wasn't rebuilt");
    }
    // A partial file of a gateway killed while writing does no harm.
    fs::write(cache.join("0123.cwasm.tmp"), &whole[..1000]).unwrap();
    list();
}
