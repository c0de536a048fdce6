//! Tests of the host with small guests in WebAssembly's text format.

mod calls;
mod generations;
mod openings;
mod reports;
mod reuse;
mod grant_warnings;
mod warnings;

use std::path::Path;
use std::sync::Arc;

use moongate_config::PluginConfig;
use moongate_model::names::PluginId;

use super::{HostGauges, HostOptions, LoadError, OutgoingOptions, WASMTIME_VERSION, WasmHost, WasmPlugin};

pub(crate) use super::test_support::{Guest, component};
pub(super) use warnings::Warnings;

/// A host with its own cache directory.
pub(super) fn host(cache: &Path) -> WasmHost {
    WasmHost::new(HostOptions {
        cache_dir: cache.join("cache"),
        state: crate::StateLocation::Memory,
        max_concurrent_calls: 4,
        guest_memory: 4 << 30,
        uses_cached_descriptions: false,
        change_inbox: None,
        outgoing_http: OutgoingOptions::default(),
    })
    .unwrap()
}

/// A plugin configuration with default limits, for a component with these bytes.
pub(super) fn config(dir: &Path, bytes: &[u8]) -> PluginConfig {
    let source = dir.join("guest.wasm");
    std::fs::write(&source, bytes).unwrap();
    PluginConfig::ungranted(PluginId::new("guest").unwrap(), source)
}

/// Reads and loads the plugin's file.
pub(super) async fn load_file(
    host: &WasmHost,
    config: &Arc<PluginConfig>,
) -> Result<Arc<WasmPlugin>, LoadError> {
    host.load(Arc::clone(config), host.read(config).await?).await
}

/// Resources in use while one plugin is loaded and nothing is running.
pub(super) fn idle_gauges() -> HostGauges {
    HostGauges { generations: 1, ..HostGauges::default() }
}

/// Loads the guest with a configuration modified by `change`.
pub(super) async fn load(
    host: &WasmHost,
    dir: &Path,
    guest: &Guest,
    change: impl FnOnce(&mut PluginConfig),
) -> Arc<WasmPlugin> {
    let mut config = config(dir, &guest.build());
    change(&mut config);
    load_file(host, &Arc::new(config)).await.unwrap()
}

#[test]
fn the_version_constant_matches_the_pinned_version() {
    let manifest = include_str!("../../../Cargo.toml");
    assert!(manifest.contains(&format!("wasmtime = {{ version = \"={WASMTIME_VERSION}\"")));
}

#[tokio::test]
async fn serves_without_a_pool() {
    let dir = tempfile::TempDir::new().unwrap();
    let options = HostOptions {
        cache_dir: dir.path().join("cache"),
        state: crate::StateLocation::Memory,
        max_concurrent_calls: 10_000_000,
        guest_memory: 4 << 30,
        uses_cached_descriptions: false,
        change_inbox: None,
        outgoing_http: OutgoingOptions::default(),
    };
    let host = WasmHost::new(options).unwrap();
    assert!(host.loader.linker.engine().pooling_allocator_metrics().is_none());
    let plugin = load(&host, dir.path(), &Guest::default(), |_| {}).await;
    assert_eq!(plugin.manifest.tools.len(), 1);
    assert_eq!(host.gauges(), idle_gauges());
}
