//! A form whose type has no schema and can't be deserialized.

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
