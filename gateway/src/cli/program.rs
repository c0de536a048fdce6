//! The path of this program, for files that outlive its version.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{self, Path, PathBuf};

use anyhow::{Context as _, Result};

/// The path by which the user called the program. Package managers install each version in a directory of its own and
/// point a symlink to it, so the resolved path would end with the next upgrade.
pub(super) fn program_path() -> Result<PathBuf> {
    let running = env::current_exe().context("the path of this program is unknown")?;
    let called = env::args_os().next().map(PathBuf::from);
    let found = called.and_then(|called| called_path(&called, env::var_os("PATH").as_deref(), &running));
    Ok(found.unwrap_or(running))
}

/// The absolute path of the program that was called by this path or name, if it is the running one.
fn called_path(called: &Path, search_path: Option<&OsStr>, running: &Path) -> Option<PathBuf> {
    let running = fs::canonicalize(running).ok()?;
    let candidates = if called.components().count() > 1 || called.is_absolute() {
        vec![called.to_owned()]
    } else {
        env::split_paths(search_path?).map(|directory| directory.join(called)).collect()
    };
    let absolute = candidates.into_iter().filter_map(|candidate| path::absolute(candidate).ok());
    absolute.into_iter().find(|candidate| fs::canonicalize(candidate).is_ok_and(|found| found == running))
}

#[cfg(test)]
mod tests;
