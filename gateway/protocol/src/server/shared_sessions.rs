//! Requests in sessions that several gateways serve together (2025-11-25, basic/transports).
//!
//! Without a shared store, each method here does what a single gateway does, without waiting.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use tokio::time::Instant;

use crate::caller::Caller;
use crate::dispatch::RefusedRequest;
use crate::jsonrpc::{MalformedMessage, Notification, Response};
use crate::mcp::{Method, Params, ProtocolError, RequestAnswer, too_many_subscriptions};
use crate::names::ResourceUri;
use crate::session::shared::{
    NoSession, SessionUpdate, SessionUpdateOutcome, SharedEvents, SharedSessions, SharedStoreError,
    SharedStreamError,
};
use crate::session::{EventId, EventReader, ResumeError, Session, StreamKind};

use super::Server;
use super::headers::{Header, LAST_EVENT_ID_HEADER};
use super::http::{
    EventStream, HttpAnswer, HttpGet, HttpReply, StreamLifetime, no_stream, session_not_found,
};
use super::request::receive_notification;

/// The time in which other gateways usually receive a wake-up. A client that has ended its session may ask another gateway
/// at once, which must not serve it from its copy.
const WAKE_UP_TIME: Duration = Duration::from_millis(50);

impl Server {
    /// The answer to a request without a session.
    pub(super) fn no_shared_session(&self, caller: &Caller, why: NoSession) -> ProtocolError {
        match why {
            NoSession::NotFound => session_not_found(),
            NoSession::Foreign => {
                self.request_refused(caller, RefusedRequest::ForeignSession);
                session_not_found()
            }
            NoSession::NoRoom(error) => {
                ProtocolError { status: 503, ..ProtocolError::internal(error.to_string()) }
            }
            NoSession::Store(error) => store_unavailable(&error),
        }
    }

    /// Handles a response from the client.
    pub(super) async fn receive_response(
        &self,
        session: &Session,
        response: &Response<'_>,
    ) -> Result<(), ProtocolError> {
        match (session.receive_response(response), &self.shared) {
            (Some(foreign), Some(shared)) => {
                shared.forward(session, foreign).await.map_err(|error| store_unavailable(&error))
            }
            (Some(_) | None, _) => Ok(()),
        }
    }

    /// Forwards a malformed message that answers a question of another replica.
    pub(super) async fn forward_malformed(
        &self,
        session: Option<&Session>,
        malformed: &MalformedMessage,
    ) -> Result<(), ProtocolError> {
        let (Some(session), Some(shared)) = (session, &self.shared) else { return Ok(()) };
        match session.foreign_malformed(malformed) {
            Some(foreign) => {
                shared.forward(session, foreign).await.map_err(|error| store_unavailable(&error))
            }
            None => Ok(()),
        }
    }

    /// Handles a notification from the client.
    pub(super) async fn receive_session_notification(
        &self,
        session: &Arc<Session>,
        notification: &Notification<'_>,
    ) -> Result<(), ProtocolError> {
        let elsewhere = receive_notification(Some(session), &session.in_flight, notification);
        match (elsewhere, &self.shared) {
            (Some(request), Some(shared)) => {
                shared.cancel(session, &request).await.map_err(|error| store_unavailable(&error))
            }
            (Some(_) | None, _) => Ok(()),
        }
    }

    /// Answers a request that changes a shared session. `None` if the request doesn't, or the session isn't shared.
    pub(super) async fn update_shared(
        &self,
        session: &Arc<Session>,
        caller: &Caller,
        method: &str,
        params: &Params,
    ) -> Option<Result<RequestAnswer, ProtocolError>> {
        let shared = self.shared.as_ref()?;
        let revision = session.initialize_params().revision;
        let method = Method::find(method, revision)?;
        let is_update = matches!(method, Method::SetLevel | Method::Subscribe | Method::Unsubscribe);
        if !is_update {
            return None;
        }
        session.set_ready();
        Some(Box::pin(self.update(shared, session, caller, method, params)).await)
    }

