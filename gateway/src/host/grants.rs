//! What a guest may reach through WASI: nothing but the directories and variables that its table grants.
//!
//! No arguments, no working directory, no network, an empty stdin, and captured output. A context is made anew for
//! each call, so a granted directory that was replaced by another is the new one. One that was replaced by a link isn't
//! opened: where that leads was never compared with what no plugin may reach.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use moongate_core::config::{DirGrant, DirMode, Grants};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxBuilder};

use super::output::{Captured, Nothing, Output, Stream};

/// Random bytes that a guest may ask for at once.
const RANDOM: u64 = 64 << 10;

/// A granted directory can't be opened.
#[derive(Debug, thiserror::Error)]
#[error("the granted directory `{}` can't be opened: {reason}", host.display())]
pub(super) struct GrantError {
    pub(super) host: PathBuf,
    pub(super) guest: String,
    pub(super) reason: String,
}

/// Which directories stand where the granted ones are, by device and number; those that don't aren't there.
///
/// Asked before [`context`] opens them, it can only be older than what was opened.
pub(super) fn places(grants: &Grants) -> Vec<Option<(u64, u64)>> {
    use std::os::unix::fs::MetadataExt as _;
    let place = |dir: &DirGrant| std::fs::metadata(&dir.host).ok().map(|found| (found.dev(), found.ino()));
    grants.dirs.iter().map(place).collect()
}

/// The context of one call.
pub(super) fn context(grants: &Grants, output: &Arc<Output>) -> Result<WasiCtx, GrantError> {
    let mut wasi = WasiCtxBuilder::new();
    wasi.stdin(Nothing(Arc::clone(output)))
        .stdout(Captured(Arc::clone(output), Stream::Stdout))
        .stderr(Captured(Arc::clone(output), Stream::Stderr))
        .max_random_size(RANDOM)
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false);
    if !grants.env.is_empty() {
        wasi.envs(&grants.env);
    }
    for DirGrant { host, guest, mode, place: _, named: _ } in &grants.dirs {
        let perms = match mode {
            DirMode::ReadOnly => FsPerms::ReadOnly,
            DirMode::ReadWrite => FsPerms::ReadWrite,
        };
        let failed = |reason| GrantError { host: host.clone(), guest: guest.clone(), reason };
        check(host).map_err(failed)?;
        wasi.preopened_dir(host, guest, perms).map_err(|error| failed(error.root_cause().to_string()))?;
    }
    Ok(wasi.build())
}

/// Is the directory still what it was when grants were compared? The configuration has the path with every link
/// followed, and no plugin can change what is on the way to it: so only the operator's own hand comes between this and
/// the opening.
fn check(host: &Path) -> Result<(), String> {
    let now = fs::canonicalize(host).map_err(|error: io::Error| error.to_string())?;
    if now == *host {
        return Ok(());
    }
    Err(format!("it leads to `{}` by now; a reload takes that into use, if it may be granted", now.display()))
}
