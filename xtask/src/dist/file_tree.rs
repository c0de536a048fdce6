//! The files of a package, sorted by path: as a tar archive, or in a directory.

use std::collections::BTreeMap;
use std::fs;
use std::io::Cursor;
use std::path::Path;

use anyhow::{Context as _, Result};
use tar::{Builder, EntryType, Header};

/// The mode of a file that everyone can read.
pub(super) const PLAIN: u32 = 0o644;
/// The mode of a program or a directory.
pub(super) const PROGRAM: u32 = 0o755;

/// Files and directories, by path.
#[derive(Debug, Default)]
pub(super) struct FileTree(BTreeMap<String, TreeEntry>);

#[derive(Debug)]
struct TreeEntry {
    mode: u32,
    /// The number of the user and of the group that own it.
    owner: u64,
    /// `None` for a directory.
    content: Option<Vec<u8>>,
}

impl FileTree {
    /// Adds a file that root owns, and its parent directories.
    pub(super) fn file(&mut self, path: &str, mode: u32, content: impl Into<Vec<u8>>) {
        self.add_parents(path);
        self.0.insert(path.to_owned(), TreeEntry { mode, owner: 0, content: Some(content.into()) });
    }

    /// Adds a directory and its parents.
    pub(super) fn directory(&mut self, path: &str, mode: u32, owner: u64) {
        self.add_parents(path);
        self.0.insert(path.to_owned(), TreeEntry { mode, owner, content: None });
    }

    fn add_parents(&mut self, path: &str) {
        for (end, _) in path.match_indices('/') {
            let parent = || TreeEntry { mode: PROGRAM, owner: 0, content: None };
            self.0.entry(path[..end].to_owned()).or_insert_with(parent);
        }
    }

    /// The total size of the files, in bytes.
    pub(super) fn size(&self) -> usize {
        self.0.values().filter_map(|entry| entry.content.as_ref()).map(Vec::len).sum()
    }

    /// The tree as a tar archive.
    pub(super) fn tar(&self, time: u64) -> Result<Vec<u8>> {
        let mut archive = Builder::new(Vec::new());
        for (path, TreeEntry { mode, owner, content }) in &self.0 {
            let mut header = Header::new_ustar();
            header.set_mode(*mode);
            header.set_uid(*owner);
            header.set_gid(*owner);
            header.set_mtime(time);
            let content = match content {
                Some(content) => {
                    header.set_entry_type(EntryType::Regular);
                    content.as_slice()
                }
                None => {
                    header.set_entry_type(EntryType::Directory);
                    &[]
                }
            };
            header.set_size(content.len() as u64);
            let path = if header.entry_type().is_dir() { format!("{path}/") } else { path.clone() };
            archive
                .append_data(&mut header, &path, Cursor::new(content))
                .with_context(|| format!("`{path}`"))?;
        }
        Ok(archive.into_inner()?)
    }

    /// Writes the tree into an empty directory, as the current user.
    pub(super) fn write(&self, directory: &Path) -> Result<()> {
        let failed = |path: &Path| format!("can't write `{}`", path.display());
        if directory.exists() {
            fs::remove_dir_all(directory).with_context(|| failed(directory))?;
        }
        fs::create_dir_all(directory).with_context(|| failed(directory))?;
        for (path, TreeEntry { mode, owner: _, content }) in &self.0 {
            let path = directory.join(path);
            match content {
                Some(content) => fs::write(&path, content),
                None => fs::create_dir_all(&path),
            }
            .with_context(|| failed(&path))?;
            set_mode(&path, *mode).with_context(|| failed(&path))?;
        }
        Ok(())
    }
}

/// Sets the mode, whatever the umask is.
#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> std::io::Result<()> {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
}

/// Other systems have no modes.
#[cfg(not(unix))]
fn set_mode(_path: &Path, _mode: u32) -> std::io::Result<()> {
    Ok(())
}
