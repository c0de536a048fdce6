//! Paths in refusals.

use std::collections::BTreeMap;
use std::path::Path;

use moongate_config::parse_config;

use super::*;

/// The texts of a refusal for the operator and for the caller.
fn refused(url: &str) -> String {
    let text = "version = 1\n[plugins.x]\nsource = 'x.wasm'\n\
        config = { token = '123456:AB-c_d/e', short = 'chat', encoded = 'to%2Fken%20of%3Amine', \
        several = { key = 'held-in-a-table' } }\n\
        [plugins.x.allow]\nhttp = ['https://ok.example/open']\nenv = ['KEY']\n";
    let variables = [("HOME", "/nowhere"), ("KEY", "of-the-variable")]
        .map(|(name, held)| (name.to_owned(), held.to_owned()));
    let loaded =
        parse_config(Path::new("/nowhere/gateway.toml"), text.to_owned(), &BTreeMap::from(variables));
    let config = loaded.config.unwrap_or_else(|| panic!("{:?}", loaded.problems));
    let uri: Uri = url.parse().unwrap();
    match check(&config.plugins[0], &SelfAddresses::new(Vec::new()), "GET", &uri) {
        Err(RequestRefusal::NotGranted { missing, shown_fix }) => {
            let fix = missing.fix.as_ref().map(moongate_config::grant_line);
            assert_eq!(fix, shown_fix);
            format!("{}; {}", missing.wanted, fix.unwrap())
        }
        other => panic!("{url}: {other:?}"),
    }
}

#[test]
fn a_setting_in_a_path_is_not_shown() {
    for path in [
        "/bot123456:AB-c_d/e/send",
        "/bot123456%3AAB-c_d%2fe/send",
        "/x/held-in-a-table",
        "/of-the-variable",
        "/of-the-%76ariable",
    ] {
        assert_eq!(
            refused(&format!("https://ok.example{path}")),
            "GET https://ok.example; http = [{ url = \"https://ok.example/…\", methods = [\"GET\"] }]",
            "{path}"
        );
    }
    assert_eq!(
        refused("https://ok.example/chat/%zz/a"),
        "GET https://ok.example/chat/%zz/a; http = [{ url = \"https://ok.example/chat\", methods = [\"GET\"] }]"
    );
    assert_eq!(
        refused("https://other.example/of-the-variable"),
        "GET https://other.example; http = [\"https://other.example\"]"
    );
}

#[test]
fn a_percent_encoded_setting_in_a_path_is_not_shown() {
    for path in
        ["/to%2Fken%20of%3Amine", "/to%2fken%20of%3amine", "/x/to/ken%20of:mine", "/%74o%2Fken%20of:%6Dine"]
    {
        assert_eq!(
            refused(&format!("https://other.example{path}")),
            "GET https://other.example; http = [\"https://other.example\"]",
            "{path}"
        );
        let shown = refused(&format!("https://ok.example{path}"));
        assert!(!shown.contains("mine"), "{path}: {shown}");
    }
}
