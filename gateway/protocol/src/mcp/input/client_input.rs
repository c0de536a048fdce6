//! Asking the client in each era, and starting a request with answers (2026-07-28, basic/patterns/mrtr).

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use futures_util::future::try_join_all;

use crate::call::{BusyReason, CallError, PluginError};
use crate::catalog::CatalogPlugin;
use crate::dispatch::RefusedRequest;
use crate::json::{self, Json};
use crate::manifest::JsonMembers;
use crate::tape::TextTooLongError;

use super::super::errors::{ProtocolError, RequestError};
use super::super::render::{InputRequired, View, render};
use super::super::{Method, Params, Protocol, RequestContext};
use super::state::{MarkUsedError, OpenedState, RoundState, StateClaim, StateError};
use super::{CallRound, MAX_ANSWERS, MAX_ANSWERS_BYTES, ParsedQuestions, sanitise, split_answers};

/// One request and its protocol.
pub(super) struct ClientInput<'a> {
    pub(super) protocol: &'a Protocol,
    pub(super) request_context: &'a RequestContext,
    pub(super) params: &'a Params,
    pub(super) method: Method,
}

/// The start of a stateless request.
pub(super) enum StatelessStart {
    /// Call the plugin.
    Call(CallRound),
    /// Ask the client again for missing answers.
    Questions(Json),
}

