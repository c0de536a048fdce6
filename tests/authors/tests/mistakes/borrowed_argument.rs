//! Arguments with references.

use moongate_sdk::prelude::*;

#[derive(Default)]
struct Mine;

/// A plugin.
#[plugin]
impl Mine {
    /// Finds.
    #[tool]
    fn find(&self, name: Option<&str>, all: &mut Vec<String>) -> String {
        name.unwrap_or_default().to_owned() + &all.concat()
    }
}

fn main() {}
