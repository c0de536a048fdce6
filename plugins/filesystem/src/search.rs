//! `search_files`: everything below a directory whose path fits a pattern.

use crate::answer;
use crate::fault::Fault;
use crate::glob::{Glob, Globs};
use crate::granted::Granted;
use crate::list::{self, DEEPEST, Entry, Kind};
use crate::path::{self, Located};

/// The paths that were found, one a line.
pub(crate) fn files(
    granted: &Granted,
    directory: &Located,
    pattern: &str,
    exclude: &[String],
) -> Result<String, Fault> {
    let (pattern, exclude) = (Glob::new(pattern)?, Globs::new(exclude)?);
    let mut search = Search { granted, pattern, exclude, found: Vec::new(), room: answer::largest() / 2 };
    let entries = list::entries(&directory.path)?;
    search.below(&directory.path, "", entries, DEEPEST)?;
    Ok(if search.found.is_empty() { "No matches found".to_owned() } else { search.found.join("\n") })
}

struct Search<'a> {
    granted: &'a Granted,
    pattern: Glob,
    exclude: Globs,
    found: Vec<String>,
    /// How many bytes more can be found.
    room: usize,
}

impl Search<'_> {
    fn below(&mut self, path: &str, below: &str, entries: Vec<Entry>, depth: usize) -> Result<(), Fault> {
        for Entry { name, kind } in entries {
            let path = path::join(path, &name);
            let below = path::join_below(below, &name);
            // A link that leads out, or to nothing, isn't there.
            if self.exclude.fit(&below) || (kind == Kind::File && path::locate(self.granted, &path).is_err())
            {
                continue;
            }
            let inside = match kind {
                // A directory that can't be read is passed over; the others may hold what is looked for.
                Kind::Directory if depth > 1 => list::entries(&path).unwrap_or_default(),
                Kind::Directory | Kind::File => Vec::new(),
            };
            if self.pattern.fits(&below) {
                let size = path.len() + 1;
                self.room = self.room.checked_sub(size).ok_or_else(|| {
                    Fault::Other("Too many matches for one answer: use a narrower pattern".to_owned())
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
