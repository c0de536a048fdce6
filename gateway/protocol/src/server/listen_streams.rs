//! Notification streams of stateless revisions (`subscriptions/listen`), on any transport.
//!
//! A stream is a request that isn't answered until the gateway ends it. Its notifications take the same way as those
//! of a call. It calls no plugin and takes no permit.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::caller::Caller;
use crate::jsonrpc::Id;
use crate::mcp::envelope::RequestEnvelope;
use crate::mcp::{Params, ProtocolError, SideMessage, StartedRequest};

use super::Server;
use super::response_stream::RequestInProgress;

/// The maximum number of open streams of one caller.
const MAX_LISTEN_STREAMS: usize = 64;

/// The reasons why a stream ends before the gateway stops.
#[derive(Debug)]
pub(super) struct StreamEnds {
    /// The client has cancelled the request, so nothing more is sent.
    pub(super) cancelled: CancellationToken,
    /// The connection closes, so the stream ends with its result.
    pub(super) closing: CancellationToken,
}

/// The number of open streams of each caller.
#[derive(Debug, Default)]
pub(super) struct ListenStreams(Arc<Mutex<HashMap<Caller, usize>>>);

/// An open stream, counted until this is dropped.
#[derive(Debug)]
struct ListenStreamGuard {
    counts: Arc<Mutex<HashMap<Caller, usize>>>,
    caller: Caller,
}

impl ListenStreams {
    /// Counts a stream. `None` means that the caller has too many.
    fn open(&self, caller: &Caller) -> Option<ListenStreamGuard> {
        let mut counts = lock(&self.0);
        let count = counts.get(caller).copied().unwrap_or(0);
        if count >= MAX_LISTEN_STREAMS {
            return None;
        }
        counts.insert(caller.clone(), count + 1);
        Some(ListenStreamGuard { counts: Arc::clone(&self.0), caller: caller.clone() })
    }

    /// The number of open streams of all callers.
    pub(super) fn count(&self) -> usize {
        lock(&self.0).values().sum()
    }
}

impl Drop for ListenStreamGuard {
    fn drop(&mut self) {
        let mut counts = lock(&self.counts);
        if let Some(count) = counts.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.caller);
            }
        }
    }
}

fn lock(counts: &Mutex<HashMap<Caller, usize>>) -> MutexGuard<'_, HashMap<Caller, usize>> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    /// Opens a stream. Its first message is ready at once.
    pub(super) fn listen(
        &self,
        envelope: &RequestEnvelope,
        id: &Id,
        params: &Params,
        caller: &Caller,
        ends: StreamEnds,
    ) -> Result<RequestInProgress, ProtocolError> {
        let guard = self.listen_streams.open(caller).ok_or_else(|| {
            ProtocolError::internal(format!(
                "{MAX_LISTEN_STREAMS} notification streams are already open; close one first"
            ))
        })?;
        let listening = self.protocol.listen(&self.updates, envelope.revision, caller, id, params)?;
        // A buffer of one message: until the client has read it, changes stay pending and are merged.
        let (sender, side_messages) = mpsc::channel(1);
        let stop = self.stop.clone();
        let answer = async move {
            let _guard = guard;
            let StreamEnds { cancelled, closing } = ends;
            let mut message = listening.acknowledgement.clone();
            loop {
                if sender.send(SideMessage::Notification(message)).await.is_err() {
                    break; // the client has disconnected
                }
                message = tokio::select! {
                    biased;
                    () = cancelled.cancelled() => break,
                    () = closing.cancelled() => break,
                    () = stop.cancelled() => break,
                    message = listening.next() => message,
                };
            }
            listening.result.into()
        };
        Ok(RequestInProgress {
            started: StartedRequest::Pending(Box::pin(answer)),
            side_messages: Some(side_messages),
        })
    }
}
