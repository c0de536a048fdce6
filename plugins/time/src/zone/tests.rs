//! Names that are zones and names that aren't.

use super::Zone;

fn error(name: &str) -> String {
    Zone::named(name).map(|zone| zone.name().to_owned()).unwrap_err().to_string()
}

#[test]
fn a_zone_is_found_by_its_exact_name() {
    for name in ["UTC", "Europe/Paris", "America/Argentina/Buenos_Aires", "Asia/Calcutta", "Etc/GMT+5"] {
        assert_eq!(Zone::named(name).unwrap().name(), name);
    }
}

#[test]
fn anything_else_is_no_zone() {
    for name in ["europe/paris", "Nope/X", "America", "../UTC", "/etc/localtime", "UTC ", "+05:00"] {
        assert_eq!(error(name), format!("'No time zone found with key {name}'"));
    }
}

#[test]
fn a_strange_name_is_quoted_as_python_does() {
    assert_eq!(error("it's"), "\"No time zone found with key it's\"");
    assert_eq!(error("'\"\\\n\u{1}"), r#"'No time zone found with key \'"\\\n\x01'"#);
}
