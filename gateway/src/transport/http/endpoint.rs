//! Handles requests to the endpoint. The checks run in this order: host and origin, token, method, content type and
//! size. Then the server answers the request.
//!
//! The specification requires this order: a blocked web page learns nothing, and only authenticated callers reach
//! JSON-RPC.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, request};
use axum::response::Response;
use moongate_auth::{Authenticated, Authenticator, TokenProblem};
use moongate_config::{HttpConfig, parse_host};
use moongate_model::caller::Caller;
use moongate_model::names::Principal;
use moongate_protocol::dispatch::RefusedRequest;
use moongate_protocol::server::{
    Header, Headers, HttpAnswer, HttpGet, HttpPost, HttpReply, MAX_INLINE_BYTES, RequestBodyMemory, Server,
    SseEvent,
};
use moongate_system::background::{self, WorkOwner, move_to_background};
use tokio::time::Instant;

use crate::metrics::Metrics;
use crate::transport::http::auth::{RequestAuthenticator, RequestCaller, TokenValidity};
use crate::transport::http::body::{self, AcceptedTypes, MessageBody, ResponseFormat};
use crate::transport::http::caller_load::CallerLoad;
use crate::transport::http::connections::ConnectionHandle;
use crate::transport::http::failed_tokens::{AbandonedCheck, FailedTokens};
use crate::transport::http::forwarded::TrustedProxies;
use crate::transport::http::health_probes::EndpointHealth;
use crate::transport::http::listener::ListenerPurpose;
use crate::transport::http::origin::{self, OriginPolicy};
use crate::transport::http::refusal_log::RefusalLog;
use crate::transport::http::rejection::Rejection;
use crate::transport::http::sse::{self, StreamConnection};
use crate::transport::http::websocket_upgrade;
use crate::transport::trace::{Tap, Trace};

/// The supported methods.
pub(super) const ALLOWED_METHODS: &str = "GET, POST, DELETE, OPTIONS";

/// The header with the session id.
const SESSION_HEADER: &str = "mcp-session-id";

/// The state of the endpoint.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) server: Arc<Server>,
    origins: OriginPolicy,
    authenticator: RequestAuthenticator,
    health: EndpointHealth,
    failed_tokens: FailedTokens,
    proxies: TrustedProxies,
    metrics: Arc<Metrics>,
    refusals: RefusalLog,
    load: Arc<CallerLoad>,
    /// The maximum size of a body, in bytes.
    pub(super) max_body: usize,
    /// The interval between keep-alive comments on a silent stream.
    pub(super) keep_alive: Duration,
    trace: Option<Trace>,
    /// True if WebSockets are supported.
    websocket: bool,
}

impl Endpoint {
    pub(super) fn new(
        server: Arc<Server>,
        config: &HttpConfig,
        authenticator: Arc<Authenticator>,
        health: EndpointHealth,
        address: SocketAddr,
        trace: Option<Trace>,
        metrics: Arc<Metrics>,
    ) -> Self {
        let mut hosts = config.allowed_hosts.clone();
        hosts
            .extend(config.oauth.resource.iter().filter_map(|resource| parse_host(resource.url.host_str()?)));
        Self {
            server,
            origins: OriginPolicy::new(address, &hosts, &config.allowed_origins),
            authenticator: RequestAuthenticator::new(config, authenticator),
            health,
            failed_tokens: FailedTokens::default(),
            proxies: TrustedProxies::new(&config.trusted_proxies),
            metrics,
            refusals: RefusalLog::new(ListenerPurpose::Mcp),
            load: CallerLoad::of_process(),
            max_body: usize::try_from(config.max_body.as_u64()).unwrap_or(usize::MAX),
            keep_alive: config.keep_alive,
            trace,
            websocket: config.websocket,
        }
    }

    /// Answers a request after checking its host and origin.
    pub(super) async fn with_origin_check(
        &self,
        head: &request::Parts,
        answer: impl Future<Output = Result<Response, Rejection>>,
    ) -> AnsweredRequest {
        let answered = match self.origins.check(head) {
            Ok(()) => answer.await,
            Err(rejection) => {
                let why =
                    if rejection == Rejection::Host { RefusedRequest::Host } else { RefusedRequest::Origin };
                self.server.request_refused(&Caller::Address(self.address(head)), why);
                Err(rejection)
            }
        };
        let is_refused = answered.is_err();
        // Counts a refusal, even if the client disconnects now.
        let mut response = answered.unwrap_or_else(|rejection| self.refuse(head, rejection));
        self.origins.add_cors_headers(&head.headers, &mut response);
        let headers_out = response.headers_mut();
        headers_out.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        // Event streams have a value of their own.
        headers_out.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        if matches!(response.status(), StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            // Requests and responses usually end within a second. Clients that repeat requests wait longer each time.
            response.headers_mut().entry(RETRY_AFTER).or_insert(HeaderValue::from_static("1"));
        }
        AnsweredRequest { response, makes_way: is_refused.then(|| self.address(head)) }
    }

