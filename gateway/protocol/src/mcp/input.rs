//! Input from the client: plugins' questions to the user, the model or the host (2026-07-28, basic/patterns/mrtr;
//! 2025-11-25, client/elicitation, client/sampling, client/roots).
//!
//! A plugin that needs input ends its call with questions and is called again, from the top, with the answers. No
//! instance and no permit is held in the meantime. In the stateless era the client carries the state and repeats its
//! request. In the handshake era the gateway sends requests to the client, all of one round at once.
//!
//! Answers can also come with a first request, without a state, from a client that knows the questions in advance. They
//! are used, and checked, when the plugin asks.

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Map;

use crate::call::{CallContext, CallError, InputNeeded, InputRequest, Outcome};
use crate::caller_budget::BudgetShare;
use crate::catalog::{Catalog, CatalogPlugin};
use crate::dispatch::{DispatchError, DispatchOutcome, Dispatcher};
use crate::json::Json;
use crate::jsonrpc::ErrorObject;
use crate::limiter::CallPermit;
use crate::manifest::JsonMembers;

use super::errors::RequestError;
use super::revision::Era;
use super::{Method, Params, Protocol, RequestContext};

mod sanitise;
mod form;
#[cfg(any(test, feature = "fuzz"))]
mod fuzz;
mod question;
mod sampling;
mod state;
mod client_input;

#[cfg(any(test, feature = "fuzz"))]
pub use fuzz::{fuzz_question, fuzz_state};
pub(super) use state::StateStore;

use client_input::{ClientInput, StatelessStart};
use question::Question;

/// The maximum number of rounds of questions in one call.
const MAX_ROUNDS: u32 = 8;

/// The time that a handshake-era question waits for its answer. The call's own timeout is paused meanwhile.
pub const QUESTION_TIMEOUT: Duration = Duration::from_secs(600);

/// The maximum number of open questions of one session: far more than a user answers, and far fewer than the requests
/// that one connection can have running, so that there is always room for the answers.
pub const MAX_OPEN_QUESTIONS: usize = 64;

/// The time for which a state of the stateless era is valid.
const STATE_LIFETIME: Duration = Duration::from_secs(600);

/// The longest sealed state, in bytes. Clients send it back with everything else.
const MAX_STATE_BYTES: usize = 256 << 10;

/// The longest question to a model that a state carries, in bytes. A longer one can't be asked again.
const MAX_CARRIED_BYTES: usize = 16 << 10;

/// The longest answer, in bytes. Answers are kept until the call ends.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// The maximum number of answers in one request: all that a call can ask for.
const MAX_ANSWERS: usize = 128;

/// The maximum size of the answers that are kept for one call, in bytes.
const MAX_ANSWERS_BYTES: usize = 4 << 20;

/// A request that calls a plugin, which can ask the client.
pub(super) trait InputCall: Sync {
    /// The type of its final result.
    type Done: Send;

    /// The method that clients call.
    const METHOD: Method;

    /// The plugin.
    fn catalog_plugin<'a>(&self, view: &'a Catalog) -> Option<&'a Arc<CatalogPlugin>>;

    /// Calls the plugin.
    fn call(
        &self,
        dispatcher: &Dispatcher,
        view: &Catalog,
        context: &Arc<CallContext>,
    ) -> impl Future<Output = Result<DispatchOutcome<Self::Done>, DispatchError>> + Send;
}

/// The outcome of a request.
#[derive(Debug)]
pub enum RoundsOutcome<T> {
    /// A result, and the permit of its call.
    Done(T, CallPermit),
    /// Questions to the client, as the JSON text of a result.
    Questions(Json),
}

/// The pending answer to a question.
pub type PendingQuestion<'a> = Pin<Box<dyn Future<Output = Result<Json, QuestionError>> + Send + 'a>>;

/// The client of a running request.
pub trait Peer: fmt::Debug + Send + Sync {
    /// Sends a request and waits for the result. Dropping the future withdraws the request.
    fn ask<'a>(&'a self, method: &'a str, params: Option<&'a Json>) -> PendingQuestion<'a>;

    /// Counts what the call holds, in bytes, while it waits for answers.
    ///
    /// # Errors
    /// [`QuestionError::NoMemory`]: the caller would hold too much.
    fn reserve(&self, _bytes: usize) -> Result<Option<BudgetShare>, QuestionError> {
        Ok(None)
    }
}

/// An unanswered question.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum QuestionError {
    /// The client answered with an error.
    #[error("the client refused: {}", .0.message)]
    Refused(ErrorObject),
    /// The client answered, but the message is malformed or too long.
    #[error("the client's answer can't be read: {}", .0.message)]
    Unreadable(ErrorObject),
    /// The client didn't answer in time.
    #[error("the client didn't answer within {}", humantime::format_duration(*.0))]
    TimedOut(Duration),
    /// The client has reached the limit on open questions.
    #[error("{0} questions to this client are already open")]
    TooMany(usize),
    /// The caller has used up its share of the open questions of all clients.
    #[error("too many questions are open; try again later")]
    TooManyInTotal,
    /// The caller has used up its share of the memory of open questions and their answers.
    #[error("too many large questions or answers are pending; try again later")]
    NoMemory,
    /// The connection is closed.
    #[error("the client can't answer any more: the connection is closed, or the gateway is stopping")]
    Closed,
}

