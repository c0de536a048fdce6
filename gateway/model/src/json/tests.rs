//! Tests of exact JSON text and of the strict parser.

use super::*;

#[test]
fn removes_line_breaks_between_tokens() {
    let json = Json::parse("{\"a\":\n1,\r\n\"b\":\"x\\ny\"}").unwrap();
    assert_eq!(json.get(), "{\"a\": 1,  \"b\":\"x\\ny\"}");
}

#[test]
fn replaces_lone_surrogates() {
    for (text, expected) in [
        (r#""\ud83d""#, r#""\ufffd""#),
        (r#"{"\uDC00":["x\ud83dy\n","\ud83d\\"]}"#, r#"{"\ufffd":["x\ufffdy\n","\ufffd\\"]}"#),
        (r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#),
        (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
        (r#""\ud83d\u0041""#, r#""\ufffd\u0041""#),
        (r#""\\ud83d \ud83d\ude00 \u00e4 🌙""#, r#""\\ud83d \ud83d\ude00 \u00e4 🌙""#),
    ] {
        assert_eq!(Json::parse(text).unwrap().get(), expected);
        assert_eq!(serde_json::from_str::<Json>(text).unwrap().get(), expected);
        assert_eq!(matches!(replace_lone_surrogates(text), Cow::Borrowed(_)), text == expected);
        serde_json::from_str::<Value>(expected).unwrap();
    }
    assert_eq!(Json::parse("[\n\"\\ud83d\"]").unwrap().get(), r#"[ "\ufffd"]"#);
    // Text that isn't JSON stays as it is, too.
    for text in ["\\", "\\ud8", "\\🌙", "\\u🌙"] {
        assert_eq!(replace_lone_surrogates(text), text);
    }
}

#[test]
fn keeps_digits_and_order() {
    let text = r#"{"z":12345678901234567890123,"a":1.0,"m":[1e2]}"#;
    assert_eq!(Json::parse(text).unwrap().get(), text);
}

#[test]
fn rejects_zero_or_two_values() {
    assert!(Json::parse("1 2").is_err());
    assert!(Json::parse("").is_err());
}

#[test]
fn refuses_duplicate_keys_at_any_depth() {
    for text in [r#"{"a":1,"a":1}"#, r#"{"x":[{"b":{"a":1,"\u0061":2}}]}"#] {
        let error = parse_strict(text).unwrap_err().to_string();
        assert!(error.contains("duplicate key `a`"), "{error}");
        assert_eq!(check_strict(text).unwrap_err().to_string(), error);
    }
    let fine = r#"{"a":{"a":[{"a":1},{"a":-2.5}]},"b":null,"c":true}"#;
    assert_eq!(parse_strict(fine).unwrap(), serde_json::from_str::<Value>(fine).unwrap());
    check_strict(fine).unwrap();
}

#[test]
fn refuses_deep_nesting_and_large_numbers() {
    for text in ["[".repeat(200) + &"]".repeat(200), "1e400".to_owned(), "9".repeat(400), "[1] x".to_owned()]
    {
        let error = parse_strict(&text).unwrap_err().to_string();
        assert_eq!(check_strict(&text).unwrap_err().to_string(), error);
    }
}

#[test]
fn escapes_pointer_steps() {
    assert_eq!(pointer_step("a/b~c"), "a~1b~0c");
}

#[test]
fn finds_members_with_their_exact_text() {
    let text = r#"{"a": 1 , "b":{"a":2}, "\u0063" : 1.50}"#;
    assert_eq!(member(text, "a").unwrap(), "1");
    assert_eq!(member(text, "b").unwrap(), r#"{"a":2}"#);
    assert_eq!(member(text, "c").unwrap(), "1.50");
    assert!(member(text, "d").is_none());
    assert!(member("[1]", "a").is_none());
    assert_eq!(members(text, ["c", "d", "a"]), [Some("1.50"), None, Some("1")]);
}

#[test]
fn removes_members_and_keeps_the_other_text() {
    let text = r#" {"a":null, "n":1.50e400 ,"l":[ {"b":null,"c/d":{"e":null}} , null],"\u0061b":"\u00e9"} "#;
    for (pointers, wanted) in [
        (&[][..], text.trim()),
        (&["/a"], r#"{"n":1.50e400,"l":[ {"b":null,"c/d":{"e":null}} , null],"ab":"\u00e9"}"#),
        (&["/a", "/n", "/l", "/ab"], "{}"),
        (&["/l/0/b", "/l/0/c~1d/e"], r#"{"a":null,"n":1.50e400,"l":[{"c/d":{}},null],"ab":"\u00e9"}"#),
        (
            &["/x", "/l/7/b", "/n/b"],
            r#"{"a":null,"n":1.50e400,"l":[{"b":null,"c/d":{"e":null}},null],"ab":"\u00e9"}"#,
        ),
    ] {
        let pointers: Vec<_> = pointers.iter().map(|pointer| (*pointer).to_owned()).collect();
        assert_eq!(without_members(text, &pointers).unwrap(), wanted, "{pointers:?}");
    }
    assert!(without_members("{", &[]).is_err());
}

#[test]
fn finds_duplicates_among_many_keys() {
    let object = |last: &str| {
        let keys = (0..1_000).map(|at| format!("\"k{at}\":{{\"k{at}\":0}}")).collect::<Vec<_>>().join(",");
        format!("{{{keys},{last}}}")
    };
    check_strict(&object(r#""k":1"#)).unwrap();
    for last in [r#""k7":1"#, r#""k\u0037":1"#, r#""x":{"a":1,"b":2,"a":3}"#] {
        let text = object(last);
        let error = parse_strict(&text).unwrap_err().to_string();
        assert_eq!(check_strict(&text).unwrap_err().to_string(), error);
    }
}

#[test]
fn finds_texts_at_paths() {
    let text = r#"{"a":{"b":1,"c":{"d":[2]}},"\u0065":"x","f":null}"#;
    let paths: Vec<Vec<String>> =
        [&["a", "b"][..], &["a", "c", "d"], &["e"], &["a", "x"], &["f", "g"], &["a"], &[]]
            .iter()
            .map(|path| path.iter().map(|&step| step.to_owned()).collect())
            .collect();
    let paths: Vec<_> = paths.iter().map(Vec::as_slice).collect();
    let found = at_paths(text, &paths);
    let wanted = [Some("1"), Some("[2]"), Some("\"x\""), None, None, Some(r#"{"b":1,"c":{"d":[2]}}"#), None];
    assert_eq!(found, wanted);
}

#[test]
fn reads_strings_and_types_from_text() {
    for (text, string, kind) in [
        (r#""a\u0062""#, Some("ab"), "string"),
        (r#" "x" "#, Some("x"), "string"),
        ("[1]", None, "array"),
        ("-1", None, "number"),
        ("false", None, "boolean"),
        ("null", None, "null"),
        ("{}", None, "object"),
    ] {
        assert_eq!((string_value(text).as_deref(), type_of_text(text)), (string, kind), "{text}");
    }
}

/// The fast check accepts only what serde_json accepts, and all that is usual.
#[test]
fn the_fast_check_agrees_with_serde_json() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let many = |last: &str| {
        let keys: Vec<_> = (0..40).map(|at| format!("\"k{at}\":{at}")).collect();
        format!("{{{},{last}}}", keys.join(","))
    };
    let usual = [
        "0",
        "-0",
        "10",
        "1.5",
        "-1.25",
        "1E5",
        "1.5e-07",
        "1e+99",
        "true",
        " false ",
        "\tnull\n",
        "\"\"",
        "{}",
        "[]",
        "[ ]",
        "{ }",
        "[[],{}]",
        r#"{"a":{"a":1},"b":[{"a":1},{"a":2}]}"#,
        r#"{"a" : 1 , "b" : "x\u00e4\/\b\f\n\r\t\"\\"}"#,
        r#""\ud83d\ude00""#,
        r#"{"\u0061":1,"b":2}"#,
        "\"🌙\u{7f}\"",
    ];
    let refused = [
        "",
        " ",
        "01",
        "1.",
        "+1",
        ".5",
        "-",
        "1e",
        "1e+",
        "tru",
        "nul",
        "nulll",
        "\"",
        "\"\\",
        "\"\\x\"",
        "\"\\u12\"",
        "\"a\nb\"",
        "\"\u{1f}\"",
        "[",
        "]",
        "{",
        "}",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{1:2}",
        "{\"a\":1 \"b\":2}",
        "[1}",
        "{\"a\":1]",
        "1 2",
        "[] x",
        "\u{feff}1",
        "\u{a0}1",
    ];
    let duplicates = [r#"{"a":1,"a":2}"#.to_owned(), r#"[{"a":1,"\u0061":2}]"#.to_owned(), many(r#""k7":0"#)];
    let unusual =
        ["1e400".to_owned(), "1e-400".to_owned(), "9".repeat(400), r#""\ud83d""#.to_owned(), nested(128)];
    for text in usual.map(str::to_owned).into_iter().chain([nested(127), many(r#""x":{"k7":0}"#)]) {
        assert!(strict::accept(&text).is_ok(), "{text}");
    }
    for text in refused {
        assert!(scan::scan(text, &mut scan::SyntaxOnly).is_err(), "{text}");
        assert!(Json::parse(text).is_err() && Json::parse_strict(text).is_err(), "{text}");
    }
    for text in duplicates {
        assert!(Json::parse(text.as_str()).is_ok() && Json::parse_strict(text.as_str()).is_err(), "{text}");
    }
    for text in unusual {
        assert_eq!(check_strict(&text).is_ok(), parse_strict(&text).is_ok(), "{text}");
    }
}

/// Texts made of all short sequences of tokens.
#[test]
fn the_fast_check_never_accepts_more_than_serde_json() {
    let tokens = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"a\"",
        "\"\\u0061\"",
        "1",
        "-0.5e1",
        " ",
        "\n",
        "null",
        "\"\\ud83d\"",
    ];
    let mut texts = vec![String::new()];
    for _ in 0..4 {
        texts = texts.iter().flat_map(|text| tokens.map(|token| format!("{text}{token}"))).collect();
        for text in &texts {
            assert_eq!(check_strict(text).is_ok(), parse_strict(text).is_ok(), "{text}");
            assert!(strict::accept(text).is_err() || parse_strict(text).is_ok(), "{text}");
            if let Ok(accepted) = scan::scan(text, &mut scan::SyntaxOnly) {
                assert!(serde_json::from_str::<&RawValue>(text).is_ok(), "{text}");
                assert_eq!(accepted.has_line_breaks, text.contains('\n'), "{text}");
                assert!(matches!(replace_lone_surrogates(text), Cow::Borrowed(_)), "{text}");
            }
        }
    }
}
