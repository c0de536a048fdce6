//! A form whose type is unknown.

use moongate_sdk::prelude::*;

#[derive(Default)]
struct Mine;

/// A plugin.
#[plugin]
impl Mine {
    /// Greets.
    #[tool]
    fn greet(&self, ctx: &Context) -> Result<String, ToolError> {
        let name = ctx.ask("name", Form::new("Your name?"))?;
        Ok("Hello!".to_owned())
    }

    /// Greets, or not.
    #[tool]
    fn greet_anyone(&self, ctx: &Context) -> Result<String, ToolError> {
        ctx.ask("name", Form::new("Your name?").may_decline())?;
        Ok("Hello!".to_owned())
    }
}

fn main() {}
