//! Recognised failures, and notes on failures of any length.

use super::*;
use crate::convert;

fn failed(message: String) -> Result<tools::CallOutcome, types::Failure> {
    Err(types::Failure::Internal(types::Fault { message, at: None, data: None }))
}

fn result(texts: &[&str], is_error: Option<bool>) -> Result<tools::CallOutcome, types::Failure> {
    let content = texts.iter().map(|text| {
        types::Content::Text(types::TextContent {
            text: (*text).to_owned(),
            annotations: None,
            meta: None,
            extra: None,
        })
    });
    Ok(tools::CallOutcome::Done(tools::CallResult {
        content: content.collect(),
        structured: None,
        is_error,
        meta: None,
        extra: None,
    }))
}

#[test]
fn finds_words_in_every_text_of_a_failure() {
    for answer in [failed("a b c".to_owned()), result(&["a", "x b y"], Some(true))] {
        assert!(answer.is_failure() && answer.mentions("b") && !answer.mentions("d"));
    }
    for is_error in [None, Some(false)] {
        assert!(!result(&["a"], is_error).is_failure());
    }
}

#[test]
fn a_note_on_a_long_failure_stays() {
    for (message, start) in [("no".to_owned(), "no ("), ("ä".repeat(5000), "ää")] {
        let mut answer = failed(message);
        answer.append_note("denied");
        let Err(failure) = answer else { panic!() };
        let shown = convert::failure(failure).to_string();
        assert!(shown.contains(start) && shown.ends_with(" (moongate: denied)"), "{shown}");
    }
}
