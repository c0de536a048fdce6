//! A gateway on a system that doesn't report changes of files, or not any more.

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use moongate_core::config::load;
use moongate_core::names::Digest;
use tempfile::TempDir;
use tokio::time::timeout;

use super::super::status::Status;
use super::super::watch::{Failure, Reports, Sink};
use super::super::{Options, Supervisor};
use super::*;
use crate::host::tests::Guest;

/// Only keeps a test from hanging.
const PATIENCE: Duration = Duration::from_secs(120);

/// It has nothing left to report with.
#[derive(Debug)]
struct Exhausted;

impl System for Exhausted {
    fn start(&self, _: Sink) -> Result<Box<dyn Reports>, Failure> {
        Err(Failure::Limit("there is nothing left".to_owned()))
    }
}

/// It says that it reports, and never does; what it was given to report to can be used by the test.
#[derive(Debug, Default)]
struct Mute(Arc<Mutex<Option<Sink>>>);

impl System for Mute {
    fn start(&self, sink: Sink) -> Result<Box<dyn Reports>, Failure> {
        *self.0.lock().unwrap() = Some(sink);
        Ok(Box::new(Nothing))
    }
}

#[derive(Debug)]
struct Nothing;

impl Reports for Nothing {
    fn watch(&mut self, _: &Path) -> Result<(), Failure> {
        Ok(())
    }

    fn unwatch(&mut self, _: &Path) {}
}

struct Bench {
    supervisor: Supervisor,
    folder: TempDir,
}

impl Bench {
    async fn new(poll: &str, system: impl System) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = format!("version = 1\n[gateway]\npoll = \"{poll}\"\n[plugins.p]\nsource = \"p.wasm\"\n");
        let file = folder.path().join("gateway.toml");
        fs::write(&file, config).unwrap();
        fs::write(folder.path().join("p.wasm"), Guest::default().build()).unwrap();
        let cache = folder.path().join("cache").display().to_string();
        let variables = std::collections::BTreeMap::from([("MOONGATE_CACHE_DIR".to_owned(), cache)]);
        let loaded = load(&file, &variables);
        let options =
            Options::watching(loaded.files, SystemTime::now()).environment(variables).system(system);
        let supervisor = Supervisor::start(loaded.config.unwrap(), options).await.unwrap();
        Self { supervisor, folder }
    }

    async fn until(&self, what: impl FnMut(&Arc<Status>) -> bool) -> Arc<Status> {
        let mut status = self.supervisor.status();
        let status = timeout(PATIENCE, status.wait_for(what)).await.expect("it comes to be so");
        Arc::clone(&status.expect("the supervisor goes on"))
    }

    fn digest(&self) -> Option<Digest> {
        self.supervisor.status().borrow().plugins[0].digest
    }

    /// The component is replaced, and the new one comes to serve.
    async fn takes_another(&self, schema: &'static str) {
        let before = self.digest();
        let component = Guest { schema, ..Guest::default() }.build();
        let next = self.folder.path().join("next");
        fs::write(&next, component).unwrap();
        fs::rename(next, self.folder.path().join("p.wasm")).unwrap();
        self.until(|status| status.plugins[0].digest != before).await;
    }
}

#[tokio::test]
async fn a_gateway_that_gets_no_reports_looks_itself_and_says_so() {
    let bench = Bench::new("1h", Exhausted).await;
    let polling = Watching::Polling("there is nothing left".to_owned());
    bench.until(|status| status.watching == polling).await;
    bench.takes_another(r#"{"type":"object"}"#).await;
    bench.takes_another(r#"{"type":"object","title":"x"}"#).await;
}

#[tokio::test]
async fn a_gateway_whose_mounts_report_nothing_looks_now_and_then() {
    let bench = Bench::new("100ms", Mute::default()).await;
    bench.until(|status| status.watching == Watching::Events).await;
    bench.takes_another(r#"{"type":"object"}"#).await;
}

#[tokio::test]
async fn a_gateway_whose_reports_end_looks_itself_and_says_so() {
    let mute = Mute::default();
    let sink = Arc::clone(&mute.0);
    let bench = Bench::new("1h", mute).await;
    bench.until(|status| status.watching == Watching::Events).await;
    let reports = sink.lock().unwrap().clone();
    reports.expect("they were asked for").failed("they broke off".to_owned());
    bench.until(|status| status.watching == Watching::Polling("they broke off".to_owned())).await;
    bench.takes_another(r#"{"type":"object"}"#).await;
}
