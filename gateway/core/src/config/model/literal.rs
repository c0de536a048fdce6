//! Values as TOML writes them: for lines that somebody takes over from a message.

use serde_json::Value;

/// A text in quotes, whatever is in it. What JSON writes TOML reads, but for one character that it takes escaped only.
#[must_use]
pub fn literal(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
