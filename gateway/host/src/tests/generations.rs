//! Replaced code: plugins that share it, its lifetime, and leaks.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use moongate_config::{PluginConfig, Secret, StateGrant};
use moongate_model::call::{CallContext, CallError};
use moongate_model::caller::Caller;
use moongate_model::names::{Digest, PluginId, Principal, StoreName, ToolName};
use moongate_model::plugin::Plugin as _;
use tempfile::TempDir;

use super::{Guest, config, host, idle_gauges, load, load_file};
use crate::wasi::keyvalue::StoreAccess;
use crate::{ComponentFile, HostGauges, WasmHost, WasmPlugin};

/// Calls the guest's tool and drops the result.
async fn call(plugin: &WasmPlugin) -> Result<(), CallError> {
    let context = Arc::new(CallContext::internal(Caller::Local));
    plugin.call_tool(context, &ToolName::new("run").unwrap(), "{}").await.map(drop)
}

fn generations(host: &WasmHost) -> u32 {
    let all = host.generations();
    assert!(all.keys().all(|id| id.as_str() == "guest"), "{all:?}");
    all.get(&PluginId::new("guest").unwrap()).copied().unwrap_or(0)
}

/// The configuration of `plugin`, modified.
fn changed(plugin: &WasmPlugin, change: impl FnOnce(&mut PluginConfig)) -> Arc<PluginConfig> {
    let mut config = (*plugin.sandbox.config).clone();
    change(&mut config);
    Arc::new(config)
}

#[tokio::test]
async fn another_configuration_shares_the_code() {
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let guest = Guest::that("(loop $again (br $again))");
    let limit = |limit| move |config: &mut PluginConfig| config.limits.timeout = Duration::from_millis(limit);
    let before = load(&host, dir.path(), &guest, limit(20)).await;
    let after = before.with_config(changed(&before, limit(10)));
    assert_eq!(call(&before).await, Err(CallError::Timeout(Duration::from_millis(20))));
    assert_eq!(call(&after).await, Err(CallError::Timeout(Duration::from_millis(10))));
    assert_eq!((after.digest(), after.manifest()), (before.digest(), before.manifest()));
    let relisted = after.describe_again().await.unwrap();
    assert_eq!(generations(&host), 1);
    drop((before, after));
    assert_eq!(call(&relisted).await, Err(CallError::Timeout(Duration::from_millis(10))));
    assert_eq!(generations(&host), 1);
    drop(relisted);
    assert_eq!((generations(&host), host.gauges()), (0, HostGauges::default()));
}

#[tokio::test]
async fn a_new_configuration_can_change_the_description() {
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let guest = Guest {
        world: "import wasi:config/store@0.2.0-rc.1;",
        fields: r#"(import "wasi:config/store@0.2.0-rc.1" "get" (func $get (param i32 i32 i32)))
            (data (i32.const 64) "k")"#,
        // With the setting `k`, the tool's name is truncated to two letters.
        list: "(call $get (i32.const 64) (i32.const 1) (i32.const 8192))
            (if (i32.load8_u (i32.const 8196)) (then (i32.store (i32.const 2308) (i32.const 2))))",
        ..Guest::default()
    };
    let before = load(&host, dir.path(), &guest, |_| {}).await;
    let set = changed(&before, |config| {
        config.settings.insert("k".to_owned(), Secret::new("v".to_owned()));
    });
    let after = before.with_config(set);
    assert_eq!(after.manifest().tools[0].name.as_str(), "run");
    assert_eq!(after.describe_again().await.unwrap().manifest().tools[0].name.as_str(), "ru");
}

#[tokio::test]
async fn each_loaded_file_is_a_generation_until_it_is_dropped() {
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let first = load(&host, dir.path(), &Guest::default(), |_| {}).await;
    let second = load(&host, dir.path(), &Guest::that("nop"), |_| {}).await;
    assert_ne!(first.digest(), second.digest());
    assert_eq!((generations(&host), host.gauges().generations), (2, 2));
    // A component that fails to load doesn't count.
    let broken = Guest { describe: "unreachable", ..Guest::default() };
    let config = Arc::new(config(dir.path(), &broken.build()));
    load_file(&host, &config).await.unwrap_err();
    assert_eq!(generations(&host), 2);
    drop(first);
    assert_eq!(host.gauges(), idle_gauges());
}

#[tokio::test]
async fn a_running_call_keeps_its_code() {
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let endless = Guest::that("(loop $again (br $again))");
    let plugin = load(&host, dir.path(), &endless, |_| {}).await;
    let context = Arc::new(CallContext::internal(Caller::Local));
    let cancel = context.cancel.clone();
    let running = {
        let plugin = Arc::clone(&plugin);
        tokio::spawn(async move {
            plugin.call_tool(context, &ToolName::new("run").unwrap(), "{}").await.map(drop)
        })
    };
    while host.gauges().running_calls == 0 {
        tokio::task::yield_now().await;
    }
    drop(plugin);
    assert_eq!(generations(&host), 1);
    cancel.cancel();
    assert_eq!(running.await.unwrap(), Err(CallError::Cancelled));
    assert_eq!(host.gauges(), HostGauges::default());
}