    /// The trace of the request's messages.
    pub(super) fn tap(&self, head: &request::Parts, principal: Option<&Principal>) -> Tap {
        let Some(trace) = &self.trace else { return Tap::default() };
        let client = head.extensions.get().map(|ConnectInfo(client)| *client);
        let headers = RequestHeaders(&head.headers);
        let session = match headers.get(SESSION_HEADER) {
            Header::Text(id) => Some(id),
            Header::Absent | Header::Invalid => None,
        };
        Tap::http(trace, client, principal, session)
    }

    fn refuse(&self, head: &request::Parts, rejection: Rejection) -> Response {
        self.reject(head, rejection, rejection.error(), &self.tap(head, None))
    }

    /// The response to a rejected request; `error` is its body.
    pub(super) fn reject(
        &self,
        head: &request::Parts,
        rejection: Rejection,
        error: Vec<u8>,
        tap: &Tap,
    ) -> Response {
        self.count_refusal(head, rejection);
        tap.refused(rejection.status().as_u16(), &error);
        let mut response = rejection.respond(error);
        if let Some(challenge) = self.authenticator.challenge(rejection) {
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }

    /// Counts and logs a rejected request.
    fn count_refusal(&self, head: &request::Parts, rejection: Rejection) {
        self.metrics.request_refused(ListenerPurpose::Mcp.as_str(), rejection.reason());
        if !is_metadata_probe(head, rejection) {
            self.refusals.record(self.address(head), rejection);
        }
    }

    /// The caller: its token or its address. From now on, the connection counts for it.
    pub(super) async fn caller(&self, head: &request::Parts) -> Result<RequestCaller, Rejection> {
        let address = self.address(head);
        let identity = head.extensions.get();
        let delayed = match self.authenticator.token(&head.headers) {
            Some(token) => {
                let abandoned = || {
                    let rejection = Rejection::TooManyFailedTokens(Duration::ZERO);
                    self.server.authentication_failed(address, rejection.reason());
                    self.count_refusal(head, rejection);
                };
                self.failed_tokens.delay_check(address, token, abandoned).await
            }
            None => None,
        };
        if delayed.is_some() && self.authenticator.is_unknown(&head.headers) {
            // Verifying a signature takes up to a millisecond.
            make_way(self.address(head)).await;
        }
        // The issuer may be asked about an opaque token, even if the client doesn't wait. A JWT waits only for keys.
        let abandoned = AbandonedCheck::new(|| {
            if self.authenticator.has_opaque_token(&head.headers) {
                let _ = self.failed_tokens.record(address, TokenProblem::Inactive);
            }
        });
        let authenticated = self.authenticator.authenticate(&head.headers, address, identity).await;
        abandoned.finish();
        if let Err(rejection) = &authenticated {
            self.server.authentication_failed(address, rejection.reason());
        }
        if let Err(Rejection::InvalidToken(problem)) = authenticated
            && let Some(wait) = self.failed_tokens.record(address, problem)
        {
            return Err(Rejection::TooManyFailedTokens(wait));
        }
        let Authenticated { principal, valid_for, revocation } = authenticated?;
        if let Some(token) = delayed {
            self.failed_tokens.accept(token);
        }
        let expires_at = valid_for.and_then(|rest| Instant::now().checked_add(rest));
        let caller = Caller::new(&principal, address);
        if let Some(handle) = head.extensions.get::<ConnectionHandle>() {
            handle.authenticate(&caller)?;
        }
        let in_progress = self.load.begin(&caller).await;
        Ok(RequestCaller {
            caller,
            validity: TokenValidity { expires_at, revocation, of_issuer: None },
            in_progress,
        })
    }

    /// The validity of the token of a stream, which its issuer can revoke.
    pub(super) fn of_stream(
        &self,
        validity: TokenValidity,
        head: &request::Parts,
        caller: &Caller,
    ) -> TokenValidity {
        let of_issuer = match caller {
            Caller::Subject(_) => self.authenticator.issued_token(&head.headers, self.address(head)),
            Caller::Local
            | Caller::Named(_)
            | Caller::Certificate(_)
            | Caller::User(_)
            | Caller::Operator(_)
            | Caller::Address(_) => None,
        };
        TokenValidity { of_issuer, ..validity }
    }

    /// The client's address.
    fn address(&self, head: &request::Parts) -> IpAddr {
        let peer = head.extensions.get::<ConnectInfo<SocketAddr>>();
        let peer = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ConnectInfo(peer)| peer.ip());
        self.proxies.client(peer, &head.headers)
    }

