//! A loop that runs on fakes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use moongate_core::catalog::Catalog;
use moongate_core::changes::Updates;
use moongate_core::config::{self, PluginConfig, from_text};
use moongate_core::gate::Gate;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::host::Inbox;
use crate::supervisor::control::Reloader;
use crate::supervisor::desired::Reader;
use crate::supervisor::event::{Files, Noticed, Wanted};
use crate::supervisor::keeper::{Keeper, Tools};
use crate::supervisor::status::{PluginState, PluginStatus, Status};

use super::{Disk, FakeHost};

/// Where the fake configuration is.
const CONFIG: &str = "/gateway.toml";

/// Reads a configuration from a [`Disk`].
struct FakeReader(Arc<Disk>);

impl Reader for FakeReader {
    fn read(&self) -> config::Loaded {
        let text = self.0.files.lock().unwrap().get(Path::new(CONFIG)).cloned().unwrap_or_default();
        parse(&text)
    }
}

fn parse(text: &str) -> config::Loaded {
    let variables = [("MOONGATE_CACHE_DIR", "/cache"), ("KEY", "a key that is long enough for all")];
    let variables: BTreeMap<_, _> = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    from_text(Path::new(CONFIG), format!("version = 1\n{text}"), &variables)
}

/// A loop that runs.
pub(in crate::supervisor) struct Bench {
    pub(in crate::supervisor) disk: Arc<Disk>,
    pub(in crate::supervisor) reloader: Reloader,
    pub(in crate::supervisor) catalog: watch::Receiver<Arc<Catalog>>,
    pub(in crate::supervisor) status: watch::Receiver<Arc<Status>>,
    pub(in crate::supervisor) wanted: watch::Receiver<Wanted>,
    pub(in crate::supervisor) gate: Arc<Gate>,
    pub(in crate::supervisor) inbox: Arc<Inbox>,
    notice: mpsc::Sender<Noticed>,
    task: JoinHandle<()>,
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Bench {
    /// Starts with a configuration and files.
    pub(in crate::supervisor) async fn start(config: &str, files: &[(&str, &str)]) -> Self {
        let disk: Arc<Disk> = Arc::default();
        let files = files.iter().copied().chain([(CONFIG, config)]);
        let files = files.map(|(path, text)| (PathBuf::from(path), text.to_owned()));
        disk.files.lock().unwrap().extend(files);
        let loaded = parse(config);
        let config = loaded.config.unwrap_or_else(|| panic!("{:?}", loaded.problems));
        let wanted = Wanted { files: BTreeSet::new(), how: config.watch };
        let (files, wanted, notice) = Files::new(wanted);
        let (ask, requests) = mpsc::channel(4);
        let (catalog, _) = watch::channel(Arc::new(Catalog::empty()));
        let (gate, inbox): (_, Arc<Inbox>) = (Arc::new(Gate::new(4)), Arc::default());
        let updates: Arc<Updates> = Arc::default();
        let tools = Tools {
            host: Arc::new(FakeHost(Arc::clone(&disk))),
            reader: Arc::new(FakeReader(Arc::clone(&disk))),
            inbox: Arc::clone(&inbox),
            files,
            requests,
            gate: Arc::clone(&gate),
            updates,
            catalog: catalog.clone(),
        };
        let mut keeper = Keeper::new(config, loaded.files, tools);
        keeper.load_all().await;
        let (status, catalog) = (keeper.status(), catalog.subscribe());
        let task = tokio::spawn(keeper.run());
        Self { disk, reloader: Reloader::new(ask), catalog, status, wanted, gate, inbox, notice, task }
    }

    /// Writes a file, and nobody notices yet.
    pub(in crate::supervisor) fn put(&self, path: &str, text: &str) {
        self.disk.files.lock().unwrap().insert(path.into(), text.to_owned());
    }

    /// Removes a file, and nobody notices yet.
    pub(in crate::supervisor) fn remove(&self, path: &str) {
        self.disk.files.lock().unwrap().remove(Path::new(path));
    }

    /// A change is noticed.
    pub(in crate::supervisor) async fn notice(&self, path: &str) {
        self.notice_all(&[path]).await;
    }

    /// Changes are noticed at once.
    pub(in crate::supervisor) async fn notice_all(&self, paths: &[&str]) {
        let paths = paths.iter().map(PathBuf::from).collect();
        self.notice.send(Noticed::Changed(paths)).await.unwrap();
    }

    /// Writes a file, which is noticed, and waits until all is done.
    pub(in crate::supervisor) async fn write(&mut self, path: &str, text: &str) {
        self.put(path, text);
        self.notice(path).await;
        self.settle().await;
    }

    /// The same for the configuration.
    pub(in crate::supervisor) async fn configure(&mut self, config: &str) {
        self.write(CONFIG, config).await;
    }

    /// Waits until all is done.
    pub(in crate::supervisor) async fn settle(&mut self) {
        sleep(Duration::from_millis(10)).await; // whatever was sent was taken by then: the clock stands still
        self.status.wait_for(|status| status.settled).await.unwrap();
    }

    /// Ends the loop.
    pub(in crate::supervisor) fn stop(&mut self) {
        self.task.abort();
    }

    /// The public names of all tools.
    pub(in crate::supervisor) fn tools(&self) -> Vec<String> {
        self.catalog.borrow().tools().iter().map(|tool| tool.public().to_string()).collect()
    }

    /// What was compiled so far, in order.
    pub(in crate::supervisor) fn compiled(&self) -> Vec<String> {
        self.disk.compiled.lock().unwrap().clone()
    }

    /// The status of a plugin.
    pub(in crate::supervisor) fn plugin(&self, id: &str) -> PluginStatus {
        let status = Arc::clone(&self.status.borrow());
        status.plugins.iter().find(|plugin| plugin.id.as_str() == id).unwrap().clone()
    }

    /// Why a plugin isn't used as it is now.
    pub(in crate::supervisor) fn trouble(&self, id: &str) -> Option<String> {
        match self.plugin(id).state {
            PluginState::Loading | PluginState::Serving => None,
            PluginState::Degraded(trouble) | PluginState::Failed(trouble) => Some(trouble.reason),
        }
    }

    /// The table that a plugin's code runs under.
    pub(in crate::supervisor) fn sandbox(&self, id: &str) -> Arc<PluginConfig> {
        let catalog = Arc::clone(&self.catalog.borrow());
        let member = catalog.members().iter().find(|member| member.id().as_str() == id).unwrap();
        let plugin = Arc::as_ptr(member.plugin()).cast::<()>();
        let fakes = self.disk.fakes.lock().unwrap();
        let fake = fakes
            .iter()
            .filter_map(Weak::upgrade)
            .find(|fake| Arc::as_ptr(fake).cast::<()>() == plugin)
            .unwrap();
        Arc::clone(&fake.table)
    }
}
