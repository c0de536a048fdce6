//! An unknown option.

use moongate_sdk::prelude::*;

#[derive(Default)]
struct Mine;

/// A plugin.
#[plugin]
impl Mine {
    /// Finds.
    #[tool(readonly)]
    fn find(&self) {}
}

fn main() {}
