//! A form's type that can't be told, and one that can't be read.

use moongate_sdk::prelude::*;

struct Name;

#[derive(Default)]
struct Mine;

/// A plugin.
#[plugin]
impl Mine {
    /// Greets.
    #[tool]
    fn greet(&self, ctx: &Context) -> Result<String, ToolError> {
        let _: Name = ctx.ask("name", Form::new("Your name?"))?;
        Ok("Hello!".to_owned())
    }
}

fn main() {}
