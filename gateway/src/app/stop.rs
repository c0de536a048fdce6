//! Shutdown, in order: the gateway reports that it isn't ready, stops accepting requests, ends streams, waits for
//! calls, and reports the work that it abandoned.

use std::fmt;
use std::pin::pin;
use std::time::Duration;

use moongate_model::names::PluginId;
use moongate_protocol::limiter::{CallLoad, ConcurrencyLimiter};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{sleep, timeout};

use crate::app::App;
use crate::transport::GRACE_WITHOUT_CLIENT;
use crate::transport::stdio::StdioOutcome;
use moongate_host::HostGauges;

/// The time for which a gateway with health probes still accepts connections. By then, a load balancer that checks once a
/// second and needs two failed checks, as in docs/scaling.md, has stopped sending requests.
const DRAIN_TIME: Duration = Duration::from_secs(3);

/// The time limit for cancelled calls to clean up.
const CLEANUP_TIMEOUT: Duration = Duration::from_millis(500);

/// The time limit for transports to drop the remaining work.
const TRANSPORT_TIMEOUT: Duration = Duration::from_secs(3);

/// The reason for stopping a gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// A stop was requested.
    Requested,
    /// The stdio client disconnected.
    StdioClientGone,
}

/// The result of stopping a gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopOutcome {
    /// Every request was answered.
    Clean,
    /// Some work exceeded the time limit.
    TimedOut(AbandonedWork),
    /// A second request cut the wait short.
    CutShort(AbandonedWork),
}

/// Work that was abandoned at shutdown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AbandonedWork {
    /// Requests without a complete answer.
    pub requests: usize,
    /// Running and waiting calls by plugin, including those that no client waited for any more.
    pub calls: Vec<(PluginId, u32)>,
}

impl AbandonedWork {
    fn now(limiter: &ConcurrencyLimiter) -> Self {
        let mut calls: Vec<_> = limiter
            .loads()
            .into_iter()
            .map(|(plugin, CallLoad { running, waiting })| (plugin, running + waiting))
            .filter(|(_, calls)| *calls > 0)
            .collect();
        calls.sort();
        Self { requests: 0, calls }
    }
}

/// The calls, as in `zoo 2, time 1`.
impl fmt::Display for AbandonedWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (plugin, calls)) in self.calls.iter().enumerate() {
            write!(f, "{}{plugin} {calls}", if at == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// The result of waiting for calls.
enum WaitOutcome {
    AllEnded,
    GraceOver,
    CutShort,
}

/// The running transports.
#[derive(Debug, Default)]
pub(super) struct TransportTasks {
    http: Option<JoinHandle<usize>>,
    stdio: Option<JoinHandle<StdioOutcome>>,
    unix_socket: Option<JoinHandle<usize>>,
    /// Requests dropped by transports that have ended.
    dropped_requests: usize,
}

impl TransportTasks {
    pub(super) fn new(
        http: Option<JoinHandle<usize>>,
        stdio: Option<JoinHandle<StdioOutcome>>,
        unix_socket: Option<JoinHandle<usize>>,
    ) -> Self {
        Self { http, stdio, unix_socket, dropped_requests: 0 }
    }

    pub(super) fn has_stdio(&self) -> bool {
        self.stdio.is_some()
    }

    /// Waits until all transports have ended. Cancel-safe.
    async fn join(&mut self) {
        if let Some(http) = &mut self.http {
            self.dropped_requests += result_of(http.await).unwrap_or(0);
            self.http = None;
        }
        if let Some(socket) = &mut self.unix_socket {
            self.dropped_requests += result_of(socket.await).unwrap_or(0);
            self.unix_socket = None;
        }
        if let Some(stdio) = &mut self.stdio {
            if let Some(StdioOutcome { end: ended, abandoned_calls: abandoned }) = result_of(stdio.await) {
                tracing::debug!(ended = ended.as_str(), abandoned, "stdio transport ended");
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
        self.unix_socket.iter().for_each(JoinHandle::abort);
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
    /// Stops accepting requests and waits for running ones: for the configured time, but two seconds at most if the
    /// stdio client has disconnected, and no longer than until `hurry` completes. If load balancers can notice the stop,
    /// requests are accepted for three seconds before that time begins.
    pub async fn stop(mut self, reason: StopReason, hurry: impl Future) -> StopOutcome {
        self.draining.cancel();
        if let Some(reloading) = self.reloading.take() {
            let _ = reloading.await;
        }
        self.ending.stop_accepting.cancel();
        self.server.close_streams();
        let mut hurry = pin!(hurry);
        let mut is_cut_short = false;
        if reason == StopReason::Requested && self.has_health_probes {
            is_cut_short = timeout(DRAIN_TIME, &mut hurry).await.is_ok();
        }
        self.ending.drained.cancel();
        let grace = match reason {
            StopReason::Requested => self.grace(),
            StopReason::StdioClientGone => self.grace().min(GRACE_WITHOUT_CLIENT),
        };
        let hurry = async {
            if !is_cut_short {
                hurry.await;
            }
        };
        let stopped = self.drain(grace, hurry).await;
        self.server.leave_shared_sessions().await;
        self.server.report_session_ends();
        if let Some(replicas) = self.replicas.take() {
            replicas.leave().await;
        }
        if let Some(admin) = self.admin.take() {
            admin.stop().await;
        }
        if let Some(trace) = self.trace.take() {
            trace.flush().await;
        }
        self.supervisor.shutdown().await;
        if let Some(audit) = self.audit.take() {
            audit.stop().await;
        }
        if let Some(otlp) = self.otlp.take() {
            otlp.stop().await;
        }
        let host = self.supervisor.host();
        host.drop_idle_instances();
        // A nonzero value after a clean stop is a leak.
        let HostGauges { running_calls: calls, instances, memories, tables, stacks, .. } = host.gauges();
        tracing::debug!(calls, instances, memories, tables, stacks, "instance pool at shutdown");
        stopped
    }

    /// Waits for running requests.
    async fn drain(&mut self, grace: Duration, hurry: impl Future) -> StopOutcome {
        let limiter = self.supervisor.limiter();
        let mut transports = std::mem::take(&mut self.transports);
        let mut hurry = pin!(hurry);
        let all_ended = async {
            transports.join().await;
            limiter.idle().await;
        };
        let outcome = tokio::select! {
            () = all_ended => WaitOutcome::AllEnded,
            () = sleep(grace) => WaitOutcome::GraceOver,
            _ = &mut hurry => WaitOutcome::CutShort,
        };
        match outcome {
            WaitOutcome::AllEnded => match transports.dropped_requests {
                0 => StopOutcome::Clean,
                requests => StopOutcome::TimedOut(AbandonedWork { requests, calls: Vec::new() }),
            },
            WaitOutcome::CutShort => StopOutcome::CutShort(AbandonedWork::now(limiter)),
            WaitOutcome::GraceOver => {
                let abandoned = AbandonedWork::now(limiter);
                self.ending.time_up.cancel();
                self.server.cancel_all();
                let dropped = async {
                    tokio::join!(
                        timeout(TRANSPORT_TIMEOUT, transports.join()),
                        timeout(CLEANUP_TIMEOUT, limiter.idle())
                    )
                };
                tokio::select! {
                    _ = dropped => {}
                    _ = hurry => {}
                }
                StopOutcome::TimedOut(AbandonedWork { requests: transports.dropped_requests, ..abandoned })
            }
        }
    }
}
