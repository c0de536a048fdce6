//! The gateway's questions to a client of the handshake revisions, while a request of that client runs.
//!
//! A question is sent on the stream of its request, and its answer arrives as a message of its own (2025-11-25,
//! basic/transports). Ids start with `s-`, so that clients can't confuse them with their own. A question that is
//! dropped without an answer is withdrawn with `notifications/cancelled`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::caller::Caller;
use crate::caller_budget::{BudgetShare, CallerBudget};
use crate::json::Json;
use crate::jsonrpc::{self, Id, MalformedMessage, MessageKind, Response};
use crate::mcp::{MAX_OPEN_QUESTIONS, Peer, PendingQuestion, QUESTION_TIMEOUT, QuestionError, SideMessage};

use super::shared::ReplicaId;

/// The client's answer.
pub type QuestionAnswer = Result<Json, QuestionError>;

/// The open questions of one session.
#[derive(Debug)]
pub struct PendingRequests {
    /// The owner of the session.
    caller: Caller,
    open: Mutex<OpenQuestions>,
    /// Set when no answer can arrive any more.
    closed: CancellationToken,
    ids: QuestionIds,
}

/// The ids of questions.
#[derive(Debug, Clone)]
pub(super) struct QuestionIds {
    /// The start of each id.
    prefix: Arc<str>,
    /// The number of questions ever asked.
    count: Arc<AtomicU64>,
}

impl QuestionIds {
    /// Ids that are unique within a session of one gateway.
    pub(super) fn of_session() -> Self {
        Self { prefix: "s-".into(), count: Arc::default() }
    }

    /// Ids that are unique within sessions of several replicas, and name the replica.
    pub(super) fn of_replica(replica: &ReplicaId) -> Self {
        Self { prefix: format!("s-{}-", replica.as_str()).into(), count: Arc::default() }
    }

    fn next(&self) -> Id {
        Id::string(&format!("{}{}", self.prefix, self.count.fetch_add(1, Ordering::Relaxed) + 1))
    }

    /// The replica that asked, if another one did.
    fn foreign_replica(&self, id: &Id) -> Option<ReplicaId> {
        let id = id.as_json().strip_prefix("\"s-")?.strip_suffix('"')?;
        let (replica, _) = id.split_once('-')?;
        let is_own = self.prefix.strip_prefix("s-").and_then(|own| own.strip_suffix('-')) == Some(replica);
        if is_own { None } else { ReplicaId::parse(replica) }
    }
}

/// An answer to a question of another replica.
#[derive(Debug)]
pub(crate) struct ForeignAnswer {
    /// The replica that asked.
    pub(super) replica: ReplicaId,
    pub(super) id: Id,
    pub(super) answer: QuestionAnswer,
}

#[derive(Debug, Default)]
struct OpenQuestions {
    waiting: HashMap<Id, oneshot::Sender<QuestionAnswer>>,
    /// The number of requests that could ask.
    requesters: u64,
    /// The number of open questions of each request that asks.
    asking: HashMap<u64, usize>,
}

/// The size from which a question or an answer is counted, in bytes. A call can have only a few of them.
const MIN_COUNTED_BYTES: usize = 1024;

/// The number of copies of a question: as the plugin sent it, parsed, and as a message.
const QUESTION_COPIES: u64 = 3;

/// The maximum number of open questions in all sessions together. A call that waits for an answer keeps its request and
/// its task.
const MAX_TOTAL_QUESTIONS: u64 = 4096;

/// Limits the open questions of all sessions together, and their memory: that of the questions, and of answers that are
/// held until the other answers of their request arrive.
#[derive(Debug)]
pub struct QuestionBudget {
    questions: Arc<CallerBudget>,
    memory: Arc<CallerBudget>,
}

impl QuestionBudget {
    /// A budget with this memory, in bytes.
    #[must_use]
    pub fn new(memory: u64) -> Arc<Self> {
        let (questions, memory) = (CallerBudget::new(MAX_TOTAL_QUESTIONS), CallerBudget::new(memory));
        Arc::new(Self { questions, memory })
    }
}

/// Asks the client questions on the stream of one request.
#[derive(Debug)]
pub struct ClientRequester {
    pending: Arc<PendingRequests>,
    number: u64,
    out: mpsc::Sender<SideMessage>,
    budget: Arc<QuestionBudget>,
    /// The memory of this request's answers.
    answers: Mutex<Vec<BudgetShare>>,
}

/// An open question. Dropping it before its answer arrived withdraws it.
struct OpenClientRequest<'a> {
    requester: &'a ClientRequester,
    id: Id,
    answer: oneshot::Receiver<QuestionAnswer>,
    /// The reason for the withdrawal. `None` before the question is sent.
    withdrawal: Option<&'static str>,
    _share: BudgetShare,
}

impl PendingRequests {
    /// No questions to this caller. `closed` is set when no answer can arrive any more.
    pub(super) fn new(caller: Caller, closed: CancellationToken, ids: QuestionIds) -> Self {
        Self { caller, open: Mutex::default(), closed, ids }
    }

    /// The number of requests that wait for answers.
    pub(super) fn asking_requests(&self) -> usize {
        self.lock().asking.len()
    }

