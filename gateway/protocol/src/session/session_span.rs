//! The observation of a session: its end is reported exactly once.

use std::fmt;
use std::sync::Arc;

use tokio::time::Instant;

use crate::dispatch::{NetworkTransport, Observer, SessionEnd};
use crate::mcp::Revision;

/// An observed session. Dropping it reports its end.
pub(super) struct SessionSpan {
    observer: Arc<dyn Observer>,
    revision: Revision,
    transport: NetworkTransport,
    opened_at: Instant,
    /// The time of its end. `None` means the time when this is dropped.
    ended_at: Option<Instant>,
}

impl SessionSpan {
    /// A session that is opened now.
    pub(super) fn new(observer: Arc<dyn Observer>, revision: Revision, transport: NetworkTransport) -> Self {
        Self { observer, revision, transport, opened_at: Instant::now(), ended_at: None }
    }

    /// Reports that the session ended at an earlier time.
    pub(super) fn end_at(mut self, time: Instant) {
        self.ended_at = Some(time);
    }
}

impl Drop for SessionSpan {
    fn drop(&mut self) {
        let ended_at = self.ended_at.unwrap_or_else(Instant::now);
        self.observer.session_ended(&SessionEnd {
            revision: self.revision.as_str(),
            transport: self.transport,
            took: ended_at.saturating_duration_since(self.opened_at),
        });
    }
}

impl fmt::Debug for SessionSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionSpan").field("opened_at", &self.opened_at).finish_non_exhaustive()
    }
}
