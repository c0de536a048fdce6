//! Prompts: prepared messages that a user chooses from a menu.
//!
//! ```
//! use moongate_sdk::prelude::*;
//!
//! #[derive(Default)]
//! struct Editor;
//!
//! /// Edits texts.
//! #[plugin]
//! impl Editor {
//!     /// Shorten a text.
//!     #[prompt(title = "Shorten")]
//!     fn shorten(
//!         &self,
//!         /// The text.
//!         text: &str,
//!         /// The maximum number of words.
//!         words: Option<u32>,
//!     ) -> String {
//!         format!("Shorten this text to {} words:\n\n{text}", words.unwrap_or(100))
//!     }
//!
//!     /// Review a text like a strict teacher.
//!     #[prompt]
//!     fn review(&self, text: &str) -> Vec<PromptMessage> {
//!         vec![
//!             PromptMessage::user("You are a strict teacher of writing."),
//!             PromptMessage::assistant("Show me the text."),
//!             PromptMessage::user(text),
//!         ]
//!     }
//! }
//!
//! # use moongate_sdk::testing::Client;
//! let client = Client::<Editor>::new();
//! let messages = client.prompt("shorten", &[("text", "A moon."), ("words", "1")]).unwrap().messages;
//! assert_eq!(messages, [PromptMessage::user("Shorten this text to 1 words:\n\nA moon.")]);
//! ```
//!
//! MCP passes the arguments of a prompt as strings, typed by the user. So their types must be parseable from a
//! string: `String`, numbers, `bool`, `char`, an `Option` of these, or your own with [`PromptArg`](crate::PromptArg).
//! An invalid value ends the call with an error that names the argument.
//!
//! A parameter called `args` is a struct of all arguments; each field is parsed from its string. Messages can contain
//! more than text: [`PromptMessage::user`](crate::PromptMessage::user) takes any [`Content`](crate::Content), such as
//! an embedded resource. [`completion`](super::completion) suggests values while the user types.
