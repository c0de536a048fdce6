//! MCP over stdio: one JSON-RPC message a line.
//!
//! Lines are handed to the [`Protocol`] in the order of arrival; what takes longer runs beside the reading, so that
//! a call never holds up the line that cancels it. Answers that are ready together leave in one write. [`serve`]
//! works on any pair of streams; [`fds`] opens the process's own.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt as _;
use moongate_protocol::server::{LineReply, Said};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::transport::trace::Tap;
use crate::transport::{Ending, Protocol};

pub mod fds;
mod lines;
mod writer;

use lines::{Frame, Lines};
use writer::{Answer, Taken};

/// The longest line, in bytes: as the TypeScript SDK has it.
pub const MAX_LINE: usize = 10 * 1024 * 1024;

/// How many requests of one peer may be without their answer written. A peer that sends on without reading is
/// no longer read after so many, and memory stays bounded; plugins answer "busy" long before.
const IN_FLIGHT: usize = 1024;

/// How long a peer that has closed its side may read nothing while its answers wait: then it never will.
const STUCK: Duration = Duration::from_secs(2);

/// How long calls may go on, whatever grace they have, once they were told that nobody waits any more: guests that watch
/// for it put things in order.
const TIDY: Duration = Duration::from_millis(500);

/// How long the last answers may take to be written, also when time is up.
const FLUSH: Duration = Duration::from_secs(1);

/// Why serving came to an end. None is a failure: hosts end a server in each of these ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The peer closed its side.
    Eof,
    /// The peer reads no longer.
    Closed,
    /// The gateway stops.
    Stopped,
}

/// What is left to say after serving.
#[derive(Debug)]
pub struct Served {
    /// Why it ended.
    pub ended: Ended,
    /// How many calls were still running after the grace and were dropped.
    pub abandoned: usize,
}

/// Serves one peer until it closes a side or everything is to stop. Then calls go on until time is up. `tap` is told of
/// every message.
pub async fn serve<P, R, W>(protocol: Arc<P>, input: R, output: W, tap: Tap, ending: Ending) -> Served
where
    P: Protocol,
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    // As many answers as there may be permits, and a piece of news: handing one over never waits.
    let (sender, receiver) = mpsc::channel(IN_FLIGHT + 1);
    let connection = protocol.connect();
    let news = tokio::spawn(tell(Arc::clone(&protocol), Arc::clone(&connection), sender.clone()));
    let mut peer = Peer {
        _news: AbortOnDropHandle::new(news),
        connection,
        protocol,
        permits: Arc::new(Semaphore::new(IN_FLIGHT)),
        answers: sender,
        calls: JoinSet::new(),
        taken: Taken::default(),
        tap: tap.clone(),
    };
    let mut writer = tokio::spawn(writer::run(receiver, output, Arc::clone(&peer.taken), tap));
    let gone = ending.gone.clone().drop_guard(); // whatever happens below
    let ended = peer.read(Lines::new(input, MAX_LINE), &mut writer, &ending).await;
    match ended {
        Ended::Eof | Ended::Closed => drop(gone),
        Ended::Stopped => drop(gone.disarm()),
    }
    let abandoned = peer.finish(writer, ended, &ending).await;
    Served { ended, abandoned }
}

/// The one at the other end, and what runs for it.
struct Peer<P: Protocol> {
    protocol: Arc<P>,
    connection: Arc<P::Connection>,
    permits: Arc<Semaphore>,
    answers: mpsc::Sender<Answer>,
    calls: JoinSet<()>,
    taken: Taken,
    tap: Tap,
    _news: AbortOnDropHandle<()>,
}

type Writer = JoinHandle<io::Result<()>>;

impl<P: Protocol> Peer<P> {
    /// Takes lines until there are no more or nobody wants the answers.
    async fn read<R: AsyncRead + Unpin>(
        &mut self,
        mut lines: Lines<R>,
        writer: &mut Writer,
        Ending { stop, .. }: &Ending,
    ) -> Ended {
        let taken = Arc::clone(&self.taken);
        loop {
            while let Some(frame) = lines.take() {
                let handled = tokio::select! {
                    biased;
                    handled = self.frame(frame) => handled,
                    _ = &mut *writer => return Ended::Closed,
                    () = stop.cancelled() => return Ended::Stopped,
                    () = stuck(&mut lines, &taken) => return Ended::Eof,
                };
                if handled.is_none() {
                    return Ended::Closed;
                }
            }
            self.reap();
            let filled = tokio::select! {
                filled = lines.fill() => filled,
                _ = &mut *writer => return Ended::Closed,
                () = stop.cancelled() => return Ended::Stopped,
            };
            match filled {
                Ok(true) => {}
                Ok(false) => return Ended::Eof,
                Err(error) => {
                    tracing::warn!(%error, "reading stdin failed");
                    return Ended::Eof;
                }
            }
        }
    }

