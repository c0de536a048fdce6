//! The normal form of Markdown.

use super::{lines, with_absolute_links};

#[test]
fn equivalent_markdown_is_equal() {
    let one = "## A  part\n\n* one\n  + two\n\n> said\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n```\nx = 1\n```\n__strong__ snake_case";
    let other = "## A part\n- one\n    - two\n>said\n| a | b |\n|:-|-|\n| 1 | 2 |\n```c\nx = 1\n```\n**strong** snake\\_case";
    assert_eq!(lines(one), lines(other));
    assert_eq!(
        lines(one),
        ["## A part", "- one", "- two", ">said", "| a | b |", "| 1 | 2 |", "x = 1", "strong snakecase"]
    );
}

#[test]
fn different_content_differs() {
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
fn makes_links_absolute() {
    assert_eq!(
        with_absolute_links("[a](/b) ![c](/d) [e](f)", "http://x"),
        "[a](http://x/b) ![c](http://x/d) [e](f)"
    );
}
