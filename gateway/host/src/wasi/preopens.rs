//! The WASI context of a call: only the granted directories and variables.
//!
//! There are no arguments, no working directory and no network; stdin is empty, and output is captured. Each call has a
//! new context, so if a granted directory was replaced by another, the call gets the new one. If the path as written
//! now leads elsewhere, the directory isn't opened, because the new target was never compared with the paths that no
//! plugin is allowed to reach. Opening follows no symlinks, so one that appears after the check can't redirect it.
//!
//! A directory's file system may not respond. So the directory is opened on a blocking thread, within the call's time,
//! and within the plugin's own limit on such threads, which doesn't affect other plugins (see
//! [`BlockingLimiter`](moongate_system::blocking::BlockingLimiter)).

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use moongate_config::{DirGrant, DirMode, EntryKind, Grants, PluginConfig, nearest_path};
use moongate_model::names::PluginId;
use wasmtime_wasi::filesystem::Dir;
use wasmtime_wasi::{FsPerms, OpenMode, WasiCtx, WasiCtxBuilder};

use crate::diagnostics::output::{CapturedOutput, CapturedStream, EmptyStdin, StdStream};
use crate::diagnostics::text::display_path;
use moongate_system::blocking::PluginBlockingLimiters;

mod open_directory;

use open_directory::open_without_symlinks;

/// The maximum number of random bytes that a guest can request at once.
const MAX_RANDOM_BYTES: u64 = 64 << 10;
/// The number of a plugin's calls for which directories are opened at once: enough for a slow file system, few for one
/// that never responds.
const MAX_CONCURRENT_OPENS: usize = 4;

/// An error when opening granted directories.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DirectoryError {
    #[error("the granted directory `{}` can't be opened: {reason}", display_path(host))]
    Failed { host: PathBuf, guest: String, reason: String },
    #[error("the granted directory `{}` doesn't respond", display_path(host))]
    NotResponding { host: PathBuf, guest: String },
    /// No thread has started with any of them, so the blocking one isn't known.
    #[error("no granted directory was opened in time")]
    NotStarted,
}

impl DirectoryError {
    fn failed(dir: &DirGrant, reason: String) -> Self {
        Self::Failed { host: dir.host_path.clone(), guest: dir.guest_path.clone(), reason }
    }

    /// The path of the directory on this machine.
    pub(crate) fn host(&self) -> Option<&Path> {
        match self {
            Self::Failed { host, .. } | Self::NotResponding { host, .. } => Some(host),
            Self::NotStarted => None,
        }
    }

    /// The guest's path of the directory.
    pub(crate) fn guest(&self) -> Option<&str> {
        match self {
            Self::Failed { guest, .. } | Self::NotResponding { guest, .. } => Some(guest),
            Self::NotStarted => None,
        }
    }

    /// The hint for the operator. `near` is an existing directory with a similar path.
    pub(crate) fn hint(&self, near: Option<&Path>) -> String {
        if let Some(near) = near {
            return format!("did you mean `{}`?", display_path(near));
        }
        let hint = match self {
            Self::Failed { .. } => {
                "create the directory, or correct or remove the grant; relative paths start in the directory of `gateway.toml`"
            }
            Self::NotResponding { .. } => "check that its file system responds",
            Self::NotStarted => "check that their file systems respond and that the machine isn't overloaded",
        };
        hint.to_owned()
    }
}

/// Access to file systems. It blocks, for ever if a file system doesn't respond.
pub(crate) trait PathResolver: Send + Sync {
    /// Resolves a path, following symlinks.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf>;

    /// Opens a directory, without following symlinks.
    fn open(&self, path: &Path) -> io::Result<File> {
        open_without_symlinks(path)
    }

    /// An existing directory with a path similar to one that doesn't exist. It reads the parent directories.
    fn nearest(&self, path: &Path) -> Option<PathBuf>;
}

/// The file systems of this machine.
struct SystemPaths;

