//! What a shell takes, and what others say.

use super::{LONGEST_SAID, said, word};

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
