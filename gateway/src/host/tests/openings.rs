//! Granted directories that don't answer: whose calls end, and whose go on.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use moongate_core::call::{CallContext, CallError};
use moongate_core::catalog::Plugin as _;
use moongate_core::config::{DirGrant, DirMode, Instances, PluginConfig};
use moongate_core::names::{PluginId, Principal, ToolName};
use tempfile::TempDir;

use super::{Guest, at_rest, host, load, load_file};
use crate::host::wasi::preopens::{GrantError, Openings, Paths};
use crate::host::{LoadError, WasmHost, WasmPlugin};

/// So much time a call has that can only end by it.
const SOON: Duration = Duration::from_millis(50);

/// A disk of which some directories don't answer.
#[derive(Default)]
struct Disk {
    dead: Mutex<Dead>,
    changed: Condvar,
}

#[derive(Default)]
struct Dead {
    directories: BTreeSet<PathBuf>,
    /// How many threads wait for one of them.
    waiting: usize,
    /// How often somebody looked around for what may have been meant.
    looks_around: usize,
}

impl Disk {
    fn kill(&self, directory: &Path) {
        self.dead.lock().unwrap().directories.insert(directory.to_owned());
    }

    fn revive(&self) {
        self.dead.lock().unwrap().directories.clear();
        self.changed.notify_all();
    }

    fn waiting(&self) -> usize {
        self.dead.lock().unwrap().waiting
    }

    /// Until so many threads wait.
    async fn until_waiting(&self, threads: usize) {
        while self.waiting() < threads {
            tokio::task::yield_now().await;
        }
    }
}

impl Paths for Disk {
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let mut dead = self.dead.lock().unwrap();
        if dead.directories.contains(path) {
            dead.waiting += 1;
            dead = self.changed.wait_while(dead, |dead| dead.directories.contains(path)).unwrap();
            dead.waiting -= 1;
        }
        drop(dead);
        fs::canonicalize(path)
    }

    fn nearest(&self, _: &Path) -> Option<PathBuf> {
        self.dead.lock().unwrap().looks_around += 1;
        Some("/a\u{1b}[2Jb".into())
    }
}

/// A host whose directories are on such a disk, and two of them.
struct Bench {
    disk: Arc<Disk>,
    host: WasmHost,
    dir: TempDir,
}

impl Bench {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let mut host = host(dir.path());
        let disk: Arc<Disk> = Arc::default();
        Arc::get_mut(&mut host.shared).unwrap().openings = Openings::through(Arc::<Disk>::clone(&disk));
        for name in ["well", "dead"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        Self { disk, host, dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.dir.path()).unwrap().join(name)
    }

    async fn load(
        &self,
        id: &str,
        names: &[&str],
        change: impl FnOnce(&mut PluginConfig),
    ) -> Arc<WasmPlugin> {
        let grant = |name: &&str| DirGrant {
            place: 0..0,
            host: self.path(name),
            named: self.path(name),
            guest: format!("/{name}"),
            mode: DirMode::ReadOnly,
        };
        load(&self.host, self.dir.path(), &Guest::default(), |config| {
            config.id = PluginId::new(id).unwrap();
            config.allow.dirs = names.iter().map(grant).collect();
            change(config);
        })
        .await
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.disk.revive(); // or the end of the test would wait for its threads
    }
}

/// The plugin with all the time that it may need.
fn patient(plugin: &WasmPlugin) -> WasmPlugin {
    let mut config = (**plugin.table()).clone();
    config.limits.timeout = Duration::from_secs(60);
    plugin.reconfigured(Arc::new(config))
}

async fn call(plugin: &WasmPlugin) -> Result<(), CallError> {
    let context = Arc::new(CallContext::internal(Principal::Local));
    plugin.call_tool(context, &ToolName::new("run").unwrap(), "{}").await.map(drop)
}

fn silent(guest: &str) -> CallError {
    CallError::Directory(format!("the granted directory `{guest}` doesn't answer"))
}

#[tokio::test]
async fn a_directory_that_never_answers_ends_its_own_calls_and_takes_few_threads() {
    let bench = Bench::new();
    let short = |config: &mut PluginConfig| config.limits.timeout = SOON;
    let stuck = bench.load("stuck", &["well", "dead"], short).await;
    let well = bench.load("well", &["well"], |_| {}).await;
    bench.disk.kill(&bench.path("dead"));
    // One thread runs everything here: did it wait for the directory, nothing would come to an end.
    for _ in 0..3 {
        let calls = futures_util::future::join_all((0..4).map(|_| call(&stuck)));
        tokio::time::pause(); // no time passes until the directory is waited for
        let (all, ()) = tokio::join!(calls, async {
            bench.disk.until_waiting(4).await;
            tokio::time::advance(2 * SOON).await; // timers are a millisecond late
        });
        tokio::time::resume();
        for ended in all {
            assert_eq!(ended.unwrap_err(), silent("/dead"), "another directory is named, or nothing");
        }
        assert_eq!(call(&well).await, Ok(()));
    }
    assert_eq!(bench.disk.waiting(), 4, "each call left a thread behind");
    // New code and new tables of the same plugin wait in the same line.
    assert_eq!(call(&stuck.reconfigured(Arc::clone(stuck.table()))).await, Err(silent("/dead")));
    let mut table = (**stuck.table()).clone();
    table.limits.describe_timeout = SOON;
    let error = load_file(&bench.host, &Arc::new(table)).await.unwrap_err();
    let place = bench.path("dead").display().to_string();
    assert_eq!(error.to_string(), format!("the granted directory `{place}` doesn't answer"));
    assert_eq!(
        error.hint(crate::host::Named::ByHand).as_deref(),
        Some("see whether its file system answers")
    );
    assert_eq!(bench.disk.waiting(), 4);
    bench.disk.revive();
    assert_eq!(call(&patient(&stuck)).await, Ok(()));
}

