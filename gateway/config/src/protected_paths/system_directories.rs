//! System directories: granted writable only if the grant says that it is intended.
//!
//! A plugin that can change them can replace the libraries that the gateway loads, the programs and settings of other
//! users, the certificates that requests trust, or settings of the kernel. None of this is the gateway's own, so an
//! operator can have a reason to grant it. It is rarely the intention, so the grant must contain `system = true`.

use std::fs;
use std::path::{Path, PathBuf};

use super::mounts::MountTable;
use super::{GrantedDirectory, LocatedPath};
use crate::model::diagnostic::quoted;
use crate::model::{Diagnostic, DirMode};

/// The directories of the system: those of Linux, and of macOS. Those that don't exist are ignored. In `/run` and `/var`,
/// where services keep their data, they are only those whose files are executed or obeyed as root: jobs, units, scripts
/// of packages, and the file systems of containers.
const SYSTEM_DIRECTORIES: &[&str] = &[
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/root",
    "/run/systemd",
    "/run/udev",
    "/sbin",
    "/sys",
    "/usr",
    "/var/lib/cloud",
    "/var/lib/containerd",
    "/var/lib/docker",
    "/var/lib/dpkg",
    "/var/lib/kubelet",
    "/var/lib/pacman",
    "/var/lib/rpm",
    "/var/lib/systemd",
    "/var/spool",
    "/Applications",
    "/Library",
    "/System",
    "/var/at",
    "/var/root",
];

/// Certificate stores outside the directories above. openSUSE's is in `/var/lib`.
const CERTIFICATE_STORES: &[&str] = &["/var/lib/ca-certificates", "/var/ssl", "/opt/etc/ssl"];

/// True if the path is in a directory of the system or contains one. It is compared as written, without access to the
/// file system. No message suggests to make such a directory writable.
#[must_use]
pub fn is_system_directory(path: &Path) -> bool {
    let mut all = SYSTEM_DIRECTORIES.iter().chain(CERTIFICATE_STORES).map(Path::new);
    all.any(|system| path.starts_with(system) || system.starts_with(path))
}

/// A directory or file of the system.
struct SystemPath {
    /// Its description, for messages.
    what: String,
    path: LocatedPath,
}

/// The directories and files of the system.
pub(super) struct SystemDirectories(Vec<SystemPath>);

impl SystemDirectories {
    /// `certificates` are the stores that environment variables name.
    pub(super) fn new(certificates: &[PathBuf]) -> Self {
        let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let fixed = |paths: &'static [&'static str]| paths.iter().map(PathBuf::from);
        let libraries = library_directories(&maps).into_iter();
        let certificates = fixed(CERTIFICATE_STORES).chain(certificates.iter().cloned());
        let all = fixed(SYSTEM_DIRECTORIES)
            .map(|path| (format!("{}, a system directory", shown(&path)), path))
            // Their paths are values of variables, which aren't shown.
            .chain(certificates.map(|path| ("TLS certificates that requests trust".to_owned(), path)))
            .chain(libraries.map(|path| (format!("the gateway's libraries in {}", shown(&path)), path)));
        let existing = all.filter(|(_, path)| path.exists());
        Self(existing.map(|(what, path)| SystemPath { what, path: LocatedPath::new(&path) }).collect())
    }

    /// Reports a grant that lets a plugin change one of them, unless the grant allows it.
    pub(super) fn reached_by(
        &self,
        granted: &GrantedDirectory<'_>,
        mounts: &MountTable,
    ) -> Option<Diagnostic> {
        if granted.grant.mode == DirMode::ReadOnly || granted.grant.allows_system {
            return None;
        }
        let overlaps =
            |path: &LocatedPath| granted.path.overlaps(path) || mounts.overlap(&granted.path.end, &path.end);
        let reached = self.0.iter().find(|system| overlaps(&system.path))?;
        let id = &granted.plugin.id;
        let message = format!("the plugin `{id}` could change {}", reached.what);
        Some(granted.problem(message).with_hint(
            "grant another directory, or this one with `mode = \"ro\"`; if it is intended, add `system = true` to the \
             grant",
        ))
    }
}

fn shown(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

/// The directories of the shared libraries in a memory map, as in `/proc/self/maps`. They are often outside the usual
/// directories, as in `/nix` or `/opt`.
fn library_directories(maps: &str) -> Vec<PathBuf> {
    // proc(5): the path is the sixth field.
    let paths = maps.lines().filter_map(|line| Some(Path::new(&line[line.find('/')?..])));
    let is_library = |path: &&Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".so") || name.contains(".so.")
    };
    let mut directories: Vec<_> =
        paths.filter(is_library).filter_map(Path::parent).map(Path::to_owned).collect();
    directories.sort();
    directories.dedup();
    directories
}

#[cfg(test)]
mod tests;
