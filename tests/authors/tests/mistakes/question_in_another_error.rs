//! A question that would be lost in another error.

use moongate_sdk::prelude::*;

/// Whom to greet.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    /// As you want to be called.
    name: String,
}

#[derive(Default)]
struct Mine;

/// A plugin.
#[plugin]
impl Mine {
    /// Greets.
    #[tool]
    fn greet(&self, ctx: &Context) -> Result<String, Box<dyn std::error::Error>> {
        let name: Name = ctx.ask("name", Form::new("Your name?"))?;
        Ok(name.name)
    }
}

fn main() {}
