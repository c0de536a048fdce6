//! A plugin without `Default`.

use moongate_sdk::prelude::*;

struct Mine;

/// A plugin.
#[plugin]
impl Mine {
    /// Finds.
    #[tool]
    fn find(&self) {}
}

fn main() {}
