//! A WebSocket (RFC 6455) after its handshake, as a byte stream in which each text message is a line.
//!
//! The frames are decoded here, because libraries collect a whole message before they return it, in a buffer that they
//! keep and that can't be counted. As lines of a byte stream, messages have the limits of those over the Unix socket,
//! and a connection needs a few kilobytes, however large its messages are.
//!
//! Both sides of the stream can be used by tasks of their own (`tokio::io::split`). The reading side also writes: it
//! answers pings.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker, ready};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::task::AtomicWaker;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};
use tokio_util::io::poll_read_buf;

mod close;
mod decoder;
mod encoder;
mod frame;
#[cfg(any(test, feature = "fuzz"))]
mod fuzz;
mod pings;

pub(crate) use close::{CloseReason, CloseReasonSlot};
use decoder::{ControlFrame, FrameDecoder};
use encoder::{FrameEncoder, MAX_FRAME_BYTES};
#[cfg(any(test, feature = "fuzz"))]
pub use fuzz::fuzz_websocket;
use pings::{PingStep, PingTimer};

use crate::transport::frame_budget::FrameBudget;

/// The subprotocol, which clients must offer.
pub(crate) const SUBPROTOCOL: &str = "mcp";

/// The only supported version (RFC 6455, 4.1).
pub(crate) const SUPPORTED_VERSION: &str = "13";

/// The value that is hashed with the key of the client (RFC 6455, 1.3).
const ACCEPT_SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The size of a read, in bytes.
const READ_BYTES: usize = 8 * 1024;

/// The time that the peer has to close the connection after the last frame. Closing it earlier could lose the frame,
/// if the peer is still sending.
const LINGER_TIMEOUT: Duration = Duration::from_secs(1);

/// The side of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WebSocketRole {
    /// The side that accepted the handshake.
    Server,
    /// The side that connected.
    Client,
}

/// A new key for the handshake of a client.
pub(crate) fn new_key() -> String {
    let mut key = [0; 16];
    // It only has to differ from others, so that a proxy doesn't answer from its cache.
    let _ = SystemRandom::new().fill(&mut key);
    STANDARD.encode(key)
}

/// The `Sec-WebSocket-Accept` header for this key.
pub(crate) fn accept_value(key: &[u8]) -> String {
    let text = [key, ACCEPT_SUFFIX.as_bytes()].concat();
    STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, &text))
}

/// A WebSocket as a byte stream.
#[derive(Debug)]
pub(crate) struct WebSocketLines<S> {
    stream: S,
    role: WebSocketRole,
    decoder: FrameDecoder,
    encoder: FrameEncoder,
    received: ReceivedEnd,
    close: CloseReasonSlot,
    /// `None` for a client, which lets the server send pings.
    pings: Option<PingTimer>,
    /// `None` for a client, which trusts its server.
    budget: Option<FrameBudget>,
    wakers: Arc<WriteWakers>,
    /// Set once the last frame was sent and this side is closed.
    linger: Option<Pin<Box<Sleep>>>,
}

/// The end of what is received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReceivedEnd {
    /// More can follow.
    Open,
    /// The peer closed the connection between two messages.
    Closed,
    /// The connection was closed within a message, or because of one.
    Broken,
}

/// Wakes both sides once the stream can be written to: it remembers only the last one that tried.
#[derive(Debug, Default)]
struct WriteWakers {
    reader: AtomicWaker,
    writer: AtomicWaker,
}

