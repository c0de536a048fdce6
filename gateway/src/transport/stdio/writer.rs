//! Writes responses. Those that are ready at the same time are sent in one write. Used by `stdio` only.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use moongate_model::caller::Caller;
use moongate_protocol::unread_responses::{CountedMessage, UnreadResponses};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::transport::trace::Tap;

/// The maximum number of responses taken from the queue at a time.
const MAX_BATCH: usize = 64;

/// The size from which collected responses are written, in bytes.
const WRITE_BYTES: usize = 256 * 1024;

/// The size from which a response is written without those before it, in bytes: a pipe takes hardly more at a time.
const MIN_SEPARATE_BYTES: usize = 32 * 1024;

/// A message without its line ending, and the permit of a response, which is released once the message is written.
/// Messages before a response have no permit.
#[derive(Debug)]
struct OutgoingAnswer {
    text: CountedMessage,
    permit: Option<OwnedSemaphorePermit>,
}

/// Sends messages to the writer, and counts them until they are written.
#[derive(Debug, Clone)]
pub(super) struct AnswerSender {
    sender: mpsc::Sender<OutgoingAnswer>,
    unread_responses: Arc<UnreadResponses>,
    caller: Caller,
    counted: CountedAnswers,
}

/// The messages that count until they are written.
#[derive(Debug, Clone, Copy)]
pub(super) enum CountedAnswers {
    /// Those that aren't small.
    Large,
    /// All of them, because the caller can have many connections.
    All,
}

/// Receives messages for the writer.
#[derive(Debug)]
pub(super) struct AnswerReceiver(mpsc::Receiver<OutgoingAnswer>);

/// A channel for this many messages to a caller.
pub(super) fn channel(
    capacity: usize,
    unread_responses: &Arc<UnreadResponses>,
    caller: Caller,
    counted: CountedAnswers,
) -> (AnswerSender, AnswerReceiver) {
    let (sender, receiver) = mpsc::channel(capacity);
    let unread_responses = Arc::clone(unread_responses);
    (AnswerSender { sender, unread_responses, caller, counted }, AnswerReceiver(receiver))
}

impl AnswerSender {
    /// Sends a message. `None` means that the peer has disconnected.
    pub(super) async fn send(
        &self,
        message: CountedMessage,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Option<()> {
        let text = match self.counted {
            CountedAnswers::Large => message.counted(&self.unread_responses, &self.caller),
            CountedAnswers::All => message.always_counted(&self.unread_responses, &self.caller),
        };
        self.sender.send(OutgoingAnswer { text, permit }).await.ok()
    }

    /// Waits until the peer has read enough for more of its messages to be handled.
    pub(super) async fn wait_to_read(&self) {
        self.unread_responses.wait_to_read(&self.caller).await;
    }
}

/// The number of bytes that the peer has read.
pub(super) type BytesWritten = Arc<AtomicU64>;

/// Writes until all senders are dropped, or the peer has disconnected.
pub(super) async fn run<W>(
    AnswerReceiver(mut answers): AnswerReceiver,
    mut output: W,
    written: BytesWritten,
    tap: Tap,
) -> io::Result<()>
where
    W: AsyncWrite + Unpin,
{
    let mut batch = Vec::with_capacity(MAX_BATCH);
    let mut buffer = Vec::new();
    let mut released = Vec::with_capacity(MAX_BATCH);
    while answers.recv_many(&mut batch, MAX_BATCH).await > 0 {
        for OutgoingAnswer { text, permit } in batch.drain(..) {
            tap.sent(&text);
            if text.len() >= MIN_SEPARATE_BYTES {
                write(&mut output, &buffer, &written).await?;
                buffer.clear();
                released.clear();
                write(&mut output, &text, &written).await?; // a large message isn't copied
            } else {
                buffer.extend_from_slice(&text);
                released.push((text, permit));
            }
            buffer.push(b'\n');
            if buffer.len() >= WRITE_BYTES {
                write(&mut output, &buffer, &written).await?;
                buffer.clear();
                released.clear();
            }
        }
        write(&mut output, &buffer, &written).await?;
        buffer.clear();
        output.flush().await?;
        released.clear();
    }
    output.shutdown().await
}

async fn write<W: AsyncWrite + Unpin>(
    output: &mut W,
    mut rest: &[u8],
    written: &AtomicU64,
) -> io::Result<()> {
    while !rest.is_empty() {
        let count = output.write(rest).await?;
        if count == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        written.fetch_add(count as u64, Ordering::Relaxed);
        rest = &rest[count..];
    }
    Ok(())
}
