//! A single argument called `args`, the name of the object of all arguments.

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
