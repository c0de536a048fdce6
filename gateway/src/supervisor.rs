//! Builds the served catalog from the configuration, and rebuilds it when files, plugins or operators cause changes.
//!
//! A broken plugin doesn't affect the others; at the start, each failure becomes a problem with its place in the
//! configuration. The catalog is published through a `watch` channel: a request takes a snapshot, and a newer catalog
//! can replace it. After the start, one task, the `reconciler`, keeps the catalog in line with the files.

use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use moongate_config::{
    BearerToken, Config, Diagnostic, Environment, LoadedConfig, PluginConfig, ProcessEnvironment, StateGrant,
    TlsConfig,
};
use moongate_model::names::PluginId;
use moongate_model::state::StateDiagnostic;
use moongate_model::trace_context::OutgoingRequestObserver;
use moongate_protocol::catalog::Catalog;
use moongate_protocol::changes::ResourceUpdates;
use moongate_protocol::dispatch::{Dispatcher, StartupStages};
use moongate_protocol::limiter::ConcurrencyLimiter;
use moongate_store::SharedStore;
use tokio::sync::{self, mpsc};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use moongate_host::{
    ChangeInbox, HostError, HostOptions, OutgoingOptions, StateLocation, StateProbe, WasmHost, probe_state,
};

mod backoff;
mod cached_plugins;
mod check;
pub mod control;
mod desired_config;
#[cfg(test)]
mod fake;
mod host_adapter;
mod list_refresh;
mod managed_plugin;
pub mod memory_shares;
pub mod observer;
mod plugin_host;
mod reconciler;
mod reload_report;
mod startup;
pub mod status;
mod watch;

use control::{AdminCredentials, Reloader};
use desired_config::{ConfigFile, ConfigHook};
use host_adapter::WasmPluginHost;
use memory_shares::MemoryShares;
use observer::{IgnoreChanges, SupervisorObserver};
use reconciler::{Reconciler, ReconcilerDeps};
use startup::{StartupProgress, StartupResult};
use status::SupervisorStatus;
use watch::{NativeSystem, System, WatchServer, WatchThread};

/// The maximum number of reload requests waiting for the reconciler, which answers each of them.
const REQUEST_QUEUE: usize = 16;

/// The time limit for the first catalog. It takes milliseconds, unless a file system doesn't respond, or a plugin takes
/// long to describe itself.
const MAX_FIRST_CATALOG_WAIT: Duration = Duration::from_secs(2);

/// The time limit at shutdown for the reconciler, which ends between two steps.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// The plugins of one configuration and their catalog. Dropping it ends all reloads.
#[derive(Debug)]
pub struct Supervisor {
    host: Arc<WasmHost>,
    limiter: Arc<ConcurrencyLimiter>,
    catalog: sync::watch::Sender<Arc<Catalog>>,
    tokens: sync::watch::Receiver<Vec<BearerToken>>,
    updates: Arc<ResourceUpdates>,
    /// The plugins' configurations at the start.
    plugin_configs: Vec<Arc<PluginConfig>>,
    startup: StartupProgress,
    require_all: bool,
    /// The store that several gateways share, if plugins are called.
    shared_store: Option<SharedStore>,
    /// The problem with the state directory, if the supervisor only inspects plugins.
    state_problem: Option<StateDiagnostic>,
    status: sync::watch::Receiver<Arc<SupervisorStatus>>,
    tls: sync::watch::Receiver<Option<TlsConfig>>,
    reloader: Reloader,
    tasks: Mutex<BackgroundTasks>,
}

/// The task and the thread that run until shutdown.
#[derive(Debug, Default)]
struct BackgroundTasks {
    stop: CancellationToken,
    reconciler: Option<AbortOnDropHandle<()>>,
    watch: Option<WatchThread>,
}

/// Options of a [`Supervisor`].
#[derive(Clone)]
pub struct SupervisorOptions {
    watched: Option<WatchedFiles>,
    purpose: Purpose,
    environment: Arc<dyn Environment + Send + Sync>,
    system: Arc<dyn System>,
    own_addresses: Vec<SocketAddr>,
    admin: AdminCredentials,
    config_hook: Option<ConfigHook>,
    observer: Arc<dyn SupervisorObserver>,
    outgoing_requests: Option<Arc<dyn OutgoingRequestObserver>>,
}