impl PathResolver for SystemPaths {
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }

    fn nearest(&self, path: &Path) -> Option<PathBuf> {
        nearest_path(path, EntryKind::Directory)
    }
}

/// Opens granted directories, for all plugins.
pub(crate) struct DirectoryOpener {
    paths: Arc<dyn PathResolver>,
    limiters: PluginBlockingLimiters,
    /// The running attempts of each plugin to open directories, in the order in which they started.
    running: Mutex<HashMap<PluginId, Vec<Weak<OpeningInProgress>>>>,
}

/// Directories that are being opened.
#[derive(Debug)]
struct OpeningInProgress {
    config: Arc<PluginConfig>,
    /// The index of the directory that is currently being opened.
    index: AtomicUsize,
}

/// An open directory that a guest can use.
#[derive(Clone)]
pub(crate) struct PreopenedDirectory {
    pub(crate) directory: Dir,
    /// Its path inside the sandbox.
    pub(crate) guest_path: String,
}

impl fmt::Debug for PreopenedDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { directory: _, guest_path } = self;
        f.debug_struct("PreopenedDirectory").field("guest_path", guest_path).finish_non_exhaustive()
    }
}

/// The opened directories of one configuration.
#[derive(Default)]
pub(crate) struct OpenedDirectories {
    pub(crate) preopens: Vec<PreopenedDirectory>,
    /// Device and inode of the directories.
    pub(crate) identities: Vec<(u64, u64)>,
    /// The other granted directories. A guest doesn't see them.
    pub(crate) unavailable: VecDeque<DirectoryError>,
}

impl DirectoryOpener {
    pub(crate) fn new() -> Arc<Self> {
        Self::with_paths(Arc::new(SystemPaths))
    }

    pub(crate) fn with_paths(paths: Arc<dyn PathResolver>) -> Arc<Self> {
        Arc::new(Self {
            paths,
            limiters: PluginBlockingLimiters::new(MAX_CONCURRENT_OPENS),
            running: Mutex::default(),
        })
    }

    /// Opens the granted directories, without a time limit. Those that are missing, aren't readable or now lead elsewhere
    /// are left out. No path leads to another directory instead, because paths inside the sandbox never contain each
    /// other.
    ///
    /// # Errors
    /// None can be opened.
    pub(crate) async fn open(
        self: &Arc<Self>,
        config: &Arc<PluginConfig>,
    ) -> Result<OpenedDirectories, DirectoryError> {
        let Some(first) = config.allow.dirs.first() else { return Ok(OpenedDirectories::default()) };
        let this = Arc::clone(self);
        let its = Arc::clone(config);
        let opened = self.limiters.for_plugin(&config.id).run(move || this.open_all(its)).await;
        opened.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // A task that hasn't started is dropped only when the gateway ends.
            Err(_) => Err(DirectoryError::failed(first, "the gateway is shutting down".to_owned())),
        })
    }

    /// The hint for an error. It looks for a similar directory, which no call waits for.
    pub(crate) async fn hint(&self, plugin: &PluginConfig, error: &DirectoryError) -> String {
        let DirectoryError::Failed { host, .. } = error else { return error.hint(None) };
        let paths = Arc::clone(&self.paths);
        let host = host.clone();
        let lane = self.limiters.for_plugin(&plugin.id);
        let look = lane.run(move || paths.nearest(&host));
        let near = tokio::time::timeout(plugin.limits.describe_timeout, look).await;
        error.hint(near.ok().and_then(Result::ok).flatten().as_deref())
    }

    /// The error that a directory of this configuration didn't respond in time. `None` if it grants none. The blocking
    /// directory is the one that the plugin has waited for longest: if it occupies all threads, other calls wait for it
    /// as well. A directory that is no longer granted is named only if there is no other.
    pub(crate) fn timeout_error(&self, config: &PluginConfig) -> Option<DirectoryError> {
        let granted = &config.allow.dirs;
        if granted.is_empty() {
            return None;
        }
        let running: Vec<_> =
            self.running().get(&config.id).into_iter().flatten().filter_map(Weak::upgrade).collect();
        let waited_for = || running.iter().filter_map(|opening| opening.current());
        let is_granted = |dir: &&DirGrant| granted.iter().any(|its| its.host_path == dir.host_path);
        let stuck = waited_for().find(is_granted).or_else(|| waited_for().next());
        Some(stuck.map_or(DirectoryError::NotStarted, |dir| DirectoryError::NotResponding {
            host: dir.host_path.clone(),
            guest: dir.guest_path.clone(),
        }))
    }

    fn open_all(&self, config: Arc<PluginConfig>) -> Result<OpenedDirectories, DirectoryError> {
        let opening = Arc::new(OpeningInProgress { config, index: AtomicUsize::new(0) });
        self.register(&opening);
        let mut opened = OpenedDirectories::default();
        for dir in &opening.config.allow.dirs {
            if let Err(reason) = opened.add(dir, &*self.paths) {
                opened.unavailable.push_back(DirectoryError::failed(dir, reason));
            }
            opening.index.fetch_add(1, Ordering::Relaxed);
        }
        if opened.identities.is_empty()
            && let Some(first) = opened.unavailable.pop_front()
        {
            return Err(first);
        }
        Ok(opened)
    }

    fn register(&self, opening: &Arc<OpeningInProgress>) {
        let mut running = self.running();
        running.retain(|_, openings| {
            openings.retain(|opening| opening.strong_count() > 0);
            !openings.is_empty()
        });
        running.entry(opening.config.id.clone()).or_default().push(Arc::downgrade(opening));
    }

    fn running(&self) -> MutexGuard<'_, HashMap<PluginId, Vec<Weak<OpeningInProgress>>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpeningInProgress {
    fn current(&self) -> Option<&DirGrant> {
        self.config.allow.dirs.get(self.index.load(Ordering::Relaxed))
    }
}