    /// Handles one line; `None`: nobody takes answers any more.
    async fn frame(&mut self, frame: Frame) -> Option<()> {
        let reply = match frame {
            Frame::Line(line) => {
                self.tap.received(&line);
                self.protocol.line(&self.connection, &line)
            }
            Frame::TooLong => {
                self.tap.thrown_away(MAX_LINE);
                LineReply::Ready(self.protocol.line_too_long(&self.connection, MAX_LINE))
            }
        };
        match reply {
            LineReply::None => Some(()),
            LineReply::Ready(text) => {
                let permit = Some(self.permit().await?);
                self.answers.send(Answer { text, permit }).await.ok()
            }
            LineReply::Several(mut messages) => {
                let mut permit = Some(self.permit().await?);
                let answers = self.answers.clone();
                self.calls.spawn(async move {
                    while let Some(said) = messages.next().await {
                        let permit = match said {
                            Said::Notification(_) | Said::Request(_) => None,
                            Said::Response { .. } => permit.take(),
                        };
                        if answers.send(Answer { text: said.into_message(), permit }).await.is_err() {
                            break; // the peer is gone
                        }
                    }
                });
                Some(())
            }
            LineReply::Pending(call) => {
                let permit = Some(self.permit().await?);
                let answers = self.answers.clone();
                self.calls.spawn(async move {
                    if let Some(text) = call.await {
                        // Fails only when the peer is gone: nobody misses the answer then.
                        let _ = answers.send(Answer { text, permit }).await;
                    }
                });
                Some(())
            }
        }
    }

    async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).acquire_owned().await.ok()
    }

    /// Forgets the calls that have ended.
    fn reap(&mut self) {
        while let Some(ended) = self.calls.try_join_next() {
            report(ended);
        }
    }

    /// Lets running calls end, drops those that don't, and writes what is left. Gives how many were dropped.
    async fn finish(mut self, mut writer: Writer, ended: Ended, Ending { over, .. }: &Ending) -> usize {
        let wanted = match ended {
            Ended::Eof | Ended::Stopped => true,
            Ended::Closed => false,
        };
        if wanted {
            self.protocol.wind_up(&self.connection);
            let calls = &mut self.calls;
            let all = async {
                while let Some(ended) = calls.join_next().await {
                    report(ended);
                }
            };
            tokio::select! {
                () = all => {}
                () = over.cancelled() => {}
                _ = &mut writer => return self.abandon().await, // polled to its end: not to be polled again
            }
        }
        let abandoned = self.abandon().await;
        if wanted {
            tokio::select! {
                _ = writer => {}
                _ = async { tokio::join!(over.cancelled(), sleep(FLUSH)) } => {
                    tracing::debug!("the last answers were not read");
                }
            }
        }
        abandoned
    }

    /// Tells what still runs, and drops what doesn't end then. Closes the way to the writer, which ends once everything
    /// is written.
    async fn abandon(mut self) -> usize {
        self.reap();
        let left = self.calls.len();
        self.protocol.disconnect(&self.connection);
        let all = async {
            while let Some(ended) = self.calls.join_next().await {
                report(ended);
            }
        };
        let _ = timeout(TIDY, all).await;
        // A guest gives way at its next epoch tick; should one not, the process doesn't wait for it.
        let _ = timeout(FLUSH - TIDY, self.calls.shutdown()).await;
        left
    }
}

/// Waits until the peer has closed its side and then until it has read nothing for long.
async fn stuck<R: AsyncRead + Unpin>(lines: &mut Lines<R>, taken: &Taken) {
    lines.ended().await;
    let mut before = None;
    loop {
        let now = taken.load(Ordering::Relaxed);
        if before.replace(now) == Some(now) {
            return;
        }
        sleep(STUCK).await;
    }
}

/// Tells the peer what it didn't ask for, one message at a time: while one isn't read, no other is made.
async fn tell<P: Protocol>(protocol: Arc<P>, connection: Arc<P::Connection>, answers: mpsc::Sender<Answer>) {
    let turn = Arc::new(Semaphore::new(1));
    while let Ok(permit) = Arc::clone(&turn).acquire_owned().await {
        let text = protocol.news(&connection).await;
        if answers.send(Answer { text, permit: Some(permit) }).await.is_err() {
            break; // the peer is gone
        }
    }
}

fn report(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "answering a request panicked; the request stays without an answer");
    }
}

#[cfg(test)]
mod tests;
