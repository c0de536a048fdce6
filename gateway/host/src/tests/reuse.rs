//! Reuse of an instance for another call.

use std::sync::Arc;
use std::time::Duration;

use moongate_config::{InstancePolicy, PluginConfig};
use moongate_model::call::{CallContext, Content};
use moongate_model::caller::Caller;
use moongate_model::names::ToolName;
use moongate_model::plugin::Plugin as _;
use tempfile::TempDir;

use super::{Guest, host, idle_gauges, load};
use crate::{HostGauges, WasmPlugin};

/// Returns the number of calls that the instance has served. Once it has served any, describing traps.
const COUNTS: Guest = Guest {
    world: "",
    fields: "(global $calls (mut i32) (i32.const 48))",
    body: "
        (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
        (i32.store (i32.const 3080) (i32.const 3200)) (i32.store (i32.const 3084) (i32.const 1))
        (i32.store8 (i32.const 3300) (global.get $calls))
        (i32.store (i32.const 3208) (i32.const 3300)) (i32.store (i32.const 3212) (i32.const 1))",
    describe: "(if (i32.gt_u (global.get $calls) (i32.const 48)) (then unreachable))",
    list: "",
    schema: "",
};

fn reused(config: &mut PluginConfig) {
    config.instances = InstancePolicy::Reused;
}

async fn call_as(plugin: &WasmPlugin, caller: Caller) -> String {
    let context = Arc::new(CallContext::internal(caller));
    let result = plugin.call_tool(context, &ToolName::new("run").unwrap(), "{}").await.unwrap();
    let moongate_model::call::Outcome::Done(result) = result else { panic!("{result:?}") };
    let [Content::Text(text)] = &result.content[..] else { panic!("{result:?}") };
    text.text.clone()
}

async fn call(plugin: &WasmPlugin) -> String {
    call_as(plugin, Caller::Local).await
}

#[tokio::test]
async fn reuses_instances_for_the_same_principal() {
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let plugin = load(&host, dir.path(), &COUNTS, reused).await;
    assert_eq!(host.gauges(), idle_gauges(), "the describing instance isn't kept");
    assert_eq!((call(&plugin).await, call(&plugin).await), ("1".to_owned(), "2".to_owned()));
    let ann = || Caller::Named("ann".into());
    assert_eq!(call_as(&plugin, ann()).await, "1");
    assert_eq!(call_as(&plugin, Caller::LOOPBACK).await, "1");
    assert_eq!(call_as(&plugin, Caller::LOOPBACK).await, "1");
    assert_eq!((call(&plugin).await, call_as(&plugin, ann()).await), ("3".to_owned(), "2".to_owned()));
    let HostGauges { idle_instances, instances, memories, stacks, running_calls, .. } = host.gauges();
    assert_eq!((idle_instances, instances, memories, stacks, running_calls), (2, 2, 2, 2, 0));
    assert_eq!(host.idle_instances().into_values().collect::<Vec<_>>(), [2]);
    host.drop_idle_instances();
    assert_eq!(host.gauges(), idle_gauges());
}

#[tokio::test]
async fn drops_an_instance_that_grew_too_large() {
    let grows = Guest {
        fields: COUNTS.fields,
        body: "
            (drop (memory.grow (i32.const 16)))
            (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
            (i32.store (i32.const 3080) (i32.const 3200)) (i32.store (i32.const 3084) (i32.const 1))
            (i32.store8 (i32.const 3300) (global.get $calls))
            (i32.store (i32.const 3208) (i32.const 3300)) (i32.store (i32.const 3212) (i32.const 1))",
        ..Guest::default()
    };
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let plugin = load(&host, dir.path(), &grows, |config| {
        reused(config);
        config.limits.reuse_memory = Some(bytesize::ByteSize::mib(4));
    })
    .await;
    // Two pages, and 1 MiB more with each call.
    for expected in ["1", "2", "3", "4", "1", "2"] {
        assert_eq!(call(&plugin).await, expected);
    }
}

#[tokio::test]
async fn drops_an_instance_with_leaked_handles() {
    let leaks = Guest {
        world: "import wasi:io/poll@0.2.0; import moongate:plugin/cancellation@0.1.0;",
        fields: r#"
            (import "moongate:plugin/cancellation@0.1.0" "subscribe" (func $subscribe (result i32)))
            (global $calls (mut i32) (i32.const 48))"#,
        body: "
            (drop (call $subscribe))
            (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
            (i32.store (i32.const 3080) (i32.const 3200)) (i32.store (i32.const 3084) (i32.const 1))
            (i32.store8 (i32.const 3300) (global.get $calls))
            (i32.store (i32.const 3208) (i32.const 3300)) (i32.store (i32.const 3212) (i32.const 1))",
        ..Guest::default()
    };
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let plugin = load(&host, dir.path(), &leaks, reused).await;
    for _ in 0..3 {
        assert_eq!(call(&plugin).await, "1");
        assert_eq!(host.gauges(), idle_gauges());
    }
}

#[tokio::test]
async fn a_retired_plugin_keeps_no_idle_instances() {
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let plugin = load(&host, dir.path(), &COUNTS, reused).await;
    assert_eq!((call(&plugin).await, call(&plugin).await), ("1".to_owned(), "2".to_owned()));
    let again = plugin.describe_again().await.unwrap();
    assert_eq!(call(&again).await, "1");
    let regranted = plugin.with_config(Arc::clone(plugin.config()));
    assert_eq!(call(&regranted).await, "1");
    assert_eq!(host.gauges().idle_instances, 3);
    // Multi-round calls can still call it for a while, but its instances aren't kept.
    plugin.retire(Duration::from_secs(3600));
    assert_eq!(host.gauges().idle_instances, 2);
    assert_eq!((call(&plugin).await, call(&plugin).await), ("1".to_owned(), "1".to_owned()));
    drop((plugin, again, regranted));
    assert_eq!(host.gauges(), HostGauges::default());
}

#[tokio::test]
async fn idle_instances_are_evicted_for_calls() {
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let plugin = load(&host, dir.path(), &COUNTS, reused).await;
    for caller in 0..9 {
        assert_eq!(call_as(&plugin, Caller::Named(caller.to_string().into())).await, "1");
    }
    assert_eq!(host.gauges().idle_instances, 4, "the limit on concurrent calls");
    let calls: Vec<_> = (0..4).map(|_| call_as(&plugin, Caller::LOOPBACK)).collect();
    assert_eq!(futures_util::future::join_all(calls).await, ["1"; 4]);
    assert!(host.gauges().instances <= 4, "{:?}", host.gauges());
}
