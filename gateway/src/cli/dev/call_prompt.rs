//! Calls of tools that the user types in the terminal of `dev`.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::cli::call::Call;
use crate::cli::{CommonOptions, print, prompt};
use crate::supervisor::Supervisor;

/// The interval at which a background job checks whether it is in the foreground again, while input waits.
const FOREGROUND_INTERVAL: Duration = Duration::from_secs(1);

/// Reads calls from the terminal. Dropping it aborts a running call.
pub(super) struct CallPrompt {
    _dropped: oneshot::Sender<()>,
}

impl CallPrompt {
    /// Reads calls from the terminal and prints their results, until the input or the process ends. An empty line lists the
    /// tools.
    ///
    /// Reading blocks, so it has a thread of its own.
    pub(super) fn start(supervisor: Arc<Supervisor>, common: CommonOptions) -> Self {
        if is_in_foreground() && !common.quiet {
            print::stderr_lines("call      type a tool and its arguments here; Enter lists the tools\n");
        }
        let runtime = Handle::current();
        let (dropped, mut stopped) = oneshot::channel();
        let run = move || {
            while let Ok(Some(line)) = next_line() {
                let Some(words) = shlex::split(&line) else {
                    print::error("unmatched quote, or `\\` at the end of the line", None);
                    continue;
                };
                let call = match Call::from_words(words) {
                    Ok(call) => call,
                    Err(error) => {
                        print::stderr_lines(&error.to_string());
                        continue;
                    }
                };
                let is_stopped = runtime.block_on(async {
                    tokio::select! {
                        // The exit code is for processes.
                        _ = call.run_in(&supervisor, &common) => false,
                        _ = &mut stopped => true,
                    }
                });
                if is_stopped {
                    return;
                }
            }
        };
        if let Err(error) = thread::Builder::new().name("prompt".to_owned()).spawn(run) {
            tracing::warn!(%error, "can't read calls from the terminal");
        }
        Self { _dropped: dropped }
    }
}

/// Reads a line while this process is in the foreground. The system stops background jobs that read from the terminal.
fn next_line() -> anyhow::Result<Option<String>> {
    loop {
        let stdin = io::stdin();
        let _ = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], None); // reading reports errors
        if is_in_foreground() {
            return prompt::read_line();
        }
        thread::sleep(FOREGROUND_INTERVAL);
    }
}

/// True if this process may read from the terminal, or reading reports why it can't.
fn is_in_foreground() -> bool {
    tcgetpgrp(io::stdin()).map_or(true, |group| group == getpgrp())
}
