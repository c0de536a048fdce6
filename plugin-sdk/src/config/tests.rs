//! Settings as plugins read them.

use serde::Deserialize;

use super::{ConfigError, read};

#[derive(Debug, Deserialize, PartialEq)]
struct Settings {
    name: String,
    #[serde(default)]
    retries: u32,
    ratio: Option<f64>,
    #[serde(default)]
    hosts: Vec<String>,
    mode: Option<Mode>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Fast,
    Slow,
}

fn settings(pairs: &[(&str, &str)]) -> Result<Settings, ConfigError> {
    let pairs: Vec<_> = pairs.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
    read(&pairs)
}

#[test]
fn parses_each_field_by_its_type() {
    let read = settings(&[
        ("name", "5"),
        ("retries", "3"),
        ("ratio", "0.5"),
        ("hosts", r#"["a","b"]"#),
        ("mode", "slow"),
    ]);
    let expected = Settings {
        name: "5".to_owned(),
        retries: 3,
        ratio: Some(0.5),
        hosts: vec!["a".to_owned(), "b".to_owned()],
        mode: Some(Mode::Slow),
    };
    assert_eq!(read, Ok(expected));
}

/// The error message for these settings.
fn message(pairs: &[(&str, &str)]) -> String {
    settings(pairs).unwrap_err().to_string()
}

#[test]
fn names_an_invalid_setting_and_the_expected_value() {
    for (key, text, expected) in [
        ("retries", "many", "expected an integer, 0 or more"),
        ("retries", "-1", "expected an integer, 0 or more"),
        ("retries", "\"secret\"", "expected an integer, 0 or more"),
        ("ratio", "half", "expected a number"),
        ("hosts", "a", "expected a list"),
        ("hosts", "[1]", "expected a list: invalid type: integer `1`, expected a string"),
        ("mode", "warp", "expected `fast` or `slow`"),
    ] {
        let place = format!("invalid `{key}` in `[plugins.<name>.config]` of `gateway.toml`");
        assert_eq!(message(&[("name", "x"), (key, text)]), format!("{place}: {expected}"));
    }
}

#[test]
fn names_a_missing_setting_and_the_expected_value() {
    let missing = "missing `name` in `[plugins.<name>.config]` of `gateway.toml`; expected a string";
    assert_eq!(message(&[("retries", "1")]), missing);
    // The error isn't blamed on another setting.
    assert_eq!(message(&[("mode", "fast"), ("retries", "3")]), missing);

    #[derive(Debug, Deserialize)]
    struct Others {
        #[serde(rename = "mode")]
        _mode: Mode,
        #[serde(rename = "limit")]
        _limit: Limit,
    }
    #[derive(Debug, Deserialize)]
    struct Limit(#[expect(dead_code, reason = "only reading it matters")] u8);
    let message = |pairs: &[(String, String)]| read::<Others>(pairs).unwrap_err().to_string();
    assert!(message(&[]).ends_with("; expected `fast` or `slow`"));
    let mode = ("mode".to_owned(), "slow".to_owned());
    assert!(message(&[mode]).ends_with("; expected an integer from 0 to 255"));
}

#[test]
fn blames_the_table_for_its_missing_field() {
    #[derive(Debug, Deserialize)]
    struct Nested {
        #[serde(rename = "server")]
        _server: Server,
    }
    #[derive(Debug, Deserialize)]
    struct Server {
        #[serde(rename = "port")]
        _port: u16,
    }
    let error = read::<Nested>(&[("server".to_owned(), "{}".to_owned())]).unwrap_err();
    let expected = "invalid `server` in `[plugins.<name>.config]` of `gateway.toml`: expected a table: missing field `port`";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn rejects_trailing_text() {
    for (key, text) in [("retries", "5 apples"), ("ratio", "10:30"), ("hosts", r#"["a"] ["b"]"#)] {
        let error = message(&[("name", "x"), (key, text)]);
        assert!(error.starts_with(&format!("invalid `{key}`")), "{text}: {error}");
    }
    assert_eq!(settings(&[("name", "x"), ("retries", " 5 ")]).unwrap().retries, 5);
}
