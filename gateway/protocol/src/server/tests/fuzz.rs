//! The fuzzers' functions over their corpora, and over what becomes of these in a few changes.

use moongate_model::seeded::seeded;

#[test]
fn no_header_says_what_it_does_not() {
    seeded("headers", super::super::fuzz_headers);
}

#[test]
fn no_parameters_are_checked_otherwise_than_they_are_passed_on() {
    seeded("params", crate::mcp::fuzz_params);
}

#[test]
fn no_cursor_opens_that_was_not_given_out() {
    seeded("cursor", crate::mcp::fuzz_cursor);
}

#[test]
fn no_state_and_no_question_breaks_a_promise() {
    seeded("state", crate::mcp::fuzz_state);
    seeded("question", crate::mcp::fuzz_question);
}

#[test]
fn no_event_has_two_names() {
    seeded("event_id", crate::session::fuzz_event_id);
}
