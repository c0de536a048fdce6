//! A reconciler that runs on fakes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use moongate_config::{PluginConfig, parse_config};
use moongate_model::test_support::FakePlugin;
use moongate_protocol::catalog::Catalog;
use moongate_protocol::changes::ResourceUpdates;
use moongate_protocol::limiter::ConcurrencyLimiter;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::supervisor::control::{AdminCredentials, Reloader};
use crate::supervisor::desired_config::ConfigReader;
use crate::supervisor::observer::IgnoreChanges;
use crate::supervisor::reconciler::{Reconciler, ReconcilerDeps};
use crate::supervisor::startup::StartupProgress;
use crate::supervisor::status::{PluginState, PluginStatus, SupervisorStatus};
use crate::supervisor::watch::{self as files, WatchEvent, WatchServer, WatchTarget};
use moongate_host::ChangeInbox;

use super::{FakeCode, FakeDisk, FakeHost};

/// The path of the fake configuration.
const CONFIG_FILE: &str = "/gateway.toml";

/// Reads a configuration from a [`FakeDisk`].
struct FakeConfigReader(Arc<FakeDisk>);

impl ConfigReader for FakeConfigReader {
    fn read(&self) -> moongate_config::LoadedConfig {
        let text = self.0.files.lock().unwrap().get(Path::new(CONFIG_FILE)).cloned().unwrap_or_default();
        parse(&text)
    }
}

fn parse(text: &str) -> moongate_config::LoadedConfig {
    let variables = [("MOONGATE_CACHE_DIR", "/cache"), ("KEY", "a key that is long enough for all")];
    let variables: BTreeMap<_, _> = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    parse_config(Path::new(CONFIG_FILE), format!("version = 1\n{text}"), &variables)
}

/// A running reconciler.
pub(in crate::supervisor) struct TestReconciler {
    pub(in crate::supervisor) disk: Arc<FakeDisk>,
    pub(in crate::supervisor) reloader: Reloader,
    pub(in crate::supervisor) catalog: watch::Receiver<Arc<Catalog>>,
    pub(in crate::supervisor) status: watch::Receiver<Arc<SupervisorStatus>>,
    pub(in crate::supervisor) limiter: Arc<ConcurrencyLimiter>,
    pub(in crate::supervisor) inbox: Arc<ChangeInbox>,
    watch: WatchServer,
    stop: CancellationToken,
    task: AbortOnDropHandle<()>,
}

impl TestReconciler {
    /// Starts with a configuration and files, and waits for the first catalog.
    pub(in crate::supervisor) async fn start_loading(
        config: &str,
        files: &[(&str, &str)],
    ) -> (Self, StartupProgress) {
        let disk: Arc<FakeDisk> = Arc::default();
        let files = files.iter().copied().chain([(CONFIG_FILE, config)]);
        let files = files.map(|(path, text)| (PathBuf::from(path), text.to_owned()));
        disk.files.lock().unwrap().extend(files);
        let loaded = parse(config);
        let config = loaded.config.unwrap_or_else(|| panic!("{:?}", loaded.problems));
        let (client, watch_server) = files::channel();
        let (request_sender, requests) = mpsc::channel(4);
        let (catalog, _) = watch::channel(Arc::new(Catalog::empty()));
        let limiter = Arc::new(ConcurrencyLimiter::new(4));
        let inbox: Arc<ChangeInbox> = Arc::default();
        let updates: Arc<ResourceUpdates> = Arc::default();
        let deps = ReconcilerDeps {
            host: Arc::new(FakeHost(Arc::clone(&disk))),
            reader: Arc::new(FakeConfigReader(Arc::clone(&disk))),
            inbox: Arc::clone(&inbox),
            watch: client,
            requests,
            limiter: Arc::clone(&limiter),
            updates,
            catalog: catalog.clone(),
            tokens: watch::channel(Vec::new()).0,
            admin: AdminCredentials::default(),
            observer: Arc::new(IgnoreChanges),
        };
        let reconciler = Reconciler::new(config, loaded.files, deps);
        let stop = CancellationToken::new();
        let startup = reconciler.startup();
        let gateway = Self {
            disk,
            reloader: Reloader::new(request_sender),
            catalog: catalog.subscribe(),
            status: reconciler.status(),
            limiter,
            inbox,
            watch: watch_server,
            task: AbortOnDropHandle::new(tokio::spawn(reconciler.run(stop.clone()))),
            stop,
        };
        startup.first_catalog().await;
        (gateway, startup)
    }

