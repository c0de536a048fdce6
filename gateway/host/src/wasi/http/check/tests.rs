//! Paths in refusals, and addresses that contain others.

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
        Err(RequestRefusal::NotGranted(missing)) => {
            let fix = missing.fix.as_ref().map(moongate_config::grant_line);
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

#[test]
fn an_address_needs_a_grant_of_the_ipv4_address_in_it() {
    let allowed = |networks: &str, address: &str| {
        let text = format!(
            "version = 1\n[plugins.x]\nsource = 'x.wasm'\n[plugins.x.allow]\n\
             http = [{{ url = 'https://a.example', networks = [{networks}] }}]\n"
        );
        let variables = BTreeMap::from([("HOME".to_owned(), "/nowhere".to_owned())]);
        let loaded = parse_config(Path::new("/nowhere/gateway.toml"), text, &variables);
        let config = loaded.config.unwrap_or_else(|| panic!("{networks}: {:?}", loaded.problems));
        let uri: Uri = "https://a.example".parse().unwrap();
        let granted = check(&config.plugins[0], &SelfAddresses::new(Vec::new()), "GET", &uri).unwrap();
        granted.grant_for(address.parse().unwrap()).is_some()
    };
    for (public, private) in [
        ("64:ff9b::93.184.216.34", "64:ff9b::10.0.0.1"),
        ("2002:5db8:d822::1", "2002:a00:1::1"),
        ("2001:0:5db8:d822:0:0:a247:27dd", "2001:0:5db8:d822:0:0:f5ff:fffe"),
    ] {
        for networks in ["", "'64:ff9b::/96', '2002::/16', '2001::/32'"] {
            assert!(allowed(networks, public), "{public} by {networks}");
            assert!(!allowed(networks, private), "{private} by {networks}");
        }
        assert!(allowed("'10.0.0.0/8'", private), "{private}");
    }
}

#[test]
fn an_address_that_contains_a_listener_is_the_gateway() {
    let own = SelfAddresses::new(vec!["10.0.0.5:80".parse().unwrap()]);
    for address in ["10.0.0.5:80", "[::ffff:10.0.0.5]:80", "[64:ff9b::10.0.0.5]:80", "[2002:a00:5::1]:80"] {
        assert!(own.contain(address.parse().unwrap()), "{address}");
    }
    for address in ["10.0.0.5:81", "[64:ff9b::10.0.0.6]:80"] {
        assert!(!own.contain(address.parse().unwrap()), "{address}");
    }
}
