//! The Wasm host: loads a component's file into a [`WasmPlugin`] that serves calls, each in its own instance.
//!
//! No other crate depends on Wasm. A plugin can access only what its configuration in `gateway.toml` grants, and its
//! faults are values: [`LoadError`] while it is loaded, `CallError` while it is called. The host doesn't limit the
//! number of concurrent calls, but its pool of instances is sized for that limit.
//!
//! - `load`: reads, compiles, caches, links and describes a component
//! - `sandbox`: runs one call in one instance, with its limits
//! - `wasi`: implements the functions that plugins import
//! - `convert`: converts between the contract's types and the core's
//! - `diagnostics`: captures output, reports crashes, and cleans text

mod bindings;
mod change_inbox;
mod convert;
mod diagnostics;
mod engine;
#[cfg(any(test, feature = "fuzz"))]
#[doc(hidden)]
pub mod fuzz;
mod load;
mod plugin;
mod sandbox;
#[cfg(any(test, feature = "test-support"))]
#[expect(clippy::unwrap_used, reason = "a test reports failures by panicking")]
pub mod test_support;
mod wasi;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use moongate_config::PluginConfig;
use moongate_model::names::PluginId;

use self::engine::{KeptMemory, Ticker};
use self::load::cache::CodeCache;
use self::load::code::{Generations, LoadedCode};
use self::load::{CompileSlots, ComponentLoader, describe, file};
use self::sandbox::call::{HostResources, Sandbox};
use self::sandbox::guest_memory::GuestMemory;
use self::sandbox::instance_pool::InstancePool;
use self::sandbox::open_files;
use self::wasi::files::disk_usage::DiskUsages;
use self::wasi::http::OutboundHttp;
use self::wasi::keyvalue::KeyValueStores;
use self::wasi::linker;
use self::wasi::preopens::DirectoryOpener;
use moongate_system::blocking::PluginBlockingLimiters;
use moongate_system::private_dir::PrivateDirError;

pub use self::change_inbox::{ChangeInbox, ReportedChanges};
pub use self::load::compiler::compile_if_requested;
pub use self::load::error::{HostError, LoadError, PathOrigin, ReadFailure};
pub use self::load::file::ComponentFile;
pub use self::load::{MAX_CONCURRENT_COMPILES, startup_compiles};
pub use self::plugin::WasmPlugin;
pub use self::sandbox::open_files::reserved_files;
pub use self::wasi::http::{CaError, OutgoingOptions, RequestCounts};
pub use self::wasi::keyvalue::{StateDiagnostic, StateProbe, probe_state};

/// The version of wasmtime, which has no constant for it. `Cargo.toml` pins the same version.
pub const WASMTIME_VERSION: &str = "48.0.8";

/// Options of the host.
#[derive(Debug)]
pub struct HostOptions {
    /// The directory for compiled code. Created if it is missing; not used unless it is private.
    pub cache_dir: PathBuf,
    /// The directory for plugin state. `None` keeps state in memory for the lifetime of the host.
    pub state_dir: Option<PathBuf>,
    /// The limit on concurrent calls, for all plugins together.
    pub max_concurrent_calls: u32,
    /// The memory of all instances together, in bytes.
    pub guest_memory: u64,
    /// Receives the changes that plugins report. `None` drops them.
    pub change_inbox: Option<Arc<ChangeInbox>>,
    /// Options of plugins' HTTP requests.
    pub outgoing_http: OutgoingOptions,
}

/// The engine and everything else that plugins share. One per process.
pub struct WasmHost {
    loader: Arc<ComponentLoader>,
    shared: Arc<HostResources>,
    generations: Generations,
    /// Limits reads of components' files to one at a time per plugin.
    file_reads: PluginBlockingLimiters,
    cache_error: Option<PrivateDirError>,
}

impl fmt::Debug for WasmHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WasmHost").field("gauges", &self.gauges()).finish_non_exhaustive()
    }
}

/// Resources in use, for metrics and for tests that find leaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostGauges {
    /// Running calls and descriptions.
    pub running_calls: u32,
    /// Loaded components of all plugins. See [`WasmHost::generations`].
    pub generations: u32,
    /// Idle instances.
    pub idle_instances: u32,
    /// Instances of components; zero without a pool.
    pub instances: u64,
    /// Linear memories; zero without a pool.
    pub memories: u64,
    /// Tables; zero without a pool.
    pub tables: u64,
    /// Stacks; zero without a pool.
    pub stacks: u64,
}

