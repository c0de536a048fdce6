//! Generic functions, arguments and results.

use moongate_sdk::prelude::*;

#[derive(Default)]
struct Mine;

/// A plugin.
#[plugin]
impl Mine {
    /// Shows.
    #[tool]
    fn show<T: ToString>(&self, value: T) -> String {
        value.to_string()
    }

    /// Shows too.
    #[tool]
    fn show_too(&self, value: impl ToString) -> String {
        value.to_string()
    }

    /// Gives.
    #[tool]
    fn give(&self) -> impl ToString {
        1
    }
}

fn main() {}
