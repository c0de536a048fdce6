//! However much an answer says, little of it is looked at and what is added to it stays.

use super::*;
use crate::host::convert;

fn failed(message: String) -> Result<tools::CallOutcome, types::Failure> {
    Err(types::Failure::Internal(types::Fault { message, at: None, data: None }))
}

fn result(texts: &[&str], is_error: Option<bool>) -> Result<tools::CallOutcome, types::Failure> {
    let content = texts.iter().map(|text| {
        let (annotations, meta, extra) = (None, None, None);
        types::Content::Text(types::TextContent { text: (*text).to_owned(), annotations, meta, extra })
    });
    let (structured, meta, extra) = (None, None, None);
    Ok(tools::CallOutcome::Done(tools::CallResult {
        content: content.collect(),
        structured,
        is_error,
        meta,
        extra,
    }))
}

#[test]
fn the_beginning_of_a_long_complaint_is_looked_at_and_of_one_text_nothing_is_copied() {
    let long = "ä".repeat(1 << 20);
    for answer in [failed(long.clone()), result(&[&long], Some(true))] {
        let said = answer.complaint().unwrap();
        assert!(matches!(said, Cow::Borrowed(_)) && said.len() == LOOKED_AT, "{}", said.len());
    }
    let many = result(&["a", "b", &long, &long, "c"], Some(true));
    let said = many.complaint().unwrap();
    assert!(said.starts_with("a\nb\nää") && said.len() <= LOOKED_AT, "{}", said.len());
    let empty = vec![""; 3 * LOOKED_AT];
    assert_eq!(result(&empty, Some(true)).complaint().unwrap().len(), LOOKED_AT);
    for fine in [None, Some(false)] {
        assert_eq!(result(&["a"], fine).complaint(), None);
    }
}

#[test]
fn what_is_appended_to_a_long_complaint_stays() {
    let sentences = ["it wanted one thing".to_owned(), "it wanted another".to_owned()];
    for (message, begins) in [("no".to_owned(), "no ("), ("ä".repeat(5000), "ää")] {
        let mut answer = failed(message);
        answer.append(&sentences);
        let Err(failure) = answer else { panic!() };
        let said = convert::failure(failure).to_string();
        let end = " (moongate: it wanted one thing) (moongate: it wanted another)";
        assert!(said.contains(begins) && said.ends_with(end), "{said}");
    }
}
