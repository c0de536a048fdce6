//! Results of tools.
//!
//! | return type | result for the model |
//! |---|---|
//! | `String`, `&str`, a number, `bool` | text |
//! | [`Json<T>`](crate::Json), [`Pretty<T>`](crate::Pretty) | structured content, and the same as text; the output schema is generated from the type |
//! | [`Content`](crate::Content), `Vec<Content>` | text, images, audio, links, resources |
//! | [`ToolResult`](crate::ToolResult) | all of these combined |
//! | `()` | nothing |
//! | `Result` of one of them | see [`errors`](super::errors) |
//!
//! # Structured content
//! Structured content is for programs. Hosts validate it against the schema, and the gateway does so first: it
//! rejects results that don't match.
//!
//! ```
//! use moongate_sdk::prelude::*;
//! use schemars::JsonSchema;
//! use serde::Serialize;
//!
//! #[derive(Serialize, JsonSchema)]
//! struct Size {
//!     /// The size in bytes.
//!     bytes: usize,
//!     /// The number of words, separated by white space.
//!     words: usize,
//! }
//!
//! #[derive(Default)]
//! struct Texts;
//!
//! /// Measures texts.
//! #[plugin]
//! impl Texts {
//!     /// Measure a text.
//!     #[tool(read_only)]
//!     fn measure(&self, text: &str) -> Json<Size> {
//!         Json(Size { bytes: text.len(), words: text.split_whitespace().count() })
//!     }
//! }
//!
//! # use moongate_sdk::testing::Client;
//! # use serde_json::json;
//! let result = Client::<Texts>::new().call("measure", json!({ "text": "a moon" })).unwrap();
//! assert_eq!(result.structured_value(), json!({ "bytes": 6, "words": 2 }));
//! assert_eq!(result.all_text(), r#"{"bytes":6,"words":2}"#);
//! ```
//!
//! # Blocks of content
//! ```
//! use moongate_sdk::prelude::*;
//! use moongate_sdk::{Annotations, ResourceInfo, Role};
//!
//! # fn chart(png: Vec<u8>) -> ToolResult {
//! // For the user, not for the model:
//! let picture = Content::image(png, "image/png").annotated(Annotations::audience([Role::User]));
//! // Link large data: the host reads it on demand.
//! let report = ResourceInfo::new("reports://2026", "report").mime_type("text/csv").size(120_000);
//! ToolResult::text("Sales rose by a tenth.").with(picture).with(Content::link(report))
//! # }
//! # assert_eq!(chart(vec![]).content.len(), 3);
//! ```
//!
//! There are also [`Content::audio`](crate::Content::audio) and [`Content::embedded`](crate::Content::embedded), and
//! [`Content::other`](crate::Content::other) for kinds that are newer than the SDK. `meta` adds members to `_meta`.
//!
//! # Both by hand
//! A [`ToolResult`](crate::ToolResult) can combine structured content with a different text. Name its type with
//! `output`:
//!
//! ```
//! # use moongate_sdk::prelude::*;
//! # #[derive(serde::Serialize, schemars::JsonSchema)]
//! # struct Size { words: usize }
//! # #[derive(Default)]
//! # struct Texts;
//! # /// Texts.
//! # #[plugin]
//! # impl Texts {
//! /// Measure a text.
//! #[tool(output = Size)]
//! fn measure(&self, text: &str) -> Result<ToolResult, ToolError> {
//!     let size = Size { words: text.split_whitespace().count() };
//!     ToolResult::text(format!("{} words", size.words)).with_structured(&size)
//! }
//! # }
//! # let client = moongate_sdk::testing::Client::<Texts>::new();
//! # assert_eq!(client.call("measure", serde_json::json!({ "text": "a" })).unwrap().all_text(), "1 words");
//! ```
//!
//! You can also return your own types that implement [`IntoToolResult`](crate::IntoToolResult).
