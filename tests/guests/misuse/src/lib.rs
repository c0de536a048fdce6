//! Mistakes of plugins, and what their authors see: the same tools as in `misuse-python` and `misuse-javascript`.
#![forbid(unsafe_code)]

use moongate_sdk::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The answer to a question.
#[derive(Deserialize, JsonSchema)]
struct Sure {
    sure: bool,
}

/// A structured result.
#[derive(Serialize, JsonSchema)]
struct Size {
    bytes: u32,
}

/// The plugin.
#[derive(Debug, Default)]
pub struct Misuse;

/// Makes mistakes.
#[plugin]
impl Misuse {
    /// Take typed arguments.
    #[tool]
    fn typed(&self, count: u32, city: Option<String>) -> String {
        format!("{count} {}", city.unwrap_or_default())
    }

    /// Use state.
    #[tool]
    fn state(&self) -> Result<String, ToolError> {
        Ok(kv::increment("calls", 1)?.to_string())
    }

    /// Change a value while it is being updated.
    #[tool]
    fn contend(&self) -> Result<String, ToolError> {
        let mut attempts = 0;
        let new = kv::try_update("contended", |old: Option<u32>| {
            attempts += 1;
            if attempts == 1 {
                kv::set("contended", &10)?;
            }
            Ok::<_, kv::KvError>(Some(old.unwrap_or_default() + 1))
        })?;
        Ok(new.unwrap_or_default().to_string())
    }

    /// Store a large value.
    #[tool]
    fn store(&self, bytes: usize) -> Result<(), ToolError> {
        Ok(kv::set("large", "x".repeat(bytes).as_str())?)
    }

    /// Get a page, of at most 1000 bytes.
    #[tool]
    fn request(&self, url: &str) -> Result<String, ToolError> {
        Ok(http::Request::get(url).max_body(1000).send()?.text()?)
    }

    /// Read a file.
    #[tool]
    fn file(&self, path: &str) -> Result<String, ToolError> {
        std::fs::read_to_string(path)
            .map_err(|error| ToolError::failed(format!("`{path}`: {}", reason(&error))))
    }

    /// Ask the user.
    #[tool]
    fn ask(&self, ctx: &Context) -> Result<String, ToolError> {
        let Sure { sure } = ctx.ask("sure", Form::new("Sure?"))?;
        Ok(sure.to_string())
    }

    /// Read a setting.
    #[tool]
    fn setting(&self) -> Result<String, ToolError> {
        Ok(config::required("unit")?)
    }

    /// Return a large text.
    #[tool]
    fn large(&self, bytes: usize) -> String {
        "x".repeat(bytes)
    }

    /// Return something else than the schema allows.
    #[tool(output = Size)]
    fn wrong(&self) -> Result<ToolResult, ToolError> {
        ToolResult::text("many").with_structured(&not_a_size())
    }

    /// Crash.
    #[tool]
    fn crash(&self) -> String {
        panic!("a bug in the plugin")
    }
}

/// A value that isn't a [`Size`].
fn not_a_size() -> std::collections::BTreeMap<&'static str, &'static str> {
    [("bytes", "many")].into()
}

/// The message of an error without its code, as in other languages.
fn reason(error: &std::io::Error) -> String {
    let message = error.to_string();
    message.split(" (os error").next().unwrap_or_default().to_owned()
}
