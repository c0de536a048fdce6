//! From a configuration to a catalog that serves, and to the next one when files, lists or the operator say so.
//!
//! One plugin that can't be used takes nothing from the others; each mistake of the start becomes a problem that points
//! into the configuration. What is served is published through a `watch` channel, so that a request takes a snapshot
//! and a newer catalog can take its place. After the start one task, the `keeper`, keeps what serves as the files say.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use moongate_core::catalog::Catalog;
use moongate_core::changes::Updates;
use moongate_core::config::{
    Config, Environment, Loaded, PluginConfig, Problem, ProcessEnvironment, StateGrant,
};
use moongate_core::dispatch::Dispatcher;
use moongate_core::gate::Gate;
use moongate_core::names::PluginId;
use tokio::sync::{self, mpsc};
use tokio::task::JoinHandle;

use crate::host::{
    Gauges, HostError, HostOptions, Inbox, OutgoingOptions, Requests, StateFound, StateProblem, WasmHost,
    look_for_state,
};

mod attend;
mod backoff;
mod code;
pub mod control;
mod desired;
mod event;
#[cfg(test)]
mod fake;
mod join;
mod keeper;
mod observe;
mod relist;
mod report;
mod slot;
pub mod status;
pub mod watch;

use code::Wasm;
use control::Reloader;
use desired::FromFile;
use event::{Files, Wanted};
use keeper::{Keeper, Tools};
use observe::observed;
use status::Status;
use watch::{Native, System};

/// How many requests to reload may wait for their turn to be taken; each is answered.
const REQUESTS: usize = 16;

/// The plugins of one configuration, and what they offer together. Dropping it ends all reloads.
#[derive(Debug)]
pub struct Supervisor {
    host: Arc<WasmHost>,
    gate: Arc<Gate>,
    catalog: sync::watch::Sender<Arc<Catalog>>,
    updates: Arc<Updates>,
    /// The plugins' configurations at the start.
    plugins: Vec<Arc<PluginConfig>>,
    problems: Vec<Problem>,
    /// Why state couldn't be kept, where it was only looked for.
    state_problem: Option<StateProblem>,
    status: sync::watch::Receiver<Arc<Status>>,
    reloader: Reloader,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// How to supervise.
#[derive(Clone)]
pub struct Options {
    watched: Option<Watched>,
    purpose: Purpose,
    environment: Arc<dyn Environment + Send + Sync>,
    system: Arc<dyn System>,
    own: Vec<SocketAddr>,
    look: Option<Look>,
}

/// What looks at a configuration that was read, before it is used.
type Look = Arc<dyn Fn(Loaded) -> Loaded + Send + Sync>;

impl Default for Options {
    fn default() -> Self {
        Self::once()
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("watched", &self.watched).finish_non_exhaustive()
    }
}

/// What plugins are loaded for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// To be called.
    Calls,
    /// To see what they are.
    Looking,
}

/// Files that were read before somebody watched them.
#[derive(Debug, Clone)]
struct Watched {
    files: BTreeSet<PathBuf>,
    since: SystemTime,
}

impl Options {
    /// For whoever looks once: files aren't watched. Plugins are still asked anew when they say that their lists
    /// changed.
    #[must_use]
    pub fn once() -> Self {
        Self {
            watched: None,
            purpose: Purpose::Calls,
            environment: Arc::new(ProcessEnvironment),
            system: Arc::new(Native),
            own: Vec::new(),
            look: None,
        }
    }

    /// For whoever looks once and calls nothing: where there is no state yet, none is made.
    #[must_use]
    pub fn looking() -> Self {
        Self { purpose: Purpose::Looking, ..Self::once() }
    }

    /// For whoever serves: changes are taken, unless the configuration says otherwise. `files`: those that it was read
    /// from, see [`Loaded::files`](moongate_core::config::Loaded::files); `since`: when that was begun.
    #[must_use]
    pub fn watching(files: BTreeSet<PathBuf>, since: SystemTime) -> Self {
        Self { watched: Some(Watched { files, since }), ..Self::once() }
    }