/// The state of a multi-round call.
#[derive(Debug, Default)]
pub(super) struct CallRound {
    /// The number of rounds so far.
    rounds: u32,
    /// The answers so far.
    pub(super) answers: Arc<Vec<(String, Json)>>,
    /// The plugin's own state.
    pub(super) state: Option<Arc<[u8]>>,
    /// Answers that were sent before their questions. Each is used once.
    advance_answers: HashMap<String, Json>,
}

impl CallRound {
    /// The length of all answers, in bytes.
    fn size(&self) -> usize {
        self.answers.iter().map(|(_, answer)| answer.get().len()).sum()
    }

    /// The next round, with more answers. A repeated answer replaces the earlier one.
    fn next(self, more: Vec<(String, Json)>, state: Option<Vec<u8>>) -> Self {
        let mut answers = Arc::unwrap_or_clone(self.answers);
        answers.retain(|(key, _)| !more.iter().any(|(newer, _)| newer == key));
        answers.extend(more);
        Self { rounds: self.rounds + 1, answers: Arc::new(answers), state: state.map(Arc::from), ..self }
    }
}

/// The questions of one round, as the plugin sent them and parsed.
type ParsedQuestions = Vec<(InputRequest, Question)>;

/// Calls a plugin until it returns a result or the client has to be asked.
pub(super) async fn run_rounds<C: InputCall>(
    protocol: &Protocol,
    view: &Catalog,
    request_context: &RequestContext,
    params: &Params,
    call: &C,
) -> Result<RoundsOutcome<C::Done>, RequestError> {
    let client_input = ClientInput { protocol, request_context, params, method: C::METHOD };
    let mut round = match request_context.revision.era() {
        Era::Handshake => CallRound::default(),
        Era::Stateless => match client_input.start(call.catalog_plugin(view)).await? {
            StatelessStart::Call(round) => round,
            StatelessStart::Questions(text) => return Ok(RoundsOutcome::Questions(text)),
        },
    };
    loop {
        let context = request_context.call_context(params, &round);
        let DispatchOutcome { permit, catalog_plugin, outcome } =
            call.call(&protocol.dispatcher, view, &context).await?;
        drop(context);
        let (requests, state, meta) = match outcome {
            Outcome::Done(result) => return Ok(RoundsOutcome::Done(result, permit)),
            Outcome::NeedInput(InputNeeded { requests, state, meta, extra: _ }) => (requests, state, meta),
        };
        drop(permit);
        if state.as_ref().is_some_and(|state| state.len() > MAX_STATE_BYTES) {
            let why = format!("its state is longer than {} KiB", MAX_STATE_BYTES / 1024);
            return Err(RequestError::failed(&catalog_plugin, CallError::InvalidOutput(why)));
        }
        let asked = parse_questions(&catalog_plugin, requests)?;
        client_input.check_declared(&catalog_plugin, &asked)?;
        if round.rounds == MAX_ROUNDS {
            let why = format!("it asked the client {} times and still requires input", round.rounds);
            return Err(RequestError::unanswered(&catalog_plugin, why));
        }
        match request_context.revision.era() {
            Era::Handshake => {
                drop(meta); // there is no message for it
                round.state = None;
                let held = state.as_ref().map_or(0, Vec::len);
                let answers = client_input.ask(&catalog_plugin, asked, round.size(), held).await?;
                round = round.next(answers, state);
            }
            Era::Stateless => {
                let (answers, open, unusable) = split_answers(asked, &mut round.advance_answers);
                let all = open.is_empty() && !answers.is_empty();
                round = round.next(answers, state);
                if !all {
                    let own = meta.into_iter().filter(|(key, _)| key != UNUSABLE_ANSWERS_KEY);
                    let meta: JsonMembers = own.chain(unusable).collect();
                    return client_input
                        .input_required(&catalog_plugin, &round, &open, &meta)
                        .map(RoundsOutcome::Questions);
                }
            }
        }
    }
}

/// Parses a plugin's questions. An invalid question is the plugin's fault.
fn parse_questions(
    catalog_plugin: &CatalogPlugin,
    requests: Vec<InputRequest>,
) -> Result<ParsedQuestions, RequestError> {
    let read = |request: InputRequest| match Question::read(&request) {
        Ok(question) => Ok((request, question)),
        Err(why) => Err(RequestError::failed(catalog_plugin, CallError::InvalidOutput(why))),
    };
    requests.into_iter().map(read).collect()
}

/// The member of a result's `_meta` with the reasons for asking again.
pub const UNUSABLE_ANSWERS_KEY: &str = "moongate/unusable";

/// Separates answered questions from those with a missing or invalid answer. The reasons go into `_meta`, because MCP
/// has no other place for them.
fn split_answers(
    asked: ParsedQuestions,
    given: &mut HashMap<String, Json>,
) -> (Vec<(String, Json)>, ParsedQuestions, JsonMembers) {
    let mut answers = Vec::new();
    let mut open = Vec::new();
    let mut reasons = Map::new();
    for (request, question) in asked {
        match given.remove(&question.key).map(|answer| question.validate_answer(answer.get())) {
            Some(Ok(answer)) => answers.push((request.key, answer)),
            Some(Err(why)) => {
                tracing::debug!(key = request.key, why, "invalid answer to a question");
                reasons.insert(request.key.clone(), why.into());
                open.push((request, question));
            }
            None => open.push((request, question)),
        }
    }
    let unusable = if reasons.is_empty() {
        Vec::new()
    } else {
        vec![(UNUSABLE_ANSWERS_KEY.to_owned(), Json::from_value(&reasons.into()))]
    };
    (answers, open, unusable)
}

#[cfg(test)]
mod tests;
