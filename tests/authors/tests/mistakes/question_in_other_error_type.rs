//! Questions in functions whose error type can't carry them.

use moongate_sdk::prelude::*;

/// The name to greet.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    /// Your name.
    name: String,
}

#[derive(Debug)]
struct MyError;

impl std::fmt::Display for MyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("mine")
    }
}

impl std::error::Error for MyError {}

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

#[derive(Default)]
struct Own;

/// Another plugin.
#[plugin]
impl Own {
    /// Greets.
    #[tool]
    fn greet(&self, ctx: &Context) -> Result<String, MyError> {
        let name: Name = ctx.ask("name", Form::new("Your name?"))?;
        Ok(name.name)
    }
}

fn main() {}
