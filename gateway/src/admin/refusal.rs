//! Why the operator's listener does nothing, and what the sender is told: `{"error": "…"}`.

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use crate::admin::desk::{Route, respond};
use crate::transport::http::refusal::Refusal;

/// Why a request isn't answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// What every HTTP endpoint here refuses.
    Http(Refusal),
    /// The body doesn't say what can be done.
    Body(String),
    /// Nothing was loaded yet.
    Starting,
    /// Too many others wait for a reload.
    Busy,
    /// Nothing is loaded any more.
    Stopping,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self::Http(refusal)
    }
}

impl Refused {
    pub(super) fn respond(self) -> Response {
        let json = |status, message: &str| respond(status, "application/json", body(message));
        match self {
            Self::Http(refusal) => refusal.say(body(&message(refusal)).into_bytes()),
            Self::Body(message) => json(StatusCode::BAD_REQUEST, &message),
            Self::Starting => json(StatusCode::SERVICE_UNAVAILABLE, "the gateway is starting"),
            Self::Busy => json(
                StatusCode::SERVICE_UNAVAILABLE,
                "too many others wait for a reload: wait for one of those",
            ),
            Self::Stopping => json(StatusCode::SERVICE_UNAVAILABLE, "the gateway is stopping"),
        }
    }
}

fn body(message: &str) -> String {
    format!("{}\n", json!({ "error": message }))
}

/// What differs here: there is no configuration that lets anybody else in.
fn message(refusal: Refusal) -> String {
    match refusal {
        Refusal::Host => {
            "the `Host` header names another machine: this listener is `localhost`, or its address".to_owned()
        }
        Refusal::Origin => "web pages may not call here".to_owned(),
        Refusal::Path => format!("there is nothing here; there is {}", Route::list()),
        Refusal::ContentType => {
            "the body must be `application/json`: send `{}` with `Content-Type: application/json`".to_owned()
        }
        Refusal::NoToken
        | Refusal::BadToken
        | Refusal::Method(_)
        | Refusal::ContentEncoding
        | Refusal::Accept
        | Refusal::TooLarge(_)
        | Refusal::Slow
        | Refusal::BrokenOff => refusal.message(),
    }
}
