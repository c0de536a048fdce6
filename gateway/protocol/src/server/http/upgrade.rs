//! Upgrades a response to an event stream if something is sent before it.

use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::jsonrpc::Id;
use crate::mcp::{ProtocolError, RequestAnswer};
use crate::server::response;
use crate::server::response_stream::{OutgoingMessage, ResponseStream};
use crate::session::{EventReader, EventWriter, Session, SseEvent};
use crate::unread_responses::CountedMessage;

use super::{EventStream, HttpAnswer, HttpReply, StreamLifetime};

/// The answer to a request in a session.
#[derive(Debug)]
pub(super) enum Upgraded {
    /// The response, with nothing before it.
    Response(CountedMessage),
    /// A stream that ends with the response.
    Stream(EventReader),
    /// No answer, because the request was cancelled.
    Cancelled,
    /// No answer, because the gateway stops.
    Stopping,
}

/// Upgrades an answer that can't be resumed: a message is created only when the client reads it.
pub(super) async fn stateless(mut messages: ResponseStream, id: &Id, lifetime: StreamLifetime) -> HttpAnswer {
    match messages.next().await {
        Some(OutgoingMessage::Response { message, status }) => HttpReply::new(status, message).into(),
        Some(first @ (OutgoingMessage::Notification(_) | OutgoingMessage::Request(_))) => {
            let event =
                |message: OutgoingMessage| SseEvent::Message { id: None, message: message.into_message() };
            let events = stream::iter([first]).chain(messages).map(event);
            HttpAnswer::Events(EventStream::new(events, lifetime))
        }
        None => HttpReply::new(200, response(id, RequestAnswer::Error(ProtocolError::cancelled()))).into(),
    }
}

/// Upgrades the answer to a request in a session. The request runs in a task of its own, which continues if the client
/// disconnects, and its messages are kept for a reconnect. At `closes_at`, the answer becomes a stream even if nothing
/// was sent yet.
pub(super) async fn in_session(
    session: &Arc<Session>,
    request: &Id,
    messages: ResponseStream,
    closes_at: Option<Instant>,
) -> Upgraded {
    let (sender, upgraded) = oneshot::channel();
    tokio::spawn(run(Arc::clone(session), request.clone(), messages, closes_at, sender));
    upgraded.await.unwrap_or(Upgraded::Stopping)
}

async fn run(
    session: Arc<Session>,
    request: Id,
    mut messages: ResponseStream,
    closes_at: Option<Instant>,
    upgraded: oneshot::Sender<Upgraded>,
) {
    let first = match closes_at {
        Some(at) => timeout_at(at, messages.next()).await.ok(),
        None => Some(messages.next().await),
    };
    let first = match first {
        Some(Some(OutgoingMessage::Response { message, .. })) => {
            let _ = upgraded.send(Upgraded::Response(message)); // without a stream, a lost client can't resume
            return;
        }
        Some(None) => {
            let _ = upgraded.send(Upgraded::Cancelled);
            return;
        }
        Some(message @ Some(OutgoingMessage::Notification(_) | OutgoingMessage::Request(_))) => message,
        None => None,
    };
    if upgraded.is_closed() {
        while messages.next().await.is_some() {} // the request still runs to its end
        return;
    }
    let (writer, reader) = session.open_stream(closes_at);
    writer.share(&request);
    if let Some(first) = first {
        write(&writer, first);
    }
    let _ = upgraded.send(Upgraded::Stream(reader));
    drop(session); // from here on only the stream keeps it alive
    while let Some(message) = messages.next().await {
        write(&writer, message);
    }
}

fn write(writer: &EventWriter, message: OutgoingMessage) {
    match message {
        OutgoingMessage::Notification(message) => writer.send_droppable(message),
        OutgoingMessage::Request(message) => writer.send(message.into()),
        OutgoingMessage::Response { message, .. } => writer.send(message),
    }
}
