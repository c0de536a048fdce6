//! Absolute paths with all symlinks followed, even if they don't exist.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// The maximum number of symlinks to follow. No system follows more, so a loop ends here.
const MAX_LINKS: usize = 40;

/// A path with all symlinks followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResolvedPath {
    /// The symlinks on the way, as directory entries: anyone who can change one of them decides where the path leads.
    pub(crate) links: Vec<PathBuf>,
    /// The resolved path. Parts that don't exist are as written.
    pub(crate) end: PathBuf,
}

impl ResolvedPath {
    /// Resolves an absolute path, link by link.
    pub(crate) fn new(path: &Path) -> Self {
        let mut links = Vec::new();
        let mut end = PathBuf::new();
        let mut rest = path.to_owned();
        loop {
            let mut components = rest.components();
            let Some(first) = components.next() else { return Self { links, end } };
            let mut after = components.as_path().to_owned();
            match first {
                Component::Prefix(_) | Component::RootDir => end.push(first),
                Component::CurDir => {}
                Component::ParentDir => {
                    end.pop();
                }
                Component::Normal(name) => {
                    let entry = end.join(name);
                    match fs::read_link(&entry) {
                        Ok(target) if links.len() < MAX_LINKS => {
                            links.push(entry);
                            if target.is_absolute() {
                                end = PathBuf::new();
                            }
                            after = target.join(after);
                        }
                        Ok(_) | Err(_) => end = entry,
                    }
                }
            }
            rest = after;
        }
    }
}
