//! A running build, in a process group of its own. Used by `dev`.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

/// A running build. Dropping it terminates the tool and all programs that it started.
pub(super) struct BuildProcess {
    /// `None` once the tool has exited.
    group: Option<Pid>,
    exited: oneshot::Receiver<io::Result<ExitStatus>>,
}

impl BuildProcess {
    /// Starts the tool. Its output goes to stderr.
    ///
    /// # Errors
    /// The tool can't be started.
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        let command = command.stdin(Stdio::null()).stdout(io::stderr()).process_group(0);
        let mut child = command.spawn()?;
        let group = Some(Pid::from_child(&child));
        let (exit, exited) = oneshot::channel();
        spawn_blocking(move || exit.send(child.wait()));
        Ok(Self { group, exited })
    }

    /// Waits until the tool exits.
    ///
    /// # Errors
    /// The system can't wait for it.
    pub(super) async fn wait(mut self) -> io::Result<ExitStatus> {
        let status = (&mut self.exited).await;
        self.group = None;
        status.unwrap_or_else(|_| Err(io::Error::other("the runtime is shutting down")))
    }
}

impl Drop for BuildProcess {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::TERM); // it may have just exited
        }
    }
}
