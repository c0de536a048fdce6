//! The Wasm host: from a component's file to a [`WasmPlugin`] that answers calls, each in an instance of its own.
//!
//! Nothing above this module knows of Wasm. A plugin reaches only what its table in `gateway.toml` grants, and what
//! it does wrong is a value: [`LoadError`] while it is loaded, `CallError` while it is called. How many calls run at
//! once isn't decided here but by the gate; the pool of instances is made for as many as the gate lets in.

mod bindings;
mod change_inbox;
mod convert;
mod diagnostics;
mod engine;
#[cfg(any(test, feature = "fuzz"))]
mod fuzz;
mod load;
mod plugin;
mod sandbox;
mod wasi;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use moongate_core::config::PluginConfig;
use moongate_core::names::PluginId;

use self::engine::Ticker;
use self::load::Loader;
use self::load::cache::Cache;
use self::load::code::{Code, Generations};
use self::load::{describe, file};
use self::sandbox::call::{Sandbox, Shared};
use self::sandbox::instance_pool::Waiting;
use self::sandbox::open_files;
use self::wasi::http::OutboundHttp;
use self::wasi::keyvalue::KeyValueStores;
use self::wasi::linker;
use self::wasi::preopens::Openings;
use crate::blocking::Lanes;
use crate::private_dir::FolderError;

pub use self::change_inbox::{Inbox, Reported};
#[cfg(any(test, feature = "fuzz"))]
#[doc(hidden)]
pub use self::fuzz::{Hear, fuzz_answer, fuzz_manifest};
pub use self::load::compiler::compile_if_asked;
pub use self::load::error::{HostError, LoadError, Named, Unreadable};
pub use self::load::file::Candidate;
pub use self::plugin::WasmPlugin;
pub use self::wasi::http::{CaError, OutgoingOptions, Requests};
pub use self::wasi::keyvalue::{StateFound, StateProblem, look_for_state};

/// The version of wasmtime, which doesn't tell it itself; `Cargo.toml` pins the same.
pub const WASMTIME_VERSION: &str = "48.0.8";

/// How to set up the host.
#[derive(Debug)]
pub struct HostOptions {
    /// Where compiled code is kept. Made if it isn't there; not used unless it is ours alone.
    pub cache: PathBuf,
    /// Where plugins' state is kept; none: in memory, as long as the host lives.
    pub state: Option<PathBuf>,
    /// How many calls the gate lets in at once, of all plugins together.
    pub concurrency: u32,
    /// Where plugins' reports of changes go; none: nowhere.
    pub inbox: Option<Arc<Inbox>>,
    /// How plugins' requests leave.
    pub outgoing: OutgoingOptions,
}

/// The engine with everything that plugins share. One per process.
pub struct WasmHost {
    loader: Arc<Loader>,
    shared: Arc<Shared>,
    generations: Generations,
    /// Where components' files are read: one look at a time at each.
    reading: Lanes,
    cache_problem: Option<FolderError>,
}

impl fmt::Debug for WasmHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WasmHost").field("gauges", &self.gauges()).finish_non_exhaustive()
    }
}

/// How much is in use, for metrics and for tests that nothing is left behind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Calls and descriptions that run.
    pub calls: u32,
    /// Loaded components of all plugins, see [`WasmHost::generations`].
    pub generations: u32,
    /// Instances that wait for their next call.
    pub idle: u32,
    /// Instances of components; zero where there is no pool.
    pub instances: u64,
    /// Linear memories in use; zero where there is no pool.
    pub memories: u64,
    /// Tables in use; zero where there is no pool.
    pub tables: u64,
    /// Stacks in use; zero where there is no pool.
    pub stacks: u64,
}

