//! What a guest may reach through WASI: nothing but the directories and variables that its table grants.
//!
//! No arguments, no working directory, no network, an empty stdin, and captured output. A context is made anew for
//! each call, so a granted directory that was replaced by another is the new one. One that was replaced by a link isn't
//! opened: where that leads was never compared with what no plugin may reach.
//!
//! A directory may lie where nobody answers any more. So it is opened on a thread that may wait, in the call's own time,
//! and in the plugin's own [`Lane`](crate::blocking::Lane): whatever waits there takes nothing from other plugins.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use moongate_core::config::{DirGrant, DirMode, Entry, Grants, PluginConfig, nearest_path};
use moongate_core::names::PluginId;
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder};

use crate::blocking::Lanes;
use crate::host::diagnostics::output::{CapturedStream, EmptyStdin, Output, Stream};
use crate::host::load::error::shown;

/// Random bytes that a guest may ask for at once.
const RANDOM: u64 = 64 << 10;
/// For how many calls of one plugin directories are opened at once: some for a folder that is slow, few for one that
/// never answers.
const AT_ONCE: usize = 4;

/// A granted directory can't be opened.
#[derive(Debug, thiserror::Error)]
pub(in crate::host) enum GrantError {
    #[error("the granted directory `{}` can't be opened: {reason}", shown(host))]
    Failed { host: PathBuf, guest: String, reason: String },
    #[error("the granted directory `{}` doesn't answer", shown(host))]
    Silent { host: PathBuf, guest: String },
    /// No thread has come to any of them, so it isn't known which.
    #[error("no granted directory was opened in time")]
    Unbegun,
}

impl GrantError {
    fn failed(dir: &DirGrant, reason: String) -> Self {
        Self::Failed { host: dir.host.clone(), guest: dir.guest.clone(), reason }
    }

    /// Which one it is, as the guest names it.
    pub(in crate::host) fn guest(&self) -> Option<&str> {
        match self {
            Self::Failed { guest, .. } | Self::Silent { guest, .. } => Some(guest),
            Self::Unbegun => None,
        }
    }

    /// What to do about it. `near`: a directory that may have been meant.
    pub(in crate::host) fn hint(&self, near: Option<&Path>) -> String {
        if let Some(near) = near {
            return format!("did you mean `{}`?", shown(near));
        }
        let hint = match self {
            Self::Failed { .. } => {
                "make the directory, or correct or remove the grant; a relative path starts at the directory of `gateway.toml`"
            }
            Self::Silent { .. } => "see whether its file system answers",
            Self::Unbegun => {
                "see whether their file systems answer, and whether the machine has too much to do"
            }
        };
        hint.to_owned()
    }
}

/// The system's file systems. Blocks meanwhile, for ever where nobody answers.
pub(in crate::host) trait Paths: Send + Sync {
    /// Finds out where a path leads, links followed.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf>;

    /// The directory that may have been meant by a path where nothing is. Reads directories on the way to it.
    fn nearest(&self, path: &Path) -> Option<PathBuf>;
}

/// Asks the system.
struct System;

impl Paths for System {
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }

    fn nearest(&self, path: &Path) -> Option<PathBuf> {
        nearest_path(path, Entry::Directory)
    }
}

/// Opens directories, for all plugins.
pub(in crate::host) struct Openings {
    paths: Arc<dyn Paths>,
    lanes: Lanes,
    /// What goes on for each plugin, in the order in which it was begun.
    begun: Mutex<HashMap<PluginId, Vec<Weak<Opening>>>>,
}

/// Directories that are being opened.
#[derive(Debug)]
struct Opening {
    config: Arc<PluginConfig>,
    /// Which of them now.
    at: AtomicUsize,
}

/// The directories of one table.
#[derive(Default)]
pub(in crate::host) struct Opened {
    wasi: WasiCtxBuilder,
    /// Which directories stood where the granted ones are, by device and number. Asked before they were opened, it can
    /// only be older than what was opened.
    pub(in crate::host) places: Vec<(u64, u64)>,
}

impl Openings {
    pub(in crate::host) fn new() -> Arc<Self> {
        Self::through(Arc::new(System))
    }

    pub(in crate::host) fn through(paths: Arc<dyn Paths>) -> Arc<Self> {
        Arc::new(Self { paths, lanes: Lanes::new(AT_ONCE), begun: Mutex::default() })
    }

