//! A plugin with all kinds of items and questions, in a crate with strict lints.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, clippy::all)]

use moongate_sdk::prelude::*;

/// The name to greet.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    /// Your name.
    name: String,
}

/// A sum.
#[derive(serde::Serialize, schemars::JsonSchema)]
struct Sum {
    /// The sum.
    sum: u32,
}

/// The plugin.
#[derive(Default)]
pub struct Strict;

/// Offers everything.
#[plugin(config = Name)]
impl Strict {
    /// Adds.
    #[tool(read_only)]
    fn add(
        /// The first number.
        a: u32,
        /// The second number. Default: 1.
        b: Option<u32>,
    ) -> Json<Sum> {
        Json(Sum { sum: a + b.unwrap_or(1) })
    }

    /// Greets.
    #[tool]
    fn greet(&self, ctx: &Context) -> Result<String, ToolError> {
        let Name { name } = ctx.ask("name", Form::new("Your name?"))?;
        let greeted: i64 = ctx.try_once("greeted", || kv::increment("greeted", 1))?;
        let word: String = config::required("name")?;
        Ok(format!("{word}, {name}, {greeted}!"))
    }

    /// A note.
    #[resource(uri = "strict://notes/{name}")]
    fn note(&self, name: &str) -> String {
        name.to_owned()
    }

    /// Shortens.
    #[prompt]
    fn shorten(&self, text: &str) -> String {
        text.to_owned()
    }

    #[complete(prompt = "shorten", argument = "text")]
    fn texts(&self, typed: &str) -> Vec<String> {
        vec![typed.to_owned()]
    }
}
