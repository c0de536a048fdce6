//! `#[plugin]` on items other than a block of plugin functions.

use moongate_sdk::prelude::*;

#[plugin]
#[derive(Default)]
struct Mine;

#[plugin]
mod tools {}

#[plugin]
fn find() {}

#[derive(Default)]
struct Empty;

#[plugin]
impl Empty {}

#[derive(Default)]
struct Unmarked;

/// Finds.
#[plugin]
impl Unmarked {
    /// Finds.
    fn find(&self) {}
}

#[derive(Default)]
struct OfATrait;

/// Formats itself.
#[plugin]
impl std::fmt::Display for OfATrait {
    /// Writes.
    #[tool]
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("")
    }
}

#[derive(Default)]
struct Constant;

#[plugin]
impl Constant {
    #[tool]
    const FIND: u8 = 1;
}

fn main() {}
