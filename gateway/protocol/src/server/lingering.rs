//! Calls whose caller went away without a word: closing the connection is how a stateless revision cancels
//! (2026-07-28, basic/transports/streamable-http).
//!
//! With the connection goes the future that answers. The call is told, and gets in a task of its own what its plugin's
//! grace allows, to put things in order; nobody hears what it says.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::mcp::{Answer, Later};

/// A call that outlives whoever waits for it, by its plugin's grace.
pub(super) struct Lingering {
    /// None while it is polled, and once it is over.
    call: Option<Later>,
    cancel: CancellationToken,
}

impl Lingering {
    /// `cancel` tells the call that its caller is gone.
    pub(super) fn new(call: Later, cancel: CancellationToken) -> Self {
        Self { call: Some(call), cancel }
    }
}

impl Future for Lingering {
    type Output = Answer;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Answer> {
        let Some(mut call) = self.call.take() else { return Poll::Pending };
        let polled = call.as_mut().poll(context);
        if polled.is_pending() {
            self.call = Some(call);
        }
        polled
    }
}

impl Drop for Lingering {
    fn drop(&mut self) {
        let Some(call) = self.call.take() else { return };
        self.cancel.cancel();
        // Where the runtime itself is going there is no time left.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(call);
        }
    }
}
