//! The loop that keeps the served catalog in line with the files.
//!
//! One task owns the state: the configuration in use, a [`ManagedPlugin`] for each plugin, and the pending reports.
//! Each step waits for an event and then:
//!
//! 1. applies the event to the state (`handle`, or `configure` for a configuration);
//! 2. starts all due work in separate tasks, each of which ends in an event (`start_due_work`, in this file);
//! 3. publishes finished work as one new catalog (`publish`);
//! 4. logs, answers requests and updates the status (`announce`).
//!
//! A panic in one step doesn't end the loop.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use moongate_config::{BearerToken, Config, Diagnostic, DirGrant, DirMode, PluginConfig, TlsConfig};
use moongate_model::names::PluginId;
use moongate_protocol::catalog::Catalog;
use moongate_protocol::changes::ResourceUpdates;
use moongate_protocol::limiter::ConcurrencyLimiter;
use moongate_protocol::mcp;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use moongate_host::{ChangeInbox, MAX_CONCURRENT_COMPILES, ReportedChanges, startup_compiles};

use super::cached_plugins::CachedPluginSearch;
use super::check::{self, CheckCircumstances, CheckPermits, CheckResult, CompileStep, FileFinding};
use super::control::{AdminCredentials, ReloadRequest};
use super::desired_config::{ConfigInForce, ConfigReader, DesiredConfig, read_settled};
use super::list_refresh::{ListRefreshes, RefreshResult, refresh};
use super::managed_plugin::ManagedPlugin;
use super::observer::SupervisorObserver;
use super::plugin_host::{LoadedCode, LoadedPlugin, PluginHost};
use super::reload_report::ReloadReport;
use super::startup::{StartupProgress, StartupResult};
use super::status::{SupervisorStatus, WatchMode};
use super::watch::{WatchClient, WatchEvent};

mod announce;
mod configure;
mod handle;
mod publish;

/// The maximum delay before finished work is published, even if other plugins are still being loaded.
const MAX_PUBLISH_DELAY: Duration = Duration::from_secs(1);

/// Everything that the loop works with.
pub(super) struct ReconcilerDeps {
    pub(super) host: Arc<dyn PluginHost>,
    pub(super) reader: Arc<dyn ConfigReader>,
    /// Reports from plugins.
    pub(super) inbox: Arc<ChangeInbox>,
    pub(super) watch: WatchClient,
    /// Reload requests.
    pub(super) requests: mpsc::Receiver<ReloadRequest>,
    pub(super) limiter: Arc<ConcurrencyLimiter>,
    pub(super) updates: Arc<ResourceUpdates>,
    pub(super) catalog: watch::Sender<Arc<Catalog>>,
    /// The static tokens of callers.
    pub(super) tokens: watch::Sender<Vec<BearerToken>>,
    /// The credentials of the admin listener.
    pub(super) admin: AdminCredentials,
    pub(super) observer: Arc<dyn SupervisorObserver>,
}

/// The loop and its state.
pub(super) struct Reconciler {
    deps: ReconcilerDeps,
    watching: WatchMode,
    check_permits: Arc<CheckPermits>,
    compile_steps: (mpsc::UnboundedSender<CompileStep>, mpsc::UnboundedReceiver<CompileStep>),
    tasks: JoinSet<TaskResult>,
    desired: DesiredConfig,
    /// In configuration order.
    plugins: Vec<ManagedPlugin>,
    last_serial: u64,
    list_refreshes: ListRefreshes,
    changed_elsewhere: mpsc::UnboundedReceiver<PluginId>,
    report: ReloadReport,
    status: watch::Sender<Arc<SupervisorStatus>>,
    /// The time since when finished work has been waiting to be published.
    ready_since: Option<Instant>,
    /// Problems of the last catalog that was built.
    catalog_problems: Vec<Diagnostic>,
    retired: Vec<RetiredCode>,
    phase: Phase,
    startup: StartupProgress,
    /// Plugins whose lists come from a cache, and that haven't been asked for their current ones since the start.
    unconfirmed: BTreeSet<PluginId>,
}

/// Code that is no longer active.
struct RetiredCode {
    code: Arc<dyn LoadedCode>,
    /// The time for which it is still needed.
    delay: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Plugins are being loaded. Nothing is published before every plugin whose code is cached has been loaded or has
    /// failed. The caller reports failures.
    Starting,
    Serving,
}

/// Everything that can happen.
#[derive(Debug)]
enum Event {
    Watch(WatchEvent),
    ReloadRequested(ReloadRequest),
    ReportedByPlugins(BTreeMap<PluginId, ReportedChanges>),
    /// A plugin reported changed lists at another gateway.
    ListsChangedElsewhere(PluginId),
    TaskEnded(Box<TaskResult>),
    /// A plugin's code has to be compiled.
    Compile(CompileStep),
    /// A deadline has passed.
    Timer,
}

