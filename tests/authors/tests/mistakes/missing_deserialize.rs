//! A struct of arguments that has a schema but can't be deserialized.

use moongate_sdk::prelude::*;

#[derive(schemars::JsonSchema)]
struct City {
    name: String,
}

#[derive(Default)]
struct Mine;

/// A plugin.
#[plugin]
impl Mine {
    /// Finds a city.
    #[tool]
    fn find(&self, args: City) -> String {
        args.name
    }
}

fn main() {}
