//! What a refusal repeats of a path, and what not.

use std::collections::BTreeMap;
use std::path::Path;

use http::Uri;
use moongate_core::call::Cure;
use moongate_core::config::from_text;

use super::super::check::{Refusal, check};
use crate::host::wasi::http::self_addresses::Own;

/// What is said where a request lacks a grant: what was wanted, and the cures that the operator and the caller read.
fn refused(url: &str) -> String {
    let text = "version = 1\n[plugins.x]\nsource = 'x.wasm'\n\
        config = { token = '123456:AB-c_d/e', short = 'chat', several = { key = 'held-in-a-table' } }\n\
        [plugins.x.allow]\nhttp = ['https://ok.example/open']\nenv = ['KEY']\n";
    let variables = [("HOME", "/nowhere"), ("KEY", "of-the-variable")]
        .map(|(name, held)| (name.to_owned(), held.to_owned()));
    let loaded = from_text(Path::new("/nowhere/gateway.toml"), text.to_owned(), &BTreeMap::from(variables));
    let config = loaded.config.unwrap_or_else(|| panic!("{:?}", loaded.problems));
    let uri: Uri = url.parse().unwrap();
    match check(&config.plugins[0], &Own::new(Vec::new()), "GET", &uri) {
        Err(Refusal::Lacks { lack, shown }) => {
            let cure = lack.cure.as_ref().map(Cure::line);
            assert_eq!(cure, shown);
            format!("{}; {}", lack.wanted, cure.unwrap())
        }
        other => panic!("{url}: {other:?}"),
    }
}

#[test]
fn a_token_that_a_plugin_put_into_a_path_is_not_repeated() {
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
