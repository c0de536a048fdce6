//! The directory of a server: filling, emptying and inspecting it.

use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};

/// The modification time of every file that the comparison writes, in the year 2001.
const MODIFIED: Duration = Duration::from_secs(1_000_000_000);

/// A directory of a server.
#[derive(Debug, Clone)]
pub(super) struct Directory(PathBuf);

/// The content of a directory.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// Files and symlinks to them, by relative path.
    pub(super) files: Vec<String>,
    /// Directories; the root is the empty path.
    pub(super) directories: Vec<String>,
}

impl Directory {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// A path in the directory. An empty path gives the directory itself.
    pub(super) fn path(&self, below: &str) -> String {
        let path = if below.is_empty() { self.0.clone() } else { self.0.join(below) };
        path.display().to_string()
    }

    /// Removes all content.
    pub(super) fn clear(&self) -> Result<()> {
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Writes a file, and creates its parent directories.
    pub(super) fn write(&self, below: &str, content: &[u8]) -> Result<()> {
        let path = self.0.join(below);
        fs::create_dir_all(path.parent().context("a file is in a directory")?)?;
        fs::write(&path, content)?;
        let times = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + MODIFIED);
        File::options().write(true).open(&path)?.set_times(times)?;
        Ok(())
    }

    /// Makes a file executable.
    pub(super) fn executable(&self, below: &str) -> Result<()> {
        executable(&self.0.join(below))
    }

    /// Creates a directory and its parents.
    pub(super) fn directory(&self, below: &str) -> Result<()> {
        Ok(fs::create_dir_all(self.0.join(below))?)
    }

    /// Creates a symlink and its parent directories.
    pub(super) fn link(&self, target: &str, below: &str) -> Result<()> {
        let path = self.0.join(below);
        fs::create_dir_all(path.parent().context("a link is in a directory")?)?;
        link(Path::new(target), &path)
    }

    /// Reads a file.
    pub(super) fn read(&self, below: &str) -> Result<Vec<u8>> {
        Ok(fs::read(self.0.join(below))?)
    }

    /// The content, in the order of names.
    pub(super) fn contents(&self) -> Result<Contents> {
        let mut contents = Contents { files: Vec::new(), directories: vec![String::new()] };
        walk(&self.0, "", &mut |below, path| {
            if path.symlink_metadata()?.is_dir() {
                contents.directories.push(below.to_owned());
            } else {
                contents.files.push(below.to_owned());
            }
            Ok(())
        })?;
        Ok(contents)
    }

    /// All files as they are compared: text, or bytes in hexadecimal, or the target of a symlink; and the permissions.
    pub(super) fn snapshot(&self) -> Result<Value> {
        let mut all = Map::new();
        walk(&self.0, "", &mut |below, path| {
            let found = path.symlink_metadata()?;
            let seen = if found.is_symlink() {
                json!({ "link": fs::read_link(path)?.display().to_string() })
            } else if found.is_dir() {
                json!({ "directory": permissions(&found) })
            } else {
                json!({ "file": content(&fs::read(path)?), "permissions": permissions(&found) })
            };
            all.insert(below.to_owned(), seen);
            Ok(())
        })?;
        Ok(Value::Object(all))
    }

    /// Replaces the content by a copy of the other directory.
    pub(super) fn copy_from(&self, other: &Self) -> Result<()> {
        self.clear()?;
        walk(&other.0, "", &mut |below, path| {
            let found = path.symlink_metadata()?;
            if found.is_symlink() {
                return self.link(&fs::read_link(path)?.display().to_string(), below);
            } else if found.is_dir() {
                return self.directory(below);
            }
            self.write(below, &fs::read(path)?)?;
            let copy = File::options().write(true).open(self.0.join(below))?;
            copy.set_permissions(found.permissions())?;
            Ok(copy.set_times(FileTimes::new().set_modified(found.modified()?))?)
        })
    }
}

/// Calls `each` with the relative path and the path of every entry below a directory, in the order of names.
fn walk(directory: &Path, below: &str, each: &mut dyn FnMut(&str, &Path) -> Result<()>) -> Result<()> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        names.push(entry?.file_name());
    }
    names.sort();
    for name in names {
        let path = directory.join(&name);
        let name = name.to_string_lossy();
        let below = if below.is_empty() { name.into_owned() } else { format!("{below}/{name}") };
        each(&below, &path)?;
        if path.symlink_metadata()?.is_dir() {
            walk(&path, &below, each)?;
        }
    }
    Ok(())
}

/// A file's content: text, or hexadecimal digits after `bytes `.
fn content(bytes: &[u8]) -> String {
    match str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().fold("bytes ".to_owned(), |text, byte| text + &format!("{byte:02x}")),
    }
}

#[cfg(unix)]
fn permissions(found: &fs::Metadata) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    format!("{:o}", found.permissions().mode() & 0o777)
}

#[cfg(unix)]
fn executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}

#[cfg(not(unix))]
fn executable(_path: &Path) -> Result<()> {
    anyhow::bail!("permissions can be compared on Unix only")
}

#[cfg(not(unix))]
fn permissions(found: &fs::Metadata) -> String {
    if found.permissions().readonly() { "read".to_owned() } else { "write".to_owned() }
}

#[cfg(unix)]
fn link(target: &Path, path: &Path) -> Result<()> {
    Ok(std::os::unix::fs::symlink(target, path)?)
}

#[cfg(not(unix))]
fn link(_target: &Path, _path: &Path) -> Result<()> {
    anyhow::bail!("symlinks can be compared on Unix only")
}
