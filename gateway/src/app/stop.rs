//! Shutdown, in order: the gateway reports that it isn't ready, accepts nothing new, ends streams, waits for calls, and
//! reports what it abandoned.

use std::fmt;
use std::pin::pin;
use std::time::Duration;

use moongate_model::names::PluginId;
use moongate_protocol::gate::{ConcurrencyLimiter, Load};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{sleep, timeout};

use crate::app::App;
use crate::transport::stdio::Served;
use moongate_host::Gauges;

/// Running calls get no more time than this if the stdio client has gone: clients kill a server that outlives them
/// longer.
const GRACE_WITHOUT_CLIENT: Duration = Duration::from_secs(2);

/// Calls that were cancelled get this long to clean up.
const CLEANUP_TIMEOUT: Duration = Duration::from_millis(500);

/// Transports get this long to drop what is left.
const TRANSPORT_TIMEOUT: Duration = Duration::from_secs(3);

/// Why a gateway stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// By request.
    Asked,
    /// The stdio client has gone.
    PeerGone,
}

/// How a gateway stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// Every request was answered.
    Clean,
    /// Some work took too long.
    TimeUp(Abandoned),
    /// The wait was cut short by request.
    AtOnce(Abandoned),
}

/// Work that was abandoned at shutdown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Abandoned {
    /// Requests without a complete answer.
    pub requests: usize,
    /// Running and waiting calls by plugin, also those that no client waited for any more.
    pub calls: Vec<(PluginId, u32)>,
}

impl Abandoned {
    fn now(gate: &ConcurrencyLimiter) -> Self {
        let mut calls: Vec<_> = gate
            .loads()
            .into_iter()
            .map(|(plugin, Load { running, waiting })| (plugin, running + waiting))
            .filter(|(_, calls)| *calls > 0)
            .collect();
        calls.sort();
        Self { requests: 0, calls }
    }
}

/// The calls, as in `zoo 2, time 1`.
impl fmt::Display for Abandoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (plugin, calls)) in self.calls.iter().enumerate() {
            write!(f, "{}{plugin} {calls}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// How the wait for calls ended.
enum WaitOutcome {
    AllEnded,
    GraceOver,
    CutShort,
}

/// The running transports.
#[derive(Debug, Default)]
pub(super) struct TransportTasks {
    http: Option<JoinHandle<usize>>,
    stdio: Option<JoinHandle<Served>>,
    /// Requests that were dropped by transports that have ended.
    dropped_requests: usize,
}

impl TransportTasks {
    pub(super) fn new(http: Option<JoinHandle<usize>>, stdio: Option<JoinHandle<Served>>) -> Self {
        Self { http, stdio, dropped_requests: 0 }
    }

    pub(super) fn has_stdio(&self) -> bool {
        self.stdio.is_some()
    }

    /// Waits until all of them have ended. Cancel-safe.
    async fn join(&mut self) {
        if let Some(http) = &mut self.http {
            self.dropped_requests += result_of(http.await).unwrap_or(0);
            self.http = None;
        }
        if let Some(stdio) = &mut self.stdio {
            if let Some(Served { ended, abandoned }) = result_of(stdio.await) {
                tracing::debug!(?ended, abandoned, "stdio transport ended");
                self.dropped_requests += abandoned;
            }
            self.stdio = None;
        }
    }
}

impl Drop for TransportTasks {
    fn drop(&mut self) {
        self.http.iter().for_each(JoinHandle::abort);
        self.stdio.iter().for_each(JoinHandle::abort);
    }
}

/// The result of a task, unless it panicked or was aborted.
fn result_of<T>(joined: Result<T, JoinError>) -> Option<T> {
    match joined {
        Ok(value) => Some(value),
        Err(error) => {
            tracing::error!(%error, "a transport failed");
            None
        }
    }
}

impl App {
    /// Accepts no more requests and waits for running ones: as long as configured, but two seconds at most if the stdio
    /// client has gone, and no longer than until `hurry` completes.
    pub async fn stop(mut self, reason: Reason, hurry: impl Future) -> Stopped {
        self.draining.cancel();
        if let Some(reloading) = self.reloading.take() {
            let _ = reloading.await;
        }
        self.ending.stop.cancel();
        self.server.stop();
        let grace = match reason {
            Reason::Asked => self.grace(),
            Reason::PeerGone => self.grace().min(GRACE_WITHOUT_CLIENT),
        };
        let stopped = self.drain(grace, hurry).await;
        if let Some(admin) = self.admin.take() {
            admin.stop().await;
        }
        if let Some(trace) = self.trace.take() {
            trace.end().await;
        }
        self.supervisor.shutdown().await;
        let host = self.supervisor.host();
        host.end_idle();
        // Anything but zero after a clean stop is a leak.
        let Gauges { calls, instances, memories, tables, stacks, .. } = host.gauges();
        tracing::debug!(calls, instances, memories, tables, stacks, "instance pool at shutdown");
        stopped
    }

    /// Waits for running requests.
    async fn drain(&mut self, grace: Duration, hurry: impl Future) -> Stopped {
        let gate = self.supervisor.gate();
        let mut transports = std::mem::take(&mut self.transports);
        let mut hurry = pin!(hurry);
        let all_ended = async {
            transports.join().await;
            gate.idle().await;
        };
        let outcome = tokio::select! {
            () = all_ended => WaitOutcome::AllEnded,
            () = sleep(grace) => WaitOutcome::GraceOver,
            _ = &mut hurry => WaitOutcome::CutShort,
        };
        match outcome {
            WaitOutcome::AllEnded => match transports.dropped_requests {
                0 => Stopped::Clean,
                requests => Stopped::TimeUp(Abandoned { requests, calls: Vec::new() }),
            },
            WaitOutcome::CutShort => Stopped::AtOnce(Abandoned::now(gate)),
            WaitOutcome::GraceOver => {
                let abandoned = Abandoned::now(gate);
                self.ending.over.cancel();
                self.server.give_up();
                let dropped = async {
                    tokio::join!(
                        timeout(TRANSPORT_TIMEOUT, transports.join()),
                        timeout(CLEANUP_TIMEOUT, gate.idle())
                    )
                };
                tokio::select! {
                    _ = dropped => {}
                    _ = hurry => {}
                }
                Stopped::TimeUp(Abandoned { requests: transports.dropped_requests, ..abandoned })
            }
        }
    }
}