    /// Where variables are looked up when the configuration is read anew; this process's, if nothing else is said.
    #[must_use]
    pub fn environment(self, environment: impl Environment + Send + Sync + 'static) -> Self {
        Self { environment: Arc::new(environment), ..self }
    }

    /// Where this process listens: no request of a plugin goes there.
    #[must_use]
    pub fn listening_at(self, addresses: impl IntoIterator<Item = SocketAddr>) -> Self {
        Self { own: addresses.into_iter().collect(), ..self }
    }

    /// What looks at each configuration that is read anew, before it is used, and may refuse it by taking it out. It may
    /// block as reading does.
    #[must_use]
    pub fn shown_to(self, look: impl Fn(Loaded) -> Loaded + Send + Sync + 'static) -> Self {
        Self { look: Some(Arc::new(look)), ..self }
    }

    /// What files are watched with; the system that this runs on, if nothing else is said.
    #[must_use]
    pub fn system(self, system: impl System) -> Self {
        Self { system: Arc::new(system), ..self }
    }
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no Wasm host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// Plugins can't be used, and `require_all` asks for all of them.
    #[error("{} can't be used, and `require_all` asks for all plugins", listed(plugins))]
    Required {
        /// The plugins.
        plugins: Vec<PluginId>,
        /// Why, with places in the configuration.
        problems: Vec<Problem>,
    },
}