impl Event {
    /// False for frequent events that aren't part of the status: a plugin may report changes in every call, and after a
    /// start, each plugin is asked if its lists are still the cached ones.
    fn changes_status(&self) -> bool {
        match self {
            Self::ReportedByPlugins(_) | Self::ListsChangedElsewhere(_) => false,
            Self::TaskEnded(ended) => !matches!(**ended, TaskResult::ListsRefreshed { result: Ok(None), .. }),
            Self::Watch(_) | Self::ReloadRequested(_) | Self::Compile(_) | Self::Timer => true,
        }
    }
}

/// The result of a task.
#[derive(Debug)]
enum TaskResult {
    /// A plugin was checked.
    Checked {
        serial: u64,
        /// The configuration that it was checked with.
        config: Arc<PluginConfig>,
        result: CheckResult,
    },
    /// A plugin was asked for its lists again.
    ListsRefreshed {
        serial: u64,
        plugin: PluginId,
        /// The version that was asked.
        before: LoadedPlugin,
        result: RefreshResult,
    },
    /// The configuration was read.
    ConfigRead(Box<moongate_config::LoadedConfig>),
}

impl Reconciler {
    /// A reconciler with nothing loaded yet. `files` are those that the configuration was read from.
    pub(super) fn new(config: Config, files: BTreeSet<PathBuf>, deps: ReconcilerDeps) -> Self {
        let now = Instant::now();
        let configs = config.plugins.clone();
        let desired = DesiredConfig::new(config, files);
        let status = announce::initial_status(&desired);
        let mut reconciler = Self {
            changed_elsewhere: deps.updates.lists_changed_elsewhere(),
            deps,
            watching: WatchMode::Off,
            check_permits: Arc::default(),
            compile_steps: mpsc::unbounded_channel(),
            tasks: JoinSet::new(),
            desired,
            plugins: Vec::new(),
            last_serial: 0,
            list_refreshes: ListRefreshes::default(),
            report: ReloadReport::default(),
            status: watch::channel(Arc::new(status)).0,
            ready_since: None,
            catalog_problems: Vec::new(),
            retired: Vec::new(),
            phase: Phase::Starting,
            startup: StartupProgress::default(),
            unconfirmed: BTreeSet::new(),
        };
        for config in configs {
            let serial = reconciler.next_serial();
            reconciler.plugins.push(ManagedPlugin::new(serial, config, now));
        }
        reconciler.update_watch_target();
        reconciler
    }

    /// Loads all plugins and publishes the first catalogs.
    async fn load_all(&mut self) {
        self.load_cached().await;
        self.start_due_work(Instant::now());
        self.publish_if_due(Instant::now());
        self.announce(); // the status names every plugin from now on
        // Plugins that a reload adds meanwhile, or checks again, don't prolong the start.
        let last = self.last_serial;
        while self.plugins.iter().any(|plugin| plugin.serial <= last && plugin.is_loading()) {
            self.step().await;
        }
        if self.ready_since.is_some() || !self.has_catalog() {
            self.publish();
        }
        // The caller reports problems of the start, including those of the catalog.
        self.announce();
        self.phase = Phase::Serving;
        self.deps.host.start_serving();
        self.announce();
        let (problems, inactive) = (self.problems(), self.inactive_plugins());
        self.startup.set_loaded(StartupResult { problems, inactive });
        // Their lists come from a cache, and can have changed since.
        let unconfirmed = self.plugins.iter().filter(|plugin| plugin.is_unconfirmed());
        self.unconfirmed = unconfirmed.map(|plugin| plugin.id().clone()).collect();
        self.unconfirmed.iter().for_each(|plugin| self.list_refreshes.request(plugin.clone()));
        self.start_due_work(Instant::now());
        self.note_confirmed();
    }

    /// Loads the plugins whose descriptions are cached.
    async fn load_cached(&mut self) {
        let configs: Arc<[_]> = self.configs_in_force().into();
        let circumstances = self.check_circumstances(&configs);
        let CheckCircumstances { has_writable_dirs, .. } = circumstances;
        let host = Arc::clone(&self.deps.host);
        let found = CachedPluginSearch::new(host, configs.to_vec(), has_writable_dirs).run().await;
        let now = Instant::now();
        for (plugin, loaded) in self.plugins.iter_mut().zip(found) {
            let Some(loaded) = loaded else { continue };
            let check = plugin.start_check(now, &configs, &self.compile_steps.0, circumstances);
            let Some(check) = check else { continue };
            let result = CheckResult { file: Some(FileFinding::Loaded(loaded)), config: None };
            plugin.finish_check(&check.config, result, now);
            self.ready_since.get_or_insert(now);
        }
    }

