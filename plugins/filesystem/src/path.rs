//! Resolves a path inside the granted directories, following links.
//!
//! The host enforces the sandbox, not this module. It explains why a path is refused, makes writes replace a link's
//! target instead of the link, and determines the changed file.

use std::collections::VecDeque;
use std::fs;
use std::io::ErrorKind;

use unicode_normalization::UnicodeNormalization as _;

use crate::fault::FsError;
use crate::granted::{Directory, GrantedDirectories};
use crate::list;

/// The maximum number of links in a path, as in Linux.
const MAX_LINKS: usize = 40;

/// A path inside a granted directory. It doesn't have to exist.
#[derive(Debug)]
pub(crate) struct ResolvedPath {
    /// The absolute path with all links resolved.
    pub(crate) path: String,
    /// The absolute path as requested.
    pub(crate) asked: String,
    /// The granted directory.
    pub(crate) directory: Directory,
}

impl ResolvedPath {
    /// Checks that the directory is writable.
    pub(crate) fn writable(self) -> Result<Self, FsError> {
        self.directory.writable()?;
        Ok(self)
    }
}

/// An absolute path without `.`, `..`, empty segments and trailing slash.
pub(crate) fn normal(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Joins a path and a name.
pub(crate) fn join(directory: &str, name: &str) -> String {
    if directory.ends_with('/') { format!("{directory}{name}") } else { format!("{directory}/{name}") }
}

/// Joins a relative path and a name.
pub(crate) fn join_below(below: &str, name: &str) -> String {
    if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") }
}

/// The parent directory.
pub(crate) fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((parent, _)) => parent,
    }
}

/// Resolves `asked`.
pub(crate) fn locate(granted: &GrantedDirectories, asked: &str) -> Result<ResolvedPath, FsError> {
    let absolute = absolute(granted, asked)?;
    let Some(directory) = granted.holding(&absolute).filter(|_| !absolute.contains('\0')) else {
        return Err(FsError::Denied(format!(
            "path outside allowed directories: {absolute} not in {}",
            granted.list()
        )));
    };
    let path = PathWalk::new(granted, directory, &absolute).end()?;
    Ok(ResolvedPath { path, directory: directory.clone(), asked: absolute })
}

/// The absolute path. A relative path starts in the first granted directory that contains it.
fn absolute(granted: &GrantedDirectories, asked: &str) -> Result<String, FsError> {
    if granted.is_empty() {
        return Err(FsError::Denied(
            "no directory is granted to this plugin; an operator can allow it".to_owned(),
        ));
    }
    if asked == "~" || asked.starts_with("~/") {
        // The sandbox has no home directory, and `~` is never meant as a name.
        return Err(FsError::Denied(format!(
            "path outside allowed directories: {asked} not in {}",
            granted.list()
        )));
    }
    if let [drive, b':', rest @ ..] = asked.as_bytes()
        && drive.is_ascii_alphabetic()
        && matches!(rest.first(), None | Some(b'/' | b'\\'))
    {
        return Err(FsError::Denied(format!("Windows-style path received on a POSIX host: {asked}")));
    }
    if asked.starts_with('/') {
        return Ok(normal(asked));
    }
    let mut candidates = granted.paths().map(|directory| normal(&format!("{directory}/{asked}")));
    let first = candidates.next().unwrap_or_default();
    if granted.holding(&first).is_some() {
        return Ok(first);
    }
    Ok(candidates.find(|candidate| granted.holding(candidate).is_some()).unwrap_or(first))
}

/// The resolution of a path, segment by segment.
struct PathWalk<'a> {
    granted: &'a GrantedDirectories,
    directory: &'a Directory,
    absolute: &'a str,
    /// The resolved path so far, without links.
    here: String,
    /// The remaining segments, and whether each comes from a link.
    left: VecDeque<(String, SegmentOrigin)>,
    links: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SegmentOrigin {
    Asked,
    Link,
}

impl<'a> PathWalk<'a> {
    fn new(granted: &'a GrantedDirectories, directory: &'a Directory, absolute: &'a str) -> Self {
        let below = directory.below(absolute).unwrap_or_default();
        let parts = below.split('/').filter(|part| !part.is_empty());
        let left = parts.map(|part| (part.to_owned(), SegmentOrigin::Asked)).collect();
        Self { granted, directory, absolute, here: directory.path.clone(), left, links: 0 }
    }

    /// The resolved path.
    fn end(mut self) -> Result<String, FsError> {
        while let Some((part, origin)) = self.left.pop_front() {
            match part.as_str() {
                "." | "" => continue,
                ".." if self.here == self.directory.path => return Err(self.leads_out()),
                ".." => {
                    self.here = parent(&self.here).to_owned();
                    continue;
                }
                _ => {}
            }
            let next = join(&self.here, &part);
            match fs::symlink_metadata(&next) {
                Ok(found) if found.is_symlink() => self.follow(&next)?,
                Ok(_) => self.here = next,
                Err(error) if error.kind() == ErrorKind::NotFound && origin == SegmentOrigin::Link => {
                    let parent = parent(self.absolute);
                    return Err(FsError::Other(format!("Parent directory does not exist: {parent}")));
                }
                Err(error) if error.kind() == ErrorKind::NotFound => match self.written_otherwise(&part)? {
                    Some(name) => self.left.push_front((name, origin)),
                    None => return Ok(self.left.iter().fold(next, |path, (part, _)| join(&path, part))),
                },
                Err(error) => return Err(FsError::system("realpath", self.absolute)(error)),
            }
        }
        Ok(self.here)
    }

    /// Continues with the target of a link.
    fn follow(&mut self, link: &str) -> Result<(), FsError> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(FsError::of_code(libc::ELOOP, "realpath", self.absolute));
        }
        let target = match fs::read_link(link) {
            Ok(target) => target.to_string_lossy().into_owned(),
            // The host doesn't reveal the target of such a link.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return Err(self.leads_out()),
            Err(error) => return Err(FsError::system("realpath", self.absolute)(error)),
        };
        if target.starts_with('/') {
            return Err(self.leads_out());
        }
        for part in target.rsplit('/') {
            self.left.push_front((part.to_owned(), SegmentOrigin::Link));
        }
        Ok(())
    }

    fn leads_out(&self) -> FsError {
        FsError::Denied(format!(
            "symlink target outside allowed directories: {} not in {}",
            self.absolute,
            self.granted.list()
        ))
    }

    /// The entry with the same name in a different Unicode normalization, which differs between macOS and Linux.
    fn written_otherwise(&self, part: &str) -> Result<Option<String>, FsError> {
        if part.is_ascii() {
            return Ok(None);
        }
        let Ok(entries) = list::entries(&self.here) else { return Ok(None) };
        let names = entries.into_iter().map(|entry| entry.name);
        let mut equal = names.filter(|name| name != part && name.nfc().eq(part.nfc()));
        match (equal.next(), equal.next()) {
            (Some(_), Some(_)) => Err(FsError::Other(format!("Ambiguous Unicode path component: {part}"))),
            (found, _) => Ok(found),
        }
    }
}

#[cfg(test)]
mod tests;