impl Default for SupervisorOptions {
    fn default() -> Self {
        Self::once()
    }
}

impl fmt::Debug for SupervisorOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("watched", &self.watched).finish_non_exhaustive()
    }
}

/// The purpose of loading plugins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Calls,
    /// Calls while a plugin is developed: its author waits for each build.
    Development,
    /// Shows their descriptions.
    Inspection,
}

/// Files that were read before they were watched.
#[derive(Debug, Clone)]
struct WatchedFiles {
    files: BTreeSet<PathBuf>,
    since: SystemTime,
}

impl SupervisorOptions {
    /// Doesn't watch files. Plugins that report changed lists are asked for new ones.
    #[must_use]
    pub fn once() -> Self {
        Self {
            watched: None,
            purpose: Purpose::Calls,
            environment: Arc::new(ProcessEnvironment),
            system: Arc::new(NativeSystem),
            own_addresses: Vec::new(),
            admin: AdminCredentials::default(),
            config_hook: None,
            observer: Arc::new(IgnoreChanges),
            outgoing_requests: None,
        }
    }

    /// Doesn't watch files and creates no state directory, because no tool is called.
    #[must_use]
    pub fn inspecting() -> Self {
        Self { purpose: Purpose::Inspection, ..Self::once() }
    }

    /// Applies changed files, unless the configuration turns that off. `files` are those that the configuration was
    /// read from, see [`LoadedConfig::files`](moongate_config::LoadedConfig::files); `since` is the time when reading
    /// them began.
    #[must_use]
    pub fn watching(files: BTreeSet<PathBuf>, since: SystemTime) -> Self {
        Self { watched: Some(WatchedFiles { files, since }), ..Self::once() }
    }

    /// Compiles changed components as fast as possible, because the author of a plugin waits for them. By default, calls
    /// are more important.
    #[must_use]
    pub fn developing(self) -> Self {
        Self { purpose: Purpose::Development, ..self }
    }

    /// The environment variables for re-reading the configuration. By default, those of this process.
    #[must_use]
    pub fn environment(self, environment: impl Environment + Send + Sync + 'static) -> Self {
        Self { environment: Arc::new(environment), ..self }
    }

    /// The addresses that this process listens on. Plugins can't send requests to them.
    #[must_use]
    pub fn own_addresses(self, addresses: impl IntoIterator<Item = SocketAddr>) -> Self {
        Self { own_addresses: addresses.into_iter().collect(), ..self }
    }

    /// The credentials of the admin listener, which follow the configuration.
    #[must_use]
    pub fn admin_credentials(self, admin: AdminCredentials) -> Self {
        Self { admin, ..self }
    }

    /// Passes every re-read configuration through `hook` before it is used. The hook can reject the configuration by
    /// removing it, and can block, like reading does.
    #[must_use]
    pub fn config_hook(self, hook: impl Fn(LoadedConfig) -> LoadedConfig + Send + Sync + 'static) -> Self {
        Self { config_hook: Some(Arc::new(hook)), ..self }
    }

    /// Reports each change to `observer`.
    #[must_use]
    pub fn observer(self, observer: Arc<dyn SupervisorObserver>) -> Self {
        Self { observer, ..self }
    }

    /// Reports plugins' requests to other servers to `observer`.
    #[must_use]
    pub fn outgoing_requests(self, observer: Option<Arc<dyn OutgoingRequestObserver>>) -> Self {
        Self { outgoing_requests: observer, ..self }
    }

    /// Watches files through another system.
    #[cfg(test)]
    fn system(self, system: impl System) -> Self {
        Self { system: Arc::new(system), ..self }
    }
}

/// An error when starting the supervisor.
#[derive(Debug, thiserror::Error)]
pub enum SupervisorStartError {
    /// The Wasm host can't be started.
    #[error(transparent)]
    Host(#[from] HostError),
    /// Some plugins can't be loaded, and `require_all` is set.
    #[error("{} can't be used, and `require_all` is set", list_ids(plugins))]
    RequiredPlugins {
        /// The plugins.
        plugins: Vec<PluginId>,
        /// The problems, with their locations in the configuration.
        problems: Vec<Diagnostic>,
    },
}

fn list_ids(plugins: &[PluginId]) -> String {
    plugins.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ")
}

/// Counts of plugins and of their items.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CatalogTotals {
    /// Plugins that serve calls.
    pub plugins: usize,
    /// Plugins that can't be loaded.
    pub failed: usize,
    /// Tools.
    pub tools: usize,
    /// Listed resources.
    pub resources: usize,
    /// Resource templates.
    pub templates: usize,
    /// Prompts.
    pub prompts: usize,
}

