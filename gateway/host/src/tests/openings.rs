//! Granted directories that don't respond: failing calls, and calls that continue.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use moongate_config::{DirGrant, DirMode, InstancePolicy, PluginConfig};
use moongate_model::call::{CallContext, CallError};
use moongate_model::caller::Caller;
use moongate_model::names::{PluginId, ToolName};
use moongate_model::plugin::Plugin as _;
use tempfile::TempDir;

use super::{Guest, host, idle_gauges, load, load_file};
use crate::wasi::preopens::{DirectoryError, DirectoryOpener, PathResolver};
use crate::{LoadError, WasmHost, WasmPlugin};

/// The timeout of calls that only the timeout can end.
const SHORT_TIMEOUT: Duration = Duration::from_millis(50);

/// A disk with some directories that don't respond.
#[derive(Default)]
struct Disk {
    dead: Mutex<Dead>,
    changed: Condvar,
}

#[derive(Default)]
struct Dead {
    directories: BTreeSet<PathBuf>,
    /// The number of threads waiting for one of them.
    waiting: usize,
    /// The number of searches for a similar path.
    searches: usize,
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

    /// Returns once this many threads are waiting.
    async fn until_waiting(&self, threads: usize) {
        while self.waiting() < threads {
            tokio::task::yield_now().await;
        }
    }
}

impl PathResolver for Disk {
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
        self.dead.lock().unwrap().searches += 1;
        Some("/a\u{1b}[2Jb".into())
    }
}

/// A host with two directories on such a disk.
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
        Arc::get_mut(&mut host.shared).unwrap().openings =
            DirectoryOpener::with_paths(Arc::<Disk>::clone(&disk));
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
            span: 0..0,
            host_path: self.path(name),
            unresolved_host_path: self.path(name),
            guest_path: format!("/{name}"),
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
        self.disk.revive(); // otherwise the test would wait for its threads
    }
}

/// The plugin with a long timeout.
fn patient(plugin: &WasmPlugin) -> WasmPlugin {
    let mut config = (**plugin.config()).clone();
    config.limits.timeout = Duration::from_secs(60);
    plugin.with_config(Arc::new(config))
}

async fn call(plugin: &WasmPlugin) -> Result<(), CallError> {
    let context = Arc::new(CallContext::internal(Caller::Local));
    plugin.call_tool(context, &ToolName::new("run").unwrap(), "{}").await.map(drop)
}

fn silent(guest: &str) -> CallError {
    CallError::Directory(format!("the granted directory `{guest}` doesn't respond"))
}

#[tokio::test]
async fn a_silent_directory_fails_only_its_own_calls() {
    let bench = Bench::new();
    let short = |config: &mut PluginConfig| config.limits.timeout = SHORT_TIMEOUT;
    let stuck = bench.load("stuck", &["well", "dead"], short).await;
    let well = bench.load("well", &["well"], |_| {}).await;
    bench.disk.kill(&bench.path("dead"));
    // One thread runs everything here, so if it waited for the directory, nothing would finish.
    for _ in 0..3 {
        let calls = futures_util::future::join_all((0..4).map(|_| call(&stuck)));
        tokio::time::pause(); // no time passes until a call waits for the directory
        let (all, ()) = tokio::join!(calls, async {
            bench.disk.until_waiting(4).await;
            tokio::time::advance(2 * SHORT_TIMEOUT).await; // timers are a millisecond late
        });
        tokio::time::resume();
        for ended in all {
            assert_eq!(ended.unwrap_err(), silent("/dead"), "the silent directory is named");
        }
        assert_eq!(call(&well).await, Ok(()));
    }
    assert_eq!(bench.disk.waiting(), 4, "each call left a thread behind");
    // New code and new configurations of the same plugin share the limit.
    assert_eq!(call(&stuck.with_config(Arc::clone(stuck.config()))).await, Err(silent("/dead")));
    let mut config = (**stuck.config()).clone();
    config.limits.describe_timeout = SHORT_TIMEOUT;
    let error = load_file(&bench.host, &Arc::new(config)).await.unwrap_err();
    let place = bench.path("dead").display().to_string();
    assert_eq!(error.to_string(), format!("the granted directory `{place}` doesn't respond"));
    assert_eq!(
        error.hint(crate::PathOrigin::CommandLine).as_deref(),
        Some("check that its file system responds")
    );
    assert_eq!(bench.disk.waiting(), 4);
    bench.disk.revive();
    assert_eq!(call(&patient(&stuck)).await, Ok(()));
}

