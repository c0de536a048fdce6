//! What is nearly called like a path that leads nowhere: somebody slipped, and should hear of the right one.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::names::slips;

/// What is looked for at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// A file.
    File,
    /// A directory.
    Directory,
}

/// How many entries of a directory are looked at: one that holds more is no place where people slip.
const MOST: usize = 2_000;
/// No ending that anybody misspells is longer, in bytes.
const LONGEST_ENDING: usize = 16;
/// How cargo calls the directories that it builds into: whoever has built into one may have named the other.
const PROFILES: [&str; 2] = ["debug", "release"];

/// The entry of that kind whose path is most like `path`, where `path` itself leads nowhere. None: nothing is like it. The
/// names are compared level by level, and only where one isn't there. Reads directories.
#[must_use]
pub fn nearest_path(path: &Path, wanted: Entry) -> Option<PathBuf> {
    if fs::symlink_metadata(path).is_ok() {
        return None;
    }
    walk(path, wanted).or_else(|| other_profile(path).and_then(|path| walk(&path, wanted)))
}

fn walk(path: &Path, wanted: Entry) -> Option<PathBuf> {
    let mut there = PathBuf::new();
    let mut parts = path.components().peekable();
    while let Some(part) = parts.next() {
        let looked_for = if parts.peek().is_some() { Entry::Directory } else { wanted };
        match part {
            Component::Normal(name) if !is(&there.join(name), looked_for) => {
                let near = nearest_entry(&there, name.to_str()?, looked_for)?;
                there.push(near);
            }
            part => there.push(part),
        }
    }
    Some(there)
}

fn is(path: &Path, wanted: Entry) -> bool {
    fs::metadata(path).is_ok_and(|found| match wanted {
        Entry::File => found.is_file(),
        Entry::Directory => found.is_dir(),
    })
}

/// The same path with the other of cargo's directories in it.
fn other_profile(path: &Path) -> Option<PathBuf> {
    let is_profile = |part: &Component<'_>| PROFILES.iter().position(|its| part.as_os_str() == *its);
    let found = path.components().rev().find_map(|part| is_profile(&part))?;
    let other = PROFILES[1 - found];
    let swap = |part: Component<'_>| match part.as_os_str() {
        name if name == PROFILES[found] => other.into(),
        name => name.to_owned(),
    };
    Some(path.components().map(swap).collect())
}

/// The entry of a directory that is most like a name.
fn nearest_entry(directory: &Path, name: &str, wanted: Entry) -> Option<String> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let entries = fs::read_dir(directory).ok()?.take(MOST).flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut alike: Vec<_> = names.filter_map(|its| Some((slips_of_file(name, &its)?, its))).collect();
    alike.sort();
    alike.into_iter().map(|(_, its)| its).find(|its| is(&directory.join(its), wanted))
}

/// How many slips lie between two names; none where they are too many for the same name. The ending counts for itself:
/// `a.wasm` isn't like `b.wasm` for what they share.
fn slips_of_file(written: &str, there: &str) -> Option<usize> {
    let split = |name: &str| match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => (stem.to_owned(), ending.to_lowercase()),
        Some(_) | None => (name.to_owned(), String::new()),
    };
    let ((stem, ending), (its_stem, its_ending)) = (split(written), split(there));
    let of_stem = slips(&stem, &its_stem)?;
    // An ending that was left out is one slip.
    let of_ending = match (ending.as_str(), its_ending.as_str()) {
        ("", its) if !its.is_empty() => 1,
        // Longer ones are no endings, and comparing takes time that grows with both lengths.
        (ending, its) if ending.len().max(its.len()) > LONGEST_ENDING => usize::from(ending != its) * 3,
        (ending, its) => strsim::osa_distance(ending, its),
    };
    (of_ending <= 2).then_some(of_stem + of_ending)
}

#[cfg(test)]
mod tests;
