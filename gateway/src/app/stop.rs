//! The end of a running gateway, in order: it says that it isn't ready, takes nothing new, ends what doesn't end by
//! itself, waits for calls, and tells what it couldn't wait for.

use std::fmt;
use std::pin::pin;
use std::time::Duration;

use moongate_core::gate::{Gate, Load};
use moongate_core::names::PluginId;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{sleep, timeout};

use crate::app::App;
use crate::host::Gauges;
use crate::transport::stdio::Served;

/// How long calls may go on after the peer over stdio has gone: hosts kill a server that outlives them by more.
const WITHOUT_PEER: Duration = Duration::from_secs(2);

/// How long calls may go on once they were told that time is up: guests that watch for it put things in order.
const TIDY: Duration = Duration::from_millis(500);

/// How long transports may take to drop what is left.
const DROPPING: Duration = Duration::from_secs(3);

/// Why a gateway stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Somebody asked for it.
    Asked,
    /// The peer over stdio has gone.
    PeerGone,
}

/// How a gateway stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// Every request was answered.
    Clean,
    /// Some things took too long.
    TimeUp(Abandoned),
    /// Nobody wanted to wait.
    AtOnce(Abandoned),
}

/// What was dropped at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Abandoned {
    /// How many requests went without their answer, or without the end of it.
    pub requests: usize,
    /// How many calls of which plugin ran or waited, also those that nobody waited for any more.
    pub calls: Vec<(PluginId, u32)>,
}

impl Abandoned {
    fn now(gate: &Gate) -> Self {
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
enum Waited {
    /// All of them have ended.
    ForAll,
    /// They had their time.
    LongEnough,
    /// Somebody is in a hurry.
    NoMore,
}

/// What serves.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) http: Option<JoinHandle<usize>>,
    pub(super) stdio: Option<JoinHandle<Served>>,
    /// How many requests those that have ended had to drop.
    dropped: usize,
}

impl Parts {
    pub(super) fn new(http: Option<JoinHandle<usize>>, stdio: Option<JoinHandle<Served>>) -> Self {
        Self { http, stdio, dropped: 0 }
    }

    /// Waits until all of them have ended. Cancel-safe.
    async fn end(&mut self) {
        if let Some(http) = &mut self.http {
            self.dropped += joined(http.await).unwrap_or(0);
            self.http = None;
        }
        if let Some(stdio) = &mut self.stdio {
            if let Some(Served { ended, abandoned }) = joined(stdio.await) {
                tracing::debug!(?ended, abandoned, "stdio has ended");
                self.dropped += abandoned;
            }
            self.stdio = None;
        }
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.http.iter().for_each(JoinHandle::abort);
        self.stdio.iter().for_each(JoinHandle::abort);
    }
}

/// What a task came to; none if it panicked or was dropped.
fn joined<T>(joined: Result<T, JoinError>) -> Option<T> {
    match joined {
        Ok(value) => Some(value),
        Err(error) => {
            tracing::error!(%error, "a part of the gateway failed");
            None
        }
    }
}

impl App {
    /// Takes no more requests, and lets those that run end: for as long as the configuration says, for two seconds
    /// where the peer over stdio has gone, and not after `hurry`.
    pub async fn stop(mut self, reason: Reason, hurry: impl Future) -> Stopped {
        self.reloading = None;
        self.draining.cancel();
        self.ending.stop.cancel();
        self.server.stop();
        let grace = match reason {
            Reason::Asked => self.grace(),
            Reason::PeerGone => self.grace().min(WITHOUT_PEER),
        };
        let dispatcher = self.supervisor.dispatcher();
        let gate = dispatcher.gate();
        let mut parts = std::mem::take(&mut self.parts);
        let mut hurry = pin!(hurry);
        let in_time = async {
            parts.end().await;
            gate.idle().await;
        };
        let waited = tokio::select! {
            () = in_time => Waited::ForAll,
            () = sleep(grace) => Waited::LongEnough,
            _ = &mut hurry => Waited::NoMore,
        };
        let stopped = match waited {
            Waited::ForAll if parts.dropped == 0 => Stopped::Clean,
            Waited::ForAll => Stopped::TimeUp(Abandoned { requests: parts.dropped, calls: Vec::new() }),
            Waited::NoMore => Stopped::AtOnce(Abandoned::now(gate)),
            Waited::LongEnough => {
                let abandoned = Abandoned::now(gate);
                self.ending.over.cancel();
                self.server.give_up();
                let dropped =
                    async { tokio::join!(timeout(DROPPING, parts.end()), timeout(TIDY, gate.idle())) };
                tokio::select! {
                    _ = dropped => {}
                    _ = hurry => {}
                }
                Stopped::TimeUp(Abandoned { requests: parts.dropped, ..abandoned })
            }
        };
        drop(parts);
        if let Some(operator) = self.operator.take() {
            operator.end().await;
        }
        if let Some(trace) = self.trace.take() {
            trace.end().await;
        }
        self.supervisor.end_idle();
        // Anything but zero after a clean stop is a leak.
        let Gauges { calls, instances, memories, tables, stacks, .. } = self.supervisor.gauges();
        tracing::debug!(calls, instances, memories, tables, stacks, "what the pool still holds");
        stopped
    }
}
