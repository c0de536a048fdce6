//! The locations of paths on their file systems. A mount can show a location below a granted directory too; then
//! neither the two paths nor their parent directories have anything in common.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The mounts of this process. If the list can't be read, nothing is found.
#[derive(Debug, Default)]
pub(crate) struct MountTable(Vec<Mount>);

#[derive(Debug, PartialEq, Eq)]
struct Mount {
    /// The file system, as `major:minor`.
    device: String,
    /// The mounted directory or file of that file system.
    root: PathBuf,
    /// The mount point.
    at: PathBuf,
}

/// A location on a file system.
#[derive(Debug, Clone, PartialEq, Eq)]
struct MountedPlace<'m> {
    device: &'m str,
    path: PathBuf,
}

impl MountedPlace<'_> {
    /// Reports whether the other location is below this one, or the same.
    fn contains(&self, other: &MountedPlace<'_>) -> bool {
        self.device == other.device && other.path.starts_with(&self.path)
    }
}

impl MountTable {
    /// Reads the mounts of this process.
    pub(crate) fn read() -> Self {
        Self::parse(&fs::read("/proc/self/mountinfo").unwrap_or_default())
    }

    /// proc(5): the third field is the device, the fourth the root, the fifth the mount point.
    fn parse(text: &[u8]) -> Self {
        let mounts = text.split(|byte| *byte == b'\n').filter_map(|line| {
            let mut fields = line.split(|byte| *byte == b' ').skip(2);
            let device = String::from_utf8(fields.next()?.to_vec()).ok()?;
            let root = unescaped(fields.next()?);
            let at = unescaped(fields.next()?);
            Some(Mount { device, root, at })
        });
        Self(mounts.collect())
    }

    /// Reports whether one contains the other, or they are the same. Both are resolved paths.
    pub(crate) fn overlap(&self, a: &Path, b: &Path) -> bool {
        self.shows(a, b) || self.shows(b, a)
    }

    /// Reports whether `path` is visible in `dir`, or is `dir`.
    pub(crate) fn shows(&self, dir: &Path, path: &Path) -> bool {
        let Some(wanted) = self.place(path) else { return false };
        self.tree(dir).iter().any(|place| place.contains(&wanted))
    }

    /// The same without the root of a mount, which can't be replaced.
    pub(crate) fn shows_below(&self, dir: &Path, path: &Path) -> bool {
        let Some(wanted) = self.place(path) else { return false };
        self.tree(dir).iter().any(|place| place.contains(&wanted) && *place != wanted)
    }

    /// The locations that are visible in a directory: its own, and those of mounts in it.
    fn tree(&self, dir: &Path) -> Vec<MountedPlace<'_>> {
        let mounted = self.0.iter().filter(|mount| mount.at != dir && mount.at.starts_with(dir));
        let mounted = mounted.map(|mount| MountedPlace { device: &mount.device, path: mount.root.clone() });
        self.place(dir).into_iter().chain(mounted).collect()
    }

    fn place(&self, path: &Path) -> Option<MountedPlace<'_>> {
        // The nearest one. Of several at one mount point the last one hides the others.
        let around = self.0.iter().filter(|mount| path.starts_with(&mount.at));
        let mount = around.max_by_key(|mount| mount.at.components().count())?;
        let inside = path.strip_prefix(&mount.at).expect("it starts with the mount point");
        Some(MountedPlace { device: &mount.device, path: mount.root.join(inside) })
    }
}

/// Decodes spaces, tabs, line breaks and backslashes, which are written as `\` and three octal digits.
#[cfg(unix)]
fn unescaped(field: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStringExt as _;

    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let octal = (byte == b'\\').then(|| after.get(..3)).flatten();
        let code = octal.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(code) => {
                bytes.push(code);
                rest = &after[3..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(not(unix))]
fn unescaped(field: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from(String::from_utf8_lossy(field).into_owned()))
}

#[cfg(test)]
mod tests;
