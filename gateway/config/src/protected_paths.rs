//! Protected paths: no grant gives access to the gateway's own files.
//!
//! A granted directory must not contain, be, or be inside one of the gateway's own files or directories: its program,
//! its configuration, the components, the cache of compiled code, the plugins' state, secret files, the audit log, the
//! trace, and the processes in `/proc`. A plugin may read the program and the components, but not change them. It must
//! not even read the others. A granted directory must not be inside another one that a plugin can change either: the
//! plugin could replace it with a symlink, and the next sandbox would open the symlink's target. Directories of the
//! system can be granted writable only on purpose.
//!
//! Paths are compared after following symlinks, by the identities of the directories on the way, and by their locations
//! on their file systems, because a mount can show one location under several paths. If a protected file has hard
//! links, they are searched for in the granted directories. Symlinks change, so [`check`] runs at every reload and uses
//! nothing but the configuration, and [`check_component`] runs before a file is loaded again.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::hard_links::{
    FileIdentity, LinkedFiles, PathIdentities, SearchResult, find_linked, linked_file, linked_files_in,
};
use self::mounts::MountTable;
use self::system_directories::SystemDirectories;
pub use self::system_directories::is_system_directory;
use super::model::diagnostic::quoted;
use super::read::ResolvedPath;
use super::{AuditConfig, Config, Diagnostic, DirGrant, DirMode, PluginConfig};

mod hard_links;
mod mounts;
mod system_directories;

/// The maximum number of directory entries that are searched for hard links.
const MAX_SEARCHED_ENTRIES: usize = 50_000;

/// A path that grants must not reach.
struct ProtectedPath {
    /// Its description, for messages.
    what: String,
    path: LocatedPath,
    protection: Protection,
    kind: PathKind,
}

/// The files that can have hard links.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PathKind {
    /// The path itself.
    File,
    /// The files in the directory.
    Directory,
}

/// The access that plugins must not have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Protection {
    /// Plugins may read it but not change it.
    FromWriting,
    /// Plugins may neither read nor change it.
    FromReading,
}

/// A resolved path with its identity.
struct LocatedPath {
    /// The symlinks on the way.
    links: Vec<PathBuf>,
    /// The resolved path.
    end: PathBuf,
    /// Its identity, independent of its name.
    identities: PathIdentities,
}

impl LocatedPath {
    fn new(path: &Path) -> Self {
        let ResolvedPath { links, end } = ResolvedPath::new(path);
        let identities = PathIdentities::of(&end);
        Self { links, end, identities }
    }

    /// Reports whether one contains the other, or they are the same.
    fn overlaps(&self, other: &Self) -> bool {
        self.end.starts_with(&other.end)
            || other.end.starts_with(&self.end)
            || self.identities.overlap(&other.identities)
    }
}

/// One grant of one plugin.
struct GrantedDirectory<'c> {
    plugin: &'c PluginConfig,
    grant: &'c DirGrant,
    path: LocatedPath,
}

impl<'c> GrantedDirectory<'c> {
    fn new(plugin: &'c PluginConfig, grant: &'c DirGrant) -> Self {
        Self { plugin, grant, path: LocatedPath::new(&grant.unresolved_host_path) }
    }

    fn problem(&self, message: String) -> Diagnostic {
        let dir = quoted(&self.path.end.to_string_lossy());
        Diagnostic::error(message).with_span(self.grant.span.clone()).with_label(format!("this is {dir}"))
    }
}

/// All grants that reach the gateway's own files, or that could be made to.
#[must_use]
pub fn check(config: &Config) -> Vec<Diagnostic> {
    check_within(config, MAX_SEARCHED_ENTRIES)
}

/// The same with another limit on the entries of a directory that are searched.
fn check_within(config: &Config, max_entries: usize) -> Vec<Diagnostic> {
    if config.plugins.iter().all(|plugin| plugin.allow.dirs.is_empty()) {
        return Vec::new(); // without looking up the components of a thousand plugins
    }
    let protected = protected_paths(config);
    let mounts = MountTable::read();
    let system = SystemDirectories::new(&config.certificates);
    let mut good = Vec::new();
    let mut problems = Vec::new();
    for plugin in &config.plugins {
        for grant in &plugin.allow.dirs {
            let granted = GrantedDirectory::new(plugin, grant);
            let problem = reached_paths(&granted, &protected, &mounts);
            match problem.or_else(|| system.reached_by(&granted, &mounts)) {
                Some(problem) => problems.push(problem),
                None => good.push(granted),
            }
        }
    }
    problems.extend(good.iter().filter_map(|granted| inside_another(granted, &good, &mounts)));
    let linked: Vec<LinkedPaths<'_>> = if good.is_empty() {
        Vec::new()
    } else {
        protected.iter().map(|protected| protected.linked_paths(max_entries)).collect()
    };
    problems.extend(good.iter().filter_map(|granted| linked_in(granted, &linked, max_entries)));
    problems
}