    /// Notes that every plugin whose lists came from a cache has been asked for its current ones.
    fn note_confirmed(&self) {
        if self.unconfirmed.is_empty() {
            self.startup.set_confirmed();
        }
    }

    /// Loads all plugins, and then applies changes until `stop` is cancelled.
    pub(super) async fn run(mut self, stop: CancellationToken) {
        let _alarm = PanicAlarm;
        let steps = async {
            self.load_all().await;
            loop {
                self.step().await;
            }
        };
        stop.run_until_cancelled(steps).await;
    }

    /// The progress of the start.
    pub(super) fn startup(&self) -> StartupProgress {
        self.startup.clone()
    }

    /// Problems of the plugins, in configuration order.
    fn problems(&self) -> Vec<Diagnostic> {
        let failures = self.plugins.iter().flat_map(ManagedPlugin::failures);
        let problems = failures.flat_map(|failure| &failure.problems).chain(&self.catalog_problems);
        let mut problems: Vec<_> = problems.cloned().collect();
        problems.sort_by_key(|problem| problem.span.as_ref().map_or(0, |place| place.start));
        problems
    }

    /// Plugins without an active version.
    fn inactive_plugins(&self) -> Vec<PluginId> {
        let inactive = self.plugins.iter().filter(|plugin| plugin.active().is_none());
        inactive.map(|plugin| plugin.id().clone()).collect()
    }

    pub(super) fn status(&self) -> watch::Receiver<Arc<SupervisorStatus>> {
        self.status.subscribe()
    }

    /// The current certificate of the endpoint.
    pub(super) fn tls(&self) -> watch::Receiver<Option<TlsConfig>> {
        self.desired.tls.subscribe()
    }

    /// Waits for an event and handles it completely.
    async fn step(&mut self) {
        let event = self.next_event().await;
        let mut changes_status = event.changes_status();
        // Work that a panic left undone is done with the next event.
        let done = catch_unwind(AssertUnwindSafe(|| {
            self.handle(event);
            // The rest of a step takes longer the more plugins there are, and many are loaded at once at a start.
            while let Some(result) = self.tasks.try_join_next() {
                let event = task_event(result);
                changes_status |= event.changes_status();
                self.handle(event);
            }
            let now = Instant::now();
            self.start_due_work(now);
            if changes_status {
                self.publish_if_due(now);
                if self.phase == Phase::Serving || self.has_catalog() {
                    self.announce();
                }
            }
        }));
        if done.is_err() {
            tracing::error!("internal error while applying a change; continuing (please report this)");
        }
    }

    async fn next_event(&mut self) -> Event {
        let due = self.due();
        let ReconcilerDeps { inbox, watch, requests, .. } = &mut self.deps;
        tokio::select! {
            Some(event) = watch.next_event() => Event::Watch(event),
            Some(request) = requests.recv() => Event::ReloadRequested(request),
            Some(step) = self.compile_steps.1.recv() => Event::Compile(step),
            reported = inbox.take() => Event::ReportedByPlugins(reported),
            Some(plugin) = self.changed_elsewhere.recv() => Event::ListsChangedElsewhere(plugin),
            Some(result) = self.tasks.join_next() => task_event(result),
            () = sleep_until(due) => Event::Timer,
        }
    }

    /// The next deadline.
    fn due(&self) -> Option<Instant> {
        let checks = self.plugins.iter().filter_map(ManagedPlugin::due);
        let publish = match self.phase {
            Phase::Starting if !self.has_catalog() => None, // waits for all plugins that needn't be compiled
            Phase::Starting | Phase::Serving => self.ready_since.map(|since| since + MAX_PUBLISH_DELAY),
        };
        checks.chain(publish).chain(self.list_refreshes.due()).min()
    }

    /// Starts every task that is due.
    fn start_due_work(&mut self, now: Instant) {
        self.start_list_refreshes(now);
        let starts_read = self.desired.start_read();
        if !starts_read && !self.plugins.iter().any(|plugin| plugin.is_check_due(now)) {
            return;
        }
        let configs: Arc<[_]> = self.configs_in_force().into();
        if starts_read {
            let reader = Arc::clone(&self.deps.reader);
            let lane = self.desired.lane.clone();
            let started = Arc::clone(&self.desired.started);
            let in_force = ConfigInForce {
                started,
                plugins: Arc::clone(&configs),
                tls: self.desired.tls.borrow().clone(),
                admin_tls: self.deps.admin.tls.borrow().clone(),
            };
            self.tasks.spawn(async move {
                TaskResult::ConfigRead(Box::new(read_settled(reader, lane, in_force).await))
            });
        }
        let circumstances = self.check_circumstances(&configs);
        for plugin in &mut self.plugins {
            let check = plugin.start_check(now, &configs, &self.compile_steps.0, circumstances);
            let Some(check) = check else { continue };
            let serial = plugin.serial;
            let config = Arc::clone(&check.config);
            let host = Arc::clone(&self.deps.host);
            let permits = Arc::clone(&self.check_permits);
            self.tasks.spawn(async move {
                let result = check::run(host, permits, check).await;
                TaskResult::Checked { serial, config, result }
            });
        }
    }

