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
//! - `exported_functions`: makes tools of a component's functions if it doesn't implement the contract
//! - `diagnostics`: captures output, reports crashes, and cleans text

mod bindings;
mod change_inbox;
mod convert;
mod diagnostics;
mod engine;
mod exported_functions;
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
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use moongate_config::PluginConfig;
use moongate_model::manifest::Interfaces;
use moongate_model::names::{Digest, PluginId};
use moongate_model::plugin::PastChecks;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use self::diagnostics::access_record::AccessRecords;
use self::engine::{KeptMemory, Ticker};
use self::exported_functions::package_docs;
use self::load::cache::CodeCache;
use self::load::code::{CodeSource, Generations, LoadedCode, MappedCode, MappedCount};
use self::load::description_cache::{CachedDescription, DescriptionCache};
use self::load::known_files::KnownFiles;
use self::load::{CompileSlots, ComponentLoader, describe, file};
use self::plugin::Confirmation;
use self::sandbox::call::{HostResources, Sandbox};
use self::sandbox::guest_memory::GuestMemory;
use self::sandbox::instance_pool::InstancePool;
use self::sandbox::open_files;
use self::wasi::files::disk_usage::DiskUsages;
use self::wasi::http::OutboundHttp;
use self::wasi::keyvalue::KeyValueStores;
use self::wasi::linker;
use self::wasi::preopens::DirectoryOpener;
use moongate_model::state::StateDiagnostic;
use moongate_system::blocking::PluginBlockingLimiters;
use moongate_system::private_dir::PrivateDirError;

pub use self::change_inbox::{ChangeInbox, ReportedChanges};
pub use self::load::compiler::compile_if_requested;
pub use self::load::error::{HostError, LoadError, PathOrigin, ReadFailure, UncallableComponent};
pub use self::load::file::ComponentFile;
pub use self::load::{MAX_CONCURRENT_COMPILES, startup_compiles};
pub use self::plugin::WasmPlugin;
pub use self::sandbox::open_files::reserved_files;
pub use self::wasi::http::{CaError, OutgoingOptions, RequestCounts};
pub use self::wasi::keyvalue::{StateLocation, StateProbe, probe_state};

/// The version of wasmtime, which has no constant for it. `Cargo.toml` pins the same version.
pub const WASMTIME_VERSION: &str = "48.0.8";

