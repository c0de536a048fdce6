//! What a request to the endpoint goes through, in this order: where it is addressed and which page sent it, who
//! calls, the verb, the body's type and size; then the protocol.
//!
//! The order is the specification's: a web page that may not call learns nothing, and nobody without a token gets
//! as far as JSON-RPC.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, request};
use axum::response::Response;
use moongate_core::config::HttpConfig;
use moongate_model::names::Principal;
use moongate_protocol::server::{Get, Header, Headers, HttpAnswer, HttpReply, Post};

use crate::transport::Protocol;
use crate::transport::http::auth::Tokens;
use crate::transport::http::body::{self, Accepted, Shape};
use crate::transport::http::events::{self, Seated};
use crate::transport::http::origin::{self, Origins};
use crate::transport::http::refusal::Refusal;
use crate::transport::http::seats::Occupant;
use crate::transport::trace::{Tap, Trace};

/// The verbs that lead to something.
pub(super) const VERBS: &str = "GET, POST, DELETE, OPTIONS";

/// The header that names a session.
const SESSION: &str = "mcp-session-id";

/// What every request is checked against, and what answers it.
#[derive(Debug)]
pub(super) struct Endpoint<P> {
    pub(super) protocol: Arc<P>,
    origins: Origins,
    pub(super) tokens: Tokens,
    /// The largest body, in bytes.
    pub(super) max_body: usize,
    /// How often a silent stream says that it is alive.
    pub(super) keep_alive: Duration,
    trace: Option<Trace>,
}

impl<P: Protocol> Endpoint<P> {
    pub(super) fn new(
        protocol: Arc<P>,
        config: &HttpConfig,
        address: SocketAddr,
        trace: Option<Trace>,
    ) -> Self {
        Self {
            protocol,
            origins: Origins::new(address, &config.allowed_hosts, &config.allowed_origins),
            tokens: Tokens::new(config),
            max_body: usize::try_from(config.max_body.as_u64()).unwrap_or(usize::MAX),
            keep_alive: config.keep_alive,
            trace,
        }
    }

    /// Answers a request that comes from where it may come from.
    pub(super) async fn checked(
        &self,
        head: &request::Parts,
        answer: impl Future<Output = Result<Response, Refusal>>,
    ) -> Response {
        if let Err(refusal) = self.origins.check(head) {
            return self.refuse(head, refusal);
        }
        let mut response = answer.await.unwrap_or_else(|refusal| self.refuse(head, refusal));
        origin::expose(&head.headers, &mut response);
        response
    }

    /// Where the messages of a request are told.
    pub(super) fn tap(&self, head: &request::Parts, principal: Option<&Principal>) -> Tap {
        let Some(trace) = &self.trace else { return Tap::default() };
        let client = head.extensions.get().map(|ConnectInfo(client)| *client);
        let fields = Fields(&head.headers);
        let session = match fields.get(SESSION) {
            Header::Text(id) => Some(id),
            Header::Absent | Header::Invalid => None,
        };
        Tap::http(trace, client, principal, session)
    }

    fn refuse(&self, head: &request::Parts, refusal: Refusal) -> Response {
        let error = refusal.error();
        self.tap(head, None).refused(refusal.status().as_u16(), &error);
        refusal.say(error)
    }

    /// Everything after the checks of host and origin.
    async fn answer(&self, head: &request::Parts, body: Body) -> Result<Response, Refusal> {
        if head.method == Method::OPTIONS {
            return Ok(origin::options(head, VERBS));
        }
        let principal = self.tokens.principal(&head.headers)?;
        let fields = Fields(&head.headers);
        let tap = self.tap(head, Some(&principal));
        match head.method {
            Method::POST => {
                let Accepted { shape, hear } = body::check_types(&head.headers)?;
                let body = body::read(&head.headers, body, self.max_body).await?;
                tap.received(&body);
                let occupant = head.extensions.get::<Occupant>();
                let turn = occupant.map(Occupant::turn);
                let post = Post { principal: &principal, headers: &fields, body: &body, hear };
                Ok(match self.protocol.post(post).await {
                    HttpAnswer::Whole(reply) => respond(reply, shape, &tap),
                    HttpAnswer::Events(events) => {
                        let seat = Seated::new(events.lasts(), occupant, turn);
                        events::respond(tap.watching(events), seat, self.keep_alive)
                    }
                })
            }
            Method::GET => {
                let hear = body::hears_events(&head.headers);
                Ok(match self.protocol.get(Get { principal: &principal, headers: &fields, hear }) {
                    HttpAnswer::Whole(reply) => respond(reply, Shape::Json, &tap),
                    HttpAnswer::Events(events) => {
                        let seat = Seated::new(events.lasts(), head.extensions.get(), None);
                        events::respond(tap.watching(events), seat, self.keep_alive)
                    }
                })
            }
            Method::DELETE => Ok(respond(self.protocol.delete(&principal, &fields), Shape::Json, &tap)),
            _ => Err(Refusal::Method(VERBS)),
        }
    }
}

/// A request to the endpoint's path.
pub(super) async fn mcp<P: Protocol>(State(endpoint): State<Arc<Endpoint<P>>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    endpoint.checked(&head, endpoint.answer(&head, body)).await
}

/// A request to any other path.
pub(super) async fn elsewhere<P: Protocol>(
    State(endpoint): State<Arc<Endpoint<P>>>,
    request: Request,
) -> Response {
    let (head, _) = request.into_parts();
    endpoint.refuse(&head, endpoint.origins.check(&head).err().unwrap_or(Refusal::Path))
}

pub(super) fn respond(reply: HttpReply, shape: Shape, tap: &Tap) -> Response {
    tap.answered(&reply);
    let HttpReply { status, headers, body } = reply;
    let content_type = match (body.is_empty(), shape) {
        (true, _) => None,
        (false, Shape::Json) => Some("application/json"),
        (false, Shape::Event) => Some("text/event-stream"),
    };
    let mut response = Response::new(Body::from(match shape {
        Shape::Event if !body.is_empty() => events::message(&body),
        Shape::Event | Shape::Json => body,
    }));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let fields = response.headers_mut();
    if let Some(content_type) = content_type {
        fields.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    for (name, value) in headers {
        match (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(&value)) {
            (Ok(name), Ok(value)) => {
                fields.append(name, value);
            }
            _ => tracing::error!(name, "a header of an answer can't be sent"),
        }
    }
    if status == StatusCode::METHOD_NOT_ALLOWED && !fields.contains_key(ALLOW) {
        fields.insert(ALLOW, HeaderValue::from_static(VERBS));
    }
    response
}

/// A request's headers as the protocol sees them.
struct Fields<'a>(&'a HeaderMap);

fn header(value: &HeaderValue) -> Header<'_> {
    value.to_str().map_or(Header::Invalid, Header::Text)
}

impl Headers for Fields<'_> {
    fn get(&self, lower_case_name: &str) -> Header<'_> {
        let mut values = self.0.get_all(lower_case_name).iter();
        match (values.next(), values.next()) {
            (None, _) => Header::Absent,
            (Some(value), None) => header(value),
            (Some(_), Some(_)) => Header::Invalid,
        }
    }
}
