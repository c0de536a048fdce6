//! Unsupported return types.

use moongate_sdk::prelude::*;

struct Found;

#[derive(Default)]
struct Mine;

/// A plugin.
#[plugin]
impl Mine {
    /// Finds some.
    #[tool]
    fn find(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Finds one.
    #[tool]
    fn find_one(&self) -> Result<Found, ToolError> {
        Ok(Found)
    }

    /// Today.
    #[resource(uri = "notes://today")]
    fn today(&self) -> u32 {
        1
    }

    /// Greets.
    #[prompt]
    fn greet(&self) -> Vec<String> {
        Vec::new()
    }
}

fn main() {}
