//! Requests that are rejected before they reach the MCP server, and their HTTP responses.

use std::time::Duration;

use axum::body::Body;
use axum::http::header::{ALLOW, CONNECTION, CONTENT_TYPE, RETRY_AFTER, SEC_WEBSOCKET_VERSION};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use moongate_auth::TokenProblem;
use moongate_model::call_rate::whole_seconds;
use moongate_protocol::jsonrpc::{ErrorObject, MissingId, write_error};
use moongate_protocol::mcp::ProtocolError;
use moongate_protocol::server::{TOO_MANY_LARGE_REQUESTS, TooManyLargeRequests};

use crate::transport::http::MCP_PATH;
use crate::transport::http::connections::TooManyConnections;
use crate::transport::websocket::{SUBPROTOCOL, SUPPORTED_VERSION};

/// The time after which a client can try again if an issuer doesn't answer, in seconds.
const ISSUER_RETRY_SECONDS: &str = "5";

/// The reason to reject a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// The `Host` header names another host.
    Host,
    /// The `Origin` header names a web page that isn't allowed to call.
    Origin,
    /// Nothing is served at the path.
    Path,
    /// The request has no token.
    MissingToken,
    /// The request has neither a token nor a client certificate, and tokens aren't accepted.
    MissingCertificate,
    /// The client certificate has expired since the connection was opened.
    ExpiredCertificate,
    /// The token isn't accepted.
    InvalidToken(TokenProblem),
    /// The token isn't accepted, after too many others that weren't either. The client can try again after this time.
    TooManyFailedTokens(Duration),
    /// The token is accepted, but has too few scopes.
    InsufficientScope,
    /// The token can't be verified, because its issuer doesn't answer.
    IssuerUnavailable,
    /// The path supports only these methods.
    Method(&'static str),
    /// The body isn't JSON.
    ContentType,
    /// The body is compressed.
    ContentEncoding,
    /// The client accepts none of the response types.
    Accept,
    /// The body is larger than this many bytes.
    BodyTooLarge(usize),
    /// The body took too long.
    BodyTimeout,
    /// The body is incomplete.
    IncompleteBody,
    /// The request asks for a WebSocket in another version.
    WebSocketVersion,
    /// The request asks for a WebSocket, but isn't a complete handshake that offers the subprotocol.
    WebSocketHandshake,
    /// The caller has too many connections, and all of them are busy.
    Connections,
    /// The caller's requests use too much memory.
    RequestMemory,
}

impl From<TooManyLargeRequests> for Rejection {
    fn from(TooManyLargeRequests: TooManyLargeRequests) -> Self {
        Self::RequestMemory
    }
}

impl From<TooManyConnections> for Rejection {
    fn from(TooManyConnections: TooManyConnections) -> Self {
        Self::Connections
    }
}

