//! What is nearly called like a path that leads nowhere: somebody slipped, and should hear of the right one.

use std::fs;
use std::path::{Component, Path, PathBuf};

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
/// Comparing takes time that grows with both lengths, in bytes.
const LONGEST: usize = 100;
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
    let mut alike: Vec<_> = names.filter_map(|its| Some((slips(name, &its)?, its))).collect();
    alike.sort();
    alike.into_iter().map(|(_, its)| its).find(|its| is(&directory.join(its), wanted))
}

/// How many slips lie between two names; none where they are too many for the same name. The ending counts for itself:
/// `a.wasm` isn't like `b.wasm` for what they share.
fn slips(written: &str, there: &str) -> Option<usize> {
    if written.len().max(there.len()) > LONGEST {
        return None;
    }
    let plain = |name: &str| name.to_lowercase().replace('-', "_");
    let (written, there) = (plain(written), plain(there));
    let split = |name: &str| match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => (stem.to_owned(), ending.to_owned()),
        Some(_) | None => (name.to_owned(), String::new()),
    };
    let ((stem, ending), (its_stem, its_ending)) = (split(&written), split(&there));
    let letters = stem.chars().count().max(its_stem.chars().count());
    let of_stem = strsim::damerau_levenshtein(&stem, &its_stem);
    // Of a single letter nothing is left after a slip.
    if of_stem > (letters / 3).max(1).min(letters - 1) {
        return None;
    }
    // An ending that was left out is one slip.
    let of_ending = if ending.is_empty() && !its_ending.is_empty() {
        1
    } else {
        strsim::damerau_levenshtein(&ending, &its_ending)
    };
    (of_ending <= 2).then_some(of_stem + of_ending)
}

#[cfg(test)]
mod tests;