    /// Counts the headers of a request, which stay in memory while it is handled.
    pub(super) fn head_memory(
        &self,
        caller: &Caller,
        head: &request::Parts,
    ) -> Result<RequestBodyMemory, Rejection> {
        let mut memory = self.server.body_memory(caller);
        memory.grow_to(head.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum())?;
        Ok(memory)
    }

    /// The response with this reply.
    pub(super) fn respond(&self, reply: HttpReply, format: ResponseFormat, tap: &Tap) -> Response {
        tap.answered(&reply);
        let HttpReply { status, headers, body } = reply;
        let content_type = match (body.is_empty(), format) {
            (true, _) => None,
            (false, ResponseFormat::Json) => Some("application/json"),
            (false, ResponseFormat::Event) => Some("text/event-stream"),
        };
        let body = match format {
            ResponseFormat::Event if !body.is_empty() => {
                sse::body(SseEvent::Message { id: None, message: body })
            }
            ResponseFormat::Event | ResponseFormat::Json => Body::from(body.into_bytes()),
        };
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let response_headers = response.headers_mut();
        if let Some(content_type) = content_type {
            response_headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        for (name, value) in headers {
            match (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(&value)) {
                (Ok(name), Ok(value)) => {
                    response_headers.append(name, value);
                }
                _ => tracing::error!(name, "internal error: can't send a response header"),
            }
        }
        if status == StatusCode::METHOD_NOT_ALLOWED && !response_headers.contains_key(ALLOW) {
            response_headers.insert(ALLOW, HeaderValue::from_static(ALLOWED_METHODS));
        }
        response
    }

    /// Answers a request whose host and origin were checked.
    async fn answer(self: &Arc<Self>, head: &request::Parts, body: Body) -> Result<Response, Rejection> {
        if head.method == Method::OPTIONS {
            make_way(self.address(head)).await;
            return Ok(origin::preflight_response(head, ALLOWED_METHODS));
        }
        let authenticated = self.caller(head).await?;
        let principal = authenticated.caller.principal();
        let headers = RequestHeaders(&head.headers);
        let tap = self.tap(head, Some(&principal));
        if self.websocket && head.method == Method::GET && websocket_upgrade::is_upgrade(&head.headers) {
            return websocket_upgrade::accept(self, head, authenticated, tap);
        }
        let RequestCaller { caller, validity, in_progress: _in_progress } = authenticated;
        match head.method {
            Method::POST => {
                let AcceptedTypes { format, streaming } = body::check_types(&head.headers)?;
                let _head_memory = self.head_memory(&caller, head)?; // until the answer is ready
                let mut memory = self.server.body_memory(&caller);
                let body = match body::read_message(&head.headers, body, self.max_body, &mut memory).await? {
                    MessageBody::Complete(body) => body,
                    MessageBody::TooLarge(outline) => {
                        let rejection = Rejection::BodyTooLarge(self.max_body);
                        let why = rejection.message();
                        let error = self.server.refuse_post(&caller, &headers, outline, &why).await;
                        return Ok(self.reject(head, rejection, error, &tap));
                    }
                };
                tap.received(&body);
                let handle = head.extensions.get::<ConnectionHandle>();
                let active = handle.map(ConnectionHandle::begin_request);
                let memory = memory.into_share(); // until the answer is ready, because the body is kept as long
                let answer = pin!(async {
                    if body.len() > MAX_INLINE_BYTES {
                        let server = Arc::clone(&self.server);
                        let (owner, caller, headers) = (&caller, caller.clone(), head.headers.clone());
                        let answer = Box::pin(async move {
                            let headers = RequestHeaders(&headers);
                            let (caller, body, memory) = (&caller, &body, memory.as_ref());
                            server.post(HttpPost { caller, headers: &headers, body, memory, streaming }).await
                        });
                        background::spawn(owner, answer).await
                    } else {
                        let (caller, body, memory) = (&caller, &body, memory.as_ref());
                        self.server
                            .post(HttpPost { caller, headers: &headers, body, memory, streaming })
                            .await
                    }
                });
                Ok(match validity.while_not_revoked(answer).await? {
                    HttpAnswer::Whole(reply) => self.respond(reply, format, &tap),
                    HttpAnswer::Events(events) => {
                        let slot = StreamConnection::new(events.lifetime(), handle, active);
                        let end = self.of_stream(validity, head, &caller).ended();
                        let events = tap.traced(events).ending_with(end);
                        sse::respond(events, slot, self.keep_alive)
                    }
                })
            }
            Method::GET => {
                let streaming = body::accepts_events(&head.headers);
                Ok(match self.server.get(HttpGet { caller: &caller, headers: &headers, streaming }).await {
                    HttpAnswer::Whole(reply) => self.respond(reply, ResponseFormat::Json, &tap),
                    HttpAnswer::Events(events) => {
                        let slot = StreamConnection::new(events.lifetime(), head.extensions.get(), None);
                        let end = self.of_stream(validity, head, &caller).ended();
                        let events = tap.traced(events).ending_with(end);
                        sse::respond(events, slot, self.keep_alive)
                    }
                })
            }
            Method::DELETE => {
                let reply = self.server.delete(&caller, &headers).await;
                Ok(self.respond(reply, ResponseFormat::Json, &tap))
            }
            _ => Err(Rejection::Method(ALLOWED_METHODS)),
        }
    }
}

/// The response to a request.
pub(super) struct AnsweredRequest {
    response: Response,
    /// The client's address if the request was refused.
    makes_way: Option<IpAddr>,
}

impl AnsweredRequest {
    /// The response. If the request was refused, it first makes way for others. The head is dropped before: many HTTP/2
    /// streams can wait, and their heads count for no caller.
    pub(super) async fn make_way(self, head: request::Parts) -> Response {
        drop(head);
        if let Some(address) = self.makes_way {
            make_way(address).await;
        }
        self.response
    }
}

/// Continues on the background pool: peers without a known caller, whose requests count for no caller, mustn't delay
/// callers. The connection returns with its next authenticated request.
async fn make_way(address: IpAddr) {
    let peer = Caller::from_address(address);
    move_to_background(WorkOwner { plugin: None, caller: Some(&peer) }).await;
}

/// Reports whether a client only looks for OAuth metadata, as many do before they send anything else.
fn is_metadata_probe(head: &request::Parts, rejection: Rejection) -> bool {
    rejection == Rejection::Path && head.uri.path().starts_with("/.well-known/")
}

/// A request to the endpoint's path.
pub(super) async fn mcp(State(endpoint): State<Arc<Endpoint>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    // On the heap: each function that takes a future copies it, and this one has kilobytes.
    let answer = Box::pin(endpoint.answer(&head, body));
    endpoint.with_origin_check(&head, answer).await.make_way(head).await
}

/// A health probe.
pub(super) async fn health(State(endpoint): State<Arc<Endpoint>>, request: Request) -> Response {
    let (head, _) = request.into_parts();
    let answer = async { endpoint.health.answer(&head) };
    endpoint.with_origin_check(&head, answer).await.make_way(head).await
}

/// A request to any other path, such as those at which clients look for OAuth metadata. A browser asks before it sends
/// one, so a preflight succeeds even if there is nothing.
pub(super) async fn not_found(State(endpoint): State<Arc<Endpoint>>, request: Request) -> Response {
    let (head, _) = request.into_parts();
    let answer = async {
        make_way(endpoint.address(&head)).await;
        match endpoint.authenticator.metadata(&head) {
            Some(metadata) => metadata,
            None if origin::is_preflight(&head) => Ok(origin::preflight_response(&head, ALLOWED_METHODS)),
            None => Err(Rejection::Path),
        }
    };
    endpoint.with_origin_check(&head, answer).await.make_way(head).await
}

/// The headers of a request, for the server.
struct RequestHeaders<'a>(&'a HeaderMap);

fn header(value: &HeaderValue) -> Header<'_> {
    value.to_str().map_or(Header::Invalid, Header::Text)
}

impl Headers for RequestHeaders<'_> {
    fn get(&self, lower_case_name: &str) -> Header<'_> {
        let mut values = self.0.get_all(lower_case_name).iter();
        match (values.next(), values.next()) {
            (None, _) => Header::Absent,
            (Some(value), None) => header(value),
            (Some(_), Some(_)) => Header::Invalid,
        }
    }
}

#[cfg(test)]
mod tests;
