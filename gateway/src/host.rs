//! The Wasm host: from a component's file to a [`WasmPlugin`] that answers calls, each in an instance of its own.
//!
//! Nothing above this module knows of Wasm. A plugin reaches only what its table in `gateway.toml` grants, and what
//! it does wrong is a value: [`LoadError`] while it is loaded, `CallError` while it is called. How many calls run at
//! once isn't decided here but by the gate; the pool of instances is made for as many as the gate lets in.

mod bindings;
mod cache;
mod call;
mod classify;
mod compiler;
mod conv;
mod describe;
mod engine;
mod error;
mod events;
mod exports;
mod grants;
mod imports;
mod linker;
mod load;
mod meter;
mod output;
mod plugin;
mod state;
mod store;
mod text;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use moongate_core::config::PluginConfig;

use self::cache::Cache;
use self::call::Sandbox;
use self::engine::Ticker;
use self::load::{Linked, Loader};
use self::state::Stores;

pub use self::cache::CacheError;
pub use self::compiler::compile_if_asked;
pub use self::error::{HostError, LoadError};
pub use self::events::{Inbox, Reported};
pub use self::plugin::WasmPlugin;

/// The version of wasmtime, which doesn't tell it itself; `Cargo.toml` pins the same.
pub const WASMTIME_VERSION: &str = "48.0.8";

/// How to set up the host.
#[derive(Debug)]
pub struct HostOptions {
    /// Where compiled code is kept. Made if it isn't there; not used unless it is ours alone.
    pub cache: PathBuf,
    /// How many calls the gate lets in at once, of all plugins together.
    pub concurrency: u32,
    /// Where plugins' reports of changes go; none: nowhere.
    pub inbox: Option<Arc<Inbox>>,
}

/// The engine with everything that plugins share. One per process.
pub struct WasmHost {
    loader: Arc<Loader>,
    ticker: Arc<Ticker>,
    inbox: Option<Arc<Inbox>>,
    stores: Stores,
    cache_problem: Option<CacheError>,
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
    /// Reserves the pool, links what plugins may use, and opens the cache.
    ///
    /// A cache that can't be used is no error: code is compiled at each start then.
    ///
    /// # Errors
    /// The engine or its thread can't be started.
    pub fn new(options: HostOptions) -> Result<Self, HostError> {
        let HostOptions { cache, concurrency, inbox } = options;
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
        let loader = Loader { linker, cache, compiling: tokio::sync::Mutex::new(()) };
        let (loader, ticker, stores) = (Arc::new(loader), Arc::new(ticker), Stores::default());
        Ok(Self { loader, ticker, inbox, stores, cache_problem })
    }

    /// Reads, compiles, links and describes a plugin.
    ///
    /// # Errors
    /// The file isn't there, isn't a plugin for this gateway, or what it says of itself can't be used.
    pub async fn load(&self, config: Arc<PluginConfig>) -> Result<Arc<WasmPlugin>, LoadError> {
        let (digest, Linked { pre, exports, imports }) = self.loader.load(&config).await?;
        let sandbox = Arc::new(Sandbox {
            access: self.stores.of(&config),
            config,
            pre,
            exports,
            ticker: Arc::clone(&self.ticker),
            inbox: self.inbox.clone(),
            watches_cancel: imports.watches_cancel,
        });
        let manifest = describe::describe(&sandbox).await?;
        Ok(Arc::new(WasmPlugin { sandbox, digest, manifest }))
    }

    /// Why compiled code can't be kept, if it can't.
    #[must_use]
    pub fn cache_problem(&self) -> Option<&CacheError> {
        self.cache_problem.as_ref()
    }

    /// What is in use now.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        let calls = self.ticker.count();
        let Some(pool) = self.loader.linker.engine().pooling_allocator_metrics() else {
            return Gauges { calls, ..Gauges::default() };
        };
        Gauges {
            calls,
            instances: pool.component_instances(),
            memories: pool.memories() as u64,
            tables: pool.tables() as u64,
            stacks: pool.stacks() as u64,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
