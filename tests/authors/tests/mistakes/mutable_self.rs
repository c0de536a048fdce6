//! Tools that take `&mut self` or `self`.

use moongate_sdk::prelude::*;

#[derive(Default)]
struct Mine;

/// A plugin.
#[plugin]
impl Mine {
    /// Counts.
    #[tool]
    fn count(&mut self) -> u32 {
        1
    }

    /// Ends.
    #[tool]
    fn end(self) {}
}

fn main() {}
