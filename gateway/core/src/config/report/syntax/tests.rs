//! How much is done with a file that is wrong on every line.

use std::cell::Cell;

use super::*;

thread_local! {
    static WALKED: Cell<usize> = const { Cell::new(0) };
}

/// Counts the tables that are walked in search of keys.
pub(in crate::config) fn note_walk() {
    WALKED.set(WALKED.get() + 1);
}

/// What is said of a text, and how many tables were walked for it.
fn told(text: &str) -> (Vec<Problem>, usize) {
    let (parsed, errors) = DeTable::parse_recoverable(text);
    WALKED.set(0);
    (problems(&errors, parsed.get_ref(), text), WALKED.get())
}

#[test]
fn a_key_that_a_large_file_names_on_every_line_is_looked_for_once() {
    let lines = 100_000;
    let (told, walked) = told(&format!("[t]\n{}", "a = 1\n".repeat(lines)));
    assert_eq!((told.len(), walked), (lines - 1, 2));
    assert!(told.iter().all(|problem| problem.related[0].0 == (4..5)));
}

#[test]
fn only_the_first_error_of_a_line_is_worded() {
    let (told, walked) = told(&format!("a = 1\nb = [{}\n", "= , ".repeat(50_000)));
    assert_eq!((told.len(), walked), (1, 0), "{told:?}");
    let (told, walked) = crate::config::report::syntax::tests::told("a = 1\na = 2\nb = 1\nc = x\nb = 2\n");
    assert_eq!((told.len(), walked), (3, 1), "{told:?}");
}
