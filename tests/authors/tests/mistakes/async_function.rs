//! An async tool.

use moongate_sdk::prelude::*;

#[derive(Default)]
struct Mine;

/// A plugin.
#[plugin]
impl Mine {
    /// Waits.
    #[tool]
    async fn wait(&self) -> String {
        String::new()
    }
}

fn main() {}
