//! Notification streams of stateless revisions (`subscriptions/listen`), on any transport.
//!
//! A stream is a request that isn't answered until the gateway ends it. Its notifications take the same way as those
//! of a call. It calls no plugin and takes no permit.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::caller::Caller;
use crate::caller_budget::{BudgetShare, CallerBudget};
use crate::jsonrpc::Id;
use crate::mcp::envelope::RequestEnvelope;
use crate::mcp::{Params, ProtocolError, SideMessage, StartedRequest};

use super::Server;
use super::response_stream::RequestInProgress;

/// The maximum number of open streams of one caller.
const MAX_LISTEN_STREAMS: u64 = 64;

/// The reasons why a stream ends before the gateway stops.
#[derive(Debug)]
pub(super) struct StreamEnds {
    /// The client has cancelled the request, so nothing more is sent.
    pub(super) cancelled: CancellationToken,
    /// The connection closes, so the stream ends with its result.
    pub(super) closing: CancellationToken,
}

/// Counts the open streams of each caller. Connections limit those of all callers.
#[derive(Debug)]
pub(super) struct ListenStreams(Arc<CallerBudget>);

impl Default for ListenStreams {
    fn default() -> Self {
        Self(CallerBudget::new(u64::MAX))
    }
}

impl ListenStreams {
    /// Counts a stream until the share is dropped. `None` means that the caller has too many.
    fn open(&self, caller: &Caller) -> Option<BudgetShare> {
        (self.0.held_by(caller) < MAX_LISTEN_STREAMS).then(|| self.0.charge(caller, 1))
    }

    /// The number of open streams of all callers.
    pub(super) fn count(&self) -> usize {
        usize::try_from(self.0.used()).unwrap_or(usize::MAX)
    }
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
        let share = self.listen_streams.open(caller).ok_or_else(|| {
            ProtocolError::internal(format!(
                "{MAX_LISTEN_STREAMS} notification streams are already open; close one first"
            ))
        })?;
        let listening = self.protocol.listen(&self.updates, envelope.revision, caller, id, params)?;
        // A buffer of one message: until the client has read it, changes stay pending and are merged.
        let (sender, side_messages) = mpsc::channel(1);
        let stop = self.stop.clone();
        let answer = async move {
            let _share = share;
            let StreamEnds { cancelled, closing } = ends;
            let mut message = listening.acknowledgement.clone();
            loop {
                if sender.send(SideMessage::Notification(message.into())).await.is_err() {
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