    /// Opens what the table grants. Waits for as long as that takes.
    ///
    /// # Errors
    /// A directory isn't there, may not be read, or leads elsewhere by now.
    pub(in crate::host) async fn open(
        self: &Arc<Self>,
        config: &Arc<PluginConfig>,
    ) -> Result<Opened, GrantError> {
        let Some(first) = config.allow.dirs.first() else { return Ok(Opened::default()) };
        let (this, its) = (Arc::clone(self), Arc::clone(config));
        let opened = self.lanes.of(&config.id).run(move || this.run(its)).await;
        opened.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only the end of the gateway takes away a thread that hasn't begun.
            Err(_) => Err(GrantError::failed(first, "the gateway stops".to_owned())),
        })
    }

    /// What to do about it, for the operator. Looks around for what may have been meant, which no call waits for.
    pub(in crate::host) async fn hint(&self, plugin: &PluginConfig, error: &GrantError) -> String {
        let GrantError::Failed { host, .. } = error else { return error.hint(None) };
        let (paths, host) = (Arc::clone(&self.paths), host.clone());
        let lane = self.lanes.of(&plugin.id);
        let look = lane.run(move || paths.nearest(&host));
        let near = tokio::time::timeout(plugin.limits.describe_timeout, look).await;
        error.hint(near.ok().and_then(Result::ok).flatten().as_deref())
    }

    /// That a directory of this table didn't answer in time; none: it grants none. The one that the plugin has waited
    /// for longest hangs: where all its turns are taken, a call waits for the same one without having come to it. A
    /// directory that the table doesn't grant any more may only be the reason where no other is.
    pub(in crate::host) fn silent(&self, config: &PluginConfig) -> Option<GrantError> {
        let granted = &config.allow.dirs;
        if granted.is_empty() {
            return None;
        }
        let begun: Vec<_> =
            self.begun().get(&config.id).into_iter().flatten().filter_map(Weak::upgrade).collect();
        let waited_for = || begun.iter().filter_map(|opening| opening.now());
        let is_granted = |dir: &&DirGrant| granted.iter().any(|its| its.host == dir.host);
        let stuck = waited_for().find(is_granted).or_else(|| waited_for().next());
        Some(stuck.map_or(GrantError::Unbegun, |dir| GrantError::Silent {
            host: dir.host.clone(),
            guest: dir.guest.clone(),
        }))
    }

    fn run(&self, config: Arc<PluginConfig>) -> Result<Opened, GrantError> {
        let opening = Arc::new(Opening { config, at: AtomicUsize::new(0) });
        self.note(&opening);
        let mut opened = Opened::default();
        for dir in &opening.config.allow.dirs {
            opened.add(dir, &*self.paths).map_err(|reason| GrantError::failed(dir, reason))?;
            opening.at.fetch_add(1, Ordering::Relaxed);
        }
        Ok(opened)
    }

    fn note(&self, opening: &Arc<Opening>) {
        let mut begun = self.begun();
        begun.retain(|_, openings| {
            openings.retain(|opening| opening.strong_count() > 0);
            !openings.is_empty()
        });
        begun.entry(opening.config.id.clone()).or_default().push(Arc::downgrade(opening));
    }

    fn begun(&self) -> MutexGuard<'_, HashMap<PluginId, Vec<Weak<Opening>>>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Opening {
    fn now(&self) -> Option<&DirGrant> {
        self.config.allow.dirs.get(self.at.load(Ordering::Relaxed))
    }
}

impl Opened {
    /// Opens one more. The configuration has the path with every link followed, and no plugin can change what is on the
    /// way to it: so only the operator's own hand comes between the look and the opening.
    fn add(&mut self, dir: &DirGrant, paths: &dyn Paths) -> Result<(), String> {
        let DirGrant { host, guest, mode, place: _, named: _ } = dir;
        let perms = match mode {
            DirMode::ReadOnly => FsPerms::ReadOnly,
            DirMode::ReadWrite => FsPerms::ReadWrite,
        };
        let said = |error: io::Error| error.to_string();
        let now = paths.resolve(host).map_err(said)?;
        if now != *host {
            return Err(format!(
                "it leads to `{}` by now; a reload takes that into use, if it may be granted",
                shown(&now)
            ));
        }
        let found = fs::metadata(host).map_err(said)?;
        self.places.push((found.dev(), found.ino()));
        self.wasi.preopened_dir(host, guest, perms).map_err(|error| error.root_cause().to_string())?;
        Ok(())
    }

    /// The context of one call.
    pub(in crate::host) fn context(mut self, grants: &Grants, output: &Arc<Output>) -> WasiCtx {
        self.wasi
            .stdin(EmptyStdin(Arc::clone(output)))
            .stdout(CapturedStream(Arc::clone(output), Stream::Stdout))
            .stderr(CapturedStream(Arc::clone(output), Stream::Stderr))
            .max_random_size(RANDOM)
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false);
        if !grants.env.is_empty() {
            self.wasi.envs(&grants.env);
        }
        self.wasi.build()
    }
}
