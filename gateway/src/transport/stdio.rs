//! MCP over stdio and other byte streams: one JSON-RPC message per line.
//!
//! Lines are passed to the [`Server`] in order of arrival. Calls run concurrently with reading, so that a call never
//! delays the line that cancels it. Responses that are ready at the same time are sent in one write. [`serve`] works
//! with any pair of streams; [`fds`] opens those of the process.
//!
//! A host that doesn't read gets no time limit, because hosts suspend their servers. Instead, its calls wait while many
//! bytes are unread, and its messages while twice as many are. The peers of a listener have the limits of callers over
//! HTTP: their calls are refused meanwhile, lines count towards the memory for requests, and the stream that the
//! listener passes has a time limit for writes.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt as _;
use moongate_protocol::jsonrpc::MessageScanner;
use moongate_protocol::server::{
    DiscardReason, LineReply, MAX_INLINE_BYTES, OutgoingMessage, RequestBodyMemory, Server, StdioConnection,
};
use moongate_system::background::{self, MovableFuture};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::transport::TransportShutdown;
use crate::transport::http::caller_load::{CallerLoad, RequestInProgress};
use crate::transport::http::connections::ConnectionHandle;
use crate::transport::trace::Tap;

pub mod fds;
mod lines;
mod writer;

use lines::{CLIENT_READ_AHEAD_BYTES, HOST_READ_AHEAD_BYTES, LineFrame, LineReader};
use writer::{AnswerSender, BytesWritten, CountedAnswers};

/// The maximum length of a line, in bytes, the same as in the TypeScript SDK.
pub const MAX_LINE_BYTES: usize = 10 * 1024 * 1024;

/// The maximum number of a peer's requests without a written response. The gateway stops reading from a peer that keeps
/// sending without reading, so memory stays bounded; plugins respond "busy" long before.
const MAX_UNWRITTEN_ANSWERS: usize = 1024;

/// The same for each of many clients, whose small requests aren't counted in `[gateway] memory`.
const MAX_UNWRITTEN_ANSWERS_OF_CLIENT: usize = 64;

/// The number of lines of a client after which others get their turn.
const LINES_PER_TURN: usize = 16;

/// The time after which the gateway gives up on a peer that has closed its side and doesn't read pending responses.
const STALL_TIMEOUT: Duration = Duration::from_secs(2);

/// The time limit for calls to clean up after they were cancelled because the peer has disconnected, regardless of
/// their plugin's cancellation grace.
const CLEANUP_TIMEOUT: Duration = Duration::from_millis(500);

/// The time limit for writing the last responses, even if the time for calls is up.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// The reason that a stdio connection ended. None is a failure: hosts end a server in each of these ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StdioEnd {
    /// The peer closed its side.
    Eof,
    /// The peer no longer reads.
    Closed,
    /// The gateway is stopping.
    Stopped,
}

impl StdioEnd {
    /// The reason in log lines.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Eof => "eof",
            Self::Closed => "closed",
            Self::Stopped => "stopped",
        }
    }
}

/// The outcome of a stdio connection.
#[derive(Debug)]
pub struct StdioOutcome {
    /// The reason for its end.
    pub end: StdioEnd,
    /// The number of calls that were still running after the grace period and were dropped.
    pub abandoned_calls: usize,
}

/// The peer of a byte stream.
#[derive(Debug)]
pub(in crate::transport) struct StreamPeer {
    /// Its session and its running requests.
    pub(in crate::transport) connection: Arc<StdioConnection>,
    /// Its place among the connections of a listener. `None` over stdio.
    pub(in crate::transport) handle: Option<ConnectionHandle>,
    /// The requests of all callers. `None` over stdio.
    pub(in crate::transport) load: Option<Arc<CallerLoad>>,
}

/// Serves the process that started the gateway, until it closes a side or the gateway stops. Running calls continue until
/// the time is up. `tap` records every message.
pub async fn serve<R, W>(
    server: Arc<Server>,
    input: R,
    output: W,
    tap: Tap,
    ending: TransportShutdown,
) -> StdioOutcome
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let peer = StreamPeer { connection: StdioConnection::new(), handle: None, load: None };
    serve_stream(server, peer, input, output, tap, ending).await
}

