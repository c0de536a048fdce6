//! The two paths of HTTP+SSE (2024-11-05): the event stream, and the path for the client's messages. They exist only
//! with `legacy_sse`, and have the same checks as the endpoint.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, request};
use axum::response::Response;
use moongate_protocol::server::{LegacySseConnection, MAX_INLINE_BYTES, StreamSupport};
use moongate_system::background;

use crate::transport::http::auth::RequestCaller;
use crate::transport::http::body::{self, MessageBody, ResponseFormat};
use crate::transport::http::connections::ConnectionHandle;
use crate::transport::http::endpoint::Endpoint;
use crate::transport::http::origin;
use crate::transport::http::rejection::Rejection;
use crate::transport::http::sse::{self, StreamConnection};

/// The path of the event stream.
pub(super) const STREAM_PATH: &str = "/sse";
/// The path of the client's messages.
pub(super) const MESSAGES_PATH: &str = "/messages";

const STREAM_METHODS: &str = "GET, OPTIONS";
const MESSAGES_METHODS: &str = "POST, OPTIONS";

/// The query parameter with the client's id. The oldest clients ignore its name; others expect this one.
const SESSION_PARAMETER: &str = "sessionId=";

/// Handles a request to the stream's path.
pub(super) async fn stream(State(endpoint): State<Arc<Endpoint>>, request: Request) -> Response {
    let (head, _) = request.into_parts();
    let answer = endpoint.connect_legacy_sse(&head);
    endpoint.with_origin_check(&head, answer).await.make_way(head).await
}

/// Handles a request to the messages' path.
pub(super) async fn messages(State(endpoint): State<Arc<Endpoint>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let answer = endpoint.post_legacy_message(&head, body);
    endpoint.with_origin_check(&head, answer).await.make_way(head).await
}

impl Endpoint {
    async fn connect_legacy_sse(&self, head: &request::Parts) -> Result<Response, Rejection> {
        if head.method == Method::OPTIONS {
            return Ok(origin::preflight_response(head, STREAM_METHODS));
        }
        let RequestCaller { caller, validity, in_progress: _in_progress } = self.caller(head).await?;
        if head.method != Method::GET {
            return Err(Rejection::Method(STREAM_METHODS));
        }
        if body::accepts_events(&head.headers) == StreamSupport::Unsupported {
            return Err(Rejection::Accept);
        }
        let tap = self.tap(head, Some(&caller.principal()));
        Ok(match self.server.connect_legacy_sse(&caller) {
            Ok(LegacySseConnection { id, events }) => {
                let connection =
                    StreamConnection::new(events.lifetime(), head.extensions.get::<ConnectionHandle>(), None);
                let end = self.of_stream(validity, head, &caller).ended();
                let events = tap.in_session(&id).traced(events).ending_with(end);
                // Relative, so that it also works behind a proxy that adds a path prefix.
                let up = if head.uri.path().ends_with('/') { "../" } else { "" };
                let path = MESSAGES_PATH.trim_start_matches('/');
                let uri = format!("{up}{path}?{SESSION_PARAMETER}{id}");
                sse::respond_at(&uri, events, connection, self.keep_alive)
            }
            Err(reply) => self.respond(reply, ResponseFormat::Json, &tap),
        })
    }

    async fn post_legacy_message(&self, head: &request::Parts, body: Body) -> Result<Response, Rejection> {
        if head.method == Method::OPTIONS {
            return Ok(origin::preflight_response(head, MESSAGES_METHODS));
        }
        let RequestCaller { caller, validity, in_progress } = self.caller(head).await?;
        let principal = caller.principal();
        if head.method != Method::POST {
            return Err(Rejection::Method(MESSAGES_METHODS));
        }
        body::check_type(&head.headers)?;
        let _head_memory = self.head_memory(&caller, head)?;
        let mut memory = self.server.body_memory(&caller);
        let body = body::read_message(&head.headers, body, self.max_body, &mut memory).await?;
        let query = head.uri.query().unwrap_or_default();
        let id = query.split('&').find_map(|pair| pair.strip_prefix(SESSION_PARAMETER)).unwrap_or_default();
        let tap = self.tap(head, Some(&principal)).in_session(id);
        let body = match body {
            MessageBody::Complete(body) => body,
            MessageBody::TooLarge(outline) => {
                let rejection = Rejection::BodyTooLarge(self.max_body);
                let why = rejection.message();
                let error = self.server.refuse_legacy_message(&caller, id, outline, &why);
                return Ok(self.reject(head, rejection, error, &tap));
            }
        };
        tap.received(&body);
        let reply = validity.while_not_revoked(async {
            if body.len() > MAX_INLINE_BYTES {
                let (server, id) = (Arc::clone(&self.server), id.to_owned());
                let owner = caller.clone();
                background::spawn(&owner, async move {
                    server.post_legacy_message(&caller, &id, &body, memory, in_progress).await
                })
                .await
            } else {
                self.server.post_legacy_message(&caller, id, &body, memory, in_progress).await
            }
        });
        Ok(self.respond(reply.await?, ResponseFormat::Json, &tap))
    }
}
