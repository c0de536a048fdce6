//! Watches over one round of a call, as no gateway can: a call that would do something twice, or that asks under one key
//! two different things, fails its test.

use std::collections::{BTreeMap, BTreeSet};

use super::{read, tell};
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
    let (effects, before) = read(|gateway| (gateway.round.effects.clone(), gateway.asked.get(key).cloned()));
    assert!(
        effects.is_empty(),
        "the call did {} before it asked `{key}`; when the client answers, the call starts over and does it again: move \
         it behind the question or into `Context::once`",
        effects.join(", "),
    );
    if let Some(before) = before {
        assert!(
            before == *request,
            "the key `{key}` stands for two questions in one call, so one would get the answer to the other: {} and {}",
            before.params.unwrap_or_default(),
            request.params.clone().unwrap_or_default(),
        );
    }
    tell(|gateway| gateway.asked.insert(key.clone(), request.clone()));
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
