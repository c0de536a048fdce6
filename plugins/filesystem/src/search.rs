//! `search_files`: all entries in a directory whose path matches a pattern.

use crate::answer;
use crate::fault::FsError;
use crate::glob::{Glob, Globs};
use crate::granted::GrantedDirectories;
use crate::list::{self, Entry, EntryKind, MAX_DEPTH};
use crate::path::{self, ResolvedPath};

/// The matching paths, one per line.
pub(crate) fn files(
    granted: &GrantedDirectories,
    directory: &ResolvedPath,
    pattern: &str,
    exclude: &[String],
) -> Result<String, FsError> {
    let (pattern, exclude) = (Glob::new(pattern)?, Globs::new(exclude)?);
    let mut search = Search { granted, pattern, exclude, found: Vec::new(), room: answer::largest() / 2 };
    let entries = list::entries(&directory.path)?;
    search.below(&directory.path, "", entries, MAX_DEPTH)?;
    Ok(if search.found.is_empty() { "No matches found".to_owned() } else { search.found.join("\n") })
}

struct Search<'a> {
    granted: &'a GrantedDirectories,
    pattern: Glob,
    exclude: Globs,
    found: Vec<String>,
    /// The remaining bytes for results.
    room: usize,
}

impl Search<'_> {
    fn below(&mut self, path: &str, below: &str, entries: Vec<Entry>, depth: usize) -> Result<(), FsError> {
        for Entry { name, kind } in entries {
            let path = path::join(path, &name);
            let below = path::join_below(below, &name);
            // Skip links that lead outside, and broken links.
            if self.exclude.fit(&below)
                || (kind == EntryKind::File && path::locate(self.granted, &path).is_err())
            {
                continue;
            }
            let inside = match kind {
                // Skip a directory that can't be read; others can contain matches.
                EntryKind::Directory if depth > 1 => list::entries(&path).unwrap_or_default(),
                EntryKind::Directory | EntryKind::File => Vec::new(),
            };
            if self.pattern.fits(&below) {
                let size = path.len() + 1;
                self.room = self.room.checked_sub(size).ok_or_else(|| {
                    FsError::Other("Too many matches for one result; use a narrower pattern".to_owned())
                })?;
                self.found.push(path.clone());
            }
            self.below(&path, &below, inside, depth - 1)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