#[tokio::test]
async fn calls_of_a_retired_plugin_fail_as_replaced() {
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let before = load(&host, dir.path(), &Guest::default(), |_| {}).await;
    let after = before.with_config(changed(&before, |_| {}));
    before.retire(Duration::from_secs(3600));
    assert_eq!(call(&before).await, Ok(()));
    before.retire(Duration::ZERO);
    let refused = async {
        while call(&before).await.is_ok() {
            tokio::task::yield_now().await;
        }
        call(&before).await
    };
    let refused = tokio::time::timeout(Duration::from_secs(60), refused).await.unwrap();
    assert_eq!(refused, Err(CallError::Replaced));
    assert_eq!(call(&after).await, Ok(()));
    drop(after);
    // The old plugin is still referenced, but its code is released.
    assert_eq!(host.gauges(), HostGauges::default());
    let error = before.describe_again().await.unwrap_err();
    assert!(error.to_string().contains("replaced"), "{error}");
}

#[tokio::test]
async fn a_call_ends_when_its_code_is_released() {
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let endless = Guest::that("(loop $again (br $again))");
    let plugin = load(&host, dir.path(), &endless, |_| {}).await;
    let (ended, ()) = tokio::join!(call(&plugin), async {
        plugin.sandbox.code.release_after(Duration::ZERO, Duration::ZERO);
    });
    assert_eq!(ended, Err(CallError::Replaced));
    assert_eq!(host.gauges(), HostGauges::default());
}

#[tokio::test]
async fn state_outlives_code_and_configuration() {
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let own = |config: &mut PluginConfig| config.allow.state = StateGrant::Own;
    let access =
        |plugin: &WasmPlugin| plugin.sandbox.shared.stores.of(&plugin.sandbox.config, &Principal::Local);
    let kept = |plugin: &WasmPlugin| match access(plugin) {
        StoreAccess::Granted(kept) => kept,
        StoreAccess::Refused => panic!("state isn't granted"),
    };
    let first = load(&host, dir.path(), &Guest::default(), own).await;
    kept(&first).set("key".to_owned(), b"value".to_vec(), 1000).await.unwrap();
    let shared = StoreName::new("shared").unwrap();
    let moved = first.with_config(changed(&first, |config| config.allow.state = StateGrant::Shared(shared)));
    assert_eq!(kept(&moved).get("key".to_owned()).await.unwrap(), None);
    let refused = moved.with_config(changed(&first, |config| config.allow.state = StateGrant::NotGranted));
    assert!(matches!(access(&refused), StoreAccess::Refused));
    drop((first, moved, refused));
    let second = load(&host, dir.path(), &Guest::that("nop"), own).await;
    assert_eq!(kept(&second).get("key".to_owned()).await.unwrap().as_deref(), Some(&b"value"[..]));
}

/// The number of this process's mappings of files in the directory.
#[cfg(target_os = "linux")]
fn mappings(dir: &Path) -> usize {
    let dir = dir.to_str().unwrap();
    std::fs::read_to_string("/proc/self/maps").unwrap().lines().filter(|line| line.contains(dir)).count()
}

/// The number of this process's open files in the directory.
#[cfg(target_os = "linux")]
fn descriptors(dir: &Path) -> usize {
    let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    open.filter(|fd| std::fs::read_link(fd.path()).is_ok_and(|file| file.starts_with(dir))).count()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn two_hundred_reloads_leave_no_code_behind() {
    const BODIES: [&str; 4] = ["nop", "(drop (i32.const 1))", "(drop (i32.const 2))", "(drop (i32.const 3))"];
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let open = descriptors(dir.path());
    let mut serving = load(&host, dir.path(), &Guest::default(), |_| {}).await;
    call(&serving).await.unwrap();
    let held = mappings(dir.path());
    let guests = BODIES.map(|body| Guest::that(body).build());
    assert!(held > 0, "code isn't mapped from the cache");
    for at in 0..200 {
        let bytes = guests[at % guests.len()].clone();
        let candidate = ComponentFile { digest: Digest::of(&bytes), bytes, settled: None };
        serving = host.load(Arc::clone(&serving.sandbox.config), candidate).await.unwrap();
        // A slot of the pool now has memory, and keeps it for the next call.
        call(&serving).await.unwrap();
        if at % 20 == 0 {
            assert_eq!(mappings(dir.path()), held, "after {at}");
        }
    }
    assert_eq!(host.gauges(), idle_gauges());
    drop(serving);
    assert_eq!((mappings(dir.path()), descriptors(dir.path())), (0, open));
}