impl Wake for WriteWakers {
    fn wake(self: Arc<Self>) {
        self.reader.wake();
        self.writer.wake();
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> WebSocketLines<S> {
    /// The side of the gateway: messages up to `max_message` bytes, and a ping whenever nothing was received for
    /// `keep_alive`. `close` is the reason that is sent at the end.
    pub(crate) fn server(
        stream: S,
        max_message: usize,
        keep_alive: Duration,
        close: CloseReasonSlot,
    ) -> Self {
        let pings = Some(PingTimer::new(keep_alive));
        Self::new(stream, WebSocketRole::Server, max_message as u64, pings, close)
    }

    /// The side of a client, which accepts messages of any size and leaves pings to the server.
    pub(crate) fn client(stream: S, close: CloseReasonSlot) -> Self {
        Self::new(stream, WebSocketRole::Client, u64::MAX, None, close)
    }

    fn new(
        stream: S,
        role: WebSocketRole,
        max_message: u64,
        pings: Option<PingTimer>,
        close: CloseReasonSlot,
    ) -> Self {
        Self {
            stream,
            role,
            decoder: FrameDecoder::new(role, max_message),
            encoder: FrameEncoder::new(role),
            received: ReceivedEnd::Open,
            close,
            budget: pings.is_some().then(FrameBudget::default),
            pings,
            wakers: Arc::default(),
            linger: None,
        }
    }

    /// Ends the connection because of what was received.
    fn fail(&mut self, reason: CloseReason) {
        self.close.set(reason);
        self.received = ReceivedEnd::Broken;
    }

    /// Handles the end of the input.
    fn end_input(&mut self) {
        let is_complete = !self.decoder.is_in_message();
        self.received = if is_complete { ReceivedEnd::Closed } else { ReceivedEnd::Broken };
    }

    fn handle_control(&mut self, control: ControlFrame) {
        match control {
            ControlFrame::Ping(payload) => self.encoder.answer_ping(payload),
            ControlFrame::Pong => {}
            ControlFrame::Close(reason) => {
                self.close.set(reason);
                self.end_input();
            }
        }
    }

    /// Sends pongs and pings, as far as possible without waiting.
    fn send_control(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if self.encoder.has_control() {
            self.wakers.reader.register(context.waker());
            if let Poll::Ready(sent) = self.poll_send() {
                sent?;
            }
        }
        Ok(())
    }

    /// Sends everything that is encoded.
    fn poll_send(&mut self) -> Poll<io::Result<()>> {
        let waker = Waker::from(Arc::clone(&self.wakers));
        let mut context = Context::from_waker(&waker);
        loop {
            while !self.encoder.unsent().is_empty() {
                let stream = Pin::new(&mut self.stream);
                let sent = ready!(stream.poll_write(&mut context, self.encoder.unsent()))?;
                if sent == 0 {
                    return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
                }
                self.encoder.record_sent(sent);
            }
            if !self.encoder.add_control() {
                return Pin::new(&mut self.stream).poll_flush(&mut context);
            }
        }
    }

    /// Discards what arrives, until the peer closes its side or has had its time.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let linger = self.linger.get_or_insert_with(|| Box::pin(sleep(LINGER_TIMEOUT)));
        loop {
            if linger.as_mut().poll(context).is_ready() {
                return Poll::Ready(());
            }
            self.decoder.input.clear();
            self.decoder.input.reserve(READ_BYTES);
            match ready!(poll_read_buf(Pin::new(&mut self.stream), context, &mut self.decoder.input)) {
                Ok(0) | Err(_) => return Poll::Ready(()),
                Ok(_) => {}
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for WebSocketLines<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        lines: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = lines.filled().len();
        loop {
            match this.received {
                ReceivedEnd::Open => {}
                ReceivedEnd::Closed => return Poll::Ready(Ok(())),
                ReceivedEnd::Broken if lines.filled().len() > before => return Poll::Ready(Ok(())),
                ReceivedEnd::Broken => return Poll::Ready(Err(io::ErrorKind::InvalidData.into())),
            }
            let decoded = this.decoder.decode(lines);
            let small_frames = this.decoder.take_small_frames();
            if this.budget.as_mut().is_some_and(|budget| !budget.spend(small_frames)) {
                this.fail(CloseReason::TooManyFrames);
                continue;
            }
            match decoded {
                Ok(Some(control)) => {
                    this.handle_control(control);
                    continue;
                }
                Ok(None) => {}
                Err(reason) => {
                    this.fail(reason);
                    continue;
                }
            }
            this.send_control(context)?;
            if lines.filled().len() > before {
                return Poll::Ready(Ok(()));
            }
            this.decoder.input.reserve(READ_BYTES);
            let stream = Pin::new(&mut this.stream);
            match poll_read_buf(stream, context, &mut this.decoder.input) {
                Poll::Ready(Ok(0)) => this.end_input(),
                Poll::Ready(Ok(_)) => {
                    if let Some(pings) = &mut this.pings {
                        pings.received();
                    }
                }
                Poll::Ready(Err(error)) => {
                    this.received = ReceivedEnd::Broken;
                    return Poll::Ready(Err(error));
                }
                Poll::Pending => {
                    let Some(pings) = &mut this.pings else { return Poll::Pending };
                    match ready!(pings.poll(context)) {
                        PingStep::Send => this.encoder.ping(),
                        PingStep::GiveUp => this.fail(CloseReason::Unresponsive),
                    }
                }
            }
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for WebSocketLines<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        lines: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.encoder.is_closed() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if self.encoder.unsent().len() >= MAX_FRAME_BYTES {
            self.wakers.writer.register(context.waker());
            ready!(self.poll_send())?;
        }
        Poll::Ready(Ok(self.encoder.add_lines(lines)))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.wakers.writer.register(context.waker());
        self.poll_send()
    }

    /// Sends the reason. The gateway then also closes its side of the connection, as a server has to (RFC 6455, 7.1.1);
    /// a client still receives what follows.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        this.encoder.close(&this.close.get());
        if this.linger.is_none() {
            this.wakers.writer.register(context.waker());
            ready!(this.poll_send())?;
            if this.role == WebSocketRole::Client {
                return Poll::Ready(Ok(()));
            }
            ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
        }
        this.poll_linger(context).map(Ok)
    }
}

#[cfg(test)]
mod tests;