/// The same for the peer of any byte stream.
pub(in crate::transport) async fn serve_stream<R, W>(
    server: Arc<Server>,
    StreamPeer { connection, handle, load }: StreamPeer,
    input: R,
    output: W,
    tap: Tap,
    ending: TransportShutdown,
) -> StdioOutcome
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let caller = connection.caller();
    let (counted, read_ahead, max_unwritten) = match handle {
        Some(_) => (CountedAnswers::All, CLIENT_READ_AHEAD_BYTES, MAX_UNWRITTEN_ANSWERS_OF_CLIENT),
        None => (CountedAnswers::Large, HOST_READ_AHEAD_BYTES, MAX_UNWRITTEN_ANSWERS),
    };
    // One slot per permit and one for a notification, so that sending an answer never waits.
    let (sender, receiver) =
        writer::channel(max_unwritten + 1, server.unread_responses(), caller.clone(), counted);
    let memory = handle.as_ref().map(|_| server.body_memory(caller));
    let notifications = tokio::spawn(send_notifications(Arc::clone(&connection), sender.clone()));
    let mut peer = StdioPeer {
        server,
        connection,
        handle,
        load,
        is_pipelined: false,
        memory,
        permits: Arc::new(Semaphore::new(max_unwritten)),
        answers: sender,
        calls: JoinSet::new(),
        written: BytesWritten::default(),
        tap: tap.clone(),
        _notifications: AbortOnDropHandle::new(notifications),
    };
    let writing = writer::run(receiver, output, Arc::clone(&peer.written), tap);
    let mut writer = AbortOnDropHandle::new(tokio::spawn(MovableFuture::new(writing))); // it ends with the connection
    let gone = ending.peer_gone.clone().drop_guard(); // also cancelled if this future is dropped
    let ended = peer.read(LineReader::new(input, MAX_LINE_BYTES, read_ahead), &mut writer, &ending).await;
    match ended {
        StdioEnd::Eof | StdioEnd::Closed => drop(gone),
        StdioEnd::Stopped => drop(gone.disarm()),
    }
    let abandoned = peer.finish(writer, ended, &ending).await;
    StdioOutcome { end: ended, abandoned_calls: abandoned }
}

/// The connected peer and its running calls.
struct StdioPeer {
    server: Arc<Server>,
    connection: Arc<StdioConnection>,
    /// The place of the connection in its listener. `None` over stdio.
    handle: Option<ConnectionHandle>,
    load: Option<Arc<CallerLoad>>,
    /// The current line arrived with the one before it.
    is_pipelined: bool,
    /// The memory of the current line. `None` over stdio, where only requests count.
    memory: Option<RequestBodyMemory>,
    permits: Arc<Semaphore>,
    answers: AnswerSender,
    calls: JoinSet<()>,
    written: BytesWritten,
    tap: Tap,
    _notifications: AbortOnDropHandle<()>,
}

type WriterTask = AbortOnDropHandle<io::Result<()>>;

