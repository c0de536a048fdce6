//! Items without a description.

use moongate_sdk::prelude::*;

#[derive(Default)]
struct Mine;

/// A plugin.
#[plugin]
impl Mine {
    #[tool]
    fn find(&self) {}

    ///
    #[prompt]
    fn greet(&self) -> String {
        String::new()
    }

    // Today.
    #[resource(uri = "notes://today")]
    fn today(&self) -> String {
        String::new()
    }
}

fn main() {}
