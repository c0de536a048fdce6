//! The plugin is as hostile as intended.

use moongate_sdk::testing::Client;
use serde_json::json;

use super::{Malformed, Plugin as _};

#[test]
fn texts_are_hostile() {
    let tools = Client::<Malformed>::new().tools();
    for text in [&tools[0].title, &tools[0].description, &Malformed::info().instructions] {
        let text = text.as_deref().unwrap();
        assert!(text.contains('\u{202e}') && text.contains('\u{1b}') && text.contains('\n'), "{text:?}");
    }
}

#[test]
fn failures_are_failures() {
    let client = Client::<Malformed>::new();
    for tool in ["fail_params", "fail_not_found", "fail_internal", "fail_custom", "fail_hugely", "lack"] {
        assert!(client.call(tool, json!({})).is_err(), "{tool}");
    }
}
