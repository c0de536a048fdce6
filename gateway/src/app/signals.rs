//! Operating system signals: shutdown and reload.
//!
//! Once handlers are installed, signals no longer end the process by themselves. A signal that arrives before anything
//! waits for it is remembered; repeated signals of the same kind count as one.

use std::io;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::app::ReloadNotifier;
use crate::supervisor::control::{ReloadCause, ReloadResult, Reloader, SupervisorStopped};

/// All signals that the gateway handles, from the moment this value is created.
#[derive(Debug)]
pub struct SystemSignals {
    /// Shutdown signals.
    pub shutdown: ShutdownSignals,
    /// The reload signal.
    pub reload: ReloadSignal,
}

/// SIGINT and SIGTERM.
#[derive(Debug)]
pub struct ShutdownSignals {
    #[cfg(unix)]
    interrupt: Signal,
    #[cfg(unix)]
    terminate: Signal,
}

/// SIGHUP.
#[derive(Debug)]
pub struct ReloadSignal {
    #[cfg(unix)]
    hangup: Signal,
}

impl SystemSignals {
    /// Installs the signal handlers.
    ///
    /// # Errors
    /// The system rejects a handler.
    pub fn listen() -> io::Result<Self> {
        // Exceeding the process's file size limit should fail the write, not end the process.
        #[cfg(unix)]
        drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?);
        #[cfg(unix)]
        return Ok(Self {
            shutdown: ShutdownSignals {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
            },
            reload: ReloadSignal { hangup: signal(SignalKind::hangup())? },
        });
        #[cfg(not(unix))]
        Ok(Self { stops: ShutdownSignals {}, hangups: ReloadSignal {} })
    }
}

impl ShutdownSignals {
    /// Waits for the next signal and returns its name. Cancel-safe.
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

impl ReloadSignal {
    /// Waits for the next signal. Cancel-safe.
    pub async fn next(&mut self) {
        #[cfg(unix)]
        if self.hangup.recv().await.is_some() {
            return;
        }
        std::future::pending().await
    }
}

/// Reloads on each SIGHUP. Signals during a reload cause one more.
pub(super) struct SignalReloader {
    pub(super) hangups: ReloadSignal,
    pub(super) reloader: Reloader,
    pub(super) teller: ReloadNotifier,
    pub(super) stop: CancellationToken,
}

impl SignalReloader {
    /// Runs until the gateway stops.
    pub(super) async fn run(mut self) {
        let stop = self.stop.clone();
        let reloads = async { while self.reload_once().await.is_ok() {} };
        stop.run_until_cancelled(reloads).await;
    }

    async fn reload_once(&mut self) -> Result<(), SupervisorStopped> {
        self.hangups.next().await;
        self.teller.reloading().await;
        let reloaded = self.reloader.reload(ReloadCause::Signal).await;
        self.teller.reloaded().await;
        let ReloadResult { changed, failed, needs_restart } = reloaded?;
        let changed = changed.len();
        let failed = failed.len();
        if needs_restart.is_empty() {
            tracing::info!(signal = "SIGHUP", changed, failed, "reload finished");
        } else {
            let keys = needs_restart.join("`, `");
            tracing::warn!(
                signal = "SIGHUP",
                changed,
                failed,
                "reload finished; restart the gateway to apply `{keys}`"
            );
        }
        Ok(())
    }
}
