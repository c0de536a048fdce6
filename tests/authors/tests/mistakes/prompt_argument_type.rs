//! A prompt argument that can't be parsed from a string.

use moongate_sdk::prelude::*;

#[derive(Default)]
struct Mine;

/// A plugin.
#[plugin]
impl Mine {
    /// Greets.
    #[prompt]
    fn greet(&self, names: Vec<String>) -> String {
        names.join(", ")
    }
}

fn main() {}
