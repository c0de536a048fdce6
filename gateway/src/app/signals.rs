//! What the system asks of the process: to end, or to look at everything anew.
//!
//! From the moment that they are taken over, signals end nothing by themselves; one that comes before anybody waits
//! for it is remembered, and several of a kind are one.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// All signals that mean something, from when this was made on.
#[derive(Debug)]
pub struct Signals {
    /// Those that ask for the end.
    pub stops: Stops,
    /// The one that asks for a reload.
    pub hangups: Hangups,
}

/// SIGINT and SIGTERM.
#[derive(Debug)]
pub struct Stops {
    #[cfg(unix)]
    interrupt: Signal,
    #[cfg(unix)]
    terminate: Signal,
}

/// SIGHUP.
#[derive(Debug)]
pub struct Hangups {
    #[cfg(unix)]
    hangup: Signal,
}

impl Signals {
    /// Takes the signals over.
    ///
    /// # Errors
    /// The system refuses.
    pub fn listen() -> io::Result<Self> {
        // Who writes beyond the process's limit on the size of files gets an error; without this the process would end.
        #[cfg(unix)]
        drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?);
        #[cfg(unix)]
        return Ok(Self {
            stops: Stops {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
            },
            hangups: Hangups { hangup: signal(SignalKind::hangup())? },
        });
        #[cfg(not(unix))]
        Ok(Self { stops: Stops {}, hangups: Hangups {} })
    }
}

impl Stops {
    /// The name of the next one. Cancel-safe.
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

impl Hangups {
    /// Waits for the next one. Cancel-safe.
    pub async fn next(&mut self) {
        #[cfg(unix)]
        if self.hangup.recv().await.is_some() {
            return;
        }
        std::future::pending().await
    }
}
