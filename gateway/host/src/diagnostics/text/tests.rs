//! Removed characters, kept characters, and truncation.

use super::*;

#[test]
fn removes_hidden_characters_and_keeps_lines() {
    assert_eq!(clean_block("a\u{202e}b\u{1b}[31m\nc\u{e0041}".into(), 100), "ab[31m\nc");
    assert_eq!(clean_line("  two\r\nlines\u{2066} ", 100), "two  lines");
    assert_eq!(clean_line("größer 👩‍🔬", 100), "größer 👩‍🔬");
    assert_eq!(clean_block("a\u{200b}b\u{feff}\u{2062}c\u{e0100}\u{e01ef}".into(), 100), "abc");
}

#[test]
fn truncates_at_a_character() {
    assert_eq!(clean_block("äöü".into(), 6), "äöü");
    assert_eq!(clean_block("äöüß".into(), 6), "ä…");
}

#[test]
fn cleans_raw_and_escaped_json_strings() {
    for (given, cleaned) in [
        (r#"{"a":1.50,"b":"x\ny"}"#, r#"{"a":1.50,"b":"x\ny"}"#),
        ("{\"a\":\"\u{202e}x\"}", r#"{"a":"x"}"#),
        (r#"{"a":"\u202ex\u001b\b\u000a"}"#, r#"{"a":"x\u000a"}"#),
        (r#"{"a":"one\r\ntwo\u000d"}"#, r#"{"a":"one\ntwo"}"#),
        (r#"{"a":"\udb40\udc41\ud83d\ude00"}"#, r#"{"a":"\ud83d\ude00"}"#),
        (r#"{"a":"\\u202e"}"#, r#"{"a":"\\u202e"}"#),
        ("{\r\n\"a\":\"\\u202e\"}", "{\r\n\"a\":\"\"}"),
        (r#"{"a":"\u20"#, r#"{"a":"\u20"#),
        (r#""\ud800\"#, r#""\ud800\"#),
    ] {
        assert_eq!(clean_json(given.to_owned()), cleaned, "{given}");
    }
}

#[test]
fn depth_ignores_brackets_in_strings() {
    for (json, deep) in
        [("1", 0), ("[]", 1), (r#"{"a":[1,{"b":[]}],"c":[]}"#, 4), (r#"["[[[\"[[","\\",[]]"#, 2)]
    {
        assert_eq!(json_depth(json), deep, "{json}");
    }
}