impl Supervisor {
    /// Starts the Wasm host and loads all plugins. With [`SupervisorOptions::watching`], it returns once the first
    /// catalog contains every plugin that needn't be compiled, or after two seconds; [`Self::loaded`] waits for the
    /// others. From then on, changes are applied.
    ///
    /// # Errors
    /// The host can't be started, or a plugin can't be loaded and the configuration requires all of them. Otherwise, a
    /// broken plugin is one of the [`Self::problems`].
    pub async fn start(config: Config, options: SupervisorOptions) -> Result<Self, SupervisorStartError> {
        let SupervisorOptions {
            watched,
            purpose,
            environment,
            system,
            own_addresses,
            admin,
            config_hook,
            observer,
            outgoing_requests,
        } = options;
        let inbox: Arc<ChangeInbox> = Arc::default();
        let shared_store = match (&config.store, purpose) {
            (Some(store), Purpose::Calls | Purpose::Development) => {
                Some(SharedStore::open(store, config.ca_file.clone()).await)
            }
            (Some(_), Purpose::Inspection) | (None, _) => None,
        };
        let (state, state_problem) = match &shared_store {
            Some(store) => (StateLocation::Shared(Arc::new(store.clone())), None),
            None => find_state(&config, purpose).await,
        };
        let serves_while_loading = watched.is_some();
        let outgoing_http = OutgoingOptions {
            own_listeners: own_addresses,
            ca_file: config.ca_file.clone(),
            observer: outgoing_requests,
        };
        let host = start_host(&config, state, outgoing_http, serves_while_loading, &inbox)?;
        let host = Arc::new(host);
        let (catalog, _) = sync::watch::channel(Arc::new(Catalog::empty()));
        let (token_sender, tokens) = sync::watch::channel(config.http.tokens.clone());
        let limiter = Arc::new(ConcurrencyLimiter::new(config.concurrency));
        limiter.set_caller_limits(config.callers, config.roles.clone());
        if let (Some(store), Some(config)) = (&shared_store, &config.store) {
            limiter.share_rates(Arc::new(store.clone()), config.rates_when_down);
        }
        let updates: Arc<ResourceUpdates> = Arc::default();
        let (request_sender, requests) = mpsc::channel(REQUEST_QUEUE);
        let files = watched.as_ref().map(|watched| watched.files.clone()).unwrap_or_default();
        let (watch, watch_server) = watch::channel();
        let deps = ReconcilerDeps {
            host: Arc::new(WasmPluginHost {
                host: Arc::clone(&host),
                prefers_calls: purpose != Purpose::Development,
            }),
            reader: Arc::new(ConfigFile { path: config.file.clone(), environment, hook: config_hook }),
            inbox,
            watch,
            requests,
            limiter: Arc::clone(&limiter),
            updates: Arc::clone(&updates),
            catalog: catalog.clone(),
            tokens: token_sender,
            admin,
            observer,
        };
        let require_all = config.require_all;
        let plugin_configs = config.plugins.clone();
        // Names the files to watch, which must be known before the thread starts.
        let reconciler = Reconciler::new(config, files, deps);
        let mut tasks = BackgroundTasks {
            watch: watched.and_then(|watched| spawn_watch(watch_server, system, watched.since)),
            ..BackgroundTasks::default()
        };
        let status = reconciler.status();
        let startup = reconciler.startup();
        let tls = reconciler.tls();
        let run = reconciler.run(tasks.stop.clone());
        tasks.reconciler = Some(AbortOnDropHandle::new(tokio::spawn(run)));
        let supervisor = Self {
            host,
            limiter,
            catalog,
            tokens,
            updates,
            plugin_configs,
            startup,
            require_all,
            shared_store,
            state_problem,
            status,
            tls,
            reloader: Reloader::new(request_sender),
            tasks: Mutex::new(tasks),
        };
        if serves_while_loading {
            let _ = timeout(MAX_FIRST_CATALOG_WAIT, supervisor.startup.first_catalog()).await;
            supervisor.startup.result().map_or(Ok(()), |result| supervisor.check_required(result))?;
        } else {
            supervisor.loaded().await?;
        }
        Ok(supervisor)
    }