    fn check_circumstances(&self, configs: &[Arc<PluginConfig>]) -> CheckCircumstances {
        let compile_permits = match self.phase {
            Phase::Starting => MAX_CONCURRENT_COMPILES / startup_compiles(),
            Phase::Serving => MAX_CONCURRENT_COMPILES, // one at a time
        };
        let may_write = |dir: &DirGrant| dir.mode == DirMode::ReadWrite;
        let has_writable_dirs = configs.iter().any(|config| config.allow.dirs.iter().any(may_write));
        CheckCircumstances { compile_permits, has_writable_dirs }
    }

    /// Starts to ask the plugins that are due for their lists.
    fn start_list_refreshes(&mut self, now: Instant) {
        while let Some(plugin) = self.list_refreshes.start(now, &self.deps.updates) {
            let managed = self.plugins.iter().find(|managed| *managed.id() == plugin);
            match managed.and_then(|managed| Some((managed.serial, managed.active_loaded()?.clone()))) {
                Some((serial, before)) => drop(self.tasks.spawn(async move {
                    let result = refresh(before.clone()).await;
                    TaskResult::ListsRefreshed { serial, plugin, before, result }
                })),
                None => {
                    self.list_refreshes.finish(&plugin);
                    self.unconfirmed.remove(&plugin);
                    self.note_confirmed();
                }
            }
        }
    }

    /// Every plugin's current configuration, and those of the active versions.
    fn configs_in_force(&self) -> Vec<Arc<PluginConfig>> {
        let active = self.plugins.iter().filter_map(ManagedPlugin::active_loaded);
        let active = active.map(|active| Arc::clone(&active.config));
        self.plugins.iter().map(|plugin| Arc::clone(plugin.config())).chain(active).collect()
    }

    /// Publishes at once, or together with everything else during the start.
    fn publish_now(&mut self) {
        match self.phase {
            Phase::Serving => self.publish(),
            Phase::Starting => self.mark_ready(),
        }
    }

    /// Notes that there is finished work to publish.
    fn mark_ready(&mut self) {
        self.ready_since.get_or_insert_with(Instant::now);
    }

    /// Publishes finished work: at once if nothing else is being prepared, and otherwise after a short delay.
    fn publish_if_due(&mut self, now: Instant) {
        if self.phase == Phase::Starting && !self.has_catalog() {
            // Plugins that have to be compiled follow later.
            if self.plugins.iter().all(|plugin| !plugin.is_loading() || plugin.awaits_compiler()) {
                self.publish();
                self.startup.set_first_catalog();
            }
            return;
        }
        let Some(since) = self.ready_since else { return };
        let is_busy = self.plugins.iter().any(ManagedPlugin::is_busy);
        if !is_busy || now >= since + MAX_PUBLISH_DELAY {
            self.publish();
        }
    }

    /// True if a catalog was published.
    fn has_catalog(&self) -> bool {
        self.deps.catalog.borrow().generation() > 0
    }

    fn next_serial(&mut self) -> u64 {
        self.last_serial += 1;
        self.last_serial
    }
}

/// The event of an ended task.
fn task_event(result: Result<TaskResult, JoinError>) -> Event {
    match result {
        Ok(result) => Event::TaskEnded(Box::new(result)),
        Err(error) => {
            tracing::error!("reload task failed: {error}");
            Event::Timer
        }
    }
}

/// Logs that a panic ended the loop, because changes have no effect from then on.
struct PanicAlarm;

impl Drop for PanicAlarm {
    fn drop(&mut self) {
        if std::thread::panicking() {
            tracing::error!("live reload stopped because of an internal error; restart the gateway");
        }
    }
}

/// Waits until a deadline, or for ever without one.
async fn sleep_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// The time for which inactive code is kept: for running and waiting calls, and for multi-round calls that continue
/// after a user has answered. `after` is the configuration of the version that replaced it.
///
/// If that configuration grants less or doesn't exist, only running calls keep the code: a revoked grant must not be
/// used minutes later.
fn retire_delay(before: &PluginConfig, after: Option<&PluginConfig>) -> Duration {
    let running = before.limits.timeout + before.limits.cancel_grace;
    match after {
        Some(after) if before.widened_grants(Some(after)).is_empty() => mcp::QUESTION_TIMEOUT + running,
        Some(_) | None => running,
    }
}

#[cfg(test)]
mod tests;
