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
fn each_field_is_read_in_its_own_way() {
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

/// What the operator is told of these settings.
fn told(pairs: &[(&str, &str)]) -> String {
    settings(pairs).unwrap_err().to_string()
}

#[test]
fn a_wrong_setting_is_named_with_its_table_and_what_it_must_be() {
    for (key, text, said) in [
        ("retries", "many", "it must be a whole number, 0 or more"),
        ("retries", "-1", "it must be a whole number, 0 or more"),
        ("retries", "\"secret\"", "it must be a whole number, 0 or more"),
        ("ratio", "half", "it must be a number"),
        ("hosts", "a", "it must be a list"),
        ("hosts", "[1]", "it must be a list: invalid type: integer `1`, expected a string"),
        ("mode", "warp", "it must be `fast` or `slow`"),
    ] {
        let place = format!("`{key}` below `[plugins.<name>.config]` in `gateway.toml`");
        assert_eq!(told(&[("name", "x"), (key, text)]), format!("{place}: {said}"));
    }
}

#[test]
fn a_missing_setting_is_named_with_its_table_and_what_it_must_be() {
    let missing = "`name` is missing below `[plugins.<name>.config]` in `gateway.toml`; it must be a text";
    assert_eq!(told(&[("retries", "1")]), missing);
    // And isn't blamed on another.
    assert_eq!(told(&[("mode", "fast"), ("retries", "3")]), missing);

    #[derive(Debug, Deserialize)]
    struct Others {
        #[serde(rename = "mode")]
        _mode: Mode,
        #[serde(rename = "limit")]
        _limit: Limit,
    }
    #[derive(Debug, Deserialize)]
    struct Limit(#[expect(dead_code, reason = "only reading it matters")] u8);
    let told = |pairs: &[(String, String)]| read::<Others>(pairs).unwrap_err().to_string();
    assert!(told(&[]).ends_with("; it must be `fast` or `slow`"));
    let mode = ("mode".to_owned(), "slow".to_owned());
    assert!(told(&[mode]).ends_with("; it must be a whole number from 0 to 255"));
}

#[test]
fn what_a_table_lacks_is_the_fault_of_the_table() {
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
    let said = "`server` below `[plugins.<name>.config]` in `gateway.toml`: it must be a table: missing field `port`";
    assert_eq!(error.to_string(), said);
}

#[test]
fn what_stands_behind_a_value_is_not_passed_over() {
    for (key, text) in [("retries", "5 apples"), ("ratio", "10:30"), ("hosts", r#"["a"] ["b"]"#)] {
        let error = told(&[("name", "x"), (key, text)]);
        assert!(error.starts_with(&format!("`{key}`")), "{text}: {error}");
    }
    assert_eq!(settings(&[("name", "x"), ("retries", " 5 ")]).unwrap().retries, 5);
}
