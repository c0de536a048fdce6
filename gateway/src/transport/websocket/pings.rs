//! Pings on a silent WebSocket, so that proxies keep it open, and a peer that is gone is noticed.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep};

/// The time after an unanswered ping at which the connection is closed.
pub(super) const PONG_TIMEOUT: Duration = Duration::from_secs(60);

/// The next step of a silent connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PingStep {
    /// Send a ping.
    Send,
    /// The peer hasn't answered for too long.
    GiveUp,
}

/// The pings of a connection.
#[derive(Debug)]
pub(super) struct PingTimer {
    interval: Duration,
    timer: Pin<Box<Sleep>>,
    last_received: Instant,
    unanswered_since: Option<Instant>,
}

impl PingTimer {
    /// A ping whenever nothing was received for this time.
    pub(super) fn new(interval: Duration) -> Self {
        let timer = Box::pin(sleep(interval));
        Self { interval, timer, last_received: Instant::now(), unanswered_since: None }
    }

    /// Records that something was received.
    pub(super) fn received(&mut self) {
        self.last_received = Instant::now();
        self.unanswered_since = None;
    }

    /// Waits for the next step. Must only be called while there is nothing to receive.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<PingStep> {
        loop {
            ready!(self.timer.as_mut().poll(context));
            let now = Instant::now();
            let due = self.last_received + self.interval;
            if self.unanswered_since.is_none() && due > now {
                self.timer.as_mut().reset(due);
                continue;
            }
            let since = *self.unanswered_since.get_or_insert(now);
            if now - since >= PONG_TIMEOUT {
                return Poll::Ready(PingStep::GiveUp);
            }
            self.timer.as_mut().reset(now + self.interval.min(PONG_TIMEOUT));
            return Poll::Ready(PingStep::Send);
        }
    }
}
