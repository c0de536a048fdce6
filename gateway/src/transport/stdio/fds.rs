//! The process's own stdin and stdout, without the blocking thread pool if possible.
//!
//! With tokio's `stdin()` and `stdout()`, every message goes through a blocking thread, which costs more than answering
//! it. Hosts use pipes or socket pairs, which work directly once they are non-blocking. Non-blocking mode belongs to
//! the open file, not to this process, so it is restored at the end. It isn't set if stderr is the same file, because
//! log lines would be lost.

use std::fmt;

use tokio::io::{AsyncRead, AsyncWrite};

/// An input stream.
pub type Input = Box<dyn AsyncRead + Send + Unpin>;

/// An output stream.
pub type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Both streams of stdio.
pub struct StdioStreams {
    /// The stream from the peer.
    pub input: Input,
    /// The stream to the peer.
    pub output: Output,
    /// Keep this until both streams are finished: dropping it restores blocking mode.
    pub restore: Restore,
}

impl fmt::Debug for StdioStreams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stdio").field("restore", &self.restore).finish_non_exhaustive()
    }
}

impl StdioStreams {
    /// Any two streams, instead of the process's own.
    #[must_use]
    pub fn from_streams(input: Input, output: Output) -> Self {
        Self { input, output, restore: Restore::default() }
    }

    /// Opens the process's own streams. After this, no other code can read stdin or write stdout.
    ///
    /// Call it inside a tokio runtime.
    #[must_use]
    pub fn open() -> Self {
        let mut restore = Restore::default();
        let input = own::input(&mut restore).unwrap_or_else(|| Box::new(tokio::io::stdin()));
        let output = own::output(&mut restore).unwrap_or_else(|| Box::new(tokio::io::stdout()));
        Self { input, output, restore }
    }
}

pub use own::Restore;

mod own {
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

    use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
    use tokio::net::UnixStream;
    use tokio::net::unix::pipe;

    use super::{Input, Output};

    /// Restores blocking mode when dropped.
    #[derive(Debug, Default)]
    pub struct Restore(Vec<(OwnedFd, OFlags)>);

    impl Restore {
        /// Saves the flags of an open file.
        fn remember(&mut self, fd: BorrowedFd<'_>) -> io::Result<()> {
            self.0.push((fd.try_clone_to_owned()?, fcntl_getfl(fd)?));
            Ok(())
        }
    }

    impl Drop for Restore {
        fn drop(&mut self) {
            for (fd, flags) in &self.0 {
                // The other end may be closed, in which case nothing can be done.
                let _ = fcntl_setfl(fd, *flags);
            }
        }
    }

    /// The kinds of files that work without the blocking thread pool.
    enum Kind {
        Pipe,
        Socket,
    }

    /// The kind of a file. `None` for other kinds, and if stderr is the same file.
    fn kind(fd: BorrowedFd<'_>) -> Option<Kind> {
        let stat = fstat(fd).ok()?;
        if let Ok(stderr) = fstat(io::stderr())
            && (stderr.st_dev, stderr.st_ino) == (stat.st_dev, stat.st_ino)
        {
            return None;
        }
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Fifo => Some(Kind::Pipe),
            FileType::Socket => Some(Kind::Socket),
            _ => None,
        }
    }

    pub(super) fn input(restore: &mut Restore) -> Option<Input> {
        let stdin = io::stdin();
        let fd = stdin.as_fd();
        let kind = kind(fd)?;
        restore.remember(fd).ok()?;
        let owned = fd.try_clone_to_owned().ok()?;
        match kind {
            Kind::Pipe => Some(Box::new(pipe::Receiver::from_owned_fd(owned).ok()?)),
            Kind::Socket => Some(Box::new(socket(owned)?)),
        }
    }

    pub(super) fn output(restore: &mut Restore) -> Option<Output> {
        let stdout = io::stdout();
        let fd = stdout.as_fd();
        let kind = kind(fd)?;
        restore.remember(fd).ok()?;
        let owned = fd.try_clone_to_owned().ok()?;
        match kind {
            Kind::Pipe => Some(Box::new(pipe::Sender::from_owned_fd(owned).ok()?)),
            Kind::Socket => Some(Box::new(socket(owned)?)),
        }
    }

    /// A Unix socket, which Node passes to its child processes. `None` for other address families.
    fn socket(fd: OwnedFd) -> Option<UnixStream> {
        let stream = std::os::unix::net::UnixStream::from(fd);
        stream.local_addr().ok()?;
        stream.set_nonblocking(true).ok()?;
        UnixStream::from_std(stream).ok()
    }
}
