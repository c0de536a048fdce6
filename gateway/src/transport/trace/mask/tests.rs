//! Secrets in every form that a message can hold them.

use moongate_core::config::Secret;
use serde_json::{Value, json};

use super::Mask;

const SECRET: &str = "s3cr\"et/ä\n-key";

fn mask(secrets: &[&str]) -> Mask {
    let secrets: Vec<_> = secrets.iter().map(|text| Secret::new(*text)).collect();
    Mask::default().and(&secrets).unwrap_or_default()
}

fn over(mask: &Mask, text: &str) -> String {
    mask.over(text, usize::MAX)
}

#[test]
fn a_secret_is_found_however_it_is_escaped_and_what_was_json_stays_json() {
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
fn a_secret_is_found_in_json_within_json() {
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
fn a_secret_is_found_in_what_is_no_json() {
    let mask = mask(&[SECRET]);
    let masked = over(&mask, &format!("{SECRET} {{\"broken: \\u {}", r#"s3cr\"et/ä\n-key \"#));
    assert_eq!(masked, "<secret> {\"broken: \\u <secret> \\");
}

#[test]
fn an_escape_is_never_cut() {
    let mask = mask(&["nightshade"]);
    // Neither the backslash alone nor what it escapes is left.
    for text in [r#""\nightshade""#, r#""\\nightshade""#] {
        let masked = over(&mask, text);
        assert!(serde_json::from_str::<Value>(&masked).is_ok(), "{masked}");
        assert!(!masked.contains("ightshade"), "{masked}");
    }
}

#[test]
fn short_secrets_are_words_and_those_that_say_what_json_says_whole_texts() {
    let mask = mask(&["hunter2", "true", "1234", "a"]);
    let masked =
        over(&mask, r#"{"pin":"1234","n":1234,"on":true,"is":"true","text":"a hunter2, hunter22 and"}"#);
    assert_eq!(
        masked,
        r#"{"pin":"<secret>","n":1234,"on":true,"is":"<secret>","text":"<secret> <secret>, hunter22 and"}"#
    );
}

#[test]
fn secrets_that_overlap_are_blotted_out_as_one() {
    let mask = mask(&["abcdefgh", "efghijkl", "Bearer abcdefgh"]);
    assert_eq!(over(&mask, "x Bearer abcdefghijkl y"), "x <secret> y");
}

#[test]
fn later_secrets_are_added_to_the_earlier_ones() {
    let first = mask(&["the first one"]);
    assert!(first.and(&[Secret::new("the first one"), Secret::new("")]).is_none(), "nothing new");
    let both = first.and(&[Secret::new("the second one")]).unwrap();
    assert_eq!(over(&both, "the first one, the second one"), "<secret>, <secret>");
}

#[test]
fn a_mask_shows_no_secret_of_its_own() {
    let shown = format!("{:?}", mask(&[SECRET, "another-one"]));
    assert!(!shown.contains("s3cr") && !shown.contains("another"), "{shown}");
}

#[test]
fn a_secret_at_the_cut_is_blotted_out_as_a_whole() {
    let mask = mask(&["0123456789"]);
    let text = "....0123456789....";
    for most in 0..=text.len() {
        let masked = mask.over(text, most);
        let expected = match most {
            0..=4 => text[..most].to_owned(),
            5..=14 => "....<secret>".to_owned(),
            _ => format!("....<secret>{}", &text[14..most]),
        };
        assert_eq!(masked, expected, "{most}");
    }
    assert_eq!(mask.over("ää", 3), "ä");
}

#[test]
fn a_state_is_shown_by_its_beginning() {
    let none = Mask::default();
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
fn nothing_breaks_it() {
    let mask = mask(&[SECRET, "ä", "\\", "\"", "u0041"]);
    let pieces =
        ["\\", "u", "\"", "d83d", "\\ud83d", "\\ude00", "ä", "\\u00e4", "requestState\":\"", "s3cr", "é"];
    for a in pieces {
        for b in pieces {
            for c in pieces {
                let text = format!("{a}{b}{c}{a}");
                for most in 0..=text.len() {
                    let _ = mask.over(&text, most);
                }
            }
        }
    }
}
