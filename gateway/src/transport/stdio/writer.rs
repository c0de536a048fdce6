//! Writes responses. Those that are ready at the same time are sent in one write. Used by `stdio` only.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::transport::trace::Tap;

/// The maximum number of responses taken from the queue at a time.
const MAX_BATCH: usize = 64;

/// The size from which collected responses are written, in bytes.
const WRITE_BYTES: usize = 256 * 1024;

/// A buffer that has grown larger isn't kept.
const MAX_KEPT_BUFFER_BYTES: usize = 1024 * 1024;

/// A message without its line ending, and the permit that is released once the message is written. Messages before a
/// response have no permit.
#[derive(Debug)]
pub(super) struct OutgoingAnswer {
    pub(super) text: Vec<u8>,
    pub(super) permit: Option<OwnedSemaphorePermit>,
}

/// The number of bytes that the peer has read.
pub(super) type BytesWritten = Arc<AtomicU64>;

/// Writes until all senders are dropped, or the peer has disconnected.
pub(super) async fn run<W>(
    mut answers: mpsc::Receiver<OutgoingAnswer>,
    mut output: W,
    written: BytesWritten,
    tap: Tap,
) -> io::Result<()>
where
    W: AsyncWrite + Unpin,
{
    let mut batch = Vec::with_capacity(MAX_BATCH);
    let mut buffer = Vec::new();
    let mut permits = Vec::with_capacity(MAX_BATCH);
    while answers.recv_many(&mut batch, MAX_BATCH).await > 0 {
        for OutgoingAnswer { text, permit } in batch.drain(..) {
            tap.sent(&text);
            permits.extend(permit);
            if buffer.is_empty() {
                buffer = text; // usually the only response, which isn't copied
            } else {
                buffer.extend_from_slice(&text);
            }
            buffer.push(b'\n');
            if buffer.len() >= WRITE_BYTES {
                write(&mut output, &mut buffer, &written).await?;
                permits.clear();
            }
        }
        write(&mut output, &mut buffer, &written).await?;
        permits.clear();
    }
    output.shutdown().await
}

async fn write<W: AsyncWrite + Unpin>(
    output: &mut W,
    buffer: &mut Vec<u8>,
    written: &AtomicU64,
) -> io::Result<()> {
    let mut rest = buffer.as_slice();
    while !rest.is_empty() {
        let count = output.write(rest).await?;
        if count == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        written.fetch_add(count as u64, Ordering::Relaxed);
        rest = &rest[count..];
    }
    output.flush().await?;
    buffer.clear();
    if buffer.capacity() > MAX_KEPT_BUFFER_BYTES {
        *buffer = Vec::new();
    }
    Ok(())
}