impl WasmHost {
    /// Reserves the pool, links what plugins may use, and opens the cache. The process gets as many descriptors as the
    /// system lets it have, because calls have shares of them.
    ///
    /// A cache that can't be used is no error: code is compiled at each start then.
    ///
    /// # Errors
    /// The engine or its thread can't be started, or a file of authorities can't be used.
    pub fn new(options: HostOptions) -> Result<Self, HostError> {
        let HostOptions { cache, state, concurrency, inbox, outgoing } = options;
        open_files::raise_limit();
        let open_files = open_files::per_call(concurrency);
        let failed = |error: wasmtime::Error| HostError::Engine(format!("{error:#}"));
        let engine = engine::engine(concurrency).map_err(failed)?;
        let linker = linker::linker(&engine).map_err(failed)?;
        let ticker = Ticker::start(&engine).map_err(HostError::Ticker)?;
        let (cache, cache_problem) = match Cache::open(&cache) {
            Ok(cache) => (Some(cache), None),
            Err(problem) => {
                tracing::warn!(
                    "plugins are compiled at each start, because compiled code can't be kept: {problem}"
                );
                (None, Some(problem))
            }
        };
        let loader = Loader { linker, cache, compiling: Arc::default() };
        let outlet = OutboundHttp::new(outgoing)?;
        let waiting = Waiting::new(concurrency);
        let (stores, openings) = (KeyValueStores::new(state), Openings::new());
        let shared = Shared { ticker, inbox, stores, outlet, openings, waiting, open_files };
        let (loader, shared) = (Arc::new(loader), Arc::new(shared));
        let (generations, reading) = (Generations::default(), Lanes::new(1));
        Ok(Self { loader, shared, generations, reading, cache_problem })
    }

    /// Reads a plugin's file, waiting while somebody writes to it. The bytes stay in memory until they are loaded.
    ///
    /// # Errors
    /// The file isn't there, may not be read, is too large, isn't the pinned one, or doesn't come to rest.
    pub async fn read(&self, config: &Arc<PluginConfig>) -> Result<Candidate, LoadError> {
        file::read(config, &self.reading.of(&config.id)).await
    }

    /// Compiles, links and describes a plugin. Components are compiled one at a time; if the future is dropped, the
    /// component isn't compiled further, or at all.
    ///
    /// # Errors
    /// The bytes aren't a plugin for this gateway, or what it says of itself can't be used.
    pub async fn load(
        &self,
        config: Arc<PluginConfig>,
        candidate: Candidate,
    ) -> Result<Arc<WasmPlugin>, LoadError> {
        candidate.check(&config)?;
        let (digest, size) = (*candidate.digest(), candidate.size().as_u64());
        let linked = self.loader.load(candidate, &config.limits).await?;
        let code = Code::new(linked, size, self.generations.one_more(config.id.clone()));
        let interfaces = Arc::clone(&code.interfaces);
        let sandbox = Sandbox::new(config, code, Arc::clone(&self.shared));
        let manifest = describe::describe(&sandbox).await?;
        Ok(Arc::new(WasmPlugin { sandbox, digest, interfaces, manifest }))
    }

    /// Does loading it take little, because it was compiled before or can't be?
    #[must_use]
    pub fn is_compiled(&self, candidate: &Candidate) -> bool {
        self.loader.is_compiled(candidate)
    }

    /// How many loaded components each plugin has that somebody still holds: one, and those that are being replaced
    /// or described. Plugins that have none aren't there.
    #[must_use]
    pub fn generations(&self) -> BTreeMap<PluginId, u32> {
        self.generations.counts()
    }

    /// How many instances of each plugin wait for their next call. Plugins that have none aren't there.
    #[must_use]
    pub fn idle(&self) -> BTreeMap<PluginId, u32> {
        self.shared.waiting.counts()
    }

    /// What became of the requests that each plugin wanted to send, since it came.
    #[must_use]
    pub fn requests(&self) -> BTreeMap<PluginId, Requests> {
        self.shared.outlet.requests()
    }

    /// Ends the instances that wait for their next call.
    pub fn end_idle(&self) {
        self.shared.waiting.clear();
    }

    /// Why compiled code can't be kept, if it can't.
    #[must_use]
    pub fn cache_problem(&self) -> Option<&FolderError> {
        self.cache_problem.as_ref()
    }

    /// Why state can't be kept on disk now, if a plugin is granted some and it can't.
    pub async fn state_problem(&self) -> Option<StateProblem> {
        self.shared.stores.problem().await
    }

    /// What is in use now.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        let (calls, generations) = (self.shared.ticker.count(), self.generations.total());
        let idle = self.shared.waiting.total();
        let Some(pool) = self.loader.linker.engine().pooling_allocator_metrics() else {
            return Gauges { calls, generations, idle, ..Gauges::default() };
        };
        Gauges {
            calls,
            generations,
            idle,
            instances: pool.component_instances(),
            memories: pool.memories() as u64,
            tables: pool.tables() as u64,
            stacks: pool.stacks() as u64,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
