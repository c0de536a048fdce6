//! Properties that hold for all questions, answers and states (2026-07-28, basic/patterns/mrtr), as plain functions for
//! the seeded tests and for fuzzers.

use std::time::{Duration, UNIX_EPOCH};

use crate::call::InputRequest;
use crate::json::Json;
use crate::names::{Digest, PluginId};
use crate::text::is_hidden_in_block;

use super::super::{Revision, SealingKey};
use super::question::Question;
use super::state::{MarkUsedError, STATE_PURPOSE, StateClaim, StateStore};

/// Reads `bytes` as three lines: a method, its parameters, an answer. A valid question is still valid in the form of
/// each revision and contains nothing invisible, and an accepted answer is valid.
///
/// # Panics
/// The property is violated.
pub fn fuzz_question(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut lines = text.splitn(3, '\n');
    let [method, params, answer] = [(); 3].map(|()| lines.next().unwrap_or_default());
    let ask = |params| InputRequest { key: "k".to_owned(), method: method.to_owned(), params };
    let Ok(question) = Question::read(&ask(Json::parse(params).ok())) else { return };
    let plugin = PluginId::new("p").expect("a valid name");
    for revision in Revision::ALL {
        let Ok(Some(written)) = question.params(&plugin, revision) else { continue };
        let again = Question::read(&ask(Some(written.clone())));
        assert!(again.is_ok(), "{revision}: {written:?} can't be asked: {again:?}");
        let message =
            written.to_value().ok().and_then(|written| Some(written["message"].as_str()?.to_owned()));
        if let Some(message) = message {
            assert!(message.starts_with("[plugin: p] "), "it isn't signed: {message}");
            assert!(!message.contains(is_hidden_in_block), "{message:?}");
        }
    }
    if let Ok(accepted) = question.validate_answer(answer) {
        assert_eq!(
            question.validate_answer(accepted.get()).as_ref(),
            Ok(&accepted),
            "an accepted answer must be accepted again unchanged"
        );
    }
}

/// Opens `bytes` as a state, and as data that the gateway itself has sealed. The first never opens, and the second can
/// be used at most once.
///
/// # Panics
/// The property is violated.
pub fn fuzz_state(bytes: &[u8]) {
    let key = SealingKey::shared("fuzz");
    let states = StateStore::new(key.clone(), None);
    let now = UNIX_EPOCH + Duration::from_secs(1);
    let claim = StateClaim::fixed("p", Digest::of(b""));
    assert!(states.open(&claim, &String::from_utf8_lossy(bytes), now).is_err(), "a forged state was opened");
    let sealed = key.seal(STATE_PURPOSE, bytes).expect("the system has random bytes");
    if let Ok(opened) = states.open(&claim, &sealed, now) {
        assert_eq!(states.mark_used(&opened, now), Ok(()));
        assert_eq!(states.mark_used(&opened, now), Err(MarkUsedError::Already));
    }
}