fn listed(plugins: &[PluginId]) -> String {
    plugins.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")
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
    /// Starts the Wasm host, loads all plugins, publishes what they offer, and goes on keeping it as the files say.
    ///
    /// # Errors
    /// The host can't be started. A plugin that can't be used is no error but one of the [`Self::problems`], unless the
    /// configuration requires all of them.
    pub async fn start(config: Config, options: Options) -> Result<Self, StartError> {
        let Options { watched, purpose, environment, system, own, look } = options;
        let inbox: Arc<Inbox> = Arc::default();
        let (cache, concurrency) = (config.cache.clone(), config.concurrency);
        let (state, state_problem) = state(&config, purpose).await;
        let inboxed = Some(Arc::clone(&inbox));
        // Another process may listen where the file says, such as `serve` beside `serve --stdio`.
        let configured = [Some(config.http.listen), config.admin.as_ref().map(|admin| admin.listen)];
        let configured = configured.into_iter().flatten().filter(|address| address.port() != 0);
        let own = own.into_iter().chain(configured).collect();
        let outgoing = OutgoingOptions { own, ca_file: config.ca_file.clone() };
        let host = WasmHost::new(HostOptions { cache, state, concurrency, inbox: inboxed, outgoing })?;
        let host = Arc::new(host);
        let (catalog, _) = sync::watch::channel(Arc::new(Catalog::empty()));
        let (gate, updates): (_, Arc<Updates>) = (Arc::new(Gate::new(concurrency)), Arc::default());
        let (ask, requests) = mpsc::channel(REQUESTS);
        let names = watched.as_ref().map(|watched| watched.files.clone()).unwrap_or_default();
        let (files, wanted, notice) = Files::new(Wanted { files: names.clone(), how: config.watch });
        let observing =
            watched.map(|Watched { since, .. }| tokio::spawn(observed(wanted, notice, since, system)));
        let tools = Tools {
            host: Arc::new(Wasm(Arc::clone(&host))),
            reader: Arc::new(FromFile { file: config.file.clone(), environment, look }),
            inbox,
            files,
            requests,
            gate: Arc::clone(&gate),
            updates: Arc::clone(&updates),
            catalog: catalog.clone(),
        };
        let require_all = config.require_all;
        let plugins = config.plugins.clone();
        let mut keeper = Keeper::new(config, names, tools);
        let mut supervisor = Self {
            host,
            gate,
            catalog,
            updates,
            plugins,
            problems: Vec::new(),
            state_problem,
            status: keeper.status(),
            reloader: Reloader::new(ask),
            tasks: observing.into_iter().collect(),
        };
        keeper.load_all().await;
        supervisor.problems = keeper.problems();
        let plugins = keeper.unusable();
        if require_all && !plugins.is_empty() {
            return Err(StartError::Required { plugins, problems: supervisor.problems.clone() });
        }
        supervisor.tasks.push(tokio::spawn(keeper.run()));
        Ok(supervisor)
    }

    /// The configuration that a plugin was started with. Reloads don't change it.
    #[must_use]
    pub fn plugin_config(&self, id: &PluginId) -> Option<&Arc<PluginConfig>> {
        self.plugins.iter().find(|plugin| plugin.id == *id)
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

    /// What can't be used and what waits, now and later.
    #[must_use]
    pub fn status(&self) -> sync::watch::Receiver<Arc<Status>> {
        self.status.clone()
    }

    /// Where reloads are asked for.
    #[must_use]
    pub fn reloader(&self) -> Reloader {
        self.reloader.clone()
    }

    /// What was wrong with the plugins at the start, in the order of the file.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Why state can't be kept where the operator wants it, if a plugin may keep some and it can't. Plugins serve all
    /// the same.
    pub async fn state_problem(&self) -> Option<Problem> {
        let found = match &self.state_problem {
            Some(problem) => Some(problem.clone()),
            None => self.host.state_problem().await,
        };
        let StateProblem { reason, hint } = found?;
        let problem = Problem::error(format!("plugins' state can't be kept: {reason}"));
        Some(
            problem.hint(format!("{hint}; its directory is `state` in `[gateway]`, or `MOONGATE_STATE_DIR`")),
        )
    }

    /// Why compiled code can't be kept, if it can't. Plugins serve all the same, but each start takes longer.
    #[must_use]
    pub fn cache_problem(&self) -> Option<Problem> {
        let found = self.host.cache_problem()?;
        let problem = Problem::warning(format!(
            "compiled code can't be kept, so plugins are compiled at each start: {found}"
        ));
        Some(problem.hint(format!("{}; it is `cache` in `[gateway]`, or `MOONGATE_CACHE_DIR`", found.hint())))
    }

    /// How much is served.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let catalog = Arc::clone(&self.catalog.borrow());
        let configured = self.status.borrow().plugins.len();
        Totals {
            plugins: catalog.members().len(),
            refused: configured.saturating_sub(catalog.members().len()),
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

    /// How many loaded components each plugin has that somebody still holds.
    #[must_use]
    pub fn generations(&self) -> BTreeMap<PluginId, u32> {
        self.host.generations()
    }

    /// How many instances of each plugin wait for their next call.
    #[must_use]
    pub fn idle(&self) -> BTreeMap<PluginId, u32> {
        self.host.idle()
    }

    /// What became of the requests that each plugin wanted to send.
    #[must_use]
    pub fn requests(&self) -> BTreeMap<PluginId, Requests> {
        self.host.requests()
    }

    /// Ends the instances that wait for their next call: there will be none.
    pub fn end_idle(&self) {
        self.host.end_idle();
    }

    /// The permits of all plugins.
    #[must_use]
    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }
}

/// Where state is kept, and why it couldn't be. Whoever only looks makes none; a plugin that describes itself finds
/// nothing kept then.
async fn state(config: &Config, purpose: Purpose) -> (Option<PathBuf>, Option<StateProblem>) {
    let Some(dir) = &config.state else { return (None, None) };
    let keeps = config.plugins.iter().any(|table| table.allow.state != StateGrant::Refused);
    match purpose {
        Purpose::Calls => (Some(dir.clone()), None),
        Purpose::Looking if !keeps => (None, None),
        Purpose::Looking => match look_for_state(dir).await {
            StateFound::Some => (Some(dir.clone()), None),
            StateFound::None => (None, None),
            StateFound::Problem(problem) => (None, Some(problem)),
        },
    }
}

#[cfg(test)]
mod tests;
