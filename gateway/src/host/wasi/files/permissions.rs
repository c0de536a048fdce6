//! A file that is put in the place of another by renaming takes over who may read, write and execute the other.
//!
//! That is how programs replace a file without anybody seeing half of it: they write a new one beside it, give it the
//! old one's permissions, and rename it. WASI has no word for permissions, so a component can't do the second; a script
//! would no longer run, and what only its owner could read would be everybody's.
//!
//! It gives nobody more to read or to write than they had of the new file: permissions are only taken away, but for the
//! right to run it.

use std::fs::File;
use std::sync::Arc;

use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::{Descriptor, FsPerms};

use super::open::{Wanted, directory, open};
use crate::host::sandbox::store::State;

/// A file by its directory and its path there.
type Place<'a> = (&'a Resource<Descriptor>, &'a str);

/// Gives `from` the permissions of `to`, if both are files and `to` may be changed. Where that fails the renaming goes
/// on: most file systems that can't do it have no permissions.
pub(super) async fn take_over(state: &mut State, from: Place<'_>, to: Place<'_>) {
    if !(may_change(state, from.0) && may_change(state, to.0)) {
        return;
    }
    let Some(old) = file(state, to).await else { return };
    let Some(new) = file(state, from).await else { return };
    let done = tokio::task::spawn_blocking(move || give(&old, &new)).await;
    if let Ok(Err(error)) = done {
        tracing::debug!(%error, "a file that was replaced loses its permissions");
    }
}

fn may_change(state: &State, dir: &Resource<Descriptor>) -> bool {
    matches!(state.table.get(dir), Ok(Descriptor::Dir(dir)) if dir.perms == FsPerms::ReadWrite)
}

/// The file, if it is one and may be read; links aren't followed.
async fn file(state: &mut State, (dir, path): Place<'_>) -> Option<Arc<File>> {
    let dir = directory(state, dir).ok()?;
    match open(&dir, Wanted::read(path), state.files.clone()).await.ok()? {
        Descriptor::File(opened) => Some(opened.file),
        Descriptor::Dir(_) => None,
    }
}

#[cfg(unix)]
fn give(old: &File, new: &File) -> std::io::Result<()> {
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    /// What the owner, the group and others may do: nothing that makes a program run as somebody else.
    const ORDINARY: u32 = 0o777;

    let found = new.metadata()?;
    let [old, now] = [old.metadata()?, found.clone()].map(|found| found.permissions().mode() & ORDINARY);
    // Nobody gets to read or write what they couldn't before: a guest that may rename chooses which file it moves, and a
    // file with another name shows itself there, too. Who may read may run what could be run.
    let runnable = (now & 0o444) >> 2;
    let given = old & (now | runnable);
    if given == now || found.nlink() > 1 {
        return Ok(());
    }
    new.set_permissions(Permissions::from_mode(given))
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "as where there are permissions")]
fn give(_old: &File, _new: &File) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests;