    /// Starts, and waits until every plugin has been loaded or has failed.
    pub(in crate::supervisor) async fn start(config: &str, files: &[(&str, &str)]) -> Self {
        let (gateway, startup) = Self::start_loading(config, files).await;
        startup.loaded().await;
        gateway
    }

    /// Writes a file, without a report.
    pub(in crate::supervisor) fn put(&self, path: &str, text: &str) {
        self.disk.files.lock().unwrap().insert(path.into(), text.to_owned());
    }

    /// Removes a file, without a report.
    pub(in crate::supervisor) fn remove(&self, path: &str) {
        self.disk.files.lock().unwrap().remove(Path::new(path));
    }

    /// Reports a changed file.
    pub(in crate::supervisor) async fn report(&self, path: &str) {
        self.report_all(&[path]).await;
    }

    /// Reports changed files together.
    pub(in crate::supervisor) async fn report_all(&self, paths: &[&str]) {
        let paths = paths.iter().map(PathBuf::from).collect();
        self.watch.events.send(WatchEvent::FilesChanged(paths)).await.unwrap();
    }

    /// Writes a file, reports it, and waits until everything is done.
    pub(in crate::supervisor) async fn write(&mut self, path: &str, text: &str) {
        self.put(path, text);
        self.report(path).await;
        self.settle().await;
    }

    /// The same for the configuration.
    pub(in crate::supervisor) async fn configure(&mut self, config: &str) {
        self.write(CONFIG_FILE, config).await;
    }

    /// Waits until everything is done.
    pub(in crate::supervisor) async fn settle(&mut self) {
        sleep(Duration::from_millis(10)).await; // everything sent is received by then, because the clock is paused
        self.status.wait_for(|status| status.is_settled).await.unwrap();
    }

    /// Ends the loop and waits until it has ended.
    pub(in crate::supervisor) async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }

    /// The files to watch.
    pub(in crate::supervisor) fn watch_target(&self) -> WatchTarget {
        self.watch.mailbox.target()
    }

    /// The public names of all tools.
    pub(in crate::supervisor) fn tools(&self) -> Vec<String> {
        self.catalog.borrow().tools().iter().map(|tool| tool.public_name().to_string()).collect()
    }

    /// Content that was compiled, in order.
    pub(in crate::supervisor) fn compiled(&self) -> Vec<String> {
        self.disk.compiled.lock().unwrap().clone()
    }

    /// The status of a plugin.
    pub(in crate::supervisor) fn plugin(&self, id: &str) -> PluginStatus {
        let status = Arc::clone(&self.status.borrow());
        status.plugins.iter().find(|plugin| plugin.id.as_str() == id).unwrap().clone()
    }

    /// The reason that a plugin isn't used as configured.
    pub(in crate::supervisor) fn failure(&self, id: &str) -> Option<String> {
        match self.plugin(id).state {
            PluginState::Loading | PluginState::Serving => None,
            PluginState::Degraded(trouble) | PluginState::Failed(trouble) => Some(trouble.reason),
        }
    }

    /// The configuration of a plugin's active code.
    pub(in crate::supervisor) fn active_config(&self, id: &str) -> Arc<PluginConfig> {
        let catalog = Arc::clone(&self.catalog.borrow());
        let catalog_plugin =
            catalog.plugins().iter().find(|catalog_plugin| catalog_plugin.id().as_str() == id).unwrap();
        let plugin = Arc::as_ptr(catalog_plugin.plugin()).cast::<()>();
        let plugins = self.disk.plugins.lock().unwrap();
        let is_active = |fake: &Arc<FakePlugin<FakeCode>>| Arc::as_ptr(fake).cast::<()>() == plugin;
        let active = plugins.iter().filter_map(Weak::upgrade).find(is_active).unwrap();
        Arc::clone(&active.data.config)
    }
}
