//! From a configuration to a catalog that serves: loads every plugin and joins what they offer.
//!
//! One plugin that can't be used takes nothing from the others; each mistake becomes a problem that points into the
//! configuration. What is served is published through a `watch` channel, so that a request takes a snapshot and a
//! newer catalog can take its place: as soon as a plugin says that what it offers has changed. Watching files and
//! loading anew isn't here yet.

use std::sync::Arc;
use std::time::Instant;

use futures_util::stream::{self, StreamExt as _};
use moongate_core::catalog::{Build, Catalog, Member, Plugin, Refused};
use moongate_core::changes::Updates;
use moongate_core::config::{Config, PluginConfig, Problem};
use moongate_core::dispatch::Dispatcher;
use moongate_core::gate::Gate;
use tokio::sync;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::host::{Gauges, HostError, HostOptions, Inbox, LoadError, WasmHost, WasmPlugin};

pub mod control;
mod relist;
pub mod status;
pub mod watch;

use relist::{Loaded, Relisting};

/// How many plugins are loaded at once: each runs to describe itself, and the pool of instances has so many slots to
/// spare.
const LOADED_AT_ONCE: usize = 4;

/// The plugins of one configuration, and what they offer together.
#[derive(Debug)]
pub struct Supervisor {
    host: WasmHost,
    gate: Arc<Gate>,
    catalog: sync::watch::Sender<Arc<Catalog>>,
    updates: Arc<Updates>,
    problems: Vec<Problem>,
    configured: usize,
    relisting: JoinHandle<()>,
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.relisting.abort();
    }
}

/// How much is served.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Plugins that serve.
    pub plugins: usize,
    /// Plugins that can't be used.
    pub refused: usize,
    /// Tools.
    pub tools: usize,
    /// Resources that are listed.
    pub resources: usize,
    /// Resource templates.
    pub templates: usize,
    /// Prompts.
    pub prompts: usize,
}

impl Supervisor {
    /// Starts the Wasm host, loads all plugins and publishes what they offer.
    ///
    /// # Errors
    /// The host can't be started. A plugin that can't be used is no error but one of the [`Self::problems`].
    pub async fn start(config: &Config) -> Result<Self, HostError> {
        let inbox: Arc<Inbox> = Arc::default();
        let (cache, concurrency) = (config.cache.clone(), config.concurrency);
        let host = WasmHost::new(HostOptions { cache, concurrency, inbox: Some(Arc::clone(&inbox)) })?;
        let loads = stream::iter(config.plugins.iter().map(|plugin| load(&host, plugin)));
        let loads: Vec<_> = loads.buffered(LOADED_AT_ONCE).collect().await;
        let mut problems = Vec::new();
        let mut loaded = Vec::new();
        for load in loads {
            match load {
                Ok(plugin) => loaded.push(plugin),
                Err(wrong) => problems.extend(wrong),
            }
        }
        let members = loaded.iter().map(|loaded| loaded.member.clone()).collect();
        let Build { catalog, refused: conflicting, warnings } = Catalog::build(1, members, None);
        problems.extend(warnings.iter().cloned());
        problems.extend(conflicting.iter().flat_map(Refused::problems));
        problems.sort_by_key(|problem| problem.place.as_ref().map_or(0, |place| place.start));
        let (catalog, _) = sync::watch::channel(Arc::new(catalog));
        let updates: Arc<Updates> = Arc::default();
        let relisting = Relisting::new(loaded, warnings, catalog.clone(), Arc::clone(&updates));
        let relisting = tokio::spawn(relisting.run(inbox));
        let gate = Arc::new(Gate::new(config.concurrency));
        let configured = config.plugins.len();
        Ok(Self { host, gate, catalog, updates, problems, configured, relisting })
    }

    /// What calls the plugins by their public names.
    #[must_use]
    pub fn dispatcher(&self) -> Dispatcher {
        Dispatcher::new(self.catalog(), Arc::clone(&self.gate))
    }

    /// What is served, now and later.
    #[must_use]
    pub fn catalog(&self) -> sync::watch::Receiver<Arc<Catalog>> {
        self.catalog.subscribe()
    }

    /// Where it is told which resources hold something new.
    #[must_use]
    pub fn updates(&self) -> &Arc<Updates> {
        &self.updates
    }

    /// What is wrong with the plugins, in the order of the file.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// How much is served.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let catalog = Arc::clone(&self.catalog.borrow());
        Totals {
            plugins: catalog.members().len(),
            refused: self.configured - catalog.members().len(),
            tools: catalog.tools().len(),
            resources: catalog.resources().len(),
            templates: catalog.templates().len(),
            prompts: catalog.prompts().len(),
        }
    }

    /// What the Wasm host has in use.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        self.host.gauges()
    }
}

/// Loads one plugin and looks at it alone.
async fn load(host: &WasmHost, config: &Arc<PluginConfig>) -> Result<Loaded, Vec<Problem>> {
    let started = Instant::now();
    let loaded = async { host.load(Arc::clone(config), host.read(config).await?).await };
    let wasm = match loaded.await {
        Ok(wasm) => wasm,
        Err(error) => return Err(vec![problem(config, &error)]),
    };
    let digest = *wasm.digest();
    let member = {
        let plugin: Arc<dyn Plugin> = Arc::<WasmPlugin>::clone(&wasm);
        let config = Arc::clone(config);
        spawn_blocking(move || Member::new(plugin, config)).await
    };
    let member = member.unwrap_or_else(|error| {
        let message = format!("plugin `{}` can't be used: the gateway failed: {error}", config.id);
        Err(vec![Problem::error(message).at(config.place.clone())])
    })?;
    let took = started.elapsed();
    tracing::debug!(plugin = %config.id, digest = digest.short(), ?took, "a plugin was loaded");
    Ok(Loaded { wasm, member })
}

/// What an operator is told of a plugin that can't be loaded.
fn problem(config: &PluginConfig, error: &LoadError) -> Problem {
    let message = format!("plugin `{}` can't be loaded: {error}", config.id);
    let problem = Problem::error(message).at(config.source_place.clone());
    match error.hint() {
        Some(hint) => problem.hint(hint),
        None => problem,
    }
}

#[cfg(test)]
mod tests;