#[tokio::test]
async fn names_the_silent_directory_if_it_is_known() {
    let bench = Bench::new();
    let patient = |config: &mut PluginConfig| config.limits.timeout = Duration::from_secs(600);
    let plugin = bench.load("stuck", &["well", "dead"], patient).await;
    let openings = &bench.host.shared.openings;
    let silent = |config: &PluginConfig| openings.timeout_error(config).unwrap();
    assert!(matches!(silent(plugin.config()), DirectoryError::NotStarted), "no thread has started");
    bench.disk.kill(&bench.path("dead"));
    let is_named = |error: &DirectoryError, guest: &str| error.guest() == Some(guest);
    tokio::select! {
        biased;
        ended = call(&plugin) => panic!("{ended:?}"),
        () = bench.disk.until_waiting(1) => {}
    }
    // Another call has just started and is waiting for its first directory.
    bench.disk.kill(&bench.path("well"));
    tokio::select! {
        biased;
        ended = call(&plugin) => panic!("{ended:?}"),
        () = bench.disk.until_waiting(2) => {}
    }
    assert!(is_named(&silent(plugin.config()), "/dead"));
    // A configuration without that grant names another unresponsive directory.
    let mut config = (**plugin.config()).clone();
    config.allow.dirs.pop();
    assert!(is_named(&silent(&config), "/well"));
    config.allow.dirs.clear();
    assert!(openings.timeout_error(&config).is_none());
}

/// A disk on which another user replaces a directory, or its parent, by a symlink after it was checked.
struct SwappedAfterCheck {
    swapped: PathBuf,
    target: PathBuf,
}

impl PathResolver for SwappedAfterCheck {
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let checked = fs::canonicalize(path)?;
        fs::rename(&self.swapped, self.swapped.with_extension("aside"))?;
        symlink(&self.target, &self.swapped)?;
        Ok(checked)
    }

    fn nearest(&self, _: &Path) -> Option<PathBuf> {
        None
    }
}

#[tokio::test]
async fn a_symlink_that_appears_after_the_check_is_not_followed() {
    for swapped in ["parent", "parent/own"] {
        let dir = TempDir::new().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir_all(root.join("parent/own")).unwrap();
        fs::create_dir_all(root.join("secret/own")).unwrap();
        let disk = SwappedAfterCheck { swapped: root.join(swapped), target: root.join("secret") };
        let mut config = super::config(&root, &[]);
        config.allow.dirs = vec![DirGrant {
            span: 0..0,
            host_path: root.join("parent/own"),
            unresolved_host_path: root.join("parent/own"),
            guest_path: "/own".to_owned(),
            mode: DirMode::ReadWrite,
        }];
        let opened = DirectoryOpener::with_paths(Arc::new(disk)).open(&Arc::new(config)).await;
        assert!(matches!(opened.err(), Some(DirectoryError::Failed { .. })), "{swapped}");
    }
}

#[tokio::test]
async fn only_loading_searches_for_a_similar_directory() {
    let bench = Bench::new();
    let plugin = bench.load("gone", &["well"], |_| {}).await;
    fs::remove_dir(bench.path("well")).unwrap();
    for _ in 0..3 {
        let said = call(&plugin).await.unwrap_err().to_string();
        assert!(said.contains("the granted directory `/well` can't be opened"), "{said}");
    }
    let searches = || bench.disk.dead.lock().unwrap().searches;
    assert_eq!(searches(), 0);
    let LoadError::GrantedDirectory { hint, .. } = plugin.describe_again().await.unwrap_err() else {
        panic!()
    };
    assert_eq!((hint.as_str(), searches()), ("did you mean `/a\\u{1b}[2Jb`?", 1));
}

#[tokio::test]
async fn cancellation_ends_a_call_that_waits_for_a_directory() {
    let bench = Bench::new();
    let stuck =
        bench.load("stuck", &["dead"], |config| config.limits.timeout = Duration::from_secs(600)).await;
    bench.disk.kill(&bench.path("dead"));
    let context = Arc::new(CallContext::internal(Caller::Local));
    let cancel = context.cancel.clone();
    let name = ToolName::new("run").unwrap();
    let call = stuck.call_tool(context, &name, "{}");
    let (ended, ()) = tokio::join!(call, async {
        bench.disk.until_waiting(1).await;
        cancel.cancel();
    });
    assert_eq!(ended.unwrap_err(), CallError::Cancelled);
    bench.disk.revive();
    assert_eq!(bench.host.gauges(), idle_gauges());
}

#[tokio::test]
async fn an_idle_instance_survives_a_silent_directory() {
    let bench = Bench::new();
    let reused = |config: &mut PluginConfig| config.instances = InstancePolicy::Reused;
    let plugin = bench.load("reused", &["dead"], reused).await;
    assert_eq!(call(&plugin).await, Ok(()));
    assert_eq!(bench.host.gauges().idle_instances, 1);
    bench.disk.kill(&bench.path("dead"));
    tokio::select! {
        biased;
        ended = call(&plugin) => panic!("{ended:?}"),
        () = bench.disk.until_waiting(1) => {}
    }
    assert_eq!(bench.host.gauges().idle_instances, 1, "the instance was dropped with the call");
    bench.disk.revive();
    assert_eq!(call(&plugin).await, Ok(()));
    assert_eq!(bench.host.gauges().idle_instances, 1);
}
