//! The messages of one request: notifications and questions while it runs, then the response, as one stream.
//!
//! A transport that can carry several messages for one request writes them in this order. A transport without
//! [`StreamSupport`] receives only the response.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;

use futures_util::FutureExt;
use futures_util::stream::{self, Stream};
use moongate_system::background::{MovableFuture, WorkOwner, move_to_background};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::caller::Caller;
use crate::jsonrpc::Id;
use crate::mcp::{Method, PendingAnswer, ProtocolError, RequestAnswer, SideMessage, StartedRequest};
use crate::session::RunningRequest;
use crate::unread_responses::CountedMessage;

use super::MAX_INLINE_BYTES;
use super::ResponseRenderer;
use super::detach::DetachOnDrop;

/// Support, by the transport and the client, for several messages in response to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamSupport {
    /// The response can be a stream with notifications and questions.
    Supported,
    /// The transport supports streams, but the client might not: only the response is sent.
    Unknown,
    /// Only the response can be sent.
    Unsupported,
}

/// One message to the client.
#[derive(Debug, PartialEq, Eq)]
pub enum OutgoingMessage {
    /// A notification that belongs to a running request.
    Notification(CountedMessage),
    /// A question. The client answers it with a message of its own.
    Request(Vec<u8>),
    /// The response, which is the last message.
    Response {
        /// The message.
        message: CountedMessage,
        /// The HTTP status, if this is also the first message.
        status: u16,
    },
}

impl OutgoingMessage {
    /// The JSON-RPC message.
    #[must_use]
    pub fn into_message(self) -> CountedMessage {
        match self {
            Self::Request(message) => message.into(),
            Self::Notification(message) | Self::Response { message, .. } => message,
        }
    }
}

impl From<SideMessage> for OutgoingMessage {
    fn from(message: SideMessage) -> Self {
        match message {
            SideMessage::Notification(message) => Self::Notification(message),
            SideMessage::Withdrawal(message) => Self::Notification(message.into()),
            SideMessage::Request(message) => Self::Request(message),
        }
    }
}

/// All messages of one request, in order. The stream ends without a response if the request was cancelled.
pub type ResponseStream = Pin<Box<dyn Stream<Item = OutgoingMessage> + Send>>;

/// A request in progress, and the notifications and questions that it sends before its response.
#[derive(Debug)]
pub(super) struct RequestInProgress {
    pub(super) started: StartedRequest,
    pub(super) side_messages: Option<mpsc::Receiver<SideMessage>>,
}

impl RequestInProgress {
    /// A request that is already answered.
    pub(super) fn done(answer: RequestAnswer) -> Self {
        Self { started: StartedRequest::Ready(answer), side_messages: None }
    }

    /// The same request; dropping it sets `cancel` and lets the call continue in the background for its plugin's
    /// cancellation grace.
    pub(super) fn detached_on_drop(self, cancel: CancellationToken) -> Self {
        let begun = match self.started {
            StartedRequest::Pending(later) => {
                StartedRequest::Pending(Box::pin(DetachOnDrop::new(later, cancel)))
            }
            now @ StartedRequest::Ready(_) => now,
        };
        Self { started: begun, ..self }
    }
}

/// Waits for the answer. A panic becomes an error response with the request's id. The response with a large shared answer
/// is rendered on the background pool, for `caller`. Until then, the answer takes no memory of its own.
pub(super) async fn finish(begun: StartedRequest, caller: &Caller) -> RequestAnswer {
    match begun {
        StartedRequest::Ready(answer) => {
            if answer.shared_bytes() > MAX_INLINE_BYTES {
                move_to_background(WorkOwner { plugin: None, caller: Some(caller) }).await;
            }
            answer
        }
        StartedRequest::Pending(later) => catch_panic(later).await,
    }
}

async fn catch_panic(later: PendingAnswer) -> RequestAnswer {
    AssertUnwindSafe(later).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!("internal error: a request handler panicked");
        RequestAnswer::Error(ProtocolError::internal("internal error; see the gateway's log"))
    })
}

/// What a request does while its messages aren't read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// It continues: notifications are dropped if too many wait.
    Continue,
    /// It continues only while its messages are read.
    Pause,
}

impl Unread {
    /// A stream of notifications makes its next message when the last one was read; other requests continue.
    pub(super) fn of(method: &str) -> Self {
        if method == Method::Listen.as_str() { Self::Pause } else { Self::Continue }
    }
}

/// The messages of a pending request. `running` is released when the response is ready.
///
/// Dropping the stream drops the request.
pub(super) fn response_stream(
    later: PendingAnswer,
    side_messages: mpsc::Receiver<SideMessage>,
    id: Id,
    running: Option<RunningRequest>,
    unread: Unread,
    responses: ResponseRenderer,
) -> ResponseStream {
    let state = ResponseState {
        answer: Some(MovableFuture::new(catch_panic(later))),
        unread,
        side_messages,
        remaining: VecDeque::new(),
        id,
        running,
        responses,
    };
    Box::pin(stream::unfold(
        state,
        |mut state| async move { state.next().await.map(|message| (message, state)) },
    ))
}

struct ResponseState {
    /// `None` once the answer is in `remaining`.
    answer: Option<MovableFuture<RequestAnswer>>,
    /// [`Unread::Pause`] once the request runs in a task of its own.
    unread: Unread,
    side_messages: mpsc::Receiver<SideMessage>,
    remaining: VecDeque<OutgoingMessage>,
    id: Id,
    running: Option<RunningRequest>,
    responses: ResponseRenderer,
}

impl ResponseState {
    async fn next(&mut self) -> Option<OutgoingMessage> {
        let Some(answer) = &mut self.answer else { return self.remaining.pop_front() };
        let is_cancelled = || self.running.as_ref().is_some_and(RunningRequest::is_cancelled);
        let answer = loop {
            tokio::select! {
                biased;
                Some(message) = self.side_messages.recv() => {
                    if is_sent(&message, is_cancelled()) {
                        self.continue_unread();
                        return Some(message.into());
                    }
                }
                answer = &mut *answer => break answer,
            }
        };
        self.answer = None;
        self.side_messages.close(); // nothing may follow the response
        let cancelled = self.running.take().is_some_and(|running| running.is_cancelled());
        while let Ok(message) = self.side_messages.try_recv() {
            if is_sent(&message, cancelled) {
                self.remaining.push_back(message.into());
            }
        }
        if !cancelled {
            let (status, message) = self.responses.response_with_status(&self.id, answer);
            self.remaining.push_back(OutgoingMessage::Response { message, status });
        }
        self.remaining.pop_front()
    }

    /// Lets the request continue in a task of its own, because the next message may be read much later.
    fn continue_unread(&mut self) {
        if std::mem::replace(&mut self.unread, Unread::Pause) == Unread::Pause {
            return;
        }
        let Some(answer) = self.answer.take() else { return };
        let task = AbortOnDropHandle::new(tokio::spawn(answer));
        self.answer = Some(MovableFuture::new(task.map(|ended| ended.unwrap_or_else(|_| stopping()))));
    }
}

/// The answer if the request's task was dropped, which happens only when the gateway stops.
pub(super) fn stopping() -> RequestAnswer {
    RequestAnswer::Error(ProtocolError::internal("the gateway is stopping"))
}

/// After the client has cancelled its request, only withdrawals of questions are still sent.
fn is_sent(message: &SideMessage, cancelled: bool) -> bool {
    match message {
        SideMessage::Withdrawal(_) => true,
        SideMessage::Notification(_) | SideMessage::Request(_) => !cancelled,
    }
}
