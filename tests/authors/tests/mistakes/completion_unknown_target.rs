//! Completions of unknown prompts, templates and arguments.

use moongate_sdk::prelude::*;

#[derive(Default)]
struct Mine;

/// A plugin.
#[plugin]
impl Mine {
    /// Shortens.
    #[prompt]
    fn shorten(&self, text: String) -> String {
        text
    }

    #[complete(prompt = "shorten", argument = "txt")]
    fn texts(&self, _typed: &str) -> Vec<String> {
        Vec::new()
    }

    #[complete(prompt = "lengthen", argument = "text")]
    fn others(&self, _typed: &str) -> Vec<String> {
        Vec::new()
    }

    #[complete(resource = "notes://{name}", argument = "name")]
    fn notes(&self, _typed: &str) -> Vec<String> {
        Vec::new()
    }
}

fn main() {}
