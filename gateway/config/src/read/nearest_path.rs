//! Suggestions for paths that don't exist.

use std::fs;
use std::path::{Path, PathBuf};

use moongate_model::text::nearest_name;

/// The kind of an entry of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A file.
    File,
    /// A directory.
    Directory,
}

/// The maximum number of directory entries to compare.
const MAX_ENTRIES: usize = 2_000;

/// The entry of this kind in the same directory whose name is nearest to that of `path`, which doesn't exist. Reads the
/// directory.
#[must_use]
pub fn nearest_path(path: &Path, wanted: EntryKind) -> Option<PathBuf> {
    if fs::symlink_metadata(path).is_ok() {
        return None;
    }
    let (stem, extension) = split(path.file_name()?.to_str()?);
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let entries = fs::read_dir(parent.unwrap_or(Path::new("."))).ok()?.take(MAX_ENTRIES).flatten();
    let is_wanted = |path: &Path| match wanted {
        EntryKind::File => path.is_file(),
        EntryKind::Directory => path.is_dir(),
    };
    // The extension is compared separately, so that it doesn't make `a.wasm` similar to `b.wasm`.
    let is_candidate = |name: &String| {
        let its = split(name).1;
        extension.is_empty() || its == extension || nearest_name(extension, std::iter::once(its)).is_some()
    };
    let mut names: Vec<String> = entries
        .filter(|entry| is_wanted(&entry.path()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(is_candidate)
        .collect();
    names.sort();
    let near = nearest_name(stem, names.iter().map(|name| split(name).0))?;
    let name = names.iter().find(|name| split(name).0 == near)?;
    Some(parent.map_or_else(|| PathBuf::from(name), |parent| parent.join(name)))
}

/// The stem and the extension of a file's name.
fn split(name: &str) -> (&str, &str) {
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => (stem, extension),
        Some(_) | None => (name, ""),
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// The name that is suggested for a path in a directory with some files.
    fn nearest(name: &str, wanted: EntryKind) -> Option<String> {
        let dir = TempDir::new().unwrap();
        fs::create_dir(dir.path().join("notes")).unwrap();
        for file in ["hello_world.wasm", "x.wasm", "time.wasm"] {
            fs::write(dir.path().join(file), "").unwrap();
        }
        let near = nearest_path(&dir.path().join(name), wanted)?;
        Some(near.file_name().unwrap().to_str().unwrap().to_owned())
    }

    #[test]
    fn suggests_the_nearest_name_in_the_same_directory() {
        for slip in
            ["hello-world.wasm", "hello_world.wsm", "hello_world", "HelloWorld.wasm", "helo_world.wasm"]
        {
            assert_eq!(nearest(slip, EntryKind::File).as_deref(), Some("hello_world.wasm"), "{slip}");
        }
        assert_eq!(nearest("nots", EntryKind::Directory).as_deref(), Some("notes"));
    }

    #[test]
    fn suggests_nothing_for_other_names_or_kinds() {
        let long = "x".repeat(200);
        for path in ["y.wasm", "fetch.wasm", "time.txt", "note", "time.wasm", "nowhere/time.wasm", &long] {
            assert_eq!(nearest(path, EntryKind::File), None, "{path}");
        }
        assert_eq!(nearest("time.wsm", EntryKind::Directory), None);
    }
}
