//! A type that isn't an error.

use moongate_sdk::prelude::*;

struct NotFound;

#[derive(Default)]
struct Mine;

/// A plugin.
#[plugin]
impl Mine {
    /// Finds some.
    #[tool]
    fn find(&self) -> Result<String, NotFound> {
        Err(NotFound)
    }
}

fn main() {}