/// The files of a protected path that have hard links.
struct LinkedPaths<'g> {
    of: &'g ProtectedPath,
    /// The files, each with a name for messages.
    files: Vec<(FileIdentity, String)>,
    /// True if more files can have hard links.
    is_incomplete: bool,
}

/// Reports a granted directory that contains a hard link to a protected file, or that is too large to search.
fn linked_in(
    granted: &GrantedDirectory<'_>,
    linked: &[LinkedPaths<'_>],
    max_entries: usize,
) -> Option<Diagnostic> {
    let relevant = || linked.iter().filter(|linked| violates(granted.grant.mode, linked.of.protection));
    let files: Vec<_> = relevant().flat_map(|linked| &linked.files).collect();
    let incomplete = relevant().filter(|linked| linked.is_incomplete).map(|linked| linked.of.what.as_str());
    let wanted: Vec<_> = files.iter().map(|(identity, _)| *identity).collect();
    let found = if wanted.is_empty() {
        SearchResult::Nothing
    } else {
        find_linked(&granted.path.end, &wanted, max_entries)
    };
    let id = &granted.plugin.id;
    let (unknown, hint): (Vec<&str>, _) = match found {
        SearchResult::Found(name, at) => {
            let name = quoted(&name.to_string_lossy());
            let message =
                format!("the plugin `{id}` could reach {} through the hard link {name}", files[at].1);
            return Some(
                granted.problem(message).with_hint("remove the hard link, or copy the file instead"),
            );
        }
        SearchResult::Nothing => (
            incomplete.collect(),
            "make sure that no file in its directory, which is too large or can't be read, has a hard link here",
        ),
        SearchResult::Incomplete => (
            incomplete.chain(files.iter().map(|(_, what)| what.as_str())).collect(),
            "make sure that this directory, which is too large or can't be read, contains no hard link to it",
        ),
    };
    if unknown.is_empty() {
        return None;
    }
    let message = format!("can't check whether the plugin `{id}` could reach {}", unknown.join(" or "));
    Some(Diagnostic::warning(message).with_span(granted.grant.span.clone()).with_hint(hint))
}

impl ProtectedPath {
    fn new(what: String, path: &Path, protection: Protection) -> Self {
        Self { what, path: LocatedPath::new(path), protection, kind: PathKind::File }
    }

    fn directory(what: &str, path: &Path, protection: Protection) -> Self {
        Self { kind: PathKind::Directory, ..Self::new(what.to_owned(), path, protection) }
    }

    /// Its files with hard links, among its first `max_entries` entries.
    fn linked_paths(&self, max_entries: usize) -> LinkedPaths<'_> {
        let (files, is_incomplete) = match self.kind {
            PathKind::File => {
                let file = linked_file(&self.path.end).map(|file| (file, self.what.clone()));
                (file.into_iter().collect(), false)
            }
            PathKind::Directory => {
                let LinkedFiles { files, is_incomplete } = linked_files_in(&self.path.end, max_entries);
                let what = |name: &OsStr| format!("{} of {}", quoted(&name.to_string_lossy()), self.what);
                (files.into_iter().map(|(file, name)| (file, what(&name))).collect(), is_incomplete)
            }
        };
        LinkedPaths { of: self, files, is_incomplete }
    }
}

/// Reports a plugin that could change the component of `plugin`, following symlinks as they are now. The configuration
/// is unchanged, but a symlink can point elsewhere now, and its target is about to be loaded. `all` are the plugins in
/// effect.
#[must_use]
pub fn check_component(plugin: &PluginConfig, all: &[Arc<PluginConfig>]) -> Option<Diagnostic> {
    reached_by_any(plugin.component_file()?, all, Protection::FromWriting, |now| {
        format!("the component of the plugin `{}`, which is {now}", plugin.id)
    })
}

