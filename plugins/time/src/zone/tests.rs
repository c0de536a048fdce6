//! Valid and invalid names of zones.

use super::Zone;

fn error(name: &str) -> String {
    Zone::named(name).map(|zone| zone.name().to_owned()).unwrap_err().to_string()
}

#[test]
fn finds_zones_by_exact_name() {
    for name in ["UTC", "Europe/Paris", "America/Argentina/Buenos_Aires", "Asia/Calcutta", "Etc/GMT+5"] {
        assert_eq!(Zone::named(name).unwrap().name(), name);
    }
}

#[test]
fn refuses_other_names() {
    for name in ["europe/paris", "Nope/X", "America", "../UTC", "/etc/localtime", "UTC ", "+05:00"] {
        assert_eq!(error(name), format!("'No time zone found with key {name}'"));
    }
}

#[test]
fn quotes_names_like_python() {
    assert_eq!(error("it's"), "\"No time zone found with key it's\"");
    assert_eq!(error("'\"\\\n\u{1}"), r#"'No time zone found with key \'"\\\n\x01'"#);
}
