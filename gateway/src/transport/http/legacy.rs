//! The two paths of 2024-11-05: a stream of events, and where its client posts. They are there when the operator wants
//! them; what holds for the endpoint holds for them too.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, request};
use axum::response::Response;
use moongate_protocol::server::{Hear, Visitor};

use crate::transport::Protocol;
use crate::transport::http::body::{self, Shape};
use crate::transport::http::endpoint::{Endpoint, respond};
use crate::transport::http::events::{self, Seated};
use crate::transport::http::origin;
use crate::transport::http::refusal::Refusal;
use crate::transport::http::seats::Occupant;

/// Where the stream is.
pub(super) const STREAM: &str = "/sse";
/// Where its client posts.
pub(super) const MESSAGES: &str = "/messages";

const STREAM_VERBS: &str = "GET, OPTIONS";
const MESSAGES_VERBS: &str = "POST, OPTIONS";

/// What the id is called that the client repeats. The oldest clients look for nothing, others expect this name.
const SESSION: &str = "sessionId=";

/// A request to the stream's path.
pub(super) async fn stream<P: Protocol>(
    State(endpoint): State<Arc<Endpoint<P>>>,
    request: Request,
) -> Response {
    let (head, _) = request.into_parts();
    endpoint.checked(&head, async { endpoint.visit(&head) }).await
}

/// A request to the path of messages.
pub(super) async fn messages<P: Protocol>(
    State(endpoint): State<Arc<Endpoint<P>>>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    endpoint.checked(&head, endpoint.visited(&head, body)).await
}

impl<P: Protocol> Endpoint<P> {
    fn visit(&self, head: &request::Parts) -> Result<Response, Refusal> {
        if head.method == Method::OPTIONS {
            return Ok(origin::options(head, STREAM_VERBS));
        }
        let principal = self.tokens.principal(&head.headers)?;
        if head.method != Method::GET {
            return Err(Refusal::Method(STREAM_VERBS));
        }
        if body::hears_events(&head.headers) == Hear::Response {
            return Err(Refusal::Accept);
        }
        let tap = self.tap(head, Some(&principal));
        Ok(match self.protocol.visit(&principal) {
            Ok(Visitor { id, events }) => {
                let events = tap.in_session(&id).watching(events);
                let seated = Seated::new(events.lasts(), head.extensions.get::<Occupant>(), None);
                let uri = format!("{MESSAGES}?{SESSION}{id}");
                events::respond_at(&uri, events, seated, self.keep_alive)
            }
            Err(reply) => respond(reply, Shape::Json, &tap),
        })
    }

    async fn visited(&self, head: &request::Parts, body: Body) -> Result<Response, Refusal> {
        if head.method == Method::OPTIONS {
            return Ok(origin::options(head, MESSAGES_VERBS));
        }
        let principal = self.tokens.principal(&head.headers)?;
        if head.method != Method::POST {
            return Err(Refusal::Method(MESSAGES_VERBS));
        }
        body::check_type(&head.headers)?;
        let body = body::read(&head.headers, body, self.max_body).await?;
        let query = head.uri.query().unwrap_or_default();
        let id = query.split('&').find_map(|pair| pair.strip_prefix(SESSION)).unwrap_or_default();
        let tap = self.tap(head, Some(&principal)).in_session(id);
        tap.received(&body);
        Ok(respond(self.protocol.visited(&principal, id, &body), Shape::Json, &tap))
    }
}
