//! The granted directories, and paths in them. The host enforces the sandbox; this module only explains refusals.

use std::path::{Component, PathBuf};

use crate::fault::{GitError, GitResult};

/// The paths of the granted directories, in the order of the configuration.
#[cfg(target_family = "wasm")]
pub(crate) fn directories() -> Vec<String> {
    wasip2::filesystem::preopens::get_directories().into_iter().map(|(_, path)| path).collect()
}

/// The directories that a native test grants.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn directories() -> Vec<String> {
    native::GRANTED.with_borrow(Clone::clone)
}

/// The absolute path of a requested one. Relative paths start in the first granted directory.
pub(crate) fn locate(asked: &str) -> GitResult<PathBuf> {
    let granted = directories();
    let Some(first) = granted.first() else {
        return Err(GitError::new("no directory is granted to this plugin; an operator can allow it"));
    };
    let mut path = PathBuf::new();
    for part in PathBuf::from(first).join(asked).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    if granted.iter().any(|directory| path.starts_with(directory)) {
        return Ok(path);
    }
    Err(GitError::new(format_args!(
        "Repository path '{asked}' is outside the granted directories: {}",
        granted.join(", ")
    )))
}

/// The granted directories for a description. `None` if nothing is granted.
pub(crate) fn description() -> Option<String> {
    const MAX_LISTED: usize = 8;
    let granted = directories();
    let mut listed: Vec<String> =
        granted.iter().take(MAX_LISTED).map(|directory| format!("`{directory}`")).collect();
    if let Some(more) = granted.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
        listed.push(format!("and {more} more"));
    }
    (!listed.is_empty()).then(|| listed.join(", "))
}

#[cfg(not(target_family = "wasm"))]
pub(crate) mod native {
    //! Grants of native tests. By default, nothing is granted.

    use std::cell::RefCell;

    thread_local! {
        pub(crate) static GRANTED: RefCell<Vec<String>> = RefCell::default();
    }

    /// Grants directories to the following calls on this thread. Only for native tests; in a component, the operator
    /// grants them.
    pub fn grant(directories: &[&str]) {
        GRANTED.set(directories.iter().map(|directory| (*directory).to_owned()).collect());
    }
}
