//! What a shell takes.

use super::word;

#[test]
fn words_are_quoted_where_a_shell_needs_it() {
    assert_eq!(word("zone=Asia/Tokyo"), "zone=Asia/Tokyo");
    assert_eq!(word("a b"), "'a b'");
    assert_eq!(word("it's $HOME"), r"'it'\''s $HOME'");
    assert_eq!(word(""), "''");
}
