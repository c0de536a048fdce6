//! Event streams (`text/event-stream`).

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt as _};
use moongate_protocol::server::{EventStream, SseEvent, StreamLifetime};

use crate::transport::http::connections::{ActiveRequest, ConnectionHandle};

/// The size from which a message is sent in parts of its own, in bytes.
const MIN_UNCOPIED_BYTES: usize = 16 * 1024;

/// A comment, which clients ignore.
const EMPTY_COMMENT_LINE: &[u8] = b":\n\n";

/// The bytes of an event. A priming event has no data, so clients that can't resume ignore it. JSON-RPC messages contain
/// no line breaks. A large message isn't copied.
pub(super) fn event(event: SseEvent) -> impl Iterator<Item = Bytes> {
    let parts = match event {
        SseEvent::Priming { id, retry } => {
            [format!("id: {id}\nretry: {}\ndata:\n\n", retry.as_millis()).into(), Bytes::new(), Bytes::new()]
        }
        SseEvent::Message { id, message } => {
            let head = match id {
                Some(id) => format!("event: message\nid: {id}\ndata: "),
                None => "event: message\ndata: ".to_owned(),
            };
            if message.len() < MIN_UNCOPIED_BYTES {
                [[head.as_bytes(), &message[..], b"\n\n"].concat().into(), Bytes::new(), Bytes::new()]
            } else {
                [head.into(), message.into_bytes(), Bytes::from_static(b"\n\n")]
            }
        }
    };
    parts.into_iter().filter(|part| !part.is_empty())
}

/// The body with one event.
pub(super) fn body(one: SseEvent) -> Body {
    let mut parts: Vec<Bytes> = event(one).collect();
    match parts.pop() {
        Some(only) if parts.is_empty() => Body::from(only),
        last => Body::from_stream(stream::iter(parts.into_iter().chain(last).map(Ok::<_, Infallible>))),
    }
}

/// The connection of an open stream.
#[derive(Debug)]
pub(super) enum StreamConnection {
    /// The connection is busy while the stream waits for the gateway, and idle while the client is slow to read.
    Active {
        /// The connection.
        handle: Option<ConnectionHandle>,
        /// The active request, if there already is one.
        active: Option<ActiveRequest>,
    },
    /// The connection can be evicted after a long time without sending anything; its client then opens a new one.
    Idle(Option<ConnectionHandle>),
}

impl StreamConnection {
    /// The connection of a stream with this lifetime. `active` is its active request, if there already is one.
    pub(super) fn new(
        lifetime: StreamLifetime,
        handle: Option<&ConnectionHandle>,
        active: Option<ActiveRequest>,
    ) -> Self {
        match lifetime {
            StreamLifetime::UntilResponse => Self::Active { handle: handle.cloned(), active },
            StreamLifetime::UntilClosed => Self::Idle(handle.cloned()),
        }
    }

    /// Marks the connection as busy until the returned request is dropped.
    fn wait(&mut self) -> Option<ActiveRequest> {
        match self {
            Self::Active { handle, active } => {
                active.take().or_else(|| handle.as_ref().map(ConnectionHandle::begin_request))
            }
            Self::Idle(_) => None,
        }
    }

    fn touch(&self) {
        match self {
            Self::Active { .. } | Self::Idle(None) => {}
            Self::Idle(Some(handle)) => handle.touch(),
        }
    }
}

/// The response with an event stream.
pub(super) fn respond(events: EventStream, connection: StreamConnection, keep_alive: Duration) -> Response {
    event_stream(with_keep_alive(bytes(events), connection, keep_alive))
}

/// The same for a client of 2024-11-05. The first event is the URI for its messages.
pub(super) fn respond_at(
    uri: &str,
    events: EventStream,
    connection: StreamConnection,
    keep_alive: Duration,
) -> Response {
    let first = stream::iter([Bytes::from(format!("event: endpoint\ndata: {uri}\n\n"))]);
    event_stream(first.chain(with_keep_alive(bytes(events), connection, keep_alive)))
}

fn bytes(events: EventStream) -> impl Stream<Item = Bytes> + Send + Unpin + 'static {
    events.flat_map(|one| stream::iter(event(one)))
}

fn event_stream(events: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let mut response = Response::new(Body::from_stream(events.map(Ok::<_, Infallible>)));
    let headers_out = response.headers_mut();
    headers_out.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers_out.insert(CACHE_CONTROL, HeaderValue::from_static("no-store, no-transform"));
    headers_out.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// The events, with a comment whenever nothing was sent for `keep_alive`: proxies close a connection that is silent for
/// a minute.
fn with_keep_alive(
    events: impl Stream<Item = Bytes> + Unpin,
    connection: StreamConnection,
    keep_alive: Duration,
) -> impl Stream<Item = Bytes> {
    stream::unfold((events, connection), move |(mut events, mut connection)| async move {
        let _active = connection.wait();
        let bytes = match tokio::time::timeout(keep_alive, events.next()).await {
            Ok(event) => {
                connection.touch();
                event?
            }
            Err(_) => Bytes::from_static(EMPTY_COMMENT_LINE),
        };
        Some((bytes, (events, connection)))
    })
}

#[cfg(test)]
mod tests;