impl StdioPeer {
    /// Handles lines until the input ends or responses are no longer read.
    async fn read<R: AsyncRead + Unpin>(
        &mut self,
        mut lines: LineReader<R>,
        writer: &mut WriterTask,
        TransportShutdown { stop_accepting: stop, .. }: &TransportShutdown,
    ) -> StdioEnd {
        let written = Arc::clone(&self.written);
        let mut count = 0_usize;
        loop {
            self.is_pipelined = false;
            while let Some(frame) = lines.take() {
                count = count.wrapping_add(1);
                if self.handle.is_some() && count.is_multiple_of(LINES_PER_TURN) {
                    tokio::task::yield_now().await;
                }
                let handled = tokio::select! {
                    biased;
                    handled = self.handle(frame) => handled,
                    _ = &mut *writer => return StdioEnd::Closed,
                    () = stop.cancelled() => return StdioEnd::Stopped,
                    () = stalled(&mut lines, &written) => return StdioEnd::Eof,
                };
                if handled.is_none() {
                    return StdioEnd::Closed;
                }
                self.is_pipelined = true;
                self.reap();
            }
            if let Some(memory) = &mut self.memory
                && memory.grow_to(lines.incomplete_bytes()).is_err()
            {
                lines.discard(DiscardReason::NoMemory);
                memory.release();
            }
            let filled = tokio::select! {
                filled = lines.fill() => filled,
                _ = &mut *writer => return StdioEnd::Closed,
                () = stop.cancelled() => return StdioEnd::Stopped,
            };
            match filled {
                Ok(true) => {}
                Ok(false) => return StdioEnd::Eof,
                Err(error) => {
                    match self.handle {
                        Some(_) => tracing::debug!(%error, "can't read from a client"),
                        None => tracing::warn!(%error, "can't read stdin"),
                    }
                    return StdioEnd::Eof;
                }
            }
        }
    }

    /// Handles one line. `None` means that responses are no longer written.
    async fn handle(&mut self, frame: LineFrame) -> Option<()> {
        if frame == LineFrame::Blank {
            return Some(());
        }
        let frame = self.counted(frame);
        self.answers.wait_to_read().await;
        if let Some(handle) = &self.handle {
            handle.head_completed();
        }
        let in_progress = self.begin().await;
        let reply = match frame {
            LineFrame::Line(line) => {
                self.tap.received(&line);
                let memory = self.memory.as_mut().map(RequestBodyMemory::take);
                let (server, connection) = (Arc::clone(&self.server), Arc::clone(&self.connection));
                let is_large = line.len() > MAX_INLINE_BYTES;
                let handle = move || match memory {
                    Some(memory) => server.counted_line(&connection, &line, memory),
                    None => server.stdio_line(&connection, &line),
                };
                if is_large { background::run(self.connection.caller(), handle).await } else { handle() }
            }
            LineFrame::Blank => LineReply::None,
            LineFrame::Discarded(outline, reason) => {
                self.tap.discarded(reason);
                self.server.discarded_line(&self.connection, outline, reason)
            }
        };
        self.reply(reply, in_progress).await
    }

    /// Begins a request of a client. A caller with many at once makes way for others.
    async fn begin(&self) -> Option<RequestInProgress> {
        let request = self.load.as_ref()?.begin(self.connection.caller()).await;
        if self.is_pipelined {
            tokio::task::yield_now().await; // else a client with many requests is served many times in a row
        }
        Some(request)
    }

    /// Counts a complete line, as long as it waits and until it is handled; its requests count until they end. A line
    /// that doesn't fit is discarded.
    fn counted(&mut self, frame: LineFrame) -> LineFrame {
        let Some(memory) = &mut self.memory else { return frame };
        match frame {
            LineFrame::Line(line) if memory.grow_to(line.len()).is_err() => {
                memory.release();
                let mut scanner = MessageScanner::default();
                scanner.read(&line);
                LineFrame::Discarded(scanner.finish(), DiscardReason::NoMemory)
            }
            LineFrame::Line(_) | LineFrame::Blank => frame,
            LineFrame::Discarded(..) => {
                memory.release();
                frame
            }
        }
    }