    async fn update(
        &self,
        shared: &SharedSessions,
        session: &Arc<Session>,
        caller: &Caller,
        method: Method,
        params: &Params,
    ) -> Result<RequestAnswer, ProtocolError> {
        let outcome = match method {
            Method::SetLevel => {
                let level = params.level()?;
                let outcome = shared.update(session, &SessionUpdate::Level(level)).await;
                session.set_log_level(level);
                outcome
            }
            Method::Subscribe => {
                let revision = session.initialize_params().revision;
                let uri = self.protocol.subscribable_uri(revision, caller, params)?;
                shared.subscribe(session, uri).await
            }
            _ => match ResourceUri::new(&params.string("uri")?) {
                Ok(uri) => shared.update(session, &SessionUpdate::Unsubscribe(uri)).await,
                Err(_) => Ok(SessionUpdateOutcome::Done),
            },
        };
        match outcome.map_err(|error| store_unavailable(&error))? {
            SessionUpdateOutcome::Done => Ok(RequestAnswer::empty()),
            SessionUpdateOutcome::Ended => Err(session_not_found()),
            SessionUpdateOutcome::TooMany => Err(too_many_subscriptions()),
        }
    }

    /// Serves a GET in a shared session.
    pub(super) async fn get_shared(
        &self,
        shared: &Arc<SharedSessions>,
        session: &Arc<Session>,
        get: HttpGet<'_>,
        closes_at: Option<Instant>,
    ) -> HttpAnswer {
        let notifications = |resumes| shared.open_notifications(session, resumes, closes_at);
        let until_closed = StreamLifetime::UntilClosed;
        let opened = match get.headers.get(LAST_EVENT_ID_HEADER) {
            Header::Absent | Header::Text("") => {
                notifications(None).await.map(|events| event_stream(events, until_closed))
            }
            Header::Invalid => Err(SharedStreamError::Resume(ResumeError::Unknown)),
            Header::Text(last) => match EventId::parse(last) {
                None => Err(SharedStreamError::Resume(ResumeError::Unknown)),
                Some(last) if last.kind == StreamKind::Notifications => {
                    notifications(Some(last)).await.map(|events| event_stream(events, until_closed))
                }
                Some(id) => match session.resume(last, closes_at, &self.unread_responses) {
                    Ok(reader) => Ok(EventReader::into(reader)),
                    Err(ResumeError::Ended) => Err(SharedStreamError::Resume(ResumeError::Ended)),
                    Err(ResumeError::Unknown) => shared
                        .resume(session, id, closes_at, &self.unread_responses)
                        .await
                        .map(|events| event_stream(events, StreamLifetime::UntilResponse)),
                },
            },
        };
        match opened {
            Ok(events) => HttpAnswer::Events(events),
            Err(SharedStreamError::Resume(error)) => no_stream(error).into(),
            Err(SharedStreamError::NoSession(why)) => {
                HttpReply::stray(&self.no_shared_session(get.caller, why)).into()
            }
        }
    }

    /// Serves a DELETE of a shared session.
    pub(super) async fn delete_shared(&self, caller: &Caller, id: &str) -> HttpReply {
        let ended = async {
            let Some(shared) = &self.shared else { return Err(session_not_found()) };
            shared.find(id, caller).await.map_err(|why| self.no_shared_session(caller, why))?;
            shared.end(id).await.map_err(|error| store_unavailable(&error))?;
            tokio::time::sleep(WAKE_UP_TIME).await;
            Ok(())
        };
        match ended.await {
            Ok(()) => HttpReply::empty(200),
            Err(error) => HttpReply::stray(&error),
        }
    }
}

fn event_stream(events: SharedEvents, lifetime: StreamLifetime) -> EventStream {
    let next = |mut events: SharedEvents| async move { Some((events.recv().await?, events)) };
    EventStream::new(stream::unfold(events, next), lifetime)
}

/// The store isn't available. The client can send its message again.
fn store_unavailable(error: &SharedStoreError) -> ProtocolError {
    tracing::debug!(%error, "request in a shared session refused");
    ProtocolError::temporary("store_unavailable", "sessions aren't available at the moment; try again later")
}