/// Reports a plugin that could have written the configuration, following symlinks as they are now. Only the grants in
/// effect so far count, not those in the new file. `all` are the plugins in effect.
#[must_use]
pub fn check_configuration(file: &Path, all: &[Arc<PluginConfig>]) -> Option<Diagnostic> {
    let problem = reached_by_any(file, all, Protection::FromWriting, |now| {
        format!("the configuration, which is {now} now")
    })?;
    // The grant is in the previous file, so it has no location in this one.
    Some(Diagnostic::error(problem.message).with_hint("move it to a directory that no plugin can change"))
}

/// Reports a plugin that could reach the trace, the record of all messages. `all` are the plugins that are or will be
/// in effect.
#[must_use]
pub fn check_trace(file: &Path, all: &[Arc<PluginConfig>]) -> Option<Diagnostic> {
    reached_by_any(file, all, Protection::FromReading, |now| format!("the trace, which is {now}"))
}

/// Reports a plugin that could change the Unix socket at a path that isn't in the configuration. `all` are the plugins that
/// are or will be in effect.
#[must_use]
pub fn check_unix_socket(path: &Path, all: &[Arc<PluginConfig>]) -> Option<Diagnostic> {
    reached_by_any(path, all, Protection::FromWriting, |now| format!("the Unix socket, which is {now}"))
}

fn reached_by_any(
    file: &Path,
    all: &[Arc<PluginConfig>],
    protection: Protection,
    what: impl FnOnce(&str) -> String,
) -> Option<Diagnostic> {
    let path = LocatedPath::new(file);
    let what = what(&quoted(&path.end.to_string_lossy()));
    let protected = [ProtectedPath { what, path, protection, kind: PathKind::File }];
    let mounts = MountTable::read();
    let mut grants = all.iter().flat_map(|plugin| plugin.allow.dirs.iter().map(move |grant| (plugin, grant)));
    grants
        .find_map(|(plugin, grant)| reached_paths(&GrantedDirectory::new(plugin, grant), &protected, &mounts))
}

fn protected_paths(config: &Config) -> Vec<ProtectedPath> {
    use Protection::{FromReading, FromWriting};

    let mut all = vec![
        ProtectedPath::new("the configuration".to_owned(), &config.file, FromReading),
        // It also contains what other plugins offer, and the key that hides their settings.
        ProtectedPath::directory("the cache of compiled code", &config.cache, FromReading),
    ];
    if let Ok(program) = std::env::current_exe() {
        // A replacement would run with the gateway's rights at the next start.
        all.push(ProtectedPath::new("the gateway's own program".to_owned(), &program, FromWriting));
    }
    if let Some(file) = &config.ca_file {
        // Anyone who can change it decides which servers other plugins' requests trust.
        all.push(ProtectedPath::new("the CA bundle".to_owned(), file, FromWriting));
    }
    if let Some(state) = &config.state {
        all.push(ProtectedPath::directory("the plugins' state", state, FromReading));
    }
    for file in config.audit.iter().flat_map(AuditConfig::files) {
        all.push(ProtectedPath::new("the audit log".to_owned(), &file, FromReading));
    }
    for file in &config.secret_files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        all.push(ProtectedPath::new(format!("the secret file {}", quoted(&name)), file, FromReading));
    }
    let admin_tls = config.admin.as_ref().and_then(|admin| admin.tls.as_ref());
    let tls = [("the endpoint", config.http.tls.as_ref()), ("the admin listener", admin_tls)];
    for (listener, tls) in tls.into_iter().filter_map(|(listener, tls)| Some((listener, tls?))) {
        // Anyone who can change it can make the listener unavailable.
        let what = format!("the certificate of {listener}");
        all.push(ProtectedPath::new(what, &tls.certificate_file, FromWriting));
        if !config.secret_files.contains(&tls.key_file) {
            let what = format!("the key of {listener}'s certificate");
            all.push(ProtectedPath::new(what, &tls.key_file, FromReading));
        }
        if let Some(authority) = &tls.client_authority {
            // Anyone who can change it can issue certificates to clients.
            let what = "the authority of client certificates".to_owned();
            all.push(ProtectedPath::new(what, &authority.file, FromWriting));
        }
    }
    if let Some(socket) = &config.unix_socket {
        // Anyone who can change it can make the socket unavailable, or lead clients elsewhere.
        all.push(ProtectedPath::new("the Unix socket".to_owned(), &socket.path, FromWriting));
    }
    for file in &config.key_files {
        // Anyone who can change it can issue tokens.
        all.push(ProtectedPath::new("the keys of an issuer".to_owned(), file, FromWriting));
    }
    for file in &config.sources.key_files {
        // Anyone who can change it can sign components.
        all.push(ProtectedPath::new("a signer's public key".to_owned(), file, FromWriting));
    }
    if config.plugins.iter().any(|plugin| plugin.remote.is_some()) {
        // Anyone who can change it decides which components are loaded.
        all.push(ProtectedPath::new("the lock file".to_owned(), &config.sources.lock_file, FromWriting));
    }
    for plugin in &config.plugins {
        if let Some(file) = plugin.component_file() {
            let what = format!("the component of the plugin `{}`", plugin.id);
            all.push(ProtectedPath::new(what, file, FromWriting));
        }
    }
    for mount in process_mounts() {
        let shown = quoted(&mount.to_string_lossy());
        let what = format!("{shown}, which contains the gateway's memory and variables");
        all.push(ProtectedPath::new(what, &mount, FromReading));
    }
    all.retain(|protected| !protected.path.end.as_os_str().is_empty()); // an invalid path is empty
    all
}

