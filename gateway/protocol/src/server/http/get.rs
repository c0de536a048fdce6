//! GET and DELETE: the event streams of a session, and its end (2025-11-25, basic/transports).

use std::sync::Arc;

use crate::caller::Caller;
use crate::mcp::ProtocolError;
use crate::session::ResumeError;

use super::{ClaimedRevision, HttpAnswer, HttpGet, HttpReply, session_required, unknown_revision};
use crate::server::Server;
use crate::server::headers::{Header, Headers, LAST_EVENT_ID_HEADER, SESSION_ID_HEADER};
use crate::server::response_stream::StreamSupport;

impl Server {
    /// Serves a GET: opens a notification stream of a session, or resumes a stream after `Last-Event-ID`.
    ///
    /// If the stream has ended and was read to its end, the answer is 204, which tells clients not to reconnect (HTML,
    /// server-sent events). With an empty stream, clients that miss the response of a cancelled request would reconnect
    /// forever.
    #[must_use]
    pub async fn get(self: &Arc<Self>, get: HttpGet<'_>) -> HttpAnswer {
        let claimed_revision = ClaimedRevision::of(get.headers);
        if claimed_revision.is_stateless() {
            return HttpReply::method_not_allowed("POST, OPTIONS").into();
        }
        let refuse = |error: ProtocolError| HttpReply::stray(&error).into();
        let session = match self.session(get.caller, get.headers, claimed_revision).await {
            Ok(session) => session,
            Err(error) => return refuse(error),
        };
        if get.streaming == StreamSupport::Unsupported {
            return refuse(ProtocolError::not_acceptable(
                "this is an event stream; send `Accept: text/event-stream`",
            ));
        }
        let closes_at = self.closes_at(&session);
        if let Some(shared) = &self.shared {
            return Box::pin(self.get_shared(shared, &session, get, closes_at)).await;
        }
        let resumed = match get.headers.get(LAST_EVENT_ID_HEADER) {
            Header::Absent | Header::Text("") => Ok(session.open_notification_stream(closes_at)),
            Header::Text(last) => session.resume(last, closes_at, &self.unread_responses),
            Header::Invalid => Err(ResumeError::Unknown),
        };
        match resumed {
            Ok(reader) => HttpAnswer::Events(reader.into()),
            Err(error) => no_stream(error).into(),
        }
    }

    /// Serves a DELETE: ends a session.
    #[must_use]
    pub async fn delete(&self, caller: &Caller, headers: &dyn Headers) -> HttpReply {
        let claimed_revision = ClaimedRevision::of(headers);
        if claimed_revision.is_stateless() {
            return HttpReply::method_not_allowed("POST, OPTIONS");
        }
        if claimed_revision == ClaimedRevision::Unknown {
            return HttpReply::stray(&unknown_revision());
        }
        let principal = caller.principal();
        match headers.get(SESSION_ID_HEADER) {
            Header::Text(id) if self.shared.is_some() => self.delete_shared(caller, id).await,
            Header::Text(id) if self.sessions.end(id, &principal) => HttpReply::empty(200),
            Header::Text(id) => HttpReply::stray(&self.no_session(id, caller, &principal)),
            Header::Absent | Header::Invalid => HttpReply::stray(&session_required()),
        }
    }
}

/// The answer to a stream that can't be resumed.
pub(in crate::server) fn no_stream(error: ResumeError) -> HttpReply {
    match error {
        ResumeError::Ended => HttpReply::empty(204),
        ResumeError::Unknown => HttpReply::stray(&ProtocolError::invalid_request(
            "the event in `Last-Event-ID` is unknown or no longer kept in this session",
        )),
    }
}
