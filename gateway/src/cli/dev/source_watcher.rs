//! Watches the source files of a project. Used by `dev`.
//!
//! The system's reports are only a reason to look: the files are compared with those of the last build, by their times and
//! sizes. They are also compared at intervals, because network and container mounts report nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use notify::{Config, Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::cli::print;

/// The time without another change after which a save is over. Editors write a file in several steps.
const QUIET_PERIOD: Duration = Duration::from_millis(100);

/// The maximum number of quiet periods that a save takes.
const MAX_QUIET_PERIODS: usize = 10;

/// The interval for comparing the files without a report.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// The maximum number of files, and of directories. A project with more contains others than its sources.
const MAX_SOURCE_FILES: usize = 10_000;

/// The names of build outputs, in any directory of a project.
const OUTPUT_NAMES: [&str; 4] = ["target", "node_modules", "__pycache__", "Cargo.lock"];

/// The files that mark a directory as generated: a cache, or a virtual environment of Python.
const GENERATED_MARKERS: [&str; 2] = ["CACHEDIR.TAG", "pyvenv.cfg"];

/// Watches the source files of a project.
pub(super) struct SourceWatcher {
    project: Arc<SourceDirectory>,
    /// The files of the last build.
    known: SourceTree,
    /// The time when the files were last compared.
    compared_at: SystemTime,
    watches: DirectoryWatchSet,
}

/// A project's directory, and the paths in it that aren't sources.
#[derive(Debug, Clone)]
struct SourceDirectory {
    root: PathBuf,
    excluded: BTreeSet<PathBuf>,
}

/// The source files at one moment, and their directories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct SourceTree {
    files: BTreeMap<PathBuf, SourceVersion>,
    directories: BTreeSet<PathBuf>,
}

/// Distinguishes contents of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SourceVersion {
    modified: SystemTime,
    size: u64,
}

/// The system's reports of changes. Without them, the files are only compared at intervals.
struct DirectoryWatchSet {
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
    reports: mpsc::Receiver<()>,
}

/// A save of one or more files.
#[derive(Debug)]
pub(super) struct SourceChange {
    /// The first changed file, relative to the project.
    file: PathBuf,
    /// The number of other changed files.
    others: usize,
    /// The time of the save.
    pub(super) saved_at: SystemTime,
}

impl SourceWatcher {
    /// Watches the files in `root`, except for `excluded` files and directories. Changes from now on count.
    pub(super) fn new(root: PathBuf, excluded: BTreeSet<PathBuf>) -> Self {
        let project = Arc::new(SourceDirectory { root, excluded });
        let compared_at = SystemTime::now();
        let known = project.read();
        if known.is_full() {
            tracing::warn!("only the first {MAX_SOURCE_FILES} files of the project are watched");
        }
        let mut watches = DirectoryWatchSet::new();
        watches.watch_only(&known.directories);
        Self { project, known, compared_at, watches }
    }

    /// The project's directory.
    pub(super) fn root(&self) -> &Path {
        &self.project.root
    }

    /// Excludes more files and directories.
    pub(super) fn exclude(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        let SourceDirectory { root, mut excluded } = SourceDirectory::clone(&self.project);
        excluded.extend(paths);
        let is_excluded = |path: &Path| {
            path.ancestors().take_while(|part| *part != root).any(|part| excluded.contains(part))
        };
        self.known.files.retain(|path, _| !is_excluded(path));
        self.known.directories.retain(|path| !is_excluded(path));
        self.project = Arc::new(SourceDirectory { root, excluded });
    }

    /// Waits until a file differs from those of the last build, and until the save is over. Cancel-safe.
    pub(super) async fn changed(&mut self) -> SourceChange {
        loop {
            let noticed_at = SystemTime::now();
            let tree = self.settled_tree().await;
            let change = SourceChange::between(&self.known, &tree, self.compared_at..noticed_at);
            self.known = tree;
            self.compared_at = noticed_at;
            if let Some(change) = change {
                let file = change.file.strip_prefix(&self.project.root).map(Path::to_owned);
                return SourceChange { file: file.unwrap_or(change.file), ..change };
            }
            tokio::select! {
                () = self.watches.next_report() => {}
                () = sleep(POLL_INTERVAL) => {}
            }
        }
    }

