//! Observation of requests, from when they are read until they are answered, cancelled or dropped.

use std::net::IpAddr;
use std::time::Instant;

use crate::caller::Caller;
use crate::dispatch::{
    NetworkTransport, Observed, Observer, RefusedRequest, RequestEnd, RequestSpan, TracedRequest,
};
use crate::jsonrpc::{Id, Request};
use crate::mcp::{Method, Params, PendingAnswer, ProtocolError, RequestAnswer, Revision, StartedRequest};
use crate::names::PublicName;
use crate::session::Session;
use crate::unread_responses::CountedMessage;

use super::response_stream::RequestInProgress;
use super::{Server, response};

/// An observed request.
#[derive(Debug)]
pub(super) struct ObservedRequest {
    method: Option<Method>,
    tool: Option<PublicName>,
    revision: Option<Revision>,
    transport: NetworkTransport,
    read_at: Instant,
    /// Set if its span is recorded.
    traced: Option<Box<TracedRequest>>,
}

impl Observed for ObservedRequest {
    /// The error as [`RequestAnswer::error_kind`](crate::mcp::RequestAnswer::error_kind) names it. `None` means success.
    type End<'e> = Option<&'static str>;

    fn report(&self, observer: Option<&dyn Observer>, error: Option<&'static str>) {
        let Self { method, tool, revision, transport, read_at, traced } = self;
        if let Some(observer) = observer {
            observer.request_ended(&RequestEnd {
                method: method.map(Method::as_str),
                tool: tool.as_ref(),
                revision: revision.map(Revision::as_str),
                transport: *transport,
                error,
                took: read_at.elapsed(),
                traced: traced.as_deref(),
            });
        }
    }

    fn dropped(&self) -> Option<&'static str> {
        if std::thread::panicking() {
            Some(ProtocolError::internal("a panic").kind())
        } else if self.method == Some(Method::Listen) {
            None // closing the connection is how a client ends a notification stream
        } else {
            Some(ProtocolError::cancelled().kind())
        }
    }
}

/// The span of a request.
pub(super) type ServerSpan = RequestSpan<ObservedRequest>;

impl Server {
    /// Opens the span of a request.
    pub(super) fn span(&self, request: &Request<'_>, transport: NetworkTransport) -> ServerSpan {
        let observer = self.observer.as_ref();
        let named = |method: &Method| method.as_str() == request.method;
        let method = observer.and_then(|_| Method::ALL.into_iter().find(named));
        let request = ObservedRequest {
            method,
            tool: None,
            revision: None,
            transport,
            read_at: Instant::now(),
            traced: None,
        };
        RequestSpan::new(observer, false, request)
    }

    /// Reports that an HTTP caller wasn't authenticated. `reason` is a stable word.
    pub fn authentication_failed(&self, address: IpAddr, reason: &'static str) {
        if let Some(observer) = &self.observer {
            observer.authentication_failed(address, reason);
        }
    }

    /// Reports a refused request.
    pub fn request_refused(&self, caller: &Caller, why: RefusedRequest) {
        if let Some(observer) = &self.observer {
            observer.request_refused(caller, why);
        }
    }

    /// Adds the tool that the parameters name, if the catalog has it, and the request's place in a trace.
    pub(super) fn record_params(&self, span: &mut ServerSpan, id: &Id, caller: &Caller, params: &mut Params) {
        let Some(observer) = &self.observer else { return };
        let Some(request) = span.observed() else { return };
        if request.method == Some(Method::CallTool) {
            request.tool = self.protocol.named_tool(&caller.principal(), params);
        }
        let Some(span) = observer.request_begun(params.trace_parent()) else { return };
        params.set_span(span);
        if span.is_sampled() {
            let principal = caller.principal();
            let prompt = match request.method {
                Some(Method::GetPrompt) => self.protocol.named_prompt(&principal, params),
                Some(_) | None => None,
            };
            let uri = match request.method {
                Some(Method::ReadResource) => self.protocol.owned_uri(&principal, params),
                Some(_) | None => None,
            };
            request.traced = Some(Box::new(TracedRequest {
                span,
                link: params.trace_link(),
                id: id.clone(),
                caller: caller.clone(),
                session: None,
                prompt,
                uri,
            }));
        }
    }
}

impl ServerSpan {
    /// Adds the revision.
    pub(super) fn set_revision(&mut self, revision: Revision) {
        if let Some(request) = self.observed() {
            request.revision = Some(revision);
        }
    }

    /// Adds the session.
    pub(super) fn set_session(&mut self, session: &Session) {
        self.set_revision(session.initialize_params().revision);
        if let Some(traced) = self.observed().and_then(|request| request.traced.as_mut()) {
            traced.session = session.public_name().cloned();
        }
    }

    /// Keeps the span open until the request has its answer.
    pub(super) fn instrument(
        mut self,
        started: Result<RequestInProgress, ProtocolError>,
    ) -> Result<RequestInProgress, ProtocolError> {
        if self.observed().is_none() {
            return started;
        }
        let RequestInProgress { started: begun, side_messages } =
            started.inspect_err(|error| self.end(Some(error.kind())))?;
        let begun = match begun {
            StartedRequest::Ready(answer) => {
                self.end(answer.error_kind());
                StartedRequest::Ready(answer)
            }
            StartedRequest::Pending(later) => StartedRequest::Pending(self.instrument_later(later)),
        };
        Ok(RequestInProgress { started: begun, side_messages })
    }

    fn instrument_later(mut self, later: PendingAnswer) -> PendingAnswer {
        Box::pin(async move {
            let answer = later.await;
            self.end(answer.error_kind());
            answer
        })
    }

    /// Ends the span and renders its response.
    pub(super) fn respond(mut self, id: &Id, answer: RequestAnswer) -> CountedMessage {
        self.end(answer.error_kind());
        response(id, answer)
    }
}
