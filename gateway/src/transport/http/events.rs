//! Streams of events (`text/event-stream`): several messages as the answer to one request.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt as _};
use moongate_core::server::{Events, Messages, Said};

use crate::transport::http::seats::Turn;

/// How often a silent stream says that it is alive: proxies cut what is silent for a minute.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A comment, which clients skip.
const COMMENT: &[u8] = b":\n\n";

/// A message as an event. It has no line breaks.
pub(super) fn event(message: &[u8]) -> Vec<u8> {
    [b"event: message\ndata: ", message, b"\n\n"].concat()
}

/// The answer that is lifted to a stream. Its connection is at work until the stream ends.
pub(super) fn respond(events: Events, turn: Option<Turn>) -> Response {
    let Events { first, rest } = events;
    let first = stream::iter([Bytes::from(event(&first))]);
    let all = first.chain(kept_alive(rest, turn)).map(Ok::<_, Infallible>);
    let mut response = Response::new(Body::from_stream(all));
    let fields = response.headers_mut();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    fields.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// The messages as events, with comments where there is nothing to say for long.
fn kept_alive(messages: Messages, turn: Option<Turn>) -> impl Stream<Item = Bytes> {
    stream::unfold((messages, turn), |(mut messages, turn)| async move {
        let bytes = match tokio::time::timeout(KEEP_ALIVE, messages.next()).await {
            Ok(said) => Bytes::from(event(&Said::into_message(said?))),
            Err(_) => Bytes::from_static(COMMENT),
        };
        Some((bytes, (messages, turn)))
    })
}
