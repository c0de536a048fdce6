//! Calls whose client closed the connection: that is how a client cancels in a stateless revision
//! (2026-07-28, basic/transports/streamable-http).
//!
//! Closing the connection drops the future of the response. The call is then cancelled and continues in a task of its
//! own for its plugin's cancellation grace, so that it can clean up. Its answer is discarded.

use std::pin::Pin;
use std::task::{Context, Poll};

use moongate_system::background::MovableFuture;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::mcp::{PendingAnswer, RequestAnswer};

/// A call that continues in the background if it is dropped before it ends.
pub(super) struct DetachOnDrop {
    /// `None` during a poll and after the end.
    call: Option<PendingAnswer>,
    cancel: CancellationToken,
}

impl DetachOnDrop {
    /// Dropping the call sets `cancel`.
    pub(super) fn new(call: PendingAnswer, cancel: CancellationToken) -> Self {
        Self { call: Some(call), cancel }
    }
}

impl Future for DetachOnDrop {
    type Output = RequestAnswer;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<RequestAnswer> {
        let Some(mut call) = self.call.take() else { return Poll::Pending };
        let polled = call.as_mut().poll(context);
        if polled.is_pending() {
            self.call = Some(call);
        }
        polled
    }
}

impl Drop for DetachOnDrop {
    fn drop(&mut self) {
        let Some(call) = self.call.take() else { return };
        self.cancel.cancel();
        // While the runtime shuts down, there is no time left for cleanup.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(MovableFuture::new(call));
        }
    }
}