/// The mount points of `proc`, where a plugin could read the gateway's environment variables and write to its memory.
fn process_mounts() -> Vec<PathBuf> {
    let mut mounts = vec![PathBuf::from("/proc")];
    // proc(5): the mount point is the fifth field, with spaces as `\040`; the type follows " - ".
    for line in fs::read_to_string("/proc/self/mountinfo").unwrap_or_default().lines() {
        if let Some((mount, rest)) = line.split_once(" - ")
            && rest.starts_with("proc ")
            && let Some(point) = mount.split(' ').nth(4)
        {
            mounts.push(PathBuf::from(point.replace("\\040", " ")));
        }
    }
    mounts.sort();
    mounts.dedup();
    mounts
}

/// Reports the protected paths that a grant reaches.
fn reached_paths(
    granted: &GrantedDirectory<'_>,
    protected: &[ProtectedPath],
    mounts: &MountTable,
) -> Option<Diagnostic> {
    let dir = &granted.path.end;
    let mode = granted.grant.mode;
    let is_reached = |protected: &&ProtectedPath| {
        let contains_link = |link: &PathBuf| link.starts_with(dir) || mounts.shows(dir, link);
        violates(mode, protected.protection)
            && (granted.path.overlaps(&protected.path) || mounts.overlap(dir, &protected.path.end))
            || mode == DirMode::ReadWrite && protected.path.links.iter().any(contains_link)
    };
    let reached: Vec<&ProtectedPath> = protected.iter().filter(is_reached).collect();
    let what: Vec<&str> = reached.iter().map(|protected| protected.what.as_str()).collect();
    let (last, rest) = what.split_last()?;
    let what = if rest.is_empty() { (*last).to_owned() } else { format!("{} and {last}", rest.join(", ")) };
    let only_writing = reached.iter().all(|protected| protected.protection == Protection::FromWriting);
    let (verb, hint) = if only_writing {
        ("change", "grant another directory, or this one with `mode = \"ro\"`")
    } else {
        ("reach", "grant another directory, such as one with nothing but the plugin's files")
    };
    Some(granted.problem(format!("the plugin `{}` could {verb} {what}", granted.plugin.id)).with_hint(hint))
}

/// Reports a grant inside another one that lets a plugin replace it.
fn inside_another(
    granted: &GrantedDirectory<'_>,
    grants: &[GrantedDirectory<'_>],
    mounts: &MountTable,
) -> Option<Diagnostic> {
    let contains_it = |outer: &&GrantedDirectory<'_>| {
        let dir = &outer.path.end;
        let is_inside =
            |entry: &PathBuf| entry.starts_with(dir) && entry != dir || mounts.shows_below(dir, entry);
        outer.grant.mode == DirMode::ReadWrite
            && (is_inside(&granted.path.end) || granted.path.links.iter().any(is_inside))
    };
    let outer = grants.iter().find(contains_it)?;
    let message = format!("the plugin `{}` could replace this directory with another", outer.plugin.id);
    let problem =
        granted.problem(message).with_related(outer.grant.span.clone(), "because it can change this one");
    Some(
        problem.with_hint(
            "grant directories that don't contain each other, or the outer one with `mode = \"ro\"`",
        ),
    )
}

/// Reports whether a grant of this mode violates the protection.
fn violates(mode: DirMode, protection: Protection) -> bool {
    match (mode, protection) {
        (DirMode::ReadWrite, _) | (DirMode::ReadOnly, Protection::FromReading) => true,
        (DirMode::ReadOnly, Protection::FromWriting) => false,
    }
}

#[cfg(test)]
mod tests;
