//! Spellings of one URI, and paths that leave their root.

use super::*;

#[test]
fn equivalent_spellings_have_one_form() {
    for [uri, other] in [
        ["file:///a/b", "FILE:///%61//./b/"],
        ["file:///a/b", "file:///c/../a/b"],
        ["file:///a/b", "file:///../../../a/b"],
        ["file:///a/b", "file:///a/../../%2e%2e/a/b"],
        ["https://host/a", "https://host/../a"],
        ["https://host/a", "https://host/x/../../a"],
        ["zoo:a", "zoo:x/../../a"],
        ["file:///etc", "file://../etc"],
        ["file:///Geh\u{e4}lter", "file:///Geha%CC%88lter"],
        ["file:///Geh%C3%A4lter", "file:///%FF/../Geha\u{308}lter"],
    ] {
        let form = |uri: &str| String::from_utf8(comparable_uri(uri)).unwrap();
        assert_eq!(form(uri), form(other), "{other}");
    }
}

#[test]
fn the_scheme_and_the_authority_stay() {
    for (uri, form) in [
        ("file:///..", "file:/"),
        ("https://host/../..", "https:/host"),
        ("zoo:text", "zoo:text"),
        ("zoo://text", "zoo:/text"),
        ("*", "*"),
        ("/a/../..", ""),
        ("f*:///a", "f*:/a"),
    ] {
        assert_eq!(String::from_utf8(comparable_uri(uri)).unwrap(), form, "{uri}");
    }
}