impl ClientInput<'_> {
    /// Rejects questions that need undeclared capabilities. The error names all of them.
    pub(super) fn check_declared(
        &self,
        catalog_plugin: &CatalogPlugin,
        asked: &ParsedQuestions,
    ) -> Result<(), RequestError> {
        let RequestContext { revision, capabilities, .. } = self.request_context;
        let mut missing: Vec<String> = Vec::new();
        for (_, question) in asked {
            for name in question.missing_capabilities(*revision, capabilities) {
                if !missing.iter().any(|known| known == name) {
                    missing.push(name.to_owned());
                }
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        Err(RequestError::failed(catalog_plugin, CallError::Refused(PluginError::MissingCapability(missing))))
    }

    /// Asks all questions at once and waits for all answers. The first invalid answer withdraws the other questions,
    /// and so does one that makes the answers too long. `kept` is the length of earlier answers in bytes, and `held` that
    /// of the plugin's state.
    pub(super) async fn ask(
        &self,
        catalog_plugin: &CatalogPlugin,
        asked: ParsedQuestions,
        kept: usize,
        held: usize,
    ) -> Result<Vec<(String, Json)>, RequestError> {
        let RequestContext { revision, cancel, peer, .. } = self.request_context;
        let mut ready = Vec::with_capacity(asked.len());
        for (_, question) in asked {
            let params = question
                .params(catalog_plugin.id(), *revision)
                .map_err(|error| error.into_request_error(catalog_plugin, *revision))?;
            ready.push((question, params));
        }
        if ready.is_empty() {
            return Ok(Vec::new());
        }
        let Some(peer) = peer else {
            let why = "the client can't be asked here: its request came in a batch, or without accepting an event stream";
            return Err(RequestError::unanswered(catalog_plugin, why.to_owned()));
        };
        let _held = peer
            .reserve(held)
            .map_err(|error| RequestError::unanswered(catalog_plugin, error.to_string()))?;
        let kept = &AtomicUsize::new(kept);
        let each = ready.iter().map(|(question, params)| async move {
            let method = question.method();
            let answer = peer.ask(method, params.as_ref()).await;
            let answer = answer
                .map_err(|error| format!("{} (`{method}`)", sanitise::sanitised_label(&error.to_string())));
            let answer = answer.and_then(|answer| {
                let used = question.validate_answer(answer.get());
                used.map_err(|why| format!("the client's answer to `{method}` is invalid: {why}"))
            });
            let answer = answer.and_then(|answer| {
                let size = answer.get().len();
                let fits = kept.fetch_add(size, Ordering::Relaxed) + size <= MAX_ANSWERS_BYTES;
                let most = MAX_ANSWERS_BYTES >> 20;
                fits.then_some(answer)
                    .ok_or_else(|| format!("the client's answers are longer than {most} MiB in total"))
            });
            match answer {
                Ok(answer) => Ok((question.key.clone(), answer)),
                Err(why) => Err(RequestError::unanswered(catalog_plugin, why)),
            }
        });
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(RequestError::failed(catalog_plugin, CallError::Cancelled)),
            answers = try_join_all(each) => answers,
        }
    }

    /// Restores the state, and reads the answers in the request.
    pub(super) async fn start(
        &self,
        catalog_plugin: Option<&Arc<CatalogPlugin>>,
    ) -> Result<StatelessStart, RequestError> {
        let given = self.answers_in_request()?;
        let state = match self.params.get("requestState") {
            None => {
                return Ok(StatelessStart::Call(CallRound {
                    advance_answers: given,
                    ..CallRound::default()
                }));
            }
            Some(text) => json::string_value(text).ok_or_else(|| {
                let error = ProtocolError::params("/requestState", "`requestState` must be a string");
                RequestError::Protocol(error)
            })?,
        };
        // The lookup reports an unknown tool.
        let Some(catalog_plugin) = catalog_plugin else {
            return Ok(StatelessStart::Call(CallRound::default()));
        };
        let OpenedState { rounds, answers, open, state, .. } = self.open(catalog_plugin, &state).await?;
        let (more, missing, unusable) = split_answers(open, &mut { given });
        let round = CallRound {
            rounds: rounds.saturating_sub(1),
            answers: Arc::new(answers),
            ..CallRound::default()
        };
        let round = round.next(more, state);
        if missing.is_empty() {
            return Ok(StatelessStart::Call(round));
        }
        if let Some((request, _)) = missing.iter().find(|(_, question)| question.has_no_content()) {
            let message = "the answer is missing, and the question is too long to be asked again; send the request again without `requestState`";
            let at = format!("/inputResponses/{}", crate::json::pointer_step(&request.key));
            return Err(RequestError::Protocol(ProtocolError::params(&at, message)));
        }
        self.check_declared(catalog_plugin, &missing)?;
        self.input_required(catalog_plugin, &round, &missing, &unusable).map(StatelessStart::Questions)
    }

    /// The answers in the request.
    fn answers_in_request(&self) -> Result<HashMap<String, Json>, RequestError> {
        let Some(text) = self.params.get("inputResponses") else { return Ok(HashMap::new()) };
        let wrong = |message: &str| RequestError::Protocol(ProtocolError::params("/inputResponses", message));
        if !text.starts_with('{') {
            return Err(wrong("`inputResponses` must be an object"));
        }
        let mut answers = HashMap::new();
        json::visit_members(text, |key, answer| {
            if answers.len() == MAX_ANSWERS {
                return Err(wrong(&format!("`inputResponses` has more than {MAX_ANSWERS} members")));
            }
            answers.insert(key.into_owned(), Json::parse(answer).expect("a part of valid JSON"));
            Ok(())
        })?;
        Ok(answers)
    }

    /// Opens a state and marks it as used.
    async fn open(&self, catalog_plugin: &CatalogPlugin, state: &str) -> Result<OpenedState, RequestError> {
        let refuse = |why: StateError| {
            if let Some(observer) = self.protocol.dispatcher.observer() {
                observer.request_refused(&self.request_context.caller, RefusedRequest::RequestState);
            }
            RequestError::Protocol(ProtocolError::request_state(&why.to_string()))
        };
        let states = &self.protocol.states;
        let now = SystemTime::now();
        let opened = states.open(&self.claim(catalog_plugin)?, state, now).map_err(refuse)?;
        let granted = &catalog_plugin.policy().client_features;
        if !opened.open.iter().all(|(_, question)| granted.contains(&question.feature())) {
            return Err(refuse(StateError::Replaced));
        }
        states.use_up(&opened, now).await.map_err(|why| match why {
            MarkUsedError::Already => refuse(StateError::Used),
            MarkUsedError::Full => RequestError::unanswered(
                catalog_plugin,
                "too many questions are open; try again later".to_owned(),
            ),
            MarkUsedError::StoreDown => {
                RequestError::failed(catalog_plugin, CallError::Busy(BusyReason::SharedStore))
            }
        })?;
        Ok(opened)
    }

    /// The result that asks the client, with the state to send back.
    pub(super) fn input_required(
        &self,
        catalog_plugin: &CatalogPlugin,
        round: &CallRound,
        open: &ParsedQuestions,
        meta: &JsonMembers,
    ) -> Result<Json, RequestError> {
        let revision = self.request_context.revision;
        let mut requests = Vec::with_capacity(open.len());
        for (_, question) in open {
            let params = question
                .params(catalog_plugin.id(), revision)
                .map_err(|error| error.into_request_error(catalog_plugin, revision))?;
            requests.push((question.key.as_str(), question.method(), params));
        }
        let carried = RoundState {
            rounds: round.rounds,
            answers: (*round.answers).clone(),
            open: open.iter().map(|(request, _)| request.clone()).collect(),
            state: round.state.as_deref().map(<[u8]>::to_vec),
        };
        let state = self.protocol.states.seal(&self.claim(catalog_plugin)?, &carried, SystemTime::now());
        let state = state.map_err(|error| RequestError::unanswered(catalog_plugin, error.to_string()))?;
        let server = &self.protocol.identity;
        let result = InputRequired { requests: &requests, state: &state, meta, server };
        Ok(render(&View::new(&result, revision)))
    }

    fn claim(&self, catalog_plugin: &CatalogPlugin) -> Result<StateClaim, RequestError> {
        let principal = self.request_context.caller.principal();
        StateClaim::new(catalog_plugin, &principal, self.method.as_str(), self.params).map_err(
            |TextTooLongError| {
                let message = "the parameters are too long for a tool that asks questions";
                RequestError::Protocol(ProtocolError::params("", message))
            },
        )
    }
}