    /// Waits until every plugin has been loaded or has failed.
    ///
    /// # Errors
    /// A plugin can't be loaded, and the configuration requires all of them.
    pub async fn loaded(&self) -> Result<(), SupervisorStartError> {
        self.check_required(self.startup.loaded().await)
    }

    /// The stages of the start that requests wait for.
    #[must_use]
    pub fn startup_stages(&self) -> &StartupStages {
        self.startup.stages()
    }

    /// True if every plugin has been loaded or has failed.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        self.startup_stages().loaded.is_cancelled()
    }

    fn check_required(&self, result: &StartupResult) -> Result<(), SupervisorStartError> {
        let StartupResult { problems, inactive } = result;
        if self.require_all && !inactive.is_empty() {
            let (plugins, problems) = (inactive.clone(), problems.clone());
            return Err(SupervisorStartError::RequiredPlugins { plugins, problems });
        }
        Ok(())
    }

    /// The configuration that a plugin was started with. Reloads don't change it.
    #[must_use]
    pub fn plugin_config(&self, id: &PluginId) -> Option<&Arc<PluginConfig>> {
        self.plugin_configs.iter().find(|config| config.id == *id)
    }

    /// Ends all reloads and waits until the background tasks have ended. The catalog stays published.
    pub async fn shutdown(&self) {
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        tasks.shutdown().await;
    }

    /// Calls the plugins by their public names.
    #[must_use]
    pub fn dispatcher(&self) -> Dispatcher {
        Dispatcher::new(self.catalog(), Arc::clone(&self.limiter))
    }

    /// The static tokens of callers, with updates.
    #[must_use]
    pub fn tokens(&self) -> sync::watch::Receiver<Vec<BearerToken>> {
        self.tokens.clone()
    }

    /// The catalog, with updates.
    #[must_use]
    pub fn catalog(&self) -> sync::watch::Receiver<Arc<Catalog>> {
        self.catalog.subscribe()
    }

    /// Notifications about changed resources.
    #[must_use]
    pub fn updates(&self) -> &Arc<ResourceUpdates> {
        &self.updates
    }

    /// The status, with updates.
    #[must_use]
    pub fn status(&self) -> sync::watch::Receiver<Arc<SupervisorStatus>> {
        self.status.clone()
    }

    /// Reads the status, with the directories that calls couldn't open.
    pub fn status_reader(&self) -> impl Fn() -> SupervisorStatus + Send + Sync + 'static {
        let (status, catalog) = (self.status(), self.catalog());
        move || status.borrow().with_unavailable_directories(&catalog.borrow())
    }

    /// Requests reloads.
    #[must_use]
    pub fn reloader(&self) -> Reloader {
        self.reloader.clone()
    }

    /// The Wasm host.
    #[must_use]
    pub fn host(&self) -> &Arc<WasmHost> {
        &self.host
    }

    /// The call permits of all plugins.
    #[must_use]
    pub fn limiter(&self) -> &Arc<ConcurrencyLimiter> {
        &self.limiter
    }

    /// Problems of plugins at the start, in configuration order. None while plugins are being loaded.
    #[must_use]
    pub fn problems(&self) -> &[Diagnostic] {
        self.startup.result().map_or(&[], |result| &result.problems)
    }

    /// The store that several gateways share. `None` if none is configured, or plugins are only inspected.
    #[must_use]
    pub fn shared_store(&self) -> Option<&SharedStore> {
        self.shared_store.as_ref()
    }

    /// The problem that keeps state from being stored, if a plugin has a grant for state. Plugins are served
    /// nevertheless.
    pub async fn state_problem(&self) -> Option<Diagnostic> {
        let found = match &self.state_problem {
            Some(problem) => Some(problem.clone()),
            None => self.host.state_error().await,
        };
        let StateDiagnostic { reason, hint } = found?;
        let problem = Diagnostic::error(format!("plugin state can't be stored: {reason}"));
        let place = "the directory is `state` in `[gateway]`, or `MOONGATE_STATE_DIR`";
        Some(problem.with_hint(match &self.shared_store {
            Some(_) => hint,
            None => format!("{hint}; {place}"),
        }))
    }

    /// The problem that keeps compiled code from being cached. Plugins are served nevertheless, but each start takes
    /// longer.
    #[must_use]
    pub fn cache_problem(&self) -> Option<Diagnostic> {
        let found = self.host.cache_error()?;
        let message = format!("can't cache compiled code, so every start compiles all plugins: {found}");
        let hint = found.hint();
        let hint = format!("{hint}; the directory is `cache` in `[gateway]`, or `MOONGATE_CACHE_DIR`");
        Some(Diagnostic::warning(message).with_hint(hint))
    }

    /// The certificate of the endpoint, with updates.
    pub(crate) fn tls(&self) -> sync::watch::Receiver<Option<TlsConfig>> {
        self.tls.clone()
    }

    /// Counts of plugins and of their items.
    #[must_use]
    pub fn totals(&self) -> CatalogTotals {
        let catalog = Arc::clone(&self.catalog.borrow());
        let configured = self.status.borrow().plugins.len();
        CatalogTotals {
            plugins: catalog.plugins().len(),
            failed: configured.saturating_sub(catalog.plugins().len()),
            tools: catalog.tools().len(),
            resources: catalog.resources().len(),
            templates: catalog.templates().len(),
            prompts: catalog.prompts().len(),
        }
    }
}

