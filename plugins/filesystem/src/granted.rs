//! The directories that the operator granted, under the names that the plugin knows them by.

use crate::fault::Fault;

/// What may be done in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    ReadWrite,
}

/// A granted directory.
#[derive(Debug, Clone)]
pub(crate) struct Directory {
    /// Absolute, without a slash at the end.
    pub(crate) path: String,
    pub(crate) access: Access,
}

/// All granted directories, in the order of the configuration.
#[derive(Debug, Clone, Default)]
pub(crate) struct Granted(Vec<Directory>);

impl Granted {
    pub(crate) fn new(directories: Vec<Directory>) -> Self {
        Self(directories)
    }

    /// Those of this call.
    pub(crate) fn now() -> Self {
        current()
    }

    /// Their paths.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|directory| directory.path.as_str())
    }

    /// Their paths on one line.
    pub(crate) fn list(&self) -> String {
        self.paths().collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The directory that this absolute path lies in: of several the innermost.
    pub(crate) fn holding(&self, path: &str) -> Option<&Directory> {
        self.0.iter().filter(|directory| directory.holds(path)).max_by_key(|directory| directory.path.len())
    }
}

impl Directory {
    /// The path below this directory; empty for the directory itself.
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

    /// That something may be changed here.
    pub(crate) fn writable(&self) -> Result<(), Fault> {
        match self.access {
            Access::ReadWrite => Ok(()),
            Access::Read => {
                // Asking for something that is there already changes nothing; the gateway refuses it, too, and tells
                // the operator which grant is missing.
                let _ = std::fs::create_dir(format!("{}/.", self.path));
                Err(Fault::Denied(format!("`{}` may only be read, not changed", self.path)))
            }
        }
    }
}

/// What the host opened beforehand.
#[cfg(target_family = "wasm")]
fn current() -> Granted {
    use wasip2::filesystem::preopens;
    use wasip2::filesystem::types::DescriptorFlags;

    let opened = preopens::get_directories().into_iter().map(|(descriptor, path)| {
        let flags = descriptor.get_flags().unwrap_or(DescriptorFlags::empty());
        let writable = flags.contains(DescriptorFlags::MUTATE_DIRECTORY);
        let access = if writable { Access::ReadWrite } else { Access::Read };
        Directory { path: crate::path::normal(&path), access }
    });
    Granted::new(opened.collect())
}

/// What a native test grants.
#[cfg(not(target_family = "wasm"))]
fn current() -> Granted {
    native::GRANTED.with_borrow(Clone::clone)
}

#[cfg(not(target_family = "wasm"))]
pub(crate) mod native {
    //! Grants of native tests; without any, nothing is granted.

    use std::cell::RefCell;

    use super::{Access, Directory, Granted};

    thread_local! {
        pub(crate) static GRANTED: RefCell<Granted> = RefCell::default();
    }

    /// Grants directories to the calls of this thread that follow: those of `read` to be read only, those of `written`
    /// to be changed as well. Natively only, for tests; as a component the plugin has what the operator grants it.
    pub fn grant(read: &[&str], written: &[&str]) {
        let directory = |access| move |path: &&str| Directory { path: crate::path::normal(path), access };
        let written = written.iter().map(directory(Access::ReadWrite));
        let all = written.chain(read.iter().map(directory(Access::Read)));
        GRANTED.set(Granted::new(all.collect()));
    }
}
