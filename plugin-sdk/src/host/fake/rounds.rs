//! Watches over one round of a call, as no gateway can: a call that would do something twice, or that asks under one key
//! two different things, fails its test.

use std::collections::{BTreeMap, BTreeSet};

use super::tell;
use crate::InputRequest;

/// Questions are looked at even where their answer is there.
pub(crate) const CHECKED: bool = true;

/// What a round has done so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Round {
    /// What it would do again if the call started over.
    pub(crate) effects: Vec<String>,
    /// The questions that it left the call for.
    pub(crate) left: Vec<String>,
    /// How deep in `once` it is.
    inside_once: usize,
    once: BTreeSet<String>,
    /// How far it said it is.
    pub(crate) progress: Option<f64>,
    /// What is wrong with a question that it asked.
    wrong: Option<String>,
}

/// What was asked under each key, in all rounds of the call.
pub(crate) type Asked = BTreeMap<String, InputRequest>;

/// The time in which `once` works.
pub(crate) struct Once;

impl Drop for Once {
    fn drop(&mut self) {
        tell(|gateway| gateway.round.inside_once -= 1);
    }
}

#[track_caller]
pub(crate) fn once(key: &str) -> Once {
    let new = tell(|gateway| {
        gateway.round.inside_once += 1;
        gateway.round.once.insert(key.to_owned())
    });
    let guard = Once;
    assert!(new, "`once(\"{key}\")` is used twice in one call; the second would get the first one's result");
    guard
}

/// Something that the outside sees was done.
pub(crate) fn effect(what: &str) {
    tell(|gateway| {
        if gateway.round.inside_once == 0 {
            gateway.round.effects.push(what.to_owned());
        }
    });
}

pub(crate) fn asked(request: &InputRequest) {
    let key = &request.key;
    tell(|gateway| {
        let before = gateway.asked.insert(key.clone(), request.clone()).filter(|before| before != request);
        let effects = gateway.round.effects.join(", ");
        let wrong = if !effects.is_empty() {
            format!(
                "the call did {effects} before it asked `{key}`; when the client answers, the call starts over and does it \
                 again: move it behind the question or into `Context::once`"
            )
        } else if let Some(before) = before {
            format!(
                "the key `{key}` stands for two questions in one call, so one would get the answer to the other: {} and {}",
                before.params.unwrap_or_default(),
                request.params.clone().unwrap_or_default(),
            )
        } else if key.is_empty() {
            "the call asks something under the empty key, which a gateway would refuse; give the question a name".to_owned()
        } else {
            return;
        };
        gateway.round.wrong.get_or_insert(wrong);
    });
}

/// Fails the test at the place that asked, if something is wrong with a question.
#[track_caller]
pub(crate) fn asked_all() {
    let wrong = tell(|gateway| gateway.round.wrong.take());
    if let Some(wrong) = wrong {
        panic!("{wrong}");
    }
}

pub(crate) fn left_to_ask(requests: &[InputRequest]) {
    tell(|gateway| gateway.round.left.extend(requests.iter().map(|request| request.key.clone())));
}

/// What is wrong with how the round ended.
pub(crate) fn wrong_end(round: &Round, asks: Asks) -> Option<String> {
    match asks {
        Asks::Nothing if !round.left.is_empty() => Some(format!(
            "the call asked {:?} but ended without the answer: give the error of `ask` on with `?`",
            round.left
        )),
        Asks::Something if !round.effects.is_empty() => Some(format!(
            "the call did {} and then asked something; when the client answers, the call starts over and does it \
             again: move it behind the question or into `Context::once`",
            round.effects.join(", "),
        )),
        Asks::Nothing | Asks::Something => None,
    }
}

/// How a round ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asks {
    /// With its result, or an error.
    Nothing,
    /// With questions.
    Something,
}