#[tokio::test]
async fn the_directory_that_hangs_is_named_whoever_waits_for_it_and_none_where_it_is_not_known() {
    let bench = Bench::new();
    let patient = |config: &mut PluginConfig| config.limits.timeout = Duration::from_secs(600);
    let plugin = bench.load("stuck", &["well", "dead"], patient).await;
    let openings = &bench.host.shared.openings;
    let silent = |table: &PluginConfig| openings.silent(table).unwrap();
    assert!(matches!(silent(plugin.table()), GrantError::Unbegun), "no thread has come to any");
    bench.disk.kill(&bench.path("dead"));
    let is_named = |error: &GrantError, guest: &str| error.guest() == Some(guest);
    tokio::select! {
        biased;
        ended = call(&plugin) => panic!("{ended:?}"),
        () = bench.disk.until_waiting(1) => {}
    }
    // Another has just begun, and waits for its first directory.
    bench.disk.kill(&bench.path("well"));
    tokio::select! {
        biased;
        ended = call(&plugin) => panic!("{ended:?}"),
        () = bench.disk.until_waiting(2) => {}
    }
    assert!(is_named(&silent(plugin.table()), "/dead"));
    // A table that doesn't grant that one any more has nothing to say of it, as long as another hangs.
    let mut table = (**plugin.table()).clone();
    table.allow.dirs.pop();
    assert!(is_named(&silent(&table), "/well"));
    table.allow.dirs.clear();
    assert!(openings.silent(&table).is_none());
}

#[tokio::test]
async fn no_call_looks_around_for_a_directory_that_is_gone_and_loading_does_once() {
    let bench = Bench::new();
    let plugin = bench.load("gone", &["well"], |_| {}).await;
    fs::remove_dir(bench.path("well")).unwrap();
    for _ in 0..3 {
        let said = call(&plugin).await.unwrap_err().to_string();
        assert!(said.contains("the granted directory `/well` can't be opened"), "{said}");
    }
    let looks_around = || bench.disk.dead.lock().unwrap().looks_around;
    assert_eq!(looks_around(), 0);
    let LoadError::Grant { hint, .. } = plugin.described_anew().await.unwrap_err() else { panic!() };
    assert_eq!((hint.as_str(), looks_around()), ("did you mean `/a\\u{1b}[2Jb`?", 1));
}

#[tokio::test]
async fn a_call_that_is_cancelled_while_its_directory_does_not_answer_ends_at_once() {
    let bench = Bench::new();
    let stuck =
        bench.load("stuck", &["dead"], |config| config.limits.timeout = Duration::from_secs(600)).await;
    bench.disk.kill(&bench.path("dead"));
    let context = Arc::new(CallContext::internal(Principal::Local));
    let cancel = context.cancel.clone();
    let name = ToolName::new("run").unwrap();
    let call = stuck.call_tool(context, &name, "{}");
    let (ended, ()) = tokio::join!(call, async {
        bench.disk.until_waiting(1).await;
        cancel.cancel();
    });
    assert_eq!(ended.unwrap_err(), CallError::Cancelled);
    bench.disk.revive();
    assert_eq!(bench.host.gauges(), at_rest());
}

#[tokio::test]
async fn an_instance_that_waits_goes_on_waiting_while_its_directory_does_not_answer() {
    let bench = Bench::new();
    let reused = |config: &mut PluginConfig| config.instances = Instances::Reused;
    let plugin = bench.load("reused", &["dead"], reused).await;
    assert_eq!(call(&plugin).await, Ok(()));
    assert_eq!(bench.host.gauges().idle, 1);
    bench.disk.kill(&bench.path("dead"));
    tokio::select! {
        biased;
        ended = call(&plugin) => panic!("{ended:?}"),
        () = bench.disk.until_waiting(1) => {}
    }
    assert_eq!(bench.host.gauges().idle, 1, "it went with the call");
    bench.disk.revive();
    assert_eq!(call(&plugin).await, Ok(()));
    assert_eq!(bench.host.gauges().idle, 1);
}