impl BackgroundTasks {
    async fn shutdown(mut self) {
        self.stop.cancel();
        // The reconciler first, because the thread may be waiting for it.
        if let Some(reconciler) = self.reconciler.take()
            && timeout(STOP_TIMEOUT, reconciler).await.is_err()
        {
            tracing::debug!("the reconciler is still busy at shutdown");
        }
        if let Some(watch) = self.watch.take() {
            watch.stop().await;
        }
    }
}

/// Starts the thread that watches files. Without it, changed files have no effect.
fn spawn_watch(server: WatchServer, system: Arc<dyn System>, since: SystemTime) -> Option<WatchThread> {
    match WatchThread::spawn(server, system, since) {
        Ok(thread) => Some(thread),
        Err(error) => {
            tracing::error!("can't watch files: can't start a thread: {error}");
            None
        }
    }
}

fn start_host(
    config: &Config,
    state: StateLocation,
    outgoing_http: OutgoingOptions,
    uses_cached_descriptions: bool,
    inbox: &Arc<ChangeInbox>,
) -> Result<WasmHost, HostError> {
    // Another process can listen at the configured addresses, for example `serve` next to `serve --stdio`.
    let configured = [Some(config.http.listen), config.admin.as_ref().map(|admin| admin.listen)];
    let configured = configured.into_iter().flatten().filter(|address| address.port() != 0);
    let mut outgoing_http = outgoing_http;
    outgoing_http.own_listeners.extend(configured);
    WasmHost::new(HostOptions {
        cache_dir: config.cache.clone(),
        state,
        max_concurrent_calls: config.concurrency,
        guest_memory: MemoryShares::of(config).guests,
        uses_cached_descriptions,
        change_inbox: Some(Arc::clone(inbox)),
        outgoing_http,
    })
}

/// The place for state without a shared store, and the problem that keeps state from being stored. An inspection creates
/// no directory and connects to no store; a plugin that describes itself then finds no state.
async fn find_state(config: &Config, purpose: Purpose) -> (StateLocation, Option<StateDiagnostic>) {
    let memory = StateLocation::Memory;
    let Some(dir) = config.state.as_ref().filter(|_| config.store.is_none()) else { return (memory, None) };
    let directory = || StateLocation::Directory(dir.clone());
    let is_granted = config.plugins.iter().any(|plugin| plugin.allow.state != StateGrant::NotGranted);
    match purpose {
        Purpose::Calls | Purpose::Development => (directory(), None),
        Purpose::Inspection if !is_granted => (memory, None),
        Purpose::Inspection => match probe_state(dir).await {
            StateProbe::Some => (directory(), None),
            StateProbe::None => (memory, None),
            StateProbe::Problem(problem) => (memory, Some(problem)),
        },
    }
}

#[cfg(test)]
mod tests;