    /// The current files. If they differ from those of the last build, they are read once the save is over.
    async fn settled_tree(&mut self) -> SourceTree {
        let mut tree = self.read().await;
        for _ in 0..MAX_QUIET_PERIODS {
            if tree == self.known {
                break;
            }
            self.watches.watch_only(&tree.directories);
            sleep(QUIET_PERIOD).await;
            let before = std::mem::replace(&mut tree, self.read().await);
            if tree == before {
                break;
            }
        }
        tree
    }

    async fn read(&self) -> SourceTree {
        let project = Arc::clone(&self.project);
        spawn_blocking(move || project.read()).await.unwrap_or_else(|_| self.known.clone())
    }
}

impl SourceDirectory {
    /// The current files, without those that can't be read.
    fn read(&self) -> SourceTree {
        let mut tree = SourceTree::default();
        let mut ahead = vec![self.root.clone()];
        while let Some(directory) = ahead.pop().filter(|_| !tree.is_full()) {
            let Ok(entries) = fs::read_dir(&directory) else { continue };
            let entries: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
            let is_generated = |path: &PathBuf| GENERATED_MARKERS.iter().any(|marker| path.ends_with(marker));
            if directory != self.root && entries.iter().any(is_generated) {
                continue;
            }
            for path in entries.into_iter().filter(|path| self.is_source(path)) {
                // Directories behind symlinks could lead anywhere.
                let is_symlink = path.is_symlink();
                match fs::metadata(&path) {
                    Ok(found) if found.is_dir() && !is_symlink => ahead.push(path),
                    Ok(found) if found.is_file() && !tree.is_full() => {
                        let modified = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                        tree.files.insert(path, SourceVersion { modified, size: found.len() });
                    }
                    Ok(_) | Err(_) => {}
                }
            }
            tree.directories.insert(directory);
        }
        tree
    }

    /// False for hidden files, build outputs, temporary files of editors, and excluded paths.
    fn is_source(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_temporary = name.ends_with('~') || name.starts_with(['.', '#']);
        !is_temporary && !OUTPUT_NAMES.contains(&&*name) && !self.excluded.contains(path)
    }
}

impl SourceTree {
    fn is_full(&self) -> bool {
        self.files.len().max(self.directories.len()) >= MAX_SOURCE_FILES
    }
}

impl DirectoryWatchSet {
    fn new() -> Self {
        let (sender, reports) = mpsc::channel(1);
        let take = move |event: notify::Result<Event>| {
            // Reading the files causes events, too.
            if !event.is_ok_and(|event| matches!(event.kind, EventKind::Access(_))) {
                let _ = sender.try_send(()); // one report is enough
            }
        };
        let watcher = RecommendedWatcher::new(take, Config::default());
        let watcher = watcher.inspect_err(|error| tracing::debug!(%error, "polling source files")).ok();
        Self { watcher, watched: BTreeSet::new(), reports }
    }

    /// Watches these directories and no others.
    fn watch_only(&mut self, directories: &BTreeSet<PathBuf>) {
        let Some(watcher) = &mut self.watcher else { return };
        for gone in self.watched.difference(directories) {
            let _ = watcher.unwatch(gone); // usually, the directory was removed
        }
        for new in directories.difference(&self.watched) {
            if let Err(error) = watcher.watch(new, RecursiveMode::NonRecursive) {
                tracing::debug!(%error, "polling source files");
            }
        }
        self.watched.clone_from(directories);
    }

    /// Waits for the next report. Cancel-safe.
    async fn next_report(&mut self) {
        if self.reports.recv().await.is_none() {
            std::future::pending().await
        }
    }
}

impl SourceChange {
    /// The difference between the files of the last build and those of now. `period` is the time between comparing both; a
    /// file that was moved here can be older.
    fn between(before: &SourceTree, now: &SourceTree, period: std::ops::Range<SystemTime>) -> Option<Self> {
        let changed = now.files.iter().filter(|(path, version)| before.files.get(*path) != Some(version));
        let removed = before.files.keys().filter(|path| !now.files.contains_key(*path));
        let saved_at = changed.clone().map(|(_, version)| version.modified).max();
        let mut files = changed.map(|(path, _)| path).chain(removed);
        let file = files.next()?.clone();
        let saved_at = saved_at.filter(|saved_at| period.start <= *saved_at).unwrap_or(period.end);
        Some(Self { file, others: files.count(), saved_at })
    }
}

impl fmt::Display for SourceChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", print::inline(&self.file.to_string_lossy()))?;
        match self.others {
            0 => f.write_str(" changed"),
            others => write!(f, " and {} changed", print::count(others, "other file")),
        }
    }
}

#[cfg(test)]
mod tests;
