//! From one message to a stream of them: an answer is lifted to events once something is said before the response.

use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use crate::jsonrpc::Id;
use crate::mcp::{Answer, ProtocolError};
use crate::server::response;
use crate::server::talk::{Messages, Said};
use crate::session::{Event, Reader, Session, Writer};

use super::{Events, HttpAnswer, HttpReply, Lasts};

/// What a request in a session comes to.
#[derive(Debug)]
pub(super) enum Lifted {
    /// Its response, and nothing before.
    Whole(Vec<u8>),
    /// A stream that ends with its response.
    Events(Reader),
    /// Nothing: it was cancelled.
    Cancelled,
    /// Nothing: the gateway stops.
    Stopping,
}

/// Lifts an answer that nobody can come back for: what isn't read isn't made. A stream of it `lasts` so long.
pub(super) async fn at_once(mut messages: Messages, id: &Id, lasts: Lasts) -> HttpAnswer {
    match messages.next().await {
        Some(Said::Response { message, status }) => HttpReply::new(status, message).into(),
        Some(first @ (Said::Notification(_) | Said::Request(_))) => {
            let event = |said: Said| Event::Message { id: None, message: said.into_message().into() };
            let events = stream::iter([first]).chain(messages).map(event);
            HttpAnswer::Events(Events::new(events, lasts))
        }
        None => HttpReply::new(200, response(id, &Answer::Error(ProtocolError::cancelled()))).into(),
    }
}

/// Lifts the answer to a request in a session. The request runs in a task of its own, which goes on when the client
/// goes away, and keeps what is said for it to come back. At `closes`, where it is given, the answer is lifted though
/// nothing was said.
pub(super) async fn in_session(
    session: &Arc<Session>,
    messages: Messages,
    closes: Option<Instant>,
) -> Lifted {
    let (tell, told) = oneshot::channel();
    tokio::spawn(run(Arc::clone(session), messages, closes, tell));
    told.await.unwrap_or(Lifted::Stopping)
}

async fn run(
    session: Arc<Session>,
    mut messages: Messages,
    closes: Option<Instant>,
    tell: oneshot::Sender<Lifted>,
) {
    let first = match closes {
        Some(at) => timeout_at(at, messages.next()).await.ok(),
        None => Some(messages.next().await),
    };
    let first = match first {
        Some(Some(Said::Response { message, .. })) => {
            let _ = tell.send(Lifted::Whole(message)); // where nobody waits any more, nobody can come back either
            return;
        }
        Some(None) => {
            let _ = tell.send(Lifted::Cancelled);
            return;
        }
        Some(said @ Some(Said::Notification(_) | Said::Request(_))) => said,
        None => None,
    };
    if tell.is_closed() {
        while messages.next().await.is_some() {} // the request goes on all the same
        return;
    }
    let (writer, reader) = session.lift(closes);
    if let Some(first) = first {
        write(&writer, first);
    }
    let _ = tell.send(Lifted::Events(reader));
    drop(session); // only the stream keeps it
    while let Some(said) = messages.next().await {
        write(&writer, said);
    }
}

fn write(writer: &Writer, said: Said) {
    match said {
        Said::Notification(message) => writer.note(message),
        Said::Request(message) | Said::Response { message, .. } => writer.say(message),
    }
}
