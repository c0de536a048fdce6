//! A plugin in several blocks.

use moongate_sdk::Failure;
use moongate_sdk::prelude::*;
use moongate_sdk::testing::Client;
use serde_json::json;

/// The plugin's own block.
#[derive(Default)]
struct Toolbox;

/// Joins words.
#[plugin(name = "toolbox", parts = [words::Words, Numbers])]
impl Toolbox {
    /// Is listed first.
    #[tool]
    fn own(&self) -> &'static str {
        "own"
    }

    /// A prompt.
    #[prompt]
    fn ask(&self) -> &'static str {
        "asked"
    }
}

/// A plugin with only parts.
#[derive(Default)]
struct Joined;

/// Only parts.
#[plugin(name = "joined", parts = [Numbers])]
impl Joined {}

mod words {
    use moongate_sdk::prelude::*;

    #[derive(Default)]
    pub(crate) struct Words;

    #[plugin(part)]
    impl Words {
        /// Joins two words.
        #[tool(read_only)]
        fn join(&self, one: &str, other: &str) -> String {
            format!("{one} {other}")
        }

        /// Isn't listed.
        #[tool(when = Self::never)]
        fn hidden(&self) {}

        fn never(&self) -> bool {
            false
        }
    }
}

#[derive(Default)]
struct Numbers;

#[plugin(part)]
impl Numbers {
    /// Finds nothing.
    #[tool]
    fn find(&self, number: u32) -> Result<u32, ToolError> {
        Err(ToolError::not_found(number))
    }
}

#[test]
fn lists_and_calls_tools_of_parts() {
    let client = Client::<Toolbox>::new();
    let names: Vec<String> = client.tools().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["own", "join", "find"]);
    assert_eq!(client.call("own", json!({})).unwrap().all_text(), "own");
    assert_eq!(client.call("join", json!({ "one": "a", "other": "b" })).unwrap().all_text(), "a b");
    assert_eq!(client.prompts()[0].name, "ask");
    let Err(Failure::NotFound(fault)) = client.call("find", json!({ "number": 3 })) else { panic!() };
    assert_eq!(fault.message, "3");
    let Err(Failure::NotFound(fault)) = client.call("absent", json!({})) else { panic!() };
    assert_eq!(fault.message, "there is no tool `absent`");
    assert_eq!(Client::<Joined>::new().tools()[0].name, "find");
}
