//! Secrets in every form within a message.

use moongate_config::Secret;
use serde_json::{Value, json};

use super::SecretMask;

const SECRET: &str = "s3cr\"et/ä\n-key";

fn mask(secrets: &[&str]) -> SecretMask {
    let secrets: Vec<_> = secrets.iter().map(|text| Secret::new(*text)).collect();
    SecretMask::default().with_secrets(&secrets).unwrap_or_default()
}

fn over(mask: &SecretMask, text: &str) -> String {
    mask.redact(text, usize::MAX)
}

#[test]
fn redacts_escaped_secrets_and_keeps_json_valid() {
    let mask = mask(&[SECRET]);
    let all: String = SECRET.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
    let mixed = r#"s\u0033cr\u0022et\/\u00e4\u000A-key"#;
    for written in [&serde_json::to_string(SECRET).unwrap(), &format!("\"{all}\""), &format!("\"{mixed}\"")] {
        let inner = &written[1..written.len() - 1];
        let text = format!(r#"{{"a":"before {inner} \\after","b":{written}}}"#);
        let read: Value = serde_json::from_str(&over(&mask, &text)).unwrap();
        assert_eq!(read, json!({ "a": "before <secret> \\after", "b": "<secret>" }), "{written}");
    }
}

#[test]
fn redacts_a_short_secret_after_a_lone_surrogate() {
    assert_eq!(over(&mask(&["abc123"]), r#"{"a":"\ud800abc123"}"#), r#"{"a":"\ud800<secret>"}"#);
}

#[test]
fn redacts_secrets_in_nested_json() {
    let mask = mask(&[SECRET]);
    let mut text = json!({ "key": SECRET }).to_string();
    for _ in 0..3 {
        text = json!({ "text": text }).to_string();
        let masked = over(&mask, &text);
        assert!(masked.contains("<secret>") && !masked.contains("s3cr"), "{masked}");
        assert!(serde_json::from_str::<Value>(&masked).is_ok(), "{masked}");
    }
}

#[test]
fn redacts_secrets_outside_of_json() {
    let mask = mask(&[SECRET]);
    let masked = over(&mask, &format!("{SECRET} {{\"broken: \\u {}", r#"s3cr\"et/ä\n-key \"#));
    assert_eq!(masked, "<secret> {\"broken: \\u <secret> \\");
}

#[test]
fn never_cuts_an_escape() {
    let mask = mask(&["nightshade"]);
    // Neither a lone backslash nor the escaped character remains.
    for text in [r#""\nightshade""#, r#""\\nightshade""#] {
        let masked = over(&mask, text);
        assert!(serde_json::from_str::<Value>(&masked).is_ok(), "{masked}");
        assert!(!masked.contains("ightshade"), "{masked}");
    }
}

#[test]
fn short_secrets_match_whole_words_or_strings() {
    let mask = mask(&["hunter2", "true", "1234", "a"]);
    let masked =
        over(&mask, r#"{"pin":"1234","n":1234,"on":true,"is":"true","text":"a hunter2, hunter22 and"}"#);
    assert_eq!(
        masked,
        r#"{"pin":"<secret>","n":1234,"on":true,"is":"<secret>","text":"<secret> <secret>, hunter22 and"}"#
    );
}

#[test]
fn redacts_overlapping_secrets_as_one() {
    let mask = mask(&["abcdefgh", "efghijkl", "Bearer abcdefgh"]);
    assert_eq!(over(&mask, "x Bearer abcdefghijkl y"), "x <secret> y");
}

#[test]
fn adds_later_secrets() {
    let first = mask(&["the first one"]);
    assert!(first.with_secrets(&[Secret::new("the first one"), Secret::new("")]).is_none(), "nothing new");
    let both = first.with_secrets(&[Secret::new("the second one")]).unwrap();
    assert_eq!(over(&both, "the first one, the second one"), "<secret>, <secret>");
}

#[test]
fn debug_output_contains_no_secret() {
    let shown = format!("{:?}", mask(&[SECRET, "another-one"]));
    assert!(!shown.contains("s3cr") && !shown.contains("another"), "{shown}");
}

#[test]
fn redacts_a_secret_at_the_limit_as_a_whole() {
    let mask = mask(&["0123456789"]);
    let text = "....0123456789....";
    for most in 0..=text.len() {
        let masked = mask.redact(text, most);
        let expected = match most {
            0..=4 => text[..most].to_owned(),
            5..=14 => "....<secret>".to_owned(),
            _ => format!("....<secret>{}", &text[14..most]),
        };
        assert_eq!(masked, expected, "{most}");
    }
    assert_eq!(mask.redact("ää", 3), "ä");
}

#[test]
fn shortens_request_states() {
    let none = SecretMask::default();
    let state = "0123456789abcdef";
    for key in ["requestState", r"request\u0053tate"] {
        let text = format!(r#"{{"a":"requestState","{key}" : "{state}","b":"{state}"}}"#);
        let masked = over(&none, &text);
        assert_eq!(masked, format!(r#"{{"a":"requestState","{key}" : "01234567…","b":"{state}"}}"#));
    }
    for whole in [r#"{"requestState":"short"}"#, r#"{"requestState":["0123456789"]}"#, r#"{"requestState":"#]
    {
        assert_eq!(over(&none, whole), whole);
    }
    assert_eq!(over(&none, r#"{"requestState":"0123456789"#), r#"{"requestState":"01234567…"#);
}

#[test]
fn handles_any_combination_of_escapes() {
    let mask = mask(&[SECRET, "ä", "\\", "\"", "u0041"]);
    let pieces =
        ["\\", "u", "\"", "d83d", "\\ud83d", "\\ude00", "ä", "\\u00e4", "requestState\":\"", "s3cr", "é"];
    for a in pieces {
        for b in pieces {
            for c in pieces {
                let text = format!("{a}{b}{c}{a}");
                for most in 0..=text.len() {
                    let _ = mask.redact(&text, most);
                }
            }
        }
    }
}
