//! A gateway on a system that doesn't report changes to files.

use std::path::Path;

use moongate_model::names::Digest;
use tempfile::TempDir;

use super::super::status::WatchMode;
use super::super::watch::{DirectoryWatcher, EventSink, WatchError};
use super::*;
use moongate_host::test_support::Guest;

/// Only keeps the test from hanging.
const TEST_TIMEOUT: Duration = Duration::from_secs(120);

/// A system that can't watch anything.
#[derive(Debug)]
struct ExhaustedSystem;

impl System for ExhaustedSystem {
    fn start(&self, _: EventSink) -> Result<Box<dyn DirectoryWatcher>, WatchError> {
        Err(WatchError::Limit("no watches left".to_owned()))
    }
}

/// A system that never reports by itself. The test can report through its sink.
#[derive(Debug, Default)]
struct SilentSystem(Arc<Mutex<Option<EventSink>>>);

impl System for SilentSystem {
    fn start(&self, sink: EventSink) -> Result<Box<dyn DirectoryWatcher>, WatchError> {
        *self.0.lock().unwrap() = Some(sink);
        Ok(Box::new(SilentWatcher))
    }
}

#[derive(Debug)]
struct SilentWatcher;

impl DirectoryWatcher for SilentWatcher {
    fn watch(&mut self, _: &Path) -> Result<(), WatchError> {
        Ok(())
    }

    fn unwatch(&mut self, _: &Path) {}
}

struct Fixture {
    supervisor: Supervisor,
    directory: TempDir,
}

impl Fixture {
    async fn new(poll: &str, system: impl System) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = format!("version = 1\n[gateway]\npoll = \"{poll}\"\n[plugins.p]\nsource = \"p.wasm\"\n");
        let file = directory.path().join("gateway.toml");
        fs::write(&file, config).unwrap();
        fs::write(directory.path().join("p.wasm"), Guest::default().build()).unwrap();
        let cache = directory.path().join("cache").display().to_string();
        let variables = BTreeMap::from([("MOONGATE_CACHE_DIR".to_owned(), cache)]);
        let loaded = load_config(&file, &variables);
        let options = SupervisorOptions::watching(loaded.files, SystemTime::now())
            .environment(variables)
            .system(system);
        let supervisor = Supervisor::start(loaded.config.unwrap(), options).await.unwrap();
        supervisor.loaded().await.unwrap();
        Self { supervisor, directory }
    }

    async fn wait_for(&self, condition: impl FnMut(&Arc<SupervisorStatus>) -> bool) -> Arc<SupervisorStatus> {
        let mut status = self.supervisor.status();
        let status = timeout(TEST_TIMEOUT, status.wait_for(condition)).await.expect("no such status");
        Arc::clone(&status.expect("the supervisor has ended"))
    }

    fn digest(&self) -> Option<Digest> {
        self.supervisor.status().borrow().plugins[0].digest
    }

    /// Replaces the component and waits until the new version is served.
    async fn replace_component(&self, schema: &'static str) {
        let before = self.digest();
        let component = Guest { schema, ..Guest::default() }.build();
        let next = self.directory.path().join("next");
        fs::write(&next, component).unwrap();
        fs::rename(next, self.directory.path().join("p.wasm")).unwrap();
        self.wait_for(|status| status.plugins[0].digest != before).await;
    }
}

#[tokio::test]
async fn polls_if_the_system_cannot_watch() {
    let fixture = Fixture::new("1h", ExhaustedSystem).await;
    let polling = WatchMode::Polling("no watches left".to_owned());
    fixture.wait_for(|status| status.watch_mode == polling).await;
    fixture.replace_component(r#"{"type":"object"}"#).await;
    fixture.replace_component(r#"{"type":"object","title":"x"}"#).await;
}

#[tokio::test]
async fn polls_at_intervals_if_nothing_is_reported() {
    let fixture = Fixture::new("100ms", SilentSystem::default()).await;
    fixture.wait_for(|status| status.watch_mode == WatchMode::Events).await;
    fixture.replace_component(r#"{"type":"object"}"#).await;
}

#[tokio::test]
async fn polls_when_reports_end() {
    let system = SilentSystem::default();
    let sink = Arc::clone(&system.0);
    let fixture = Fixture::new("1h", system).await;
    fixture.wait_for(|status| status.watch_mode == WatchMode::Events).await;
    let sink = sink.lock().unwrap().clone();
    sink.expect("nothing was started").failed("reports ended".to_owned());
    fixture.wait_for(|status| status.watch_mode == WatchMode::Polling("reports ended".to_owned())).await;
    fixture.replace_component(r#"{"type":"object"}"#).await;
}

#[tokio::test]
async fn shutdown_ends_reloads_and_keeps_the_catalog() {
    let fixture = Fixture::new("1h", SilentSystem::default()).await;
    let reloader = fixture.supervisor.reloader();
    fixture.supervisor.shutdown().await;
    assert!(reloader.reload(control::ReloadCause::Admin).await.is_err());
    assert_eq!(fixture.supervisor.totals().plugins, 1);
    fixture.supervisor.shutdown().await;
}
