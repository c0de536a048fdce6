//! Constructs of ECMA-262, as strings that match and strings that don't.

use crate::tape::JsonTape;

use super::*;

fn matches(pattern: &str, text: &str) -> bool {
    PatternMatcher::compile(pattern)
        .unwrap_or_else(|error| panic!("{pattern}: {error:?}"))
        .matches(JsonTape::read(&json!(text).to_string()).unwrap().root())
}

#[test]
fn matches_like_ecma_script() {
    for (pattern, matching, other) in [
        (r"^[^]*$", "a\nb", None),
        (r"^a[^]b$", "a\nb", Some("ab")),
        (r"^[]|x$", "x", Some("]")),
        (r"^\d{2}-\/\-$", "12-/-", Some("١٢-/-")),
        (r"^\p{L}+$", "été", Some("1")),
        (r"^\p{Script=Greek}$", "α", Some("a")),
        (r"^(?<year>\d{4})$", "2026", Some("26")),
        (r"^\cJ$", "\n", Some("J")),
        (r"^\u00e9\u{1F600}\uD83D\uDE00\x41$", "é😀😀A", None),
        (r"^\0[\0]$", "\0\0", Some("00")),
        (r"^[\b]$", "\u{8}", Some("b")),
        (r"^\<\>[\<\>]$", "<><", Some("a")),
        (r"^{{\w+}}$", "{{name}}", Some("name")),
        (r"^a]}$", "a]}", None),
        (r"^[[a]$", "[", Some("]")),
        (r"^\é$", "é", None),
        ("^a$", "a", Some("a\n")),
        ("^a.b$", "a b", Some("a\u{2028}b")),
        (r"^\s$", "\u{feff}", Some("\u{85}")),
        // Lookahead directly after `^`.
        (r"^(?!\s*$).+", "a", Some("  ")),
        (r"^(?=.{1,3}$)[a-z]+$", "abc", Some("abcd")),
        (r"^(?=.*\d)(?!.*\.\.)\S+$", "a1.b", Some("a1..b")),
        (
            r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$",
            "a.b@c.org",
            Some("a..b@c.org"),
        ),
        (r"^(?!(foo|bar)$)", "foobar", Some("foo")),
        (r"^(?![)\]])x?", "x", Some("]")),
    ] {
        assert!(matches(pattern, matching), "{pattern} {matching:?}");
        if let Some(other) = other {
            assert!(!matches(pattern, other), "{pattern} {other:?}");
        }
    }
    assert!(PatternMatcher::compile("^a").unwrap().matches(JsonTape::read("1").unwrap().root()));
}

#[test]
fn names_the_construct_that_is_not_supported() {
    for (pattern, reason) in [
        (r"a(?=b)", PatternError::Lookahead),
        (r"^((?!foo).)*$", PatternError::Lookahead),
        (r"^(?!a)b|c", PatternError::Lookahead),
        (r"(?<!a)b", PatternError::Lookbehind),
        (r"^(?!(?<=a)b)", PatternError::Lookbehind),
        (r"(a)\1", PatternError::Backreference),
        (r"(?<q>['x])\k<q>", PatternError::Backreference),
        (r"^[\uD800-\uDFFF]$", PatternError::Surrogate),
        (r"(a{1000}){1000}", PatternError::TooLarge),
        (r"\p{Nonsense}", PatternError::UnknownProperty),
        (r"a)", PatternError::Invalid),
        (r"[b-a]", PatternError::Invalid),
        (r"*", PatternError::Invalid),
    ] {
        assert_eq!(PatternMatcher::compile(pattern).unwrap_err(), reason, "{pattern}");
    }
    assert_eq!(PatternMatcher::compile_name("^(?!x-)").unwrap_err(), PatternError::LookaheadInName);
}

#[test]
fn counts_the_places_of_all_parts() {
    for (pattern, places) in [(r"^(?!a{100})b{10}", 116), (r"[[a](x{10}){10}", 101), (r"^[^]{9}$", 11)] {
        assert_eq!(PatternMatcher::compile(pattern).unwrap().places, places, "{pattern}");
    }
}

#[test]
fn translates_names_of_pattern_properties() {
    let mut schema = json!({ "items": { "patternProperties": { "^[^]$": { "type": "null" }, "a": true } } });
    translate_names(&mut schema);
    assert_eq!(
        schema,
        json!({ "items": { "patternProperties": { r"^[\s\S]$": { "type": "null" }, "a": true } } })
    );
}
