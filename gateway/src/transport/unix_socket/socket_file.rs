//! The file of a Unix socket: created for one user alone, and removed at the end. Used by `unix_socket` only.
//!
//! Nobody else may write to its directory, so nobody else can replace it. A gateway locks the directory while it replaces
//! the socket of one that was killed, so that two gateways can't take each other's.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use moongate_system::private_dir::{PrivateDir, PrivateDirError};
use rustix::fs::Mode;
use socket2::{Domain, SockAddr, Socket, Type};
use tokio::net::UnixListener;
use tokio::time::{Instant, sleep};

/// The maximum number of connections that wait to be accepted. With more, connecting fails. Linux allows this many by
/// default.
const BACKLOG: i32 = 4096;

/// The permissions of the socket: its owner can connect.
const SOCKET_MODE: u32 = 0o600;

/// The time limit for another gateway in the same directory to create its socket.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// The interval at which a locked directory is tried again.
const LOCK_RETRY_DELAY: Duration = Duration::from_millis(20);

/// The error when a Unix socket can't be created.
#[derive(Debug, thiserror::Error)]
pub enum UnixSocketError {
    /// Another program listens on it.
    #[error("can't listen on the Unix socket `{}`: another program listens on it", .0.display())]
    InUse(PathBuf),
    /// Another file is at its path.
    #[error("can't listen on the Unix socket `{}`: another file has this path", .0.display())]
    OtherFile(PathBuf),
    /// The path has too many bytes for a socket.
    #[error("can't listen on the Unix socket `{}`: the path is too long for a socket", .0.display())]
    TooLong(PathBuf),
    /// Other users could replace it.
    #[error("can't use the directory of the Unix socket: {0}")]
    Directory(#[from] PrivateDirError),
    /// It can't be created.
    #[error("can't listen on the Unix socket `{}`: {reason}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The system's error.
        reason: io::Error,
    },
}

impl UnixSocketError {
    /// The hint for the operator.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::InUse(_) => "if another gateway runs with this path, stop it; or choose another path with \
                               `--listen unix:PATH` or `path` in `[unix_socket]`"
                .to_owned(),
            Self::OtherFile(_) => "remove the file, or choose another path".to_owned(),
            Self::TooLong(_) => "choose a path of at most 100 bytes".to_owned(),
            Self::Directory(_) => {
                "choose a directory that only the gateway's user can write to, such as `$XDG_RUNTIME_DIR/moongate` or \
                 `/run/moongate`; it is created if it is missing"
                    .to_owned()
            }
            Self::Io { .. } => "check the directory, or choose another path".to_owned(),
        }
    }
}

/// The file of a socket. Dropping it removes the file, unless another one has replaced it.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SocketFile {
    fn new(path: &Path) -> io::Result<Self> {
        let meta = fs::symlink_metadata(path)?;
        Ok(Self { path: path.to_owned(), device: meta.dev(), inode: meta.ino() })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_own = |meta: fs::Metadata| (meta.dev(), meta.ino()) == (self.device, self.inode);
        if fs::symlink_metadata(&self.path).is_ok_and(is_own)
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::debug!(%error, "can't remove the Unix socket");
        }
    }
}

/// Creates the socket, and its directory if that is missing. Replaces a socket that nobody listens on.
pub(super) async fn bind(path: &Path) -> Result<(UnixListener, SocketFile), UnixSocketError> {
    let failed = |reason| UnixSocketError::Io { path: path.to_owned(), reason };
    let address = SockAddr::unix(path).map_err(|_| UnixSocketError::TooLong(path.to_owned()))?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directory = PrivateDir::create_own(directory)?;
    let _lock = lock(&directory).await.map_err(failed)?;
    remove_stale(path, &address)?;
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None).map_err(failed)?;
    // Linux creates the file with the permissions of the socket. Elsewhere, nobody can connect before `listen`.
    let _ = rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR);
    socket.bind(&address).map_err(failed)?;
    let file = SocketFile::new(path).map_err(failed)?;
    fs::set_permissions(path, fs::Permissions::from_mode(SOCKET_MODE)).map_err(failed)?;
    socket.listen(BACKLOG).map_err(failed)?;
    socket.set_nonblocking(true).map_err(failed)?;
    let listener = UnixListener::from_std(socket.into()).map_err(failed)?;
    Ok((listener, file))
}

/// Locks the directory, after at most [`LOCK_TIMEOUT`].
async fn lock(directory: &PrivateDir) -> io::Result<File> {
    let end = Instant::now() + LOCK_TIMEOUT;
    loop {
        match directory.try_lock_directory()? {
            Some(lock) => return Ok(lock),
            None if Instant::now() >= end => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "another program has locked the directory",
                ));
            }
            None => sleep(LOCK_RETRY_DELAY).await,
        }
    }
}

/// Removes the socket of a gateway that was killed.
fn remove_stale(path: &Path, address: &SockAddr) -> Result<(), UnixSocketError> {
    let failed = |reason| UnixSocketError::Io { path: path.to_owned(), reason };
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    if !meta.file_type().is_socket() || meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(UnixSocketError::OtherFile(path.to_owned()));
    }
    if is_listening(address).map_err(failed)? {
        return Err(UnixSocketError::InUse(path.to_owned()));
    }
    tracing::info!(path = %path.display(), "removing a Unix socket that no program listens on");
    fs::remove_file(path).map_err(failed)
}

/// Reports whether a program listens on a socket, without waiting for it.
fn is_listening(address: &SockAddr) -> io::Result<bool> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    // With any other error, such as a full backlog, it is in use.
    Ok(match socket.connect(address) {
        Err(error) => !matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound),
        Ok(()) => true,
    })
}

#[cfg(test)]
mod tests;
