//! A prompt that takes what a person can't type.

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
