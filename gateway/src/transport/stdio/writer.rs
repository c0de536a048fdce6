//! Writes answers, all that are ready in one go. Used by `stdio` only.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use crate::transport::trace::Tap;

/// How many answers are taken from the queue at once.
const BATCH: usize = 64;

/// From this many bytes on, what was collected is written before more is.
const FULL: usize = 256 * 1024;

/// A buffer that grew beyond this isn't kept.
const KEEP: usize = 1024 * 1024;

/// One message without its line end, and the permit that it gives back once it was written; what is said before a
/// response has none.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) text: Vec<u8>,
    pub(super) permit: Option<OwnedSemaphorePermit>,
}

/// How many bytes the peer has taken so far.
pub(super) type Taken = Arc<AtomicU64>;

/// Writes until all senders are gone, or the peer is.
pub(super) async fn run<W>(
    mut answers: mpsc::Receiver<Answer>,
    mut output: W,
    taken: Taken,
    tap: Tap,
) -> io::Result<()>
where
    W: AsyncWrite + Unpin,
{
    let mut batch = Vec::with_capacity(BATCH);
    let mut buffer = Vec::new();
    let mut permits = Vec::with_capacity(BATCH);
    while answers.recv_many(&mut batch, BATCH).await > 0 {
        for Answer { text, permit } in batch.drain(..) {
            tap.sent(&text);
            permits.extend(permit);
            if buffer.is_empty() {
                buffer = text; // alone in most cases: no copy then
            } else {
                buffer.extend_from_slice(&text);
            }
            buffer.push(b'\n');
            if buffer.len() >= FULL {
                write(&mut output, &mut buffer, &taken).await?;
                permits.clear();
            }
        }
        write(&mut output, &mut buffer, &taken).await?;
        permits.clear();
    }
    output.shutdown().await
}

async fn write<W: AsyncWrite + Unpin>(
    output: &mut W,
    buffer: &mut Vec<u8>,
    taken: &AtomicU64,
) -> io::Result<()> {
    let mut rest = buffer.as_slice();
    while !rest.is_empty() {
        let count = output.write(rest).await?;
        if count == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        taken.fetch_add(count as u64, Ordering::Relaxed);
        rest = &rest[count..];
    }
    output.flush().await?;
    buffer.clear();
    if buffer.capacity() > KEEP {
        *buffer = Vec::new();
    }
    Ok(())
}
