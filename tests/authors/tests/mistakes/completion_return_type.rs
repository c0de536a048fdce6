//! Completions with a wrong return type, a wrong error type and a context.

use moongate_sdk::prelude::*;

struct Unknown;

#[derive(Default)]
struct Mine;

/// A plugin.
#[plugin]
impl Mine {
    /// Shortens.
    #[prompt]
    fn shorten(&self, text: String, words: String) -> String {
        text + &words
    }

    #[complete(prompt = "shorten", argument = "text")]
    fn texts(&self, _typed: &str) -> Option<String> {
        None
    }

    #[complete(prompt = "shorten", argument = "words")]
    fn words(&self, _typed: &str) -> Result<Vec<String>, Unknown> {
        Err(Unknown)
    }
}

#[derive(Default)]
struct Other;

/// Another.
#[plugin]
impl Other {
    /// Shortens.
    #[prompt]
    fn shorten(&self, text: String) -> String {
        text
    }

    #[complete(prompt = "shorten", argument = "text")]
    fn texts(&self, _ctx: &Context, _typed: &str) -> Vec<String> {
        Vec::new()
    }
}

fn main() {}
