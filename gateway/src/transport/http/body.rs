//! A request's body: its type, what its sender takes in return, and reading it within limits.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use moongate_protocol::server::Hear;
use tokio::time::timeout;

use crate::transport::http::refusal::Refusal;

/// How long a body may take to come in.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// How long, and how much, of a body that is too large is still taken, so that its sender gets to read why it is
/// refused: a connection that is closed with bytes unread takes the answer along.
const LINGER: Duration = Duration::from_secs(5);
const LINGER_BYTES: usize = 64 * 1024 * 1024;

/// What an answer is sent as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// `application/json`.
    Json,
    /// One event of a `text/event-stream`.
    Event,
}

/// What the sender of a request takes for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Accepted {
    /// What a single message is sent as.
    pub(super) shape: Shape,
    /// Whether there may be several.
    pub(super) hear: Hear,
}

/// Checks what the body is.
///
/// # Errors
/// It is no plain JSON.
pub(crate) fn check_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(content_type), None) = (types.next(), types.next()) else { return Err(Refusal::ContentType) };
    if !content_type.to_str().is_ok_and(is_json) {
        return Err(Refusal::ContentType);
    }
    let encoded = |value: &str| !value.trim().eq_ignore_ascii_case("identity");
    if headers.get_all(CONTENT_ENCODING).iter().any(|value| value.to_str().map_or(true, encoded)) {
        return Err(Refusal::ContentEncoding);
    }
    Ok(())
}

/// Checks what the body is, and finds out what the sender takes in return.
///
/// # Errors
/// The body is no plain JSON, or the sender takes nothing that there is.
pub(super) fn check_types(headers: &HeaderMap) -> Result<Accepted, Refusal> {
    check_type(headers)?;
    let accepted: Vec<&str> =
        headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    let accepts = |types: &[&str]| accepted.iter().any(|value| accepts(value, types));
    let events = accepts(&["text/event-stream", "text/*"]);
    // `*/*` comes from clients that were never told of events: they get the response alone, where there is one.
    let anything = !headers.contains_key(ACCEPT) || accepts(&["*/*"]);
    let hear = match (events, anything) {
        (true, _) => Hear::Notifications,
        (false, true) => Hear::Anything,
        (false, false) => Hear::Response,
    };
    if anything || accepts(&["application/json", "application/*"]) {
        Ok(Accepted { shape: Shape::Json, hear })
    } else if events {
        Ok(Accepted { shape: Shape::Event, hear })
    } else {
        Err(Refusal::Accept)
    }
}

/// Finds out whether the sender of a GET takes events: whoever names no type takes any.
pub(super) fn hears_events(headers: &HeaderMap) -> Hear {
    let named = |value: &HeaderValue| {
        value.to_str().is_ok_and(|value| accepts(value, &["text/event-stream", "text/*", "*/*"]))
    };
    if !headers.contains_key(ACCEPT) || headers.get_all(ACCEPT).iter().any(named) {
        Hear::Notifications
    } else {
        Hear::Response
    }
}

/// `application/json`, with no character set or UTF-8.
fn is_json(value: &str) -> bool {
    let mut parts = value.split(';').map(str::trim);
    if !parts.next().is_some_and(|it| it.eq_ignore_ascii_case("application/json")) {
        return false;
    }
    parts.filter_map(|parameter| parameter.split_once('=')).all(|(name, value)| {
        let value = value.trim_matches('"');
        !name.eq_ignore_ascii_case("charset")
            || value.eq_ignore_ascii_case("utf-8")
            || value.eq_ignore_ascii_case("utf8")
    })
}

/// Does it name one of `types`? Clients were seen to send only one of MCP's two, or `*/*`.
fn accepts(value: &str, types: &[&str]) -> bool {
    value.split(',').any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let refused = parts.any(|it| {
            it.strip_prefix("q=").and_then(|q| q.parse::<f32>().ok()).is_some_and(|quality| quality <= 0.0)
        });
        !refused && types.iter().any(|it| it.eq_ignore_ascii_case(name))
    })
}

/// Reads a body of at most `most` bytes.
///
/// # Errors
/// It is larger, takes too long, or breaks off.
pub(crate) async fn read(headers: &HeaderMap, body: Body, most: usize) -> Result<Bytes, Refusal> {
    let mut stream = body.into_data_stream();
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > most as u64) {
        tokio::spawn(linger(stream));
        return Err(Refusal::TooLarge(most));
    }
    match timeout(BODY_TIMEOUT, collect(&mut stream, most)).await {
        Ok(Err(refusal @ Refusal::TooLarge(_))) => {
            tokio::spawn(linger(stream));
            Err(refusal)
        }
        Ok(read) => read,
        Err(_) => Err(Refusal::Slow),
    }
}

async fn collect(stream: &mut BodyDataStream, most: usize) -> Result<Bytes, Refusal> {
    let mut whole: Option<BytesMut> = None;
    let mut first = Bytes::new();
    while let Some(piece) = stream.next().await {
        let piece = piece.map_err(|_| Refusal::BrokenOff)?;
        let before = whole.as_ref().map_or(first.len(), BytesMut::len);
        if before + piece.len() > most {
            return Err(Refusal::TooLarge(most));
        }
        match &mut whole {
            Some(whole) => whole.extend_from_slice(&piece),
            None if first.is_empty() => first = piece, // most bodies come in one piece: nothing is copied then
            None => {
                let mut joined = BytesMut::with_capacity((first.len() + piece.len()) * 2);
                joined.extend_from_slice(&first);
                joined.extend_from_slice(&piece);
                whole = Some(joined);
            }
        }
    }
    Ok(whole.map_or(first, BytesMut::freeze))
}

/// Takes what still comes of a refused body, and drops it.
async fn linger(mut stream: BodyDataStream) {
    let drain = async {
        let mut taken = 0;
        while let Some(Ok(piece)) = stream.next().await {
            taken += piece.len();
            if taken > LINGER_BYTES {
                return;
            }
        }
    };
    let _ = timeout(LINGER, drain).await;
}

#[cfg(test)]
mod tests;
