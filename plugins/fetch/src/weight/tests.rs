//! Pages that are too expensive, and pages that only look expensive.

use super::{CostError, check};

#[test]
fn detects_expensive_pages() {
    for tag in ["div", "b", "table><tr><td", "ul><li", "blockquote", "svg:g", "x-y a='>' b"] {
        assert_eq!(check(&format!("<{tag}>").repeat(600)), Err(CostError::Deep), "{tag}");
        assert_eq!(check(&format!("<{tag}>").repeat(500)), Ok(()), "{tag}");
    }
    assert_eq!(check(&"<br>".repeat(200_000)), Err(CostError::Large));
    let attributes: String = (0..2000).map(|n| format!(" a{n}=1")).collect();
    assert_eq!(check(&format!("<p{attributes}>")), Err(CostError::Wide));
    assert_eq!(check(&format!("<p {}>", "a/".repeat(2000))), Err(CostError::Wide));
}

#[test]
fn ignores_optional_end_tags() {
    for tag in ["p", "li", "td", "TR", "dd", "option", "br", "img", "Meta"] {
        assert_eq!(check(&format!("<{tag}>x").repeat(5000)), Ok(()), "{tag}");
    }
    assert_eq!(check(&"<div><p>x</div>".repeat(5000)), Ok(()));
    assert_eq!(check(&"<path d='M 0'/>".repeat(5000)), Ok(()));
}

#[test]
fn ignores_text_elements() {
    let deep = "<div>".repeat(600);
    for (before, after) in [
        ("<!--", "-->"),
        ("<script>", "</script>"),
        ("<STYLE a=b>", "</style >"),
        ("<p title=\"", "\">"),
        ("<p title = '", "'>"),
        ("<title>", "</title>"),
    ] {
        assert_eq!(check(&format!("{before}{deep}{after}")), Ok(()), "{before}");
        assert_eq!(check(&format!("{before}{after}{deep}")), Err(CostError::Deep), "{before}");
        assert_eq!(check(&format!("{before}{deep}")), Ok(()), "unclosed {before}");
    }
    assert_eq!(check(&"< 1 <3 <".repeat(100_000)), Ok(()));
    assert_eq!(check(&"</div>".repeat(1000)), Ok(()));
    for cut in ["<", "<!", "<!--", "</", "<p", "<p ", "<p a", "<p a=", "<p a='", "<script>", "<script></"] {
        assert_eq!(check(cut), Ok(()), "{cut}");
    }
}
