//! Why a request doesn't get as far as the protocol, and what its sender is told.

use axum::body::Body;
use axum::http::header::{ALLOW, CONNECTION, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use moongate_protocol::jsonrpc::{ErrorObject, UnknownId, write_error};

use crate::transport::http::PATH;

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It isn't addressed to us.
    Host,
    /// It comes from a web page that may not call.
    Origin,
    /// There is nothing at that path.
    Path,
    /// It brings no token.
    NoToken,
    /// Nobody has this token.
    BadToken,
    /// The path knows only these verbs.
    Method(&'static str),
    /// The body isn't JSON.
    ContentType,
    /// The body is compressed.
    ContentEncoding,
    /// Its sender takes nothing that we could answer.
    Accept,
    /// The body has more bytes than this.
    TooLarge(usize),
    /// The body took too long.
    Slow,
    /// The body broke off.
    BrokenOff,
}

impl Refusal {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Host | Self::Origin => StatusCode::FORBIDDEN,
            Self::Path => StatusCode::NOT_FOUND,
            Self::NoToken | Self::BadToken => StatusCode::UNAUTHORIZED,
            Self::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::ContentType | Self::ContentEncoding => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Accept => StatusCode::NOT_ACCEPTABLE,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::BrokenOff => StatusCode::BAD_REQUEST,
        }
    }

    pub(crate) fn message(self) -> String {
        match self {
            Self::Host => {
                "the `Host` header names a host that this gateway isn't known under: add it to `allowed_hosts` under `[http]`".to_owned()
            }
            Self::Origin => {
                "pages of this origin may not call: add it to `allowed_origins` under `[http]`".to_owned()
            }
            Self::Path => format!("there is nothing here: the endpoint is `{PATH}`, and `/sse` only where `legacy_sse` is on"),
            Self::NoToken => "a bearer token is needed".to_owned(),
            Self::BadToken => "the bearer token is not known".to_owned(),
            Self::Method(verbs) => format!("there is only {verbs} here"),
            Self::ContentType => "the body must be `application/json` in UTF-8".to_owned(),
            Self::ContentEncoding => "the body must not be compressed".to_owned(),
            Self::Accept => {
                "the answer is `application/json` or `text/event-stream`, and `Accept` names neither".to_owned()
            }
            Self::TooLarge(most) => format!("the body is larger than {most} bytes"),
            Self::Slow => "the body took too long to come in".to_owned(),
            Self::BrokenOff => "the body broke off".to_owned(),
        }
    }

    /// What a client of MCP is told: a JSON-RPC error without an id, because no message was read.
    pub(super) fn error(self) -> Vec<u8> {
        let mut error = Vec::new();
        write_error(&mut error, None, UnknownId::Omit, &ErrorObject::invalid_request(self.message()));
        error
    }

    /// The answer with this JSON text for a body.
    pub(crate) fn say(self, json: Vec<u8>) -> Response {
        let mut response = Response::new(Body::from(json));
        *response.status_mut() = self.status();
        let fields = response.headers_mut();
        fields.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match self {
            Self::NoToken => {
                fields.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Self::BadToken => {
                fields.insert(WWW_AUTHENTICATE, HeaderValue::from_static(r#"Bearer error="invalid_token""#));
            }
            Self::Method(verbs) => {
                fields.insert(ALLOW, HeaderValue::from_static(verbs));
            }
            Self::TooLarge(_) | Self::Slow | Self::BrokenOff => {
                fields.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Self::Host
            | Self::Origin
            | Self::Path
            | Self::ContentType
            | Self::ContentEncoding
            | Self::Accept => {}
        }
        response
    }
}
