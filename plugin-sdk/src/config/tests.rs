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

#[test]
fn a_wrong_setting_is_named() {
    let error = settings(&[("name", "x"), ("retries", "many")]).unwrap_err().to_string();
    assert!(error.starts_with("`retries` in the plugin's configuration: "), "{error}");
}

#[test]
fn a_missing_setting_is_named() {
    let error = settings(&[("retries", "1")]).unwrap_err().to_string();
    assert_eq!(error, "in the plugin's configuration: missing field `name`");
}

#[test]
fn an_unknown_choice_is_told_the_known_ones() {
    let error = settings(&[("name", "x"), ("mode", "warp")]).unwrap_err().to_string();
    assert!(error.contains("`mode`") && error.contains("`fast` or `slow`"), "{error}");
}

#[test]
fn a_missing_setting_is_not_blamed_on_another() {
    let error = settings(&[("mode", "fast"), ("retries", "3")]).unwrap_err();
    assert_eq!(error.to_string(), "in the plugin's configuration: missing field `name`");
}

#[test]
fn what_stands_behind_a_value_is_not_passed_over() {
    for (key, text) in [("retries", "5 apples"), ("ratio", "10:30"), ("hosts", r#"["a"] ["b"]"#)] {
        let error = settings(&[("name", "x"), (key, text)]).unwrap_err().to_string();
        assert!(error.starts_with(&format!("`{key}`")), "{text}: {error}");
    }
    assert_eq!(settings(&[("name", "x"), ("retries", " 5 ")]).unwrap().retries, 5);
}
