//! The smallest plugin, as the documentation shows it.

use moongate_sdk::prelude::*;
use moongate_sdk::testing::Client;
use serde_json::json;

/// Greets people.
#[derive(Default)]
struct Hello;

/// Greets people.
#[plugin]
impl Hello {
    /// Greets someone by name.
    #[tool(read_only)]
    fn hello(&self, name: &str) -> String {
        format!("Hello, {name}!")
    }
}

#[test]
fn greets() {
    let client = Client::<Hello>::new();
    let result = client.call("hello", json!({ "name": "Ada" })).unwrap();
    assert_eq!(result.all_text(), "Hello, Ada!");
}

#[test]
fn describes_itself_from_package_and_doc_comments() {
    let client = Client::<Hello>::new();
    let info = client.info();
    assert_eq!((info.name.as_str(), info.version.as_str()), ("moongate-sdk", env!("CARGO_PKG_VERSION")));
    assert_eq!(info.description.as_deref(), Some("Greets people."));
    let [tool] = &client.tools()[..] else { panic!("one tool") };
    assert_eq!(tool.description.as_deref(), Some("Greets someone by name."));
    assert_eq!(tool.annotations.as_ref().unwrap().read_only, Some(true));
    let schema: serde_json::Value = serde_json::from_str(&tool.input_schema).unwrap();
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "properties": { "name": { "type": "string" } },
            "required": ["name"],
            "additionalProperties": false
        })
    );
}
