//! The gateway's questions to a client of the handshake revisions, while a request of that client runs.
//!
//! A question is sent on the stream of its request, and its answer arrives as a message of its own (2025-11-25,
//! basic/transports). Ids start with `s-`, so that clients can't confuse them with their own. A question that is
//! dropped without an answer is withdrawn with `notifications/cancelled`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::json::Json;
use crate::jsonrpc::{self, Id, MalformedMessage, MessageKind, Response};
use crate::mcp::{MAX_OPEN_QUESTIONS, Peer, PendingQuestion, QUESTION_TIMEOUT, QuestionError, SideMessage};

/// The client's answer.
type QuestionAnswer = Result<Json, QuestionError>;

/// The open questions of one session.
#[derive(Debug)]
pub struct PendingRequests {
    open: Mutex<OpenQuestions>,
    /// Set when no answer can arrive any more.
    closed: CancellationToken,
}

#[derive(Debug, Default)]
struct OpenQuestions {
    /// The number of questions ever asked.
    count: u64,
    waiting: HashMap<Id, oneshot::Sender<QuestionAnswer>>,
}

/// The unit of the budget, in bytes. Shorter answers aren't counted, because a call can have only a few of them.
const ANSWER_UNIT_BYTES: usize = 1024;

/// Limits the memory of answers that are held until the other answers of their request arrive, in all sessions
/// together.
#[derive(Debug, Clone)]
pub struct AnswerBudget(Arc<Semaphore>);

impl Default for AnswerBudget {
    /// 64 MiB.
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(64 * 1024)))
    }
}

/// Asks the client questions on the stream of one request.
#[derive(Debug)]
pub struct ClientRequester {
    pending: Arc<PendingRequests>,
    out: mpsc::Sender<SideMessage>,
    budget: AnswerBudget,
    /// The memory of this request's answers.
    permits: Mutex<Vec<OwnedSemaphorePermit>>,
}

/// An open question. Dropping it before its answer arrived withdraws it.
struct OpenClientRequest<'a> {
    requester: &'a ClientRequester,
    id: Id,
    answer: oneshot::Receiver<QuestionAnswer>,
    /// The reason for the withdrawal. `None` before the question is sent.
    withdrawal: Option<&'static str>,
}

impl PendingRequests {
    /// No questions. `closed` is set when no answer can arrive any more.
    #[must_use]
    pub fn new(closed: CancellationToken) -> Self {
        Self { open: Mutex::default(), closed }
    }

    /// Asks on the stream of a request: `out` carries its side messages, and the request's answers count towards
    /// `budget` until it ends.
    #[must_use]
    pub fn requester(
        self: &Arc<Self>,
        out: mpsc::Sender<SideMessage>,
        budget: &AnswerBudget,
    ) -> ClientRequester {
        ClientRequester { pending: Arc::clone(self), out, budget: budget.clone(), permits: Mutex::default() }
    }

    /// Handles an answer. It is ignored if no question is waiting for it.
    pub fn receive_response(&self, answer: &Response<'_>) {
        if let Some(id) = &answer.id {
            self.resolve(id, || match &answer.outcome {
                Ok(result) => Ok(Json::from(*result)),
                Err(refusal) => Err(QuestionError::Refused(refusal.clone())),
            });
        }
    }

    /// Handles a malformed message. True if it answers a question, which then fails at once.
    pub fn receive_malformed(&self, malformed: &MalformedMessage) -> bool {
        let MalformedMessage { id, error, kind } = malformed;
        match (id, kind) {
            (Some(id), MessageKind::Response | MessageKind::Unknown) => {
                self.resolve(id, || Err(QuestionError::Unreadable(error.clone())))
            }
            (Some(_), MessageKind::Request | MessageKind::Notification) | (None, _) => false,
        }
    }

    /// Answers a question. False if none with this id is waiting.
    fn resolve(&self, id: &Id, answer: impl FnOnce() -> QuestionAnswer) -> bool {
        let waiting = self.lock().waiting.remove(id);
        // Sending fails if the question has just been dropped.
        waiting.map(|waiting| waiting.send(answer())).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, OpenQuestions> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientRequester {
    fn question(&self) -> Result<OpenClientRequest<'_>, QuestionError> {
        let (sender, answer) = oneshot::channel();
        let mut open = self.pending.lock();
        if open.waiting.len() >= MAX_OPEN_QUESTIONS {
            return Err(QuestionError::TooMany(MAX_OPEN_QUESTIONS));
        }
        open.count += 1;
        let id = Id::string(&format!("s-{}", open.count));
        open.waiting.insert(id.clone(), sender);
        Ok(OpenClientRequest { requester: self, id, answer, withdrawal: None })
    }

    async fn answer(&self, method: &str, params: Option<&Json>) -> Result<Json, QuestionError> {
        let mut question = self.question()?;
        let mut message = Vec::with_capacity(256);
        jsonrpc::write_request(&mut message, &question.id, method, params.map(Json::raw));
        self.out.send(SideMessage::Request(message)).await.map_err(|_| QuestionError::Closed)?;
        question.withdrawal = Some("the request that asked was cancelled");
        let answer = tokio::select! {
            answer = timeout(QUESTION_TIMEOUT, &mut question.answer) => answer,
            () = self.pending.closed.cancelled() => {
                question.withdrawal = Some("the connection is closing");
                return Err(QuestionError::Closed);
            }
        };
        match answer {
            Ok(Ok(Ok(answer))) => self.reserve(&answer).map(|()| answer),
            Ok(Ok(Err(error))) => Err(error),
            Ok(Err(_)) => Err(QuestionError::Closed),
            Err(_) => {
                question.withdrawal = Some("no answer in time");
                Err(QuestionError::TimedOut(QUESTION_TIMEOUT))
            }
        }
    }

    /// Reserves memory for an answer.
    fn reserve(&self, answer: &Json) -> Result<(), QuestionError> {
        let units = u32::try_from(answer.get().len() / ANSWER_UNIT_BYTES).unwrap_or(u32::MAX);
        if units > 0 {
            let budget = Arc::clone(&self.budget.0);
            let permit = budget.try_acquire_many_owned(units).map_err(|_| QuestionError::NoMemory)?;
            self.permits.lock().unwrap_or_else(PoisonError::into_inner).push(permit);
        }
        Ok(())
    }
}

impl Peer for ClientRequester {
    fn ask<'a>(&'a self, method: &'a str, params: Option<&'a Json>) -> PendingQuestion<'a> {
        Box::pin(self.answer(method, params))
    }
}

impl Drop for OpenClientRequest<'_> {
    fn drop(&mut self) {
        let unanswered = self.requester.pending.lock().waiting.remove(&self.id).is_some();
        let Some(reason) = self.withdrawal.filter(|_| unanswered) else { return };
        let id: serde_json::Value = serde_json::from_str(self.id.as_json()).expect("an id is JSON");
        let params = Json::from_value(&json!({ "requestId": id, "reason": reason }));
        let mut message = Vec::with_capacity(128);
        jsonrpc::write_notification(&mut message, "notifications/cancelled", Some(params.raw()));
        if self.requester.out.try_send(SideMessage::Withdrawal(message)).is_err() {
            tracing::debug!("question not withdrawn: the client reads too slowly");
        }
    }
}
