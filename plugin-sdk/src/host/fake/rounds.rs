//! Checks the rounds of a call more strictly than a gateway can: a call that would repeat a side effect, or that uses
//! one key for two different questions, fails its test.

use std::collections::{BTreeMap, BTreeSet};

use super::tell;
use crate::InputRequest;

/// Tests check questions even if their answer is available.
pub(crate) const CHECKS_ANSWERED_QUESTIONS: bool = true;

/// The state of one round.
#[derive(Debug, Clone, Default)]
pub(crate) struct Round {
    /// Side effects that a restarted call would repeat.
    pub(crate) effects: Vec<String>,
    /// The keys of the questions that ended the call.
    pub(crate) left: Vec<String>,
    /// The nesting depth of `once`.
    inside_once: usize,
    once: BTreeSet<String>,
    /// The last reported progress.
    pub(crate) progress: Option<f64>,
    /// The first problem with a question.
    problem: Option<String>,
}

/// The questions by key, over all rounds of the call.
pub(crate) type QuestionsByKey = BTreeMap<String, InputRequest>;

/// Marks the time while `once` runs its work.
pub(crate) struct OnceGuard;

impl Drop for OnceGuard {
    fn drop(&mut self) {
        tell(|gateway| gateway.round.inside_once -= 1);
    }
}

#[track_caller]
pub(crate) fn once(key: &str) -> OnceGuard {
    let new = tell(|gateway| {
        gateway.round.inside_once += 1;
        gateway.round.once.insert(key.to_owned())
    });
    let guard = OnceGuard;
    assert!(
        new,
        "`once(\"{key}\")` is used twice in one call, so the second would get the result of the first"
    );
    guard
}

/// Records a visible side effect.
pub(crate) fn record_effect(what: &str) {
    tell(|gateway| {
        if gateway.round.inside_once == 0 {
            gateway.round.effects.push(what.to_owned());
        }
    });
}

pub(crate) fn record_question(request: &InputRequest) {
    let key = &request.key;
    tell(|gateway| {
        let before = gateway.asked.insert(key.clone(), request.clone()).filter(|before| before != request);
        let effects = gateway.round.effects.join(", ");
        let problem = if !effects.is_empty() {
            format!(
                "the call did {effects} before it asked `{key}`, and would do it again when it restarts with the answer; \
                 move it after the question or into `Context::once`"
            )
        } else if let Some(before) = before {
            format!(
                "the key `{key}` is used for two different questions in one call: {} and {}",
                before.params.unwrap_or_default(),
                request.params.clone().unwrap_or_default(),
            )
        } else if key.is_empty() {
            "the key of a question is empty, which a gateway would reject; set a key".to_owned()
        } else {
            return;
        };
        gateway.round.problem.get_or_insert(problem);
    });
}

/// Fails the test at the caller's line if a question has a problem.
#[track_caller]
pub(crate) fn fail_on_problem() {
    let problem = tell(|gateway| gateway.round.problem.take());
    if let Some(problem) = problem {
        panic!("{problem}");
    }
}

pub(crate) fn record_open_questions(requests: &[InputRequest]) {
    tell(|gateway| gateway.round.left.extend(requests.iter().map(|request| request.key.clone())));
}

/// The problem with the end of the round, if there is one.
pub(crate) fn check_end(round: &Round, asks: RoundEnd) -> Option<String> {
    match asks {
        RoundEnd::Nothing if !round.left.is_empty() => Some(format!(
            "the call asked {:?} but ended without the answer; return the error of `ask` with `?`",
            round.left
        )),
        RoundEnd::Something if !round.effects.is_empty() => Some(format!(
            "the call did {} before it asked a question, and would do it again when it restarts with the answer; \
             move it after the question or into `Context::once`",
            round.effects.join(", "),
        )),
        RoundEnd::Nothing | RoundEnd::Something => None,
    }
}

/// The end of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RoundEnd {
    /// The round ended with a result or an error.
    Nothing,
    /// The round ended with questions.
    Something,
}
