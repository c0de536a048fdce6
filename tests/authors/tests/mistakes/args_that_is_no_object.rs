//! A single argument under the name of the whole object.

use moongate_sdk::prelude::*;

#[derive(Default)]
struct Mine;

/// A plugin.
#[plugin]
impl Mine {
    /// Finds.
    #[tool]
    fn find(&self, args: &str) -> String {
        args.to_owned()
    }
}

fn main() {}
