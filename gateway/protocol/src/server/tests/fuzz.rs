//! The fuzz functions over their corpora and small mutations of them.

use moongate_model::seeded::seeded;

#[test]
fn fuzz_headers() {
    seeded("headers", super::super::fuzz_headers);
}

#[test]
fn fuzz_params() {
    seeded("params", crate::mcp::fuzz_params);
}

#[test]
fn fuzz_cursor() {
    seeded("cursor", crate::mcp::fuzz_cursor);
}

#[test]
fn fuzz_state_and_questions() {
    seeded("state", crate::mcp::fuzz_state);
    seeded("question", crate::mcp::fuzz_question);
}

#[test]
fn fuzz_event_ids() {
    seeded("event_id", crate::session::fuzz_event_id);
}
