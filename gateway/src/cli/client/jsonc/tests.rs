//! Edits of JSON files in the forms that hosts and people write.

use super::*;

fn set(text: &str) -> String {
    set_member(text, &["servers", "gate"], &json!({ "command": "x" }))
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn creates_what_is_missing() {
    let whole = "{\n  \"servers\": {\n    \"gate\": {\n      \"command\": \"x\"\n    }\n  }\n}";
    for empty in ["", "\n", "{}"] {
        assert_eq!(set(empty).trim(), whole, "{empty:?}");
    }
    assert_eq!(
        set("{\n    \"a\": 1\n}\n"),
        "{\n    \"a\": 1,\n    \"servers\": {\n        \"gate\": {\n            \"command\": \"x\"\n        }\n    }\n}\n"
    );
    assert_eq!(
        set("{\"a\":1}"),
        "{\"a\":1, \"servers\": {\n    \"gate\": {\n      \"command\": \"x\"\n    }\n  }}"
    );
}

#[test]
fn keeps_comments_commas_and_order() {
    let text = "\
// Settings, with \"quotes\" and { braces }.
{
\t\"z\": [1, 2,], // two
\t/* the servers */
\t\"servers\": {
\t\t\"other\": { \"url\": \"http://h//p\" }, // other /* not a comment
\t\t// the end
\t},
}
";
    let edited = set(text);
    for line in text.lines() {
        assert!(edited.contains(line), "{line}: {edited}");
    }
    assert!(
        edited.contains("not a comment\n\t\t\"gate\": {\n\t\t\t\"command\": \"x\"\n\t\t},\n\t\t// the end"),
        "{edited}"
    );
    let plain = "{\n  \"servers\": {\n    \"other\": 1 // one\n  }\n}\n";
    assert!(set(plain).contains("\"other\": 1, // one\n    \"gate\": {"), "{}", set(plain));
    let crlf = set("{\r\n  \"a\": 1\r\n}\r\n");
    assert_eq!(crlf.matches('\n').count(), crlf.matches("\r\n").count(), "{crlf:?}");
}

#[test]
fn replaces_only_the_member() {
    let text =
        "{ \"servers\": { \"a\": 1, \"gate\": { \"command\": \"old\", \"args\": [] }, \"b\": 2 } } // end\n";
    let edited = set(text);
    assert!(
        edited.starts_with("{ \"servers\": { \"a\": 1, \"gate\": {")
            && edited.ends_with(", \"b\": 2 } } // end\n")
    );
    assert_eq!(member(&edited, &["servers", "gate"]).unwrap(), Some(json!({ "command": "x" })));
    assert_eq!(member(&edited, &["servers", "none"]).unwrap(), None);
}

#[test]
fn refuses_what_it_cannot_edit() {
    for bad in ["{", "[]", "{\"servers\": []}", "{\"servers\": 1}", "nonsense", "{\"a\": 1,, }", "/* {} "] {
        let edited = set_member(bad, &["servers", "gate"], &json!({}));
        assert!(edited.is_err() || bad.starts_with("/*"), "{bad}: {edited:?}");
    }
}
