//! Attributes where no macro reads them.

use moongate_sdk::prelude::*;
use moongate_sdk::tool;

#[derive(Default)]
struct Mine;

/// Adds.
#[tool]
fn add() {}

#[plugin]
struct Other;

#[plugin]
impl Mine {
    fn find(&self) {}
}

fn main() {}
