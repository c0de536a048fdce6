//! Names that hosts reject.

use moongate_sdk::prelude::*;

#[derive(Default)]
struct Mine;

/// A plugin.
#[plugin]
impl Mine {
    /// Adds.
    #[tool(name = "add numbers")]
    fn add(&self) {}

    /// Grüßt.
    #[tool]
    fn grüße(&self) {}

    /// Nothing.
    #[prompt(name = "")]
    fn nothing(&self) -> String {
        String::new()
    }
}

fn main() {}
