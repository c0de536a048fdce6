//! The signals that ask the process to end.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGINT and SIGTERM, from when this was made on.
#[derive(Debug)]
pub struct Signals {
    #[cfg(unix)]
    interrupt: Signal,
    #[cfg(unix)]
    terminate: Signal,
}

impl Signals {
    /// Takes the signals over: they end nothing by themselves any more.
    ///
    /// # Errors
    /// The system refuses.
    pub fn listen() -> io::Result<Self> {
        #[cfg(unix)]
        return Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        });
        #[cfg(not(unix))]
        Ok(Self {})
    }

    /// The name of the next one.
    pub async fn next(&mut self) -> &'static str {
        #[cfg(unix)]
        return tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
        };
        #[cfg(not(unix))]
        match tokio::signal::ctrl_c().await {
            Ok(()) => "Ctrl-C",
            Err(_) => std::future::pending().await,
        }
    }
}