impl OpenedDirectories {
    /// Opens one more directory, if its path as written still leads to the directory that was checked.
    fn add(&mut self, dir: &DirGrant, paths: &dyn PathResolver) -> Result<(), String> {
        let DirGrant { host_path: host, guest_path: guest, mode, unresolved_host_path: named, .. } = dir;
        let (perms, open_mode) = match mode {
            DirMode::ReadOnly => (FsPerms::ReadOnly, OpenMode::READ),
            DirMode::ReadWrite => (FsPerms::ReadWrite, OpenMode::READ | OpenMode::WRITE),
        };
        let reason = |error: io::Error| error.to_string();
        let resolved = paths.resolve(named).map_err(reason)?;
        if resolved != *host {
            return Err(format!(
                "its path now leads to `{}`; reload to use it, if it can be granted",
                display_path(&resolved)
            ));
        }
        let opened = paths.open(host).map_err(reason)?;
        let found = opened.metadata().map_err(reason)?;
        let directory = Dir::new(opened, perms, open_mode, false);
        self.preopens.push(PreopenedDirectory { directory, guest_path: guest.clone() });
        self.identities.push((found.dev(), found.ino()));
        Ok(())
    }

    /// The paths inside the sandbox of the directories that can't be opened.
    pub(crate) fn unavailable_paths(&self) -> Arc<[String]> {
        self.unavailable.iter().filter_map(DirectoryError::guest).map(str::to_owned).collect()
    }
}

/// The context of one call. The granted directories aren't part of it.
pub(crate) fn new_context(grants: &Grants, output: &Arc<CapturedOutput>) -> WasiCtx {
    let mut wasi = WasiCtxBuilder::new();
    wasi.stdin(EmptyStdin(Arc::clone(output)))
        .stdout(CapturedStream(Arc::clone(output), StdStream::Stdout))
        .stderr(CapturedStream(Arc::clone(output), StdStream::Stderr))
        .max_random_size(MAX_RANDOM_BYTES)
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false);
    if !grants.env.is_empty() {
        wasi.envs(&grants.env);
    }
    wasi.build()
}