impl Rejection {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Host
            | Self::Origin
            | Self::InsufficientScope
            | Self::MissingCertificate
            | Self::ExpiredCertificate => StatusCode::FORBIDDEN,
            Self::Path => StatusCode::NOT_FOUND,
            Self::MissingToken | Self::InvalidToken(_) => StatusCode::UNAUTHORIZED,
            Self::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::ContentType | Self::ContentEncoding => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Accept => StatusCode::NOT_ACCEPTABLE,
            Self::BodyTooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::WebSocketVersion => StatusCode::UPGRADE_REQUIRED,
            Self::IncompleteBody | Self::WebSocketHandshake => StatusCode::BAD_REQUEST,
            Self::TooManyFailedTokens(_) | Self::Connections => StatusCode::TOO_MANY_REQUESTS,
            Self::IssuerUnavailable | Self::RequestMemory => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// A stable word for metrics.
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Origin => "origin",
            Self::Path => "path",
            Self::MissingToken => "missing_token",
            Self::MissingCertificate => "missing_certificate",
            Self::ExpiredCertificate => "expired_certificate",
            Self::InvalidToken(problem) => problem.reason(),
            Self::TooManyFailedTokens(_) => "failed_tokens",
            Self::InsufficientScope => "insufficient_scope",
            Self::IssuerUnavailable => "issuer_unavailable",
            Self::Method(_) => "method",
            Self::ContentType => "content_type",
            Self::ContentEncoding => "content_encoding",
            Self::Accept => "accept",
            Self::BodyTooLarge(_) => "body_too_large",
            Self::BodyTimeout => "body_timeout",
            Self::IncompleteBody => "incomplete_body",
            Self::WebSocketVersion => "websocket_version",
            Self::WebSocketHandshake => "websocket_handshake",
            Self::Connections => "connections",
            Self::RequestMemory => "request_memory",
        }
    }

    pub(crate) fn message(self) -> String {
        match self {
            Self::Host => {
                "unknown host in the `Host` header; add it to `allowed_hosts` in `[http]`".to_owned()
            }
            Self::Origin => {
                "requests from this web origin are blocked; add it to `allowed_origins` in `[http]`"
                    .to_owned()
            }
            Self::Path => {
                format!("not found; the MCP endpoint is `{MCP_PATH}` (`/sse` requires `legacy_sse`)")
            }
            Self::MissingToken => "a bearer token is required".to_owned(),
            Self::MissingCertificate => "a client certificate is required".to_owned(),
            Self::ExpiredCertificate => {
                "the client certificate has expired; connect again with a new one".to_owned()
            }
            Self::InvalidToken(problem) => problem.description().to_owned(),
            Self::TooManyFailedTokens(_) => {
                "too many invalid tokens from this address; use a valid token, or wait before the next attempt"
                    .to_owned()
            }
            Self::InsufficientScope => "the token needs more scopes".to_owned(),
            Self::IssuerUnavailable => {
                "the token can't be verified now: the authorization server isn't responding".to_owned()
            }
            Self::Method(methods) => format!("method not allowed; supported: {methods}"),
            Self::ContentType => "the body must be `application/json` in UTF-8".to_owned(),
            Self::ContentEncoding => "the body must not be compressed".to_owned(),
            Self::Accept => "`Accept` must include `application/json` or `text/event-stream`".to_owned(),
            Self::BodyTooLarge(most) => format!("the body is larger than {most} bytes"),
            Self::BodyTimeout => "timed out while reading the body".to_owned(),
            Self::IncompleteBody => "the body is incomplete".to_owned(),
            Self::WebSocketVersion => {
                format!("unsupported WebSocket version; supported: {SUPPORTED_VERSION}")
            }
            Self::WebSocketHandshake => {
                format!("a WebSocket needs a complete handshake over HTTP/1.1 with the subprotocol `{SUBPROTOCOL}`")
            }
            Self::Connections => {
                "busy: too many of your connections have running requests; wait until some have ended"
                    .to_owned()
            }
            Self::RequestMemory => TOO_MANY_LARGE_REQUESTS.to_owned(),
        }
    }

    /// The JSON-RPC error for an MCP client. It has no id, because no message was read.
    pub(super) fn error(self) -> Vec<u8> {
        let object = match self {
            Self::RequestMemory => ProtocolError::internal(self.message()).error,
            _ => ErrorObject::invalid_request(self.message()),
        };
        let mut error = Vec::new();
        write_error(&mut error, None, MissingId::Omit, &object);
        error
    }

    /// The response with this JSON body.
    ///
    /// If the server is at fault, the body is plain text: in such a response, rmcp mistakes an error without an id for
    /// a message that answers none of its requests, and waits forever.
    pub(crate) fn respond(self, json: Vec<u8>) -> Response {
        let (content_type, body) = if matches!(self, Self::IssuerUnavailable | Self::RequestMemory) {
            ("text/plain; charset=utf-8", Body::from(self.message()))
        } else {
            ("application/json", Body::from(json))
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status();
        let headers_out = response.headers_mut();
        headers_out.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        match self {
            Self::IssuerUnavailable => {
                headers_out.insert(RETRY_AFTER, HeaderValue::from_static(ISSUER_RETRY_SECONDS));
            }
            Self::TooManyFailedTokens(wait) => {
                headers_out.insert(RETRY_AFTER, whole_seconds(wait).into());
            }
            Self::Method(methods) => {
                headers_out.insert(ALLOW, HeaderValue::from_static(methods));
            }
            Self::WebSocketVersion => {
                headers_out.insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static(SUPPORTED_VERSION));
            }
            Self::BodyTooLarge(_)
            | Self::BodyTimeout
            | Self::IncompleteBody
            | Self::Connections
            | Self::ExpiredCertificate
            | Self::RequestMemory => {
                headers_out.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Self::Host
            | Self::Origin
            | Self::Path
            | Self::MissingToken
            | Self::MissingCertificate
            | Self::InvalidToken(_)
            | Self::InsufficientScope
            | Self::ContentType
            | Self::ContentEncoding
            | Self::WebSocketHandshake
            | Self::Accept => {}
        }
        response
    }
}
