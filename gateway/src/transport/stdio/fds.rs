//! The process's own stdin and stdout, without the blocking pool where that is possible.
//!
//! Through tokio's `stdin()` and `stdout()` every message takes a detour over a blocking thread, which costs more
//! than answering it. Hosts give a server pipes or socket pairs, and those can be read and written as they are once
//! they are non-blocking. That is a property of the open file and not of this process, so it is put back at the
//! end, and left alone where stderr is the same file: log lines would get lost.

use std::fmt;

use tokio::io::{AsyncRead, AsyncWrite};

/// What can be read.
pub type Input = Box<dyn AsyncRead + Send + Unpin>;

/// What can be written.
pub type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Both ends of stdio.
pub struct Stdio {
    /// What the peer writes.
    pub input: Input,
    /// What the peer reads.
    pub output: Output,
    /// Keep it until both ends are done with: dropping it makes the files blocking again.
    pub restore: Restore,
}

impl fmt::Debug for Stdio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stdio").field("restore", &self.restore).finish_non_exhaustive()
    }
}

impl Stdio {
    /// Any two streams in place of the process's own.
    #[must_use]
    pub fn of(input: Input, output: Output) -> Self {
        Self { input, output, restore: Restore::default() }
    }

    /// Opens the process's own. Nothing else may read stdin or write stdout from now on.
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

#[cfg(unix)]
mod own {
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

    use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
    use tokio::net::UnixStream;
    use tokio::net::unix::pipe;

    use super::{Input, Output};

    /// Makes blocking again, when dropped, what was made non-blocking.
    #[derive(Debug, Default)]
    pub struct Restore(Vec<(OwnedFd, OFlags)>);

    impl Restore {
        /// Remembers the flags of an open file.
        fn remember(&mut self, fd: BorrowedFd<'_>) -> io::Result<()> {
            self.0.push((fd.try_clone_to_owned()?, fcntl_getfl(fd)?));
            Ok(())
        }
    }

    impl Drop for Restore {
        fn drop(&mut self) {
            for (fd, flags) in &self.0 {
                // The file may be closed at its other end; there is nothing to do about it here.
                let _ = fcntl_setfl(fd, *flags);
            }
        }
    }

    /// What kinds of files can do without the blocking pool.
    enum Kind {
        Pipe,
        Socket,
    }

    /// The kind, unless it is another one or stderr is the same file.
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

    /// A Unix socket, such as Node gives to the processes it starts; none if it is of another family.
    fn socket(fd: OwnedFd) -> Option<UnixStream> {
        let stream = std::os::unix::net::UnixStream::from(fd);
        stream.local_addr().ok()?;
        stream.set_nonblocking(true).ok()?;
        UnixStream::from_std(stream).ok()
    }
}

#[cfg(not(unix))]
mod own {
    use super::{Input, Output};

    /// Nothing to put back on this system.
    #[derive(Debug, Default)]
    pub struct Restore(());

    pub(super) fn input(_: &mut Restore) -> Option<Input> {
        None
    }

    pub(super) fn output(_: &mut Restore) -> Option<Output> {
        None
    }
}
