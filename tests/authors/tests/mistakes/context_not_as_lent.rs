//! The context is lent.

use moongate_sdk::prelude::*;

#[derive(Default)]
struct Mine;

/// A plugin.
#[plugin]
impl Mine {
    /// Says who asks.
    #[tool]
    fn who(&self, ctx: Context) -> String {
        ctx.principal().unwrap_or_default()
    }
}

fn main() {}
