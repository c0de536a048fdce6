//! GET and DELETE: the streams of a session, and its end (2025-11-25, basic/transports).

use std::sync::Arc;

use crate::mcp::ProtocolError;
use crate::names::Principal;
use crate::session::NoMore;

use super::{Get, HttpAnswer, HttpReply, Spoken, no_session, session_needed, unknown_revision};
use crate::server::Server;
use crate::server::headers::{Header, Headers, LAST_EVENT, SESSION};
use crate::server::talk::Hear;

impl Server {
    /// Serves a GET: opens a stream of news of a session, or goes on with a stream where `Last-Event-ID` stands.
    ///
    /// Where a stream is over and was read to its end, the answer is 204, with which streams of events end for good
    /// (HTML, server-sent events). To an empty stream, clients that miss a response come back for ever: that of a
    /// cancelled request never comes.
    #[must_use]
    pub fn get(self: &Arc<Self>, get: Get<'_>) -> HttpAnswer {
        let spoken = Spoken::of(get.headers);
        if spoken.is_stateless() {
            return HttpReply::not_allowed("POST, OPTIONS").into();
        }
        let refuse = |error: ProtocolError| HttpReply::stray(&error).into();
        let session = match self.session(get.principal, get.headers, spoken) {
            Ok(session) => session,
            Err(error) => return refuse(error),
        };
        if get.hear == Hear::Response {
            return refuse(ProtocolError::not_acceptable(
                "this is a stream of events: accept `text/event-stream`",
            ));
        }
        let closes = self.closes(&session);
        let resumed = match get.headers.get(LAST_EVENT) {
            Header::Absent | Header::Text("") => Ok(session.listen(closes)),
            Header::Text(last) => session.resume(last, closes),
            Header::Invalid => Err(NoMore::Unknown),
        };
        match resumed {
            Ok(reader) => HttpAnswer::Events(reader.into()),
            Err(NoMore::Over) => HttpReply::new(204, Vec::new()).into(),
            Err(NoMore::Unknown) => refuse(ProtocolError::invalid_request(
                "`Last-Event-ID` names no event of this session, or one that isn't kept any more",
            )),
        }
    }

    /// Serves a DELETE: ends a session.
    #[must_use]
    pub fn delete(&self, principal: &Principal, headers: &dyn Headers) -> HttpReply {
        let spoken = Spoken::of(headers);
        if spoken.is_stateless() {
            return HttpReply::not_allowed("POST, OPTIONS");
        }
        if spoken == Spoken::Unknown {
            return HttpReply::stray(&unknown_revision());
        }
        match headers.get(SESSION) {
            Header::Text(id) if self.sessions.end(id, principal) => HttpReply::new(200, Vec::new()),
            Header::Text(_) => HttpReply::stray(&no_session()),
            Header::Absent | Header::Invalid => HttpReply::stray(&session_needed()),
        }
    }
}