/// Options of the host.
#[derive(Debug)]
pub struct HostOptions {
    /// The directory for compiled code. Created if it is missing; not used unless it is private.
    pub cache_dir: PathBuf,
    /// The place for plugins' state.
    pub state: StateLocation,
    /// The limit on concurrent calls, for all plugins together.
    pub max_concurrent_calls: u32,
    /// The memory of all instances together, in bytes.
    pub guest_memory: u64,
    /// True to list plugins by their cached descriptions until [`WasmHost::start_serving`].
    pub uses_cached_descriptions: bool,
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
    uses_cached_descriptions: AtomicBool,
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
            state,
            max_concurrent_calls: concurrency,
            guest_memory,
            uses_cached_descriptions,
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
            access_records: AccessRecords::default(),
            openings: DirectoryOpener::new(),
            instance_pool,
            guest_memory,
            open_files,
            describing: Semaphore::new(engine::MAX_CONCURRENT_DESCRIPTIONS as usize),
            describing_for_calls: Semaphore::new(engine::MAX_CONCURRENT_DESCRIPTIONS as usize),
        };
        let loader = ComponentLoader {
            linker,
            descriptions: cache.as_ref().and_then(DescriptionCache::open),
            known_files: cache.as_ref().map(KnownFiles::open),
            cache,
            mapped: MappedCount::default(),
            file_reads: PluginBlockingLimiters::new(1),
            compile_slots: CompileSlots::default(),
        };
        Ok(Self {
            loader: Arc::new(loader),
            shared: Arc::new(shared),
            generations: Generations::default(),
            uses_cached_descriptions: AtomicBool::new(uses_cached_descriptions),
            cache_error,
        })
    }

    /// The plugin as its description is cached, if its file hasn't changed since it was read. Neither the file nor the code
    /// is read. `None` after [`Self::start_serving`].
    ///
    /// Blocks while file systems are accessed. Must be called in a Tokio runtime, on a thread for blocking work.
    #[must_use]
    pub fn find_described(&self, config: &Arc<PluginConfig>) -> Option<Arc<WasmPlugin>> {
        if !self.uses_cached_descriptions.load(Ordering::Relaxed) {
            return None;
        }
        let (digest, description) = self.loader.find_described(config)?;
        let described = self.described(config, digest, description);
        Some(Arc::new(Handle::current().block_on(described)?))
    }

    /// Reads a plugin's file, waiting while it is being written. The bytes stay in memory until they are loaded.
    ///
    /// # Errors
    /// The file is missing, unreadable, too large, not the pinned one, or keeps changing.
    pub async fn read(&self, config: &Arc<PluginConfig>) -> Result<ComponentFile, LoadError> {
        let file = file::read(config, &self.loader.file_reads.for_plugin(&config.id)).await?;
        if let (Some(known), Some(stamp)) = (&self.loader.known_files, file.settled) {
            known.add(stamp, file.digest);
        }
        Ok(file)
    }

    /// Compiles, links and describes a plugin, unless its description is cached. Dropping the future cancels compilation,
    /// unless the code is for the cache: it is of use to the next start.
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
        if let Some(described) = self.find_description(&config, digest).await {
            return Ok(Arc::new(described));
        }
        let size = candidate.size().as_u64();
        let documentation = package_docs::read(&candidate.bytes);
        let mapped = self.loader.load(candidate, &config).await?;
        let interfaces = Interfaces { file_size: size, documentation, ..mapped.interfaces.clone() };
        let sandbox = self.sandbox(config, digest, Arc::downgrade(&mapped));
        let manifest = describe::describe(&sandbox, &interfaces).await?;
        Ok(Arc::new(WasmPlugin {
            sandbox,
            digest,
            interfaces: Arc::new(interfaces),
            manifest,
            past_checks: PastChecks::default(),
            confirmation: Confirmation::confirmed(),
            loader: Arc::clone(&self.loader),
        }))
    }

    /// The plugin as the description of this component is cached.
    async fn find_description(&self, config: &Arc<PluginConfig>, digest: Digest) -> Option<WasmPlugin> {
        if !self.uses_cached_descriptions.load(Ordering::Relaxed) {
            return None;
        }
        let (loader, plugin) = (Arc::clone(&self.loader), Arc::clone(config));
        let find = move || loader.find_description(&digest, &plugin);
        let description = self.loader.file_reads.for_plugin(&config.id).run(find).await.ok()??;
        self.described(config, digest, description).await
    }

    /// The plugin with a cached description. Its code isn't mapped. `None` if its directories can't be opened.
    async fn described(
        &self,
        config: &Arc<PluginConfig>,
        digest: Digest,
        description: CachedDescription,
    ) -> Option<WasmPlugin> {
        // Without its directories, the plugin couldn't describe itself, and isn't served.
        if !config.allow.dirs.is_empty() {
            self.shared.openings.open(config).await.ok()?;
        }
        let CachedDescription { interfaces, manifest, past_checks, .. } = description;
        Some(WasmPlugin {
            sandbox: self.sandbox(Arc::clone(config), digest, Weak::new()),
            digest,
            interfaces: Arc::new(interfaces),
            manifest,
            past_checks,
            confirmation: Confirmation::default(),
            loader: Arc::clone(&self.loader),
        })
    }

    fn sandbox(&self, config: Arc<PluginConfig>, digest: Digest, mapped: Weak<MappedCode>) -> Sandbox {
        let source = CodeSource { loader: Arc::clone(&self.loader), config: Arc::clone(&config), digest };
        let code = LoadedCode::new(source, mapped, self.generations.add(config.id.clone()));
        Sandbox::new(config, code, Arc::clone(&self.shared))
    }

    /// From now on, components are compiled one at a time and with low priority, because calls are more important, and
    /// plugins are always asked for their descriptions. Must be called in a Tokio runtime.
    pub fn start_serving(&self) {
        self.loader.compile_slots.start_serving();
        self.uses_cached_descriptions.store(false, Ordering::Relaxed);
        let loader = Arc::clone(&self.loader);
        tokio::task::spawn_blocking(move || {
            loader.known_files.iter().for_each(KnownFiles::save);
            loader.cache.iter().for_each(|cache| cache.prune());
        });
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

    /// The reason that state currently can't be kept, if a plugin has a grant for it.
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
