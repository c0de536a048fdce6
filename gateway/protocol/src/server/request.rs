//! Requests and notifications, on any transport, once their era is known.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::call::{CallSink, DiscardSink};
use crate::caller::Caller;
use crate::caller_budget::BudgetShare;
use crate::json;
use crate::jsonrpc::{Id, Notification, Request};
use crate::mcp::envelope::RequestEnvelope;
use crate::mcp::{
    self, Method, NotificationPrefs, Notifier, Params, Peer, ProtocolError, RequestAnswer, RequestContext,
    Revision, SideMessage,
};
use crate::session::{InFlightRequests, PendingRequests, QuestionBudget, RunningRequest, Session};

use super::Server;
use super::response_stream::{RequestInProgress, StreamSupport};

/// Parses the parameters of a request whose memory is already counted. They hold its share until they are dropped.
///
/// # Errors
/// The parameters are invalid (the error's status is 400).
pub(super) fn read_counted_params(
    request: &Request<'_>,
    share: Option<Arc<BudgetShare>>,
) -> Result<Params, ProtocolError> {
    let params = Params::read(request.params)?;
    Ok(match share {
        Some(share) => params.with_memory(share),
        None => params,
    })
}

impl Server {
    /// Parses the parameters, which count towards the memory budget until they are dropped.
    ///
    /// # Errors
    /// The parameters are invalid (the error's status is 400), or the budget is used up (503).
    pub(super) fn read_params(
        &self,
        caller: &Caller,
        request: &Request<'_>,
    ) -> Result<Params, ProtocolError> {
        let reserved = self.request_memory.reserve(caller, request)?;
        read_counted_params(request, reserved.map(Arc::new))
    }

    /// Starts a request of a handshake session. `caller` owns the session; the token is that of the request.
    pub(super) fn in_session(
        &self,
        session: &Session,
        caller: &Caller,
        method: &str,
        params: Params,
        running: &RunningRequest,
        streaming: StreamSupport,
    ) -> Result<RequestInProgress, ProtocolError> {
        let revision = session.initialize_params().revision;
        let method = Method::find(method, revision).ok_or_else(|| ProtocolError::unknown_method(method))?;
        if method != Method::Ping {
            session.set_ready();
        }
        match method {
            Method::Initialize => {
                return Err(ProtocolError::invalid_request("this session is already initialized"));
            }
            Method::SetLevel => {
                session.set_log_level(params.level()?);
                return Ok(RequestInProgress::done(RequestAnswer::empty()));
            }
            Method::Subscribe => {
                self.protocol.subscribe(session.listener(), revision, caller, &params)?;
                return Ok(RequestInProgress::done(RequestAnswer::empty()));
            }
            Method::Unsubscribe => {
                self.protocol.unsubscribe(session.listener(), &params)?;
                return Ok(RequestInProgress::done(RequestAnswer::empty()));
            }
            Method::Ping
            | Method::Discover
            | Method::ListTools
            | Method::CallTool
            | Method::ListResources
            | Method::ListTemplates
            | Method::ReadResource
            | Method::ListPrompts
            | Method::GetPrompt
            | Method::Complete
            | Method::Listen => {}
        }
        let questions = session.pending_requests().filter(|_| method.may_ask());
        let questions = questions.map(|pending| (pending, &self.question_budget));
        let CallChannels { sink, peer, side_messages } = self.call_channels(
            session.caller(),
            revision,
            NotificationPrefs::read(&params, session.log_level()),
            streaming,
            questions,
        );
        let request_context = session.request_context(caller, running.token(), sink, peer);
        Ok(RequestInProgress { started: self.protocol.start(request_context, method, params), side_messages })
    }

    /// Starts a request of a stateless revision, after the checks of its envelope and headers.
    pub(super) fn stateless(
        &self,
        envelope: RequestEnvelope,
        method: &str,
        params: Params,
        caller: Caller,
        cancel: CancellationToken,
        streaming: StreamSupport,
    ) -> Result<RequestInProgress, ProtocolError> {
        let RequestEnvelope { revision, client, capabilities, level } = envelope;
        let method = Method::find(method, revision).ok_or_else(|| ProtocolError::unknown_method(method))?;
        let CallChannels { sink, peer, side_messages } =
            self.call_channels(&caller, revision, NotificationPrefs::read(&params, level), streaming, None);
        let request_context =
            RequestContext { revision, caller, session: None, client, capabilities, cancel, sink, peer };
        Ok(RequestInProgress { started: self.protocol.start(request_context, method, params), side_messages })
    }

    /// Opens the channels. Without stream support, or if the client neither wants notifications nor answers questions,
    /// everything is discarded.
    fn call_channels(
        &self,
        caller: &Caller,
        revision: Revision,
        wishes: NotificationPrefs,
        streaming: StreamSupport,
        questions: Option<(&Arc<PendingRequests>, &Arc<QuestionBudget>)>,
    ) -> CallChannels {
        let discard = || Arc::new(DiscardSink) as Arc<dyn CallSink>;
        if streaming != StreamSupport::Supported || (wishes.is_empty() && questions.is_none()) {
            return CallChannels { sink: discard(), peer: None, side_messages: None };
        }
        let (sender, side_messages) = mcp::side_message_channel();
        let peer = questions
            .map(|(pending, budget)| Arc::new(pending.requester(sender.clone(), budget)) as Arc<dyn Peer>);
        let sink = if wishes.is_empty() {
            discard()
        } else {
            Arc::new(Notifier::new(revision, wishes, sender, &self.unread_responses, caller))
        };
        CallChannels { sink, peer, side_messages: Some(side_messages) }
    }
}

/// The channels from a running call to its client.
struct CallChannels {
    sink: Arc<dyn CallSink>,
    peer: Option<Arc<dyn Peer>>,
    side_messages: Option<mpsc::Receiver<SideMessage>>,
}

/// Handles a notification. Unknown and malformed ones are ignored, and none is ever answered. Returns the id of a
/// request that the client cancelled, but that doesn't run here.
///
/// Generic JSON-RPC clients send `$/cancelRequest` in place of `notifications/cancelled`; their `$/progress` is ignored.
pub(super) fn receive_notification(
    session: Option<&Arc<Session>>,
    in_flight: &InFlightRequests,
    notification: &Notification<'_>,
) -> Option<Id> {
    let member = match &*notification.method {
        "notifications/initialized" => {
            if let Some(session) = session {
                session.set_ready();
            }
            return None;
        }
        "notifications/cancelled" => "requestId",
        "$/cancelRequest" => "id",
        _ => return None,
    };
    let id = notification.params.and_then(|params| json::member(params.get(), member));
    let id = Id::from_token(id?).ok()?;
    if in_flight.cancel(&id) { None } else { Some(id) }
}
