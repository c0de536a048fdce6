//! The granted directories, under their guest paths.

use crate::fault::FsError;

/// The access to a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    ReadWrite,
}

/// A granted directory.
#[derive(Debug, Clone)]
pub(crate) struct Directory {
    /// The absolute path without a trailing slash.
    pub(crate) path: String,
    pub(crate) access: Access,
}

/// All granted directories, in the order of the configuration.
#[derive(Debug, Clone, Default)]
pub(crate) struct GrantedDirectories(Vec<Directory>);

impl GrantedDirectories {
    pub(crate) fn new(directories: Vec<Directory>) -> Self {
        Self(directories)
    }

    /// The directories granted to this call.
    pub(crate) fn now() -> Self {
        current()
    }

    /// The paths.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|directory| directory.path.as_str())
    }

    /// The paths on one line.
    pub(crate) fn list(&self) -> String {
        self.paths().collect::<Vec<_>>().join(", ")
    }

    /// The directories and their access, for models. The list is shortened, because it is part of many descriptions.
    /// `None` if nothing is granted.
    pub(crate) fn description(&self) -> Option<String> {
        const MAX_LISTED: usize = 8;
        let mut listed: Vec<String> = self.0.iter().take(MAX_LISTED).map(Directory::description).collect();
        if let Some(more) = self.0.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
            listed.push(format!("and {more} more, see `list_allowed_directories`"));
        }
        (!listed.is_empty()).then(|| listed.join(", "))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The innermost granted directory that contains this absolute path.
    pub(crate) fn holding(&self, path: &str) -> Option<&Directory> {
        self.0.iter().filter(|directory| directory.holds(path)).max_by_key(|directory| directory.path.len())
    }
}

impl Directory {
    fn description(&self) -> String {
        let access = match self.access {
            Access::Read => " (read-only)",
            Access::ReadWrite => "",
        };
        format!("`{}`{access}", self.path)
    }

    /// The path relative to this directory. Empty for the directory itself.
    pub(crate) fn below<'a>(&self, path: &'a str) -> Option<&'a str> {
        if self.path == "/" {
            return path.strip_prefix('/');
        }
        let rest = path.strip_prefix(self.path.as_str())?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
    }

    fn holds(&self, path: &str) -> bool {
        self.below(path).is_some()
    }

    /// Checks that this directory is writable.
    pub(crate) fn writable(&self) -> Result<(), FsError> {
        match self.access {
            Access::ReadWrite => Ok(()),
            Access::Read => {
                // Report an error even if the directory exists and nothing would change, because the gateway does so
                // too and logs the missing grant.
                let _ = std::fs::create_dir(format!("{}/.", self.path));
                Err(FsError::Denied(format!("`{}` is read-only", self.path)))
            }
        }
    }
}

/// Directories preopened by the host.
#[cfg(target_family = "wasm")]
fn current() -> GrantedDirectories {
    use wasip2::filesystem::preopens;
    use wasip2::filesystem::types::DescriptorFlags;

    let opened = preopens::get_directories().into_iter().map(|(descriptor, path)| {
        let flags = descriptor.get_flags().unwrap_or(DescriptorFlags::empty());
        let writable = flags.contains(DescriptorFlags::MUTATE_DIRECTORY);
        let access = if writable { Access::ReadWrite } else { Access::Read };
        Directory { path: crate::path::normal(&path), access }
    });
    GrantedDirectories::new(opened.collect())
}

/// Directories granted by a native test.
#[cfg(not(target_family = "wasm"))]
fn current() -> GrantedDirectories {
    native::GRANTED.with_borrow(Clone::clone)
}

#[cfg(not(target_family = "wasm"))]
pub(crate) mod native {
    //! Grants of native tests. By default, nothing is granted.

    use std::cell::RefCell;

    use super::{Access, Directory, GrantedDirectories};

    thread_local! {
        pub(crate) static GRANTED: RefCell<GrantedDirectories> = RefCell::default();
    }

    /// Grants directories to the following calls on this thread: those in `read` read-only, those in `written`
    /// read-write. Only for native tests; in a component, the operator grants them.
    pub fn grant(read: &[&str], written: &[&str]) {
        let directory = |access| move |path: &&str| Directory { path: crate::path::normal(path), access };
        let written = written.iter().map(directory(Access::ReadWrite));
        let all = written.chain(read.iter().map(directory(Access::Read)));
        GRANTED.set(GrantedDirectories::new(all.collect()));
    }
}
