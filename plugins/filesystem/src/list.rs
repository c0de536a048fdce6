//! Lists and trees of directories.

use std::{fs, io};

use serde::Serialize;
use unicode_normalization::UnicodeNormalization as _;

use crate::args::SortBy;
use crate::fault::FsError;
use crate::glob::Globs;
use crate::path::{self, ResolvedPath};

/// The maximum depth of a tree or a search. Deeper trees are mistakes or attacks.
pub(crate) const MAX_DEPTH: usize = 128;

/// An entry of a directory.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) kind: EntryKind,
}

/// The type of an entry. A link is a file, whatever its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EntryKind {
    Directory,
    File,
}

impl EntryKind {
    fn mark(self) -> &'static str {
        match self {
            Self::Directory => "[DIR]",
            Self::File => "[FILE]",
        }
    }
}

/// The entries of a directory, sorted by the bytes of their names.
pub(crate) fn entries(path: &str) -> Result<Vec<Entry>, FsError> {
    let mut entries = read(path).map_err(FsError::system("scandir", path))?;
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(entries)
}

fn read(path: &str) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = match entry {
            Ok(entry) => entry,
            #[cfg(target_family = "wasm")]
            Err(error) if error.raw_os_error() == Some(libc::EILSEQ) => {
                return crate::nameless::others(path).map_err(|code| io::Error::other(code.message()));
            }
            Err(error) => return Err(error),
        };
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let kind = if is_dir { EntryKind::Directory } else { EntryKind::File };
        entries.push(Entry { name: entry.file_name().to_string_lossy().into_owned(), kind });
    }
    Ok(entries)
}

/// One line for each entry.
pub(crate) fn plain(directory: &ResolvedPath) -> Result<String, FsError> {
    let entries = entries(&directory.path)?;
    let lines = entries.iter().map(|entry| format!("{} {}", entry.kind.mark(), entry.name));
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

/// One line for each entry with its size, and a summary.
pub(crate) fn with_sizes(directory: &ResolvedPath, sort: SortBy) -> Result<String, FsError> {
    let mut sized: Vec<(Entry, u64)> = entries(&directory.path)?
        .into_iter()
        .map(|entry| {
            let found = fs::metadata(path::join(&directory.path, &entry.name));
            (entry, found.map_or(0, |found| found.len()))
        })
        .collect();
    match sort {
        SortBy::Name => sized.sort_by_cached_key(|(entry, _)| dictionary(&entry.name)),
        SortBy::Size => sized.sort_by_key(|(_, size)| std::cmp::Reverse(*size)),
    }
    let mut lines: Vec<String> = sized.iter().map(|(entry, size)| sized_line(entry, *size)).collect();
    let files = || sized.iter().filter(|(entry, _)| entry.kind == EntryKind::File);
    let total: u64 = files().map(|(_, size)| size).sum();
    let count = files().count();
    lines.push(String::new());
    lines.push(format!("Total: {count} files, {} directories", sized.len() - count));
    lines.push(format!("Combined size: {}", size_in_words(total)));
    Ok(lines.join("\n"))
}

fn sized_line(entry: &Entry, size: u64) -> String {
    let Entry { name, kind } = entry;
    let padding = " ".repeat(30_usize.saturating_sub(name.encode_utf16().count()));
    let size = match kind {
        EntryKind::Directory => String::new(),
        EntryKind::File => format!("{:>10}", size_in_words(size)),
    };
    format!("{} {name}{padding} {size}", kind.mark())
}

/// The collation order of ASCII punctuation; digits and letters follow.
const PUNCTUATION: &str = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

/// The collation key of a name: punctuation, digits, letters, ignoring accents and case unless nothing else differs;
/// then lower case is first.
fn dictionary(name: &str) -> (Vec<(u8, u32)>, String, Vec<bool>) {
    let letters = name.nfd().filter(|c| !unicode_normalization::char::is_combining_mark(*c));
    let places = letters.flat_map(char::to_lowercase).map(|c| match PUNCTUATION.find(c) {
        _ if c.is_alphabetic() => (4, u32::from(c)),
        _ if c.is_numeric() => (3, u32::from(c)),
        _ if c.is_whitespace() => (0, u32::from(c)),
        Some(place) => (1, u32::try_from(place).unwrap_or_default()),
        None => (2, u32::from(c)),
    });
    let accents = name.nfd().filter(|c| unicode_normalization::char::is_combining_mark(*c));
    (places.collect(), accents.collect(), name.chars().map(char::is_uppercase).collect())
}

/// A size such as `1.50 KB`.
pub(crate) fn size_in_words(bytes: u64) -> String {
    let mut unit = 1_u128;
    let mut names = ["B", "KB", "MB", "GB", "TB"].into_iter();
    let mut name = names.next().unwrap_or_default();
    for next in names {
        if u128::from(bytes) < unit * 1024 {
            break;
        }
        (unit, name) = (unit * 1024, next);
    }
    if unit == 1 {
        return format!("{bytes} {name}");
    }
    // Hundredths, rounded half up.
    let hundredths = (u128::from(bytes) * 200 + unit) / (unit * 2);
    format!("{}.{:02} {name}", hundredths / 100, hundredths % 100)
}

/// An entry of a tree.
#[derive(Serialize)]
struct Node {
    name: String,
    #[serde(rename = "type")]
    kind: EntryKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    children: Option<Vec<Node>>,
}

/// A directory with all its contents, as JSON.
pub(crate) fn tree(directory: &ResolvedPath, exclude: &[String]) -> Result<String, FsError> {
    let mut room = crate::answer::largest();
    let exclude = Globs::of_tree(exclude)?;
    let nodes = nodes(&directory.path, "", &exclude, MAX_DEPTH, &mut room)?;
    serde_json::to_string_pretty(&nodes).map_err(|error| FsError::Other(error.to_string()))
}

fn nodes(
    path: &str,
    below: &str,
    exclude: &Globs,
    depth: usize,
    room: &mut usize,
) -> Result<Vec<Node>, FsError> {
    if depth == 0 {
        return Err(FsError::Other(format!(
            "Directory too deep: {path}; exclude it or start in a subdirectory"
        )));
    }
    let mut nodes = Vec::new();
    for Entry { name, kind } in entries(path)? {
        let below = path::join_below(below, &name);
        if exclude.fit(&below) {
            continue;
        }
        *room = room.checked_sub(2 * name.len() + 48).ok_or_else(|| {
            FsError::Other(
                "Tree too large for one result; exclude more or start in a subdirectory".to_owned(),
            )
        })?;
        let children = match kind {
            EntryKind::Directory => {
                let path = path::join(path, &name);
                Some(self::nodes(&path, &below, exclude, depth - 1, room)?)
            }
            EntryKind::File => None,
        };
        nodes.push(Node { name, kind, children });
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests;
