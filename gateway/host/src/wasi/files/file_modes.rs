//! A file that replaces another by a rename inherits its permissions.
//!
//! Programs replace a file atomically in three steps: write a new file next to it, copy the permissions, rename. WASI
//! has no permissions, so a component can't do the second step: a script would no longer be executable, and a private
//! file would become readable by everyone.
//!
//! This never lets anyone read or write more than the new file did: permissions are only removed, except for the
//! permission to execute.

use std::fs::File;
use std::sync::Arc;

use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::{Descriptor, FsPerms};

use super::FilesCtxView;
use super::open::{OpenRequest, directory, open};

/// A directory and a path in it.
type Location<'a> = (&'a Resource<Descriptor>, &'a str);

/// Copies the permissions of `old` to `new`, if both are files in writable directories. If that fails, the rename
/// continues: most file systems where it fails have no permissions.
pub(super) async fn preserve_permissions(files: &mut FilesCtxView<'_>, old: Location<'_>, new: Location<'_>) {
    if !(is_writable(files, new.0) && is_writable(files, old.0)) {
        return;
    }
    let Some(old) = file(files, old).await else { return };
    let Some(new) = file(files, new).await else { return };
    let result = tokio::task::spawn_blocking(move || copy_permissions(&old, &new)).await;
    if let Ok(Err(error)) = result {
        tracing::debug!(%error, "can't preserve the permissions of a replaced file");
    }
}

fn is_writable(files: &FilesCtxView<'_>, dir: &Resource<Descriptor>) -> bool {
    matches!(files.table.get(dir), Ok(Descriptor::Dir(dir)) if dir.perms == FsPerms::ReadWrite)
}

/// The file, if it is a readable regular file. Symlinks aren't followed.
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

    /// The permissions of owner, group and others, without set-user-ID and similar bits.
    const PERMISSION_BITS: u32 = 0o777;

    let metadata = new.metadata()?;
    let current = metadata.permissions().mode() & PERMISSION_BITS;
    let old = old.metadata()?.permissions().mode() & PERMISSION_BITS;
    // No user gains read or write access: a guest that can rename chooses the file to move, and a file with a second
    // name would change there, too. Users who can read the file can execute it if the old file was executable.
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
