//! What is left of Markdown.

use super::{lines, with_whole_links};

#[test]
fn two_ways_of_writing_say_the_same() {
    let one = "## A  part\n\n* one\n  + two\n\n> said\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n```\nx = 1\n```\n__strong__ snake_case";
    let other = "## A part\n- one\n    - two\n>said\n| a | b |\n|:-|-|\n| 1 | 2 |\n```c\nx = 1\n```\n**strong** snake\\_case";
    assert_eq!(lines(one), lines(other));
    assert_eq!(
        lines(one),
        ["## A part", "- one", "- two", ">said", "| a | b |", "| 1 | 2 |", "x = 1", "strong snakecase"]
    );
}

#[test]
fn what_says_something_else_is_something_else() {
    for (one, other) in [
        ("# a", "## a"),
        ("a b", "ab"),
        ("a\nb", "a b"),
        ("- a", "1. a"),
        ("[a](/b)", "[a](/c)"),
        ("a", "> a"),
    ] {
        assert_ne!(lines(one), lines(other));
    }
}

#[test]
fn links_are_completed() {
    assert_eq!(
        with_whole_links("[a](/b) ![c](/d) [e](f)", "http://x"),
        "[a](http://x/b) ![c](http://x/d) [e](f)"
    );
}