    /// Sends the reply to a line, once it is ready. `None` means that responses are no longer written.
    async fn reply(&mut self, reply: LineReply, in_progress: Option<RequestInProgress>) -> Option<()> {
        match reply {
            LineReply::None => Some(()),
            LineReply::Ready(text) => {
                let permit = Some(self.permit().await?);
                self.answers.send(text, permit).await
            }
            LineReply::Stream(mut messages) => {
                let mut permit = Some(self.permit().await?);
                let answers = self.answers.clone();
                let active = self.handle.as_ref().map(ConnectionHandle::begin_request);
                self.calls.spawn(MovableFuture::inherit(self.connection.caller(), async move {
                    let _request = (active, in_progress);
                    while let Some(message) = messages.next().await {
                        let permit = match message {
                            OutgoingMessage::Notification(_) | OutgoingMessage::Request(_) => None,
                            OutgoingMessage::Response { .. } => permit.take(),
                        };
                        if answers.send(message.into_message(), permit).await.is_none() {
                            break; // the peer has disconnected
                        }
                    }
                }));
                Some(())
            }
            LineReply::Pending(call) => {
                let permit = Some(self.permit().await?);
                let answers = self.answers.clone();
                let active = self.handle.as_ref().map(ConnectionHandle::begin_request);
                self.calls.spawn(MovableFuture::inherit(self.connection.caller(), async move {
                    let _request = (active, in_progress);
                    if let Some(text) = call.await {
                        // Fails only if the peer has disconnected.
                        let _ = answers.send(text, permit).await;
                    }
                }));
                Some(())
            }
        }
    }

    async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).acquire_owned().await.ok()
    }

    /// Removes finished calls.
    fn reap(&mut self) {
        while let Some(ended) = self.calls.try_join_next() {
            log_panic(ended);
        }
    }

    /// Lets running calls finish, drops those that don't, and writes the remaining responses. Returns the number of
    /// dropped calls.
    async fn finish(
        mut self,
        mut writer: WriterTask,
        ended: StdioEnd,
        TransportShutdown { time_up: over, .. }: &TransportShutdown,
    ) -> usize {
        let is_writable = match ended {
            StdioEnd::Eof | StdioEnd::Stopped => true,
            StdioEnd::Closed => false,
        };
        if is_writable {
            self.connection.close_streams();
            let calls = &mut self.calls;
            let all = async {
                while let Some(ended) = calls.join_next().await {
                    log_panic(ended);
                }
            };
            tokio::select! {
                () = all => {}
                () = over.cancelled() => {}
                _ = &mut writer => return self.abandon().await, // it has completed and must not be polled again
            }
        }
        let abandoned = self.abandon().await;
        if is_writable {
            tokio::select! {
                _ = writer => {}
                _ = async { tokio::join!(over.cancelled(), sleep(FLUSH_TIMEOUT)) } => {
                    tracing::debug!("the peer didn't read the last answers");
                }
            }
        }
        abandoned
    }

    /// Cancels running calls and drops those that don't end. Dropping `self` closes the channel to the writer, which
    /// ends once everything is written.
    async fn abandon(mut self) -> usize {
        self.reap();
        let running = self.calls.len();
        self.connection.cancel_all();
        let all = async {
            while let Some(ended) = self.calls.join_next().await {
                log_panic(ended);
            }
        };
        let _ = timeout(CLEANUP_TIMEOUT, all).await;
        // A guest yields at its next epoch tick. The process doesn't wait for one that doesn't.
        let _ = timeout(FLUSH_TIMEOUT - CLEANUP_TIMEOUT, self.calls.shutdown()).await;
        running
    }
}

/// Waits until the peer has closed its side and then reads nothing for [`STALL_TIMEOUT`].
async fn stalled<R: AsyncRead + Unpin>(lines: &mut LineReader<R>, written: &BytesWritten) {
    lines.ended().await;
    let mut before = None;
    loop {
        let now = written.load(Ordering::Relaxed);
        if before.replace(now) == Some(now) {
            return;
        }
        sleep(STALL_TIMEOUT).await;
    }
}

/// Sends change notifications, one at a time: the next one is created only after the last one was written.
async fn send_notifications(connection: Arc<StdioConnection>, answers: AnswerSender) {
    let one = Arc::new(Semaphore::new(1));
    while let Ok(permit) = Arc::clone(&one).acquire_owned().await {
        let text = connection.next_notification().await;
        if answers.send(text.into(), Some(permit)).await.is_none() {
            break; // the peer has disconnected
        }
    }
}

fn log_panic(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "internal error: a request handler panicked; the request gets no answer");
    }
}

#[cfg(test)]
mod tests;
