//! Questions that the gateway asks a client of the handshake revisions while a request of that client runs.
//!
//! A question leaves on the way of the request that asks it, and its answer comes as a message of its own (2025-11-25,
//! basic/transports). Ids begin with `s-`, so that nobody takes them for the client's own. A question that is dropped
//! unanswered is withdrawn with `notifications/cancelled`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::json::Json;
use crate::jsonrpc::{self, ErrorObject, Id, Response};
use crate::mcp::{Aside, AskError, Asking, OPEN_QUESTIONS, PATIENCE, Peer};

/// What came back: a result or an error.
type Answer = Result<Json, ErrorObject>;

/// The open questions of one session.
#[derive(Debug)]
pub struct Asks {
    open: Mutex<Open>,
    /// Set when no answer can come any more.
    over: CancellationToken,
}

#[derive(Debug, Default)]
struct Open {
    /// How many were asked.
    count: u64,
    waiting: HashMap<Id, oneshot::Sender<Answer>>,
}

/// In what the room for answers is counted, in bytes. Shorter ones aren't counted: few of them may come to one call.
const UNIT: usize = 1024;

/// The room for the answers that wait with their requests for others, of all sessions together.
#[derive(Debug, Clone)]
pub struct Room(Arc<Semaphore>);

impl Default for Room {
    /// 64 MiB.
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(64 * 1024)))
    }
}

/// Asks the client on the way of one request.
#[derive(Debug)]
pub struct Voice {
    asks: Arc<Asks>,
    out: mpsc::Sender<Aside>,
    room: Room,
    /// What the answers of this request take of it.
    held: Mutex<Vec<OwnedSemaphorePermit>>,
}

/// An open question; it is withdrawn when this is dropped before its answer came.
struct Question<'a> {
    voice: &'a Voice,
    id: Id,
    answer: oneshot::Receiver<Answer>,
    /// What the client is told when it is withdrawn; nothing before it was asked.
    why: Option<&'static str>,
}

impl Asks {
    /// No questions yet; `over` is set when no answer can come any more.
    #[must_use]
    pub fn new(over: CancellationToken) -> Self {
        Self { open: Mutex::default(), over }
    }

    /// Asks through `out`, the way on which a request's asides leave. Answers take `room` until the request is over.
    #[must_use]
    pub fn through(self: &Arc<Self>, out: mpsc::Sender<Aside>, room: &Room) -> Voice {
        Voice { asks: Arc::clone(self), out, room: room.clone(), held: Mutex::default() }
    }

    /// Takes an answer. One that nobody waits for changes nothing.
    pub fn answered(&self, answer: &Response<'_>) {
        let waiting = answer.id.as_ref().and_then(|id| self.lock().waiting.remove(id));
        if let Some(waiting) = waiting {
            // Fails where the question was dropped this moment.
            let _ = waiting.send(answer.outcome.clone().map(Json::from));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Voice {
    fn question(&self) -> Result<Question<'_>, AskError> {
        let (sender, answer) = oneshot::channel();
        let mut open = self.asks.lock();
        if open.waiting.len() >= OPEN_QUESTIONS {
            return Err(AskError::TooMany(OPEN_QUESTIONS));
        }
        open.count += 1;
        let id = Id::string(&format!("s-{}", open.count));
        open.waiting.insert(id.clone(), sender);
        Ok(Question { voice: self, id, answer, why: None })
    }

    async fn answer(&self, method: &str, params: Option<&Json>) -> Result<Json, AskError> {
        let mut question = self.question()?;
        let mut message = Vec::with_capacity(256);
        jsonrpc::write_request(&mut message, &question.id, method, params.map(Json::raw));
        self.out.send(Aside::Request(message)).await.map_err(|_| AskError::Gone)?;
        question.why = Some("the request that asked was cancelled");
        let answer = tokio::select! {
            answer = timeout(PATIENCE, &mut question.answer) => answer,
            () = self.asks.over.cancelled() => {
                question.why = Some("no answer can come any more");
                return Err(AskError::Gone);
            }
        };
        match answer {
            Ok(Ok(Ok(answer))) => self.hold(&answer).map(|()| answer),
            Ok(Ok(Err(refusal))) => Err(AskError::Refused(refusal)),
            Ok(Err(_)) => Err(AskError::Gone),
            Err(_) => {
                question.why = Some("nobody answered in time");
                Err(AskError::Silence(PATIENCE))
            }
        }
    }

    /// Takes the room for an answer.
    fn hold(&self, answer: &Json) -> Result<(), AskError> {
        let units = u32::try_from(answer.get().len() / UNIT).unwrap_or(u32::MAX);
        if units > 0 {
            let room = Arc::clone(&self.room.0);
            let held = room.try_acquire_many_owned(units).map_err(|_| AskError::NoRoom)?;
            self.held.lock().unwrap_or_else(PoisonError::into_inner).push(held);
        }
        Ok(())
    }
}

impl Peer for Voice {
    fn ask<'a>(&'a self, method: &'a str, params: Option<&'a Json>) -> Asking<'a> {
        Box::pin(self.answer(method, params))
    }
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        let unanswered = self.voice.asks.lock().waiting.remove(&self.id).is_some();
        let Some(why) = self.why.filter(|_| unanswered) else { return };
        let id: serde_json::Value = serde_json::from_str(self.id.as_json()).expect("an id is JSON");
        let params = Json::from_value(&json!({ "requestId": id, "reason": why }));
        let mut message = Vec::with_capacity(128);
        jsonrpc::write_notification(&mut message, "notifications/cancelled", Some(params.raw()));
        if self.voice.out.try_send(Aside::Withdrawal(message)).is_err() {
            tracing::debug!("a question couldn't be withdrawn: the client reads too slowly");
        }
    }
}