impl WasmHost {
    /// Reserves the pool, creates the linker and opens the cache. Raises the process's limit on file descriptors to the
    /// maximum, because each call gets a share of it.
    ///
    /// An unusable cache isn't an error: components are then compiled at each start.
    ///
    /// # Errors
    /// The engine or its thread can't be started, or the CA file is invalid.
    pub fn new(options: HostOptions) -> Result<Self, HostError> {
        let HostOptions {
            cache_dir: cache,
            state_dir: state,
            max_concurrent_calls: concurrency,
            guest_memory,
            change_inbox: inbox,
            outgoing_http: outgoing,
        } = options;
        open_files::raise_limit();
        let open_files = open_files::per_call(concurrency);
        let engine_error = |error: wasmtime::Error| HostError::Engine(format!("{error:#}"));
        let kept = KeptMemory::new(guest_memory, concurrency);
        let engine = engine::engine(concurrency, kept).map_err(engine_error)?;
        let linker = linker::linker(&engine).map_err(engine_error)?;
        let ticker = Ticker::start(&engine).map_err(HostError::Ticker)?;
        let (cache, cache_error) = match CodeCache::open(&cache) {
            Ok(cache) => {
                cache.find_all(&engine);
                (Some(Arc::new(cache)), None)
            }
            Err(error) => {
                tracing::warn!("can't cache compiled code, so every start compiles all plugins: {error}");
                (None, Some(error))
            }
        };
        let instance_pool = InstancePool::new(concurrency);
        let guest_memory = GuestMemory::new(guest_memory - kept.total(), Arc::clone(&instance_pool));
        let shared = HostResources {
            ticker,
            inbox,
            stores: KeyValueStores::new(state),
            disk_usages: DiskUsages::default(),
            outbound_http: OutboundHttp::new(outgoing)?,
            openings: DirectoryOpener::new(),
            instance_pool,
            guest_memory,
            open_files,
        };
        Ok(Self {
            loader: Arc::new(ComponentLoader { linker, cache, compile_slots: CompileSlots::default() }),
            shared: Arc::new(shared),
            generations: Generations::default(),
            file_reads: PluginBlockingLimiters::new(1),
            cache_error,
        })
    }

    /// Reads a plugin's file, waiting while it is being written. The bytes stay in memory until they are loaded.
    ///
    /// # Errors
    /// The file is missing, unreadable, too large, not the pinned one, or keeps changing.
    pub async fn read(&self, config: &Arc<PluginConfig>) -> Result<ComponentFile, LoadError> {
        file::read(config, &self.file_reads.for_plugin(&config.id)).await
    }

    /// Compiles, links and describes a plugin. Dropping the future cancels compilation, unless the code is for the cache:
    /// it is of use to the next start.
    ///
    /// # Errors
    /// The bytes aren't a plugin for this gateway, or its description is invalid.
    pub async fn load(
        &self,
        config: Arc<PluginConfig>,
        candidate: ComponentFile,
    ) -> Result<Arc<WasmPlugin>, LoadError> {
        candidate.check(&config)?;
        let digest = *candidate.digest();
        let size = candidate.size().as_u64();
        let linked = self.loader.load(candidate, &config).await?;
        let code = LoadedCode::new(linked, size, self.generations.add(config.id.clone()));
        let interfaces = Arc::clone(&code.interfaces);
        let sandbox = Sandbox::new(config, code, Arc::clone(&self.shared));
        let manifest = describe::describe(&sandbox).await?;
        Ok(Arc::new(WasmPlugin { sandbox, digest, interfaces, manifest }))
    }

    /// From now on, components are compiled one at a time and with low priority, because calls are more important. Must be
    /// called in a Tokio runtime.
    pub fn start_serving(&self) {
        self.loader.compile_slots.start_serving();
        if let Some(cache) = self.loader.cache.clone() {
            tokio::task::spawn_blocking(move || cache.prune());
        }
    }

    /// True if loading is fast, because the component is in the cache or isn't a component.
    #[must_use]
    pub fn is_compiled(&self, candidate: &ComponentFile) -> bool {
        self.loader.is_compiled(candidate)
    }

    /// The number of loaded components by plugin: usually one, and more while components are being replaced or
    /// described. Plugins without any aren't included.
    #[must_use]
    pub fn generations(&self) -> BTreeMap<PluginId, u32> {
        self.generations.counts()
    }

    /// The number of idle instances by plugin. Plugins without any aren't included.
    #[must_use]
    pub fn idle_instances(&self) -> BTreeMap<PluginId, u32> {
        self.shared.instance_pool.counts()
    }

    /// The number of HTTP requests that each plugin sent since it was loaded, by outcome.
    #[must_use]
    pub fn http_requests(&self) -> BTreeMap<PluginId, RequestCounts> {
        self.shared.outbound_http.requests()
    }

    /// Drops all idle instances.
    pub fn drop_idle_instances(&self) {
        self.shared.instance_pool.clear();
    }

    /// The reason that compiled code can't be cached. `None` if it is cached.
    #[must_use]
    pub fn cache_error(&self) -> Option<&PrivateDirError> {
        self.cache_error.as_ref()
    }

    /// The reason that state currently can't be stored on disk, if a plugin has a grant for it.
    pub async fn state_error(&self) -> Option<StateDiagnostic> {
        self.shared.stores.problem().await
    }

    /// Resources in use.
    #[must_use]
    pub fn gauges(&self) -> HostGauges {
        let calls = self.shared.ticker.count();
        let generations = self.generations.total();
        let idle = self.shared.instance_pool.total();
        let Some(pool) = self.loader.linker.engine().pooling_allocator_metrics() else {
            return HostGauges {
                running_calls: calls,
                generations,
                idle_instances: idle,
                ..HostGauges::default()
            };
        };
        HostGauges {
            running_calls: calls,
            generations,
            idle_instances: idle,
            instances: pool.component_instances(),
            memories: pool.memories() as u64,
            tables: pool.tables() as u64,
            stacks: pool.stacks() as u64,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
