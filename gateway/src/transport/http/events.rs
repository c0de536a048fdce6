//! Streams of events (`text/event-stream`): messages one after the other, as the answer to one request.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt as _};
use moongate_protocol::server::{Event, Events, Lasts};

use crate::transport::http::seats::{Occupant, Turn};

/// A comment, which clients skip.
const COMMENT: &[u8] = b":\n\n";

/// A message as an event without a name. It has no line breaks.
pub(super) fn message(message: &[u8]) -> Vec<u8> {
    [b"event: message\ndata: ", message, b"\n\n"].concat()
}

/// An event of a stream. The place has no data, and says nothing to clients that don't come back.
fn event(event: Event) -> Vec<u8> {
    match event {
        Event::Place { id, retry } => {
            format!("id: {id}\nretry: {}\ndata:\n\n", retry.as_millis()).into_bytes()
        }
        Event::Message { id: None, message: text } => message(&text),
        Event::Message { id: Some(id), message } => {
            [b"event: message\nid: ", id.as_bytes(), b"\ndata: ", &message, b"\n\n"].concat()
        }
    }
}

/// What becomes of a stream's connection while it is open.
#[derive(Debug)]
pub(super) enum Seated {
    /// It is at work while something is waited for. While its client takes its time to read it isn't.
    Working {
        /// The connection.
        occupant: Option<Occupant>,
        /// There if it is at work already.
        turn: Option<Turn>,
    },
    /// It may make room for another when nothing was said on it for long: its client opens a new one.
    Idling(Option<Occupant>),
}

impl Seated {
    /// For a stream that lasts so long; `turn` is there if the connection is at work already.
    pub(super) fn new(lasts: Lasts, occupant: Option<&Occupant>, turn: Option<Turn>) -> Self {
        match lasts {
            Lasts::UntilAnswered => Self::Working { occupant: occupant.cloned(), turn },
            Lasts::UntilEnded => Self::Idling(occupant.cloned()),
        }
    }

    /// Something is waited for from now on, for as long as what is given lives.
    fn wait(&mut self) -> Option<Turn> {
        match self {
            Self::Working { occupant, turn } => turn.take().or_else(|| occupant.as_ref().map(Occupant::turn)),
            Self::Idling(_) => None,
        }
    }

    fn touch(&self) {
        match self {
            Self::Working { .. } | Self::Idling(None) => {}
            Self::Idling(Some(occupant)) => occupant.touch(),
        }
    }
}

/// The answer that is a stream.
pub(super) fn respond(events: Events, seated: Seated, keep_alive: Duration) -> Response {
    written(kept_alive(events.map(event), seated, keep_alive))
}

/// The same for a client of 2024-11-05, which first learns where to post.
pub(super) fn respond_at(uri: &str, events: Events, seated: Seated, keep_alive: Duration) -> Response {
    let first = stream::iter([Bytes::from(format!("event: endpoint\ndata: {uri}\n\n"))]);
    written(first.chain(kept_alive(events.map(event), seated, keep_alive)))
}

fn written(events: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let mut response = Response::new(Body::from_stream(events.map(Ok::<_, Infallible>)));
    let fields = response.headers_mut();
    fields.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    fields.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// The events, with comments where there is nothing to say for long: proxies cut what is silent for a minute.
fn kept_alive(
    events: impl Stream<Item = Vec<u8>> + Unpin,
    seated: Seated,
    keep_alive: Duration,
) -> impl Stream<Item = Bytes> {
    stream::unfold((events, seated), move |(mut events, mut seated)| async move {
        let _turn = seated.wait();
        let bytes = match tokio::time::timeout(keep_alive, events.next()).await {
            Ok(event) => {
                seated.touch();
                Bytes::from(event?)
            }
            Err(_) => Bytes::from_static(COMMENT),
        };
        Some((bytes, (events, seated)))
    })
}

#[cfg(test)]
mod tests;
