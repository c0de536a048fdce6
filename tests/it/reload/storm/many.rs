//! Many reloads leak no resources: memory, descriptors, mappings and threads stay as after the first ones, and one
//! generation of each plugin's code is loaded.

use moongate_tests::{
    Http, ReplaceMethod, ReplaceableFile, ResourceUsage, Workspace, scaled_rounds, text, wait_until,
};
use serde_json::json;

use super::version_in;
use moongate_generated::Plugin;

/// Plugins that are replaced together, which takes hardly longer than replacing one.
const PLUGINS: [&str; 5] = ["a", "b", "c", "d", "e"];

/// The number of times all plugins are replaced: 100 reloads.
const ROUNDS: u32 = 20;

/// Every n-th round relies on file watching; the others request a reload, which is faster.
const WATCHED_ROUND_INTERVAL: u32 = 5;

/// The rounds before the first measurement, while pools, caches and threads grow.
const WARM_UP_ROUNDS: u32 = 6;

/// The allowed growth of memory in KiB: the allocator retains memory, and a call can run during the measurement.
const MAX_MEMORY_GROWTH_KIB: u64 = 24 << 10;

/// The allowed growth of descriptors and threads: closing connections and idle threads.
const MAX_COUNT_GROWTH: u64 = 24;

/// The allowed growth of mappings: every thread has its own.
const MAX_MAPPING_GROWTH: u64 = 150;

/// A version of the plugin with this name. Its tool has the same name.
fn component(plugin: &str, version: u32) -> Vec<u8> {
    Plugin::version(version).without(moongate_generated::TOOL).tool(plugin).build()
}

/// The resource usage of the idle gateway.
fn idle_usage(http: &Http) -> ResourceUsage {
    let one = |status: &serde_json::Value| status["settled"] == true;
    http.admin().wait_until_status("the gateway has settled", one);
    for plugin in PLUGINS {
        wait_until("one generation of the code is loaded", || generations(http, plugin) == 1.0);
    }
    ResourceUsage::of(http.pid())
}

fn generations(http: &Http, plugin: &str) -> f64 {
    let name = format!("moongate_plugin_generations{{plugin=\"{plugin}\"}}");
    http.admin().metric(&name).unwrap_or_else(|| panic!("no `{name}`: {:?}", http.admin().get("/metrics")))
}

#[test]
fn repeated_reloads_leak_no_resources() {
    let mut config = String::from("[http]\nlisten = \"127.0.0.1:0\"\n[admin]\nlisten = \"127.0.0.1:0\"\n");
    for plugin in PLUGINS {
        config.push_str(&format!("[plugins.{plugin}]\nsource = \"{plugin}/plugin.wasm\"\nprefix = \"\"\n"));
    }
    let workspace = Workspace::new(&config);
    let mut files = PLUGINS.map(|plugin| {
        let file = format!("{plugin}/plugin.wasm");
        workspace.write(&file, component(plugin, 1));
        ReplaceableFile::new(workspace.path().join(file))
    });
    // These versions are of no use to other tests, so they get their own code cache.
    let http = Http::start_with_cache(&workspace, &workspace.path().join("cache"));
    let mut before = None;
    let last = 1 + scaled_rounds(ROUNDS);
    for version in 2..=last {
        let way = ReplaceMethod::ALL[version as usize % ReplaceMethod::ALL.len()];
        for (file, plugin) in files.iter_mut().zip(PLUGINS) {
            file.replace_by(way, &component(plugin, version), &mut || {});
        }
        // Now and then, rely on file watching.
        if !version.is_multiple_of(WATCHED_ROUND_INTERVAL) {
            let reloaded = http.admin().reload();
            assert_eq!(reloaded["failed"], json!([]), "{reloaded}");
        }
        for plugin in PLUGINS {
            wait_until("the new code answers", || version_in(text(&http.call(plugin, json!({})))) == version);
        }
        if version == 1 + WARM_UP_ROUNDS {
            before = Some(idle_usage(&http));
        }
    }
    let before = before.unwrap();
    let after = idle_usage(&http);
    assert!(after.resident <= before.resident + MAX_MEMORY_GROWTH_KIB, "{before:?} became {after:?}");
    assert!(after.descriptors <= before.descriptors + MAX_COUNT_GROWTH, "{before:?} became {after:?}");
    assert!(after.threads <= before.threads + MAX_COUNT_GROWTH, "{before:?} became {after:?}");
    assert!(after.mappings <= before.mappings + MAX_MAPPING_GROWTH, "{before:?} became {after:?}");
    let reloads = &http.admin().status()["reloads"];
    assert!(reloads["replaced"].as_u64() >= Some(u64::from(last - 1) * PLUGINS.len() as u64), "{reloads}");
}
