//! Two items of a kind with the same name.

use moongate_sdk::prelude::*;

#[derive(Default)]
struct Mine;

/// A plugin.
#[plugin]
impl Mine {
    /// Adds.
    #[tool]
    fn add(&self) {}

    /// Adds too.
    #[tool(name = "add")]
    fn add_more(&self) {}

    /// Today.
    #[resource(uri = "notes://today")]
    fn today(&self) -> String {
        String::new()
    }

    /// Today too.
    #[resource(uri = "notes://today")]
    fn now(&self) -> String {
        String::new()
    }
}

fn main() {}
