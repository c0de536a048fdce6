//! Tests of sanitising and cutting text.

use super::*;

#[test]
fn escapes_hidden_characters() {
    assert_eq!(escape_hidden("a\u{202e}b\n"), "a\\u{202e}b\\n");
    assert_eq!(escape_hidden_in_block("a\u{202e}b\n"), "a\\u{202e}b\n");
    assert!(matches!(escape_hidden("plain"), Cow::Borrowed("plain")));
}

#[test]
fn first_sentences_have_no_line_breaks() {
    let hard_wrapped = "\nRead a file, e.g. a\nlarge one. Use `head` for its\nstart.";
    assert_eq!(first_sentence(hard_wrapped), "Read a file, e.g. a large one.");
    assert_eq!(first_sentence("Delete them all?\nReally."), "Delete them all?");
    assert_eq!(first_sentence("Options:\n- a\n- b"), "Options:");
    assert_eq!(first_sentence("# Title\ntext\n\nmore"), "# Title text");
    assert_eq!(first_sentence(""), "");
}

#[test]
fn removes_hidden_characters_but_not_line_breaks() {
    assert_eq!(remove_hidden("a\u{200b}\tb\nc\u{7}"), "a\tb\nc");
}

#[test]
fn quotable_text_ends_no_backticks() {
    assert_eq!(quotable("a`b\n"), "a'b\\n");
    assert_eq!(quotable(&"x".repeat(81)), format!("{}…", "x".repeat(80)));
}

#[test]
fn cuts_lines_by_characters() {
    assert_eq!(escaped_line("äöü\n", 3), "äöü…");
    assert_eq!(escaped_line("äö\n", 3), "äö\\n");
    assert_eq!(blanked_line("a\nbc", 3), "a b…");
}

#[test]
fn truncates_at_a_character_boundary() {
    assert_eq!(truncated("äöü".to_owned(), 6), "äöü");
    assert_eq!(truncated("äöüß".to_owned(), 6), "ä…");
    assert_eq!(truncated("abcd".to_owned(), 1), "…");
}
