//! Calls of tools that the user types in the terminal of `dev`.

use std::sync::Arc;
use std::thread;

use tokio::runtime::Handle;

use crate::cli::call::Call;
use crate::cli::{CommonOptions, print, prompt};
use crate::supervisor::Supervisor;

/// Reads calls from the terminal and prints their results, until the input or the process ends. An empty line lists the
/// tools.
///
/// Reading blocks, so it has a thread of its own.
pub(super) fn start(supervisor: Arc<Supervisor>, common: CommonOptions) {
    let runtime = Handle::current();
    let run = move || {
        while let Ok(Some(line)) = prompt::read_line() {
            let Some(words) = shlex::split(&line) else {
                print::error("unmatched quote, or `\\` at the end of the line", None);
                continue;
            };
            match Call::from_words(words) {
                // The exit code is for processes.
                Ok(call) => _ = runtime.block_on(call.run_in(&supervisor, &common)),
                Err(error) => print::stderr_lines(&error.to_string()),
            }
        }
    };
    if let Err(error) = thread::Builder::new().name("prompt".to_owned()).spawn(run) {
        tracing::warn!(%error, "can't read calls from the terminal");
    }
}
