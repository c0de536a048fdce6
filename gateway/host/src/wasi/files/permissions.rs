//! A file that replaces another by a rename takes over its permissions.
//!
//! Programs replace a file atomically in three steps: write a new file next to it, copy the permissions, rename. WASI has
//! no permissions, so a component can't do the second: a script would no longer be executable, and a private file would
//! become readable for everyone.
//!
//! This never lets anyone read or write more than the new file did: permissions are only removed, except the right to
//! execute.

use std::fs::File;
use std::sync::Arc;

use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::{Descriptor, FsPerms};

use super::FilesCtxView;
use super::open::{OpenRequest, directory, open};

/// A directory and a path in it.
type Location<'a> = (&'a Resource<Descriptor>, &'a str);

/// Gives the permissions of `old` to `new`, if both are files in writable directories. If that fails, the rename
/// continues: most file systems that can't do it have no permissions.
pub(super) async fn transfer(files: &mut FilesCtxView<'_>, old: Location<'_>, new: Location<'_>) {
    if !(is_writable(files, new.0) && is_writable(files, old.0)) {
        return;
    }
    let Some(old) = file(files, old).await else { return };
    let Some(new) = file(files, new).await else { return };
    let result = tokio::task::spawn_blocking(move || copy_permissions(&old, &new)).await;
    if let Ok(Err(error)) = result {
        tracing::debug!(%error, "permissions of a replaced file are lost");
    }
}

fn is_writable(files: &FilesCtxView<'_>, dir: &Resource<Descriptor>) -> bool {
    matches!(files.table.get(dir), Ok(Descriptor::Dir(dir)) if dir.perms == FsPerms::ReadWrite)
}

/// The file, if it is one and may be read. Symlinks aren't followed.
async fn file(files: &mut FilesCtxView<'_>, (dir, path): Location<'_>) -> Option<Arc<File>> {
    let dir = directory(files.table, dir).ok()?;
    match open(&dir, OpenRequest::read(path), files.state.quota.clone()).await.ok()? {
        Descriptor::File(opened) => Some(opened.file),
        Descriptor::Dir(_) => None,
    }
}

#[cfg(unix)]
fn copy_permissions(old: &File, new: &File) -> std::io::Result<()> {
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    /// The permissions of owner, group and others, without set-user-ID and the like.
    const PERMISSION_BITS: u32 = 0o777;

    let metadata = new.metadata()?;
    let current = metadata.permissions().mode() & PERMISSION_BITS;
    let old = old.metadata()?.permissions().mode() & PERMISSION_BITS;
    // No one gains access to read or write: a guest that may rename chooses which file it moves, and a file with a second
    // name would change there, too. Those who may read it may execute what was executable.
    let executable = (current & 0o444) >> 2;
    let permissions = old & (current | executable);
    if permissions == current || metadata.nlink() > 1 {
        return Ok(());
    }
    new.set_permissions(Permissions::from_mode(permissions))
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature as on Unix")]
fn copy_permissions(_old: &File, _new: &File) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests;
