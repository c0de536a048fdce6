//! A request being answered: what is said and asked meanwhile, then the response, as one stream of messages.
//!
//! A transport that can carry several messages for one request writes them in this order; one that can't asks for a
//! request without [`Hear`]ing anything and gets the response alone.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;

use futures_util::FutureExt;
use futures_util::stream::{self, Stream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::jsonrpc::Id;
use crate::mcp::{Answer, Aside, Begun, Later, ProtocolError};
use crate::session::Running;

use super::lingering::Lingering;
use super::response;

/// Can the transport carry notifications and questions for this request?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hear {
    /// It can.
    Notifications,
    /// It can, but the client may not know it: only the response is sent, unless there is none for long.
    Anything,
    /// It can't, or the client takes none: only the response is sent.
    Response,
}

/// One message on the way to the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Something that is said while the request runs.
    Notification(Vec<u8>),
    /// A question to the client; it answers with a message of its own.
    Request(Vec<u8>),
    /// The response, which is the last message.
    Response {
        /// The message.
        message: Vec<u8>,
        /// The HTTP status that it has where nothing was said before.
        status: u16,
    },
}

impl Said {
    /// The message itself.
    #[must_use]
    pub fn into_message(self) -> Vec<u8> {
        match self {
            Self::Notification(message) | Self::Request(message) | Self::Response { message, .. } => message,
        }
    }
}

impl From<Aside> for Said {
    fn from(aside: Aside) -> Self {
        match aside {
            Aside::Notification(message) | Aside::Withdrawal(message) => Self::Notification(message),
            Aside::Request(message) => Self::Request(message),
        }
    }
}

/// All messages of one request, in order. It ends without a response where the request was cancelled.
pub type Messages = Pin<Box<dyn Stream<Item = Said> + Send>>;

/// A request that was begun, and where what is said beside its response comes out.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) begun: Begun,
    pub(super) asides: Option<mpsc::Receiver<Aside>>,
}

impl Work {
    /// A request that is answered already.
    pub(super) fn done(answer: Answer) -> Self {
        Self { begun: Begun::Now(answer), asides: None }
    }

    /// The same, which doesn't end at once where it is dropped: `cancel` is set then, and the call gets its grace.
    pub(super) fn lingering(self, cancel: CancellationToken) -> Self {
        let begun = match self.begun {
            Begun::Later(later) => Begun::Later(Box::pin(Lingering::new(later, cancel))),
            now @ Begun::Now(_) => now,
        };
        Self { begun, ..self }
    }
}

/// Waits for an answer. A bug that panics is an error with the request's id, never silence.
pub(super) async fn finish(begun: Begun) -> Answer {
    match begun {
        Begun::Now(answer) => answer,
        Begun::Later(later) => guarded(later).await,
    }
}

async fn guarded(later: Later) -> Answer {
    AssertUnwindSafe(later).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!("a request handler panicked");
        Answer::Error(ProtocolError::internal("the gateway failed; its log says more"))
    })
}

/// The messages of a request that takes a while. `running` is given back when the response is ready.
pub(super) fn talk(
    later: Later,
    asides: mpsc::Receiver<Aside>,
    id: Id,
    running: Option<Running>,
) -> Messages {
    let talk = Talk { answer: Some(Box::pin(guarded(later))), asides, left: VecDeque::new(), id, running };
    Box::pin(stream::unfold(talk, |mut talk| async move { talk.next().await.map(|said| (said, talk)) }))
}

struct Talk {
    answer: Option<Later>,
    asides: mpsc::Receiver<Aside>,
    left: VecDeque<Said>,
    id: Id,
    running: Option<Running>,
}

impl Talk {
    async fn next(&mut self) -> Option<Said> {
        let Some(answer) = &mut self.answer else { return self.left.pop_front() };
        let is_cancelled = || self.running.as_ref().is_some_and(Running::is_cancelled);
        let answer = loop {
            tokio::select! {
                biased;
                Some(aside) = self.asides.recv() => {
                    if is_told(&aside, is_cancelled()) {
                        return Some(aside.into());
                    }
                }
                answer = &mut *answer => break answer,
            }
        };
        self.answer = None;
        self.asides.close(); // nothing may follow the response
        let cancelled = self.running.take().is_some_and(|running| running.is_cancelled());
        while let Ok(aside) = self.asides.try_recv() {
            if is_told(&aside, cancelled) {
                self.left.push_back(aside.into());
            }
        }
        if !cancelled {
            let status = answer.status();
            self.left.push_back(Said::Response { message: response(&self.id, &answer), status });
        }
        self.left.pop_front()
    }
}

/// Does the client still hear this? After it has cancelled its request, only what is asked no longer.
fn is_told(aside: &Aside, cancelled: bool) -> bool {
    match aside {
        Aside::Withdrawal(_) => true,
        Aside::Notification(_) | Aside::Request(_) => !cancelled,
    }
}
