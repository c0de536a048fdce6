//! Quoting for shells, and escaping for terminals.

use serde_json::{Value, json};

use super::{MAX_INLINE_CHARS, MAX_SUMMARY_CHARS, inline, json_for_terminal, shell_word, summary};

#[test]
fn quotes_words_for_a_shell() {
    assert_eq!(shell_word("zone=Asia/Tokyo"), "zone=Asia/Tokyo");
    assert_eq!(shell_word("a b"), "'a b'");
    assert_eq!(shell_word("it's $HOME"), r"'it'\''s $HOME'");
    assert_eq!(shell_word(""), "''");
}

#[test]
fn text_from_elsewhere_stays_in_its_line() {
    assert_eq!(
        inline("no\nhint: run this\u{1b}]0;x\u{7}\u{202e}"),
        "no\\nhint: run this\\u{1b}]0;x\\u{7}\\u{202e}"
    );
    assert_eq!(inline(&"x".repeat(MAX_INLINE_CHARS + 1)).chars().count(), MAX_INLINE_CHARS + 1);
}

#[test]
fn a_summary_is_a_shortened_first_line() {
    assert_eq!(summary("\n  One\tline. \nAnd more."), "One\\tline.");
    assert_eq!(summary(&"é".repeat(MAX_SUMMARY_CHARS)).chars().count(), MAX_SUMMARY_CHARS);
    assert_eq!(summary(&"é".repeat(2000)), format!("{}…", "é".repeat(MAX_SUMMARY_CHARS)));
    assert_eq!(summary("\n"), "");
}

#[test]
fn json_for_a_terminal_is_escaped_and_has_the_same_value() {
    let value = json!({ "a\u{9b}b": ["\u{202e}", "\u{1b}[2J\n", "tag \u{e0041}", "plain \u{e9} \u{1f600}"] });
    let said = json_for_terminal(&format!("{value:#}\n"));
    for escape in [r"a\u009bb", r"\u202e", r"\u001b[2J\n", r"\udb40\udc41", "plain \u{e9} \u{1f600}"] {
        assert!(said.contains(escape), "{escape}: {said}");
    }
    assert_eq!(said.lines().count(), 8);
    assert_eq!(serde_json::from_str::<Value>(&said).unwrap(), value);
}
