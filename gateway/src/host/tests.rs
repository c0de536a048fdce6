//! Small guests, written as text and wrapped by the contract's own types, and what the host makes of them.

mod calls;
mod generations;
mod guest;
mod openings;
mod reports;
mod reuse;
mod told;
mod warnings;

use std::path::Path;
use std::sync::Arc;

use moongate_core::config::PluginConfig;
use moongate_core::names::PluginId;

use super::{Gauges, HostOptions, LoadError, OutgoingOptions, WASMTIME_VERSION, WasmHost, WasmPlugin};

pub(crate) use guest::{Guest, component};
pub(super) use warnings::Warnings;

/// A host whose cache is a folder of its own.
pub(super) fn host(cache: &Path) -> WasmHost {
    WasmHost::new(HostOptions {
        cache: cache.join("cache"),
        state: None,
        concurrency: 4,
        inbox: None,
        outgoing: OutgoingOptions::default(),
    })
    .unwrap()
}

/// A plugin's table with the usual limits, for a component of these bytes.
pub(super) fn config(dir: &Path, bytes: &[u8]) -> PluginConfig {
    let source = dir.join("guest.wasm");
    std::fs::write(&source, bytes).unwrap();
    PluginConfig::bare(PluginId::new("guest").unwrap(), source)
}

/// Reads and loads what stands in the file.
pub(super) async fn load_file(
    host: &WasmHost,
    config: &Arc<PluginConfig>,
) -> Result<Arc<WasmPlugin>, LoadError> {
    host.load(Arc::clone(config), host.read(config).await?).await
}

/// What is in use while one plugin is loaded and nothing runs.
pub(super) fn at_rest() -> Gauges {
    Gauges { generations: 1, ..Gauges::default() }
}

/// Loads the guest with a table that `change` has changed.
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
fn the_version_that_is_told_is_the_one_that_is_pinned() {
    let manifest = include_str!("../../../Cargo.toml");
    assert!(manifest.contains(&format!("wasmtime = {{ version = \"={WASMTIME_VERSION}\"")));
}

#[tokio::test]
async fn without_room_for_a_pool_plugins_serve_all_the_same() {
    let dir = tempfile::TempDir::new().unwrap();
    let options = HostOptions {
        cache: dir.path().join("cache"),
        state: None,
        concurrency: 10_000_000,
        inbox: None,
        outgoing: OutgoingOptions::default(),
    };
    let host = WasmHost::new(options).unwrap();
    assert!(host.loader.linker.engine().pooling_allocator_metrics().is_none());
    let plugin = load(&host, dir.path(), &Guest::default(), |_| {}).await;
    assert_eq!(plugin.manifest.tools.len(), 1);
    assert_eq!(host.gauges(), at_rest());
}
