//! Input from the client: what a plugin asks of the person, the model or the host (2026-07-28, basic/patterns/mrtr;
//! 2025-11-25, client/elicitation, client/sampling, client/roots).
//!
//! A plugin that needs input ends its call with questions and is called again, from the top, with the answers; no
//! instance and no permit is held meanwhile. In the stateless era the client carries what is known so far and makes
//! its request again. In the handshake era it gets requests of the gateway's, all of one round at once.
//!
//! Answers may come with a first request, without a state, from a client that knows what will be asked. They count
//! as if they had been given when the plugin asks: what is checked is the same.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Map;
use serde_json::value::RawValue;

use crate::call::{CallContext, CallError, InputRequest, NeedInput, Outcome};
use crate::catalog::{Catalog, Member};
use crate::dispatch::{Answered, DispatchError, Dispatcher};
use crate::json::Json;
use crate::manifest::Entries;

use super::errors::Trouble;
use super::revision::Era;
use super::{Exchange, Method, Params, Protocol};

mod clean;
mod form;
mod fuzz;
mod limits;
mod peer;
mod question;
mod sampling;
mod state;
mod talk;

#[doc(hidden)]
pub use fuzz::{fuzz_question, fuzz_state};
pub use limits::{OPEN_QUESTIONS, PATIENCE};
pub use peer::{AskError, Asking, Peer};
pub(super) use state::States;

use question::Question;
use talk::{Begins, Talk};

/// A request that asks a plugin and may be asked back.
pub(super) trait Call: Sync {
    /// What comes of it in the end.
    type Done: Send;

    /// How clients call it.
    const METHOD: Method;

    /// The plugin that is asked.
    fn member<'a>(&self, view: &'a Catalog) -> Option<&'a Arc<Member>>;

    /// Asks the plugin.
    fn call(
        &self,
        dispatcher: &Dispatcher,
        catalog: &Catalog,
        context: &Arc<CallContext>,
    ) -> impl Future<Output = Result<Answered<Self::Done>, DispatchError>> + Send;
}

/// What a request comes to.
#[derive(Debug)]
pub enum Conversed<T> {
    /// A result.
    Done(T),
    /// Questions to the client, as the text of a result.
    Asks(Box<RawValue>),
}

/// What is known when the plugin is called.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// How often the client was asked.
    asked: u32,
    /// The answers so far.
    pub(super) answers: Arc<Vec<(String, Json)>>,
    /// The plugin's own state.
    pub(super) state: Option<Arc<[u8]>>,
    /// Answers that came before their questions. Each is good for one.
    ahead: HashMap<String, Json>,
}

impl Round {
    /// How many bytes of answers there are.
    fn size(&self) -> usize {
        self.answers.iter().map(|(_, answer)| answer.get().len()).sum()
    }

    /// The round after this one, with more answers. One that was asked for again takes the place of the earlier.
    fn next(self, more: Vec<(String, Json)>, state: Option<Vec<u8>>) -> Self {
        let mut answers = Arc::unwrap_or_clone(self.answers);
        answers.retain(|(key, _)| !more.iter().any(|(newer, _)| newer == key));
        answers.extend(more);
        Self { asked: self.asked + 1, answers: Arc::new(answers), state: state.map(Arc::from), ..self }
    }
}

/// Questions of one round, each with the plugin's words for it.
type Asked = Vec<(InputRequest, Question)>;

/// Calls a plugin until it has all that it asks for, or the client has to be asked.
pub(super) async fn converse<C: Call>(
    protocol: &Protocol,
    catalog: &Catalog,
    exchange: &Exchange,
    params: &Params,
    call: &C,
) -> Result<Conversed<C::Done>, Trouble> {
    let talk = Talk { protocol, exchange, params, method: C::METHOD };
    let mut round = match exchange.revision.era() {
        Era::Handshake => Round::default(),
        Era::Stateless => match talk.begin(call.member(catalog.view(&exchange.principal)))? {
            Begins::Round(round) => round,
            Begins::Asks(text) => return Ok(Conversed::Asks(text)),
        },
    };
    loop {
        let context = exchange.context(params, &round);
        let Answered { member, outcome } = call.call(&protocol.dispatcher, catalog, &context).await?;
        drop(context);
        let NeedInput { requests, state, meta, extra: _ } = match outcome {
            Outcome::Done(result) => return Ok(Conversed::Done(result)),
            Outcome::NeedInput(need) => need,
        };
        let asked = read(&member, requests)?;
        talk.check_declared(&member, &asked)?;
        if round.asked == limits::ROUNDS {
            let why = format!("it asked the client {} times and still has questions", round.asked);
            return Err(Trouble::unanswered(&member, why));
        }
        match exchange.revision.era() {
            Era::Handshake => {
                let answers = talk.ask(&member, &asked, round.size()).await?;
                round = round.next(answers, state);
            }
            Era::Stateless => {
                let (answers, open, unusable) = answered(asked, &mut round.ahead);
                let all = open.is_empty() && !answers.is_empty();
                round = round.next(answers, state);
                if !all {
                    let own = meta.into_iter().filter(|(key, _)| key != UNUSABLE);
                    let meta: Entries = own.chain(unusable).collect();
                    return talk.input_required(&member, &round, &open, &meta).map(Conversed::Asks);
                }
            }
        }
    }
}

/// Reads what a plugin asks. A question that can't be asked is the plugin's fault.
fn read(member: &Member, requests: Vec<InputRequest>) -> Result<Asked, Trouble> {
    let read = |request: InputRequest| match Question::read(&request) {
        Ok(question) => Ok((request, question)),
        Err(why) => Err(Trouble::failed(member, CallError::BadOutput(why))),
    };
    requests.into_iter().map(read).collect()
}

/// The member of a result's `_meta` that says why an answer is asked for again.
pub const UNUSABLE: &str = "moongate/unusable";

/// Tells the questions that are answered from those that aren't: there is no answer, or none that can be used. Why not
/// is for `_meta`, since MCP has no place for it.
fn answered(asked: Asked, given: &mut HashMap<String, Json>) -> (Vec<(String, Json)>, Asked, Entries) {
    let (mut answers, mut open, mut reasons) = (Vec::new(), Vec::new(), Map::new());
    for (request, question) in asked {
        match given.remove(&question.key).map(|answer| question.accept(answer.get())) {
            Some(Ok(answer)) => answers.push((request.key, answer)),
            Some(Err(why)) => {
                tracing::debug!(key = request.key, why, "an answer can't be used");
                reasons.insert(request.key.clone(), why.into());
                open.push((request, question));
            }
            None => open.push((request, question)),
        }
    }
    let unusable = if reasons.is_empty() {
        Vec::new()
    } else {
        vec![(UNUSABLE.to_owned(), Json::from_value(&reasons.into()))]
    };
    (answers, open, unusable)
}

#[cfg(test)]
mod tests;
