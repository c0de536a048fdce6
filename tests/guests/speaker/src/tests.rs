//! The plugin is as hostile as intended.

use moongate_sdk::testing::Client;
use serde_json::json;

use super::{Plugin as _, Speaker};

#[test]
fn texts_are_hostile() {
    let tools = Client::<Speaker>::new().tools();
    for text in [&tools[0].title, &tools[0].description, &Speaker::info().instructions] {
        let text = text.as_deref().unwrap();
        assert!(text.contains('\u{202e}') && text.contains('\u{1b}') && text.contains('\n'), "{text:?}");
    }
}

#[test]
fn failures_are_failures() {
    let client = Client::<Speaker>::new();
    for tool in ["fail_params", "fail_not_found", "fail_internal", "fail_custom", "fail_hugely", "lack"] {
        assert!(client.call(tool, json!({})).is_err(), "{tool}");
    }
    assert!(client.call("answer", json!({})).unwrap().structured.unwrap().contains('\n'));
}
