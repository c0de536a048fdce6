//! A context that isn't taken by reference.

use moongate_sdk::prelude::*;

#[derive(Default)]
struct Mine;

/// A plugin.
#[plugin]
impl Mine {
    /// Returns the caller.
    #[tool]
    fn who(&self, ctx: Context) -> String {
        ctx.principal().unwrap_or_default()
    }
}

fn main() {}