    /// Asks on the stream of a request: `out` carries its side messages. Its questions and answers count towards
    /// `budget`, the answers until the request ends.
    #[must_use]
    pub fn requester(
        self: &Arc<Self>,
        out: mpsc::Sender<SideMessage>,
        budget: &Arc<QuestionBudget>,
    ) -> ClientRequester {
        let mut open = self.lock();
        open.requesters += 1;
        let number = open.requesters;
        drop(open);
        let budget = Arc::clone(budget);
        ClientRequester { pending: Arc::clone(self), number, out, budget, answers: Mutex::default() }
    }

    /// Handles an answer. It is ignored if no question is waiting for it. An answer to a question of another replica is
    /// returned.
    pub(super) fn receive_response(&self, answer: &Response<'_>) -> Option<ForeignAnswer> {
        let id = answer.id.as_ref()?;
        let read = || match &answer.outcome {
            Ok(result) => Ok(result.to_json()),
            Err(refusal) => Err(QuestionError::Refused(refusal.clone())),
        };
        if self.resolve(id, read) {
            return None;
        }
        let replica = self.ids.foreign_replica(id)?;
        Some(ForeignAnswer { replica, id: id.clone(), answer: read() })
    }

    /// The malformed answer to a question of another replica.
    pub(super) fn foreign_malformed(&self, malformed: &MalformedMessage) -> Option<ForeignAnswer> {
        let MalformedMessage { id, error, kind } = malformed;
        let id = id.as_ref()?;
        let replica = self.ids.foreign_replica(id)?;
        match kind {
            MessageKind::Response | MessageKind::Unknown => {
                let answer = Err(QuestionError::Unreadable(error.clone()));
                Some(ForeignAnswer { replica, id: id.clone(), answer })
            }
            MessageKind::Request | MessageKind::Notification => None,
        }
    }

    /// Handles an answer that another replica received.
    pub(super) fn receive_forwarded(&self, id: &Id, answer: QuestionAnswer) {
        self.resolve(id, || answer);
    }

    /// Handles a malformed message. True if it answers a question, which then fails at once.
    pub fn receive_malformed(&self, malformed: &MalformedMessage) -> bool {
        let MalformedMessage { id, error, kind } = malformed;
        match (id, kind) {
            (Some(id), MessageKind::Response | MessageKind::Unknown) => {
                self.resolve(id, || Err(QuestionError::Unreadable(error.clone())))
                    || self.ids.foreign_replica(id).is_some()
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
        let share = self.budget.questions.try_reserve(&self.pending.caller, 1);
        let share = share.ok_or(QuestionError::TooManyInTotal)?;
        let mut open = self.pending.lock();
        if open.waiting.len() >= MAX_OPEN_QUESTIONS {
            return Err(QuestionError::TooMany(MAX_OPEN_QUESTIONS));
        }
        let id = self.pending.ids.next();
        open.waiting.insert(id.clone(), sender);
        *open.asking.entry(self.number).or_default() += 1;
        Ok(OpenClientRequest { requester: self, id, answer, withdrawal: None, _share: share })
    }

    async fn answer(&self, method: &str, params: Option<&Json>) -> Result<Json, QuestionError> {
        let size = params.map_or(0, |params| params.get().len());
        let _memory = self.reserve_copies(size, QUESTION_COPIES)?;
        let mut question = self.question()?;
        let mut message = Vec::with_capacity(256);
        jsonrpc::write_request(&mut message, &question.id, method, params);
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
            Ok(Ok(Ok(answer))) => {
                let share = self.reserve(answer.get().len())?;
                self.answers.lock().unwrap_or_else(PoisonError::into_inner).extend(share);
                Ok(answer)
            }
            Ok(Ok(Err(error))) => Err(error),
            Ok(Err(_)) => Err(QuestionError::Closed),
            Err(_) => {
                question.withdrawal = Some("no answer in time");
                Err(QuestionError::TimedOut(QUESTION_TIMEOUT))
            }
        }
    }

    /// Reserves the memory of a question or an answer of this size. `None` means that it is too small to count.
    fn reserve_copies(&self, size: usize, copies: u64) -> Result<Option<BudgetShare>, QuestionError> {
        if size < MIN_COUNTED_BYTES {
            return Ok(None);
        }
        let share = self.budget.memory.try_reserve_exact(&self.pending.caller, size as u64 * copies);
        share.map(Some).ok_or(QuestionError::NoMemory)
    }
}

impl Peer for ClientRequester {
    fn ask<'a>(&'a self, method: &'a str, params: Option<&'a Json>) -> PendingQuestion<'a> {
        Box::pin(self.answer(method, params))
    }

    fn reserve(&self, bytes: usize) -> Result<Option<BudgetShare>, QuestionError> {
        self.reserve_copies(bytes, 1)
    }
}

impl Drop for OpenClientRequest<'_> {
    fn drop(&mut self) {
        let mut open = self.requester.pending.lock();
        let unanswered = open.waiting.remove(&self.id).is_some();
        if let Some(questions) = open.asking.get_mut(&self.requester.number) {
            *questions -= 1;
            if *questions == 0 {
                open.asking.remove(&self.requester.number);
            }
        }
        drop(open);
        let Some(reason) = self.withdrawal.filter(|_| unanswered) else { return };
        let id: serde_json::Value = serde_json::from_str(self.id.as_json()).expect("an id is JSON");
        let params = Json::from_value(&json!({ "requestId": id, "reason": reason }));
        let mut message = Vec::with_capacity(128);
        jsonrpc::write_notification(&mut message, "notifications/cancelled", Some(&params));
        if self.requester.out.try_send(SideMessage::Withdrawal(message)).is_err() {
            tracing::debug!("question not withdrawn: the client reads too slowly");
        }
    }
}
