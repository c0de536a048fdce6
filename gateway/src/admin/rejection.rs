//! Rejected requests to the admin listener, and their response: `{"error": "…"}`.

use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use serde_json::json;

use crate::admin::router::{AdminRoute, respond};
use crate::transport::http::rejection::Rejection;

/// The reason to reject a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AdminRejection {
    /// A reason that all HTTP listeners share.
    Http(Rejection),
    /// The body isn't a valid reload request, or the query is invalid.
    Body(String),
    /// The gateway is starting.
    Starting,
    /// Too many requests are waiting for a reload.
    Busy,
    /// Too many pages are kept up to date.
    TooManyPages,
    /// Too many calls from the page are running.
    TooManyTrials,
    /// The client may not call tools, for this reason.
    NoTrials(&'static str),
    /// The gateway is stopping.
    Stopping,
}

impl From<Rejection> for AdminRejection {
    fn from(rejection: Rejection) -> Self {
        Self::Http(rejection)
    }
}

impl AdminRejection {
    /// A stable word for metrics, if the request was refused before it was read.
    pub(super) fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Http(rejection) => Some(rejection.reason()),
            Self::Body(_)
            | Self::Starting
            | Self::Busy
            | Self::TooManyPages
            | Self::TooManyTrials
            | Self::NoTrials(_)
            | Self::Stopping => None,
        }
    }

    pub(super) fn respond(self) -> Response {
        let json = |status, message: &str| respond(status, "application/json", body(message));
        match self {
            Self::Http(rejection) => {
                let mut response = rejection.respond(body(&message(rejection)).into_bytes());
                if response.status() == StatusCode::UNAUTHORIZED {
                    let fields = response.headers_mut();
                    let challenge = HeaderValue::from_static(r#"Bearer realm="moongate admin""#);
                    fields.insert(WWW_AUTHENTICATE, challenge);
                    // Browsers ask for a user name and a password; the password is the token.
                    let challenge =
                        HeaderValue::from_static(r#"Basic realm="moongate admin", charset="UTF-8""#);
                    fields.append(WWW_AUTHENTICATE, challenge);
                }
                response
            }
            Self::Body(message) => json(StatusCode::BAD_REQUEST, &message),
            Self::Starting => json(StatusCode::SERVICE_UNAVAILABLE, "the gateway is starting"),
            Self::Busy => {
                json(StatusCode::SERVICE_UNAVAILABLE, "too many reload requests are waiting; try again later")
            }
            Self::TooManyPages => {
                json(StatusCode::SERVICE_UNAVAILABLE, "too many pages are open; load the page again later")
            }
            Self::TooManyTrials => {
                json(StatusCode::SERVICE_UNAVAILABLE, "too many tools are being tried; try again later")
            }
            Self::NoTrials(reason) => json(StatusCode::FORBIDDEN, reason),
            Self::Stopping => json(StatusCode::SERVICE_UNAVAILABLE, "the gateway is stopping"),
        }
    }
}

fn body(message: &str) -> String {
    format!("{}\n", json!({ "error": message }))
}

/// The messages that differ here.
fn message(rejection: Rejection) -> String {
    match rejection {
        Rejection::Host => {
            "unknown host in the `Host` header; use `localhost` or the listener's address, or add it to \
             `allowed_hosts` in `[admin]`"
                .to_owned()
        }
        Rejection::Origin => "requests from other web pages are blocked".to_owned(),
        Rejection::Path => format!("not found; available: {}", AdminRoute::list()),
        Rejection::ContentType => {
            "the body must be JSON; send `{}` with `Content-Type: application/json`".to_owned()
        }
        Rejection::MissingToken
        | Rejection::MissingCertificate
        | Rejection::ExpiredCertificate
        | Rejection::InvalidToken(_)
        | Rejection::TooManyFailedTokens(_)
        | Rejection::InsufficientScope
        | Rejection::IssuerUnavailable
        | Rejection::Method(_)
        | Rejection::ContentEncoding
        | Rejection::Accept
        | Rejection::BodyTooLarge(_)
        | Rejection::BodyTimeout
        | Rejection::IncompleteBody
        | Rejection::WebSocketVersion
        | Rejection::WebSocketHandshake
        | Rejection::Connections
        | Rejection::RequestMemory => rejection.message(),
    }
}
