//! Attributes outside of `#[plugin]` blocks, and on items that aren't functions.

use moongate_sdk::prelude::*;

#[derive(Default)]
struct Mine;

/// A plugin without the attribute.
impl Mine {
    /// Finds.
    #[tool(read_only)]
    fn find(
        &self,
        /// The name.
        #[schemars(length(min = 1))]
        what: &str,
    ) -> String {
        what.to_owned()
    }

    /// Adds.
    #[tool]
    fn add() {}

    /// A note.
    #[resource(uri = "notes://all/{name}")]
    fn note(&self, name: &str) -> String {
        name.to_owned()
    }

    /// Shortens.
    #[prompt]
    fn shorten(&self, text: String) -> String {
        text
    }

    #[complete(prompt = "shorten", argument = "text")]
    fn texts(&self, _typed: &str) -> Vec<String> {
        Vec::new()
    }
}

/// Greets.
#[tool]
fn greet() {}

#[tool]
struct Other;

#[tool]
impl Other {}

fn main() {}
