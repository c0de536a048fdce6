//! Results: what a tool may answer.
//!
//! | a function returns | the model gets |
//! |---|---|
//! | `String`, `&str`, a number, `bool` | a text |
//! | [`Json<T>`](crate::Json), [`Pretty<T>`](crate::Pretty) | structured content, and the same as text; the type gives the output schema |
//! | [`Content`](crate::Content), `Vec<Content>` | texts, images, sounds, links, resources |
//! | [`ToolResult`](crate::ToolResult) | all of that together |
//! | `()` | nothing |
//! | `Result` of one of them | see [`errors`](super::errors) |
//!
//! # Structured content
//! Programs read it, and hosts check it against the schema. The gateway does so first: a result that doesn't fit never
//! leaves it.
//!
//! ```
//! use moongate_sdk::prelude::*;
//! use schemars::JsonSchema;
//! use serde::Serialize;
//!
//! #[derive(Serialize, JsonSchema)]
//! struct Size {
//!     /// In bytes.
//!     bytes: usize,
//!     /// Words that white space divides.
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
//! // For the person, not for the model:
//! let picture = Content::image(png, "image/png").annotated(Annotations::audience([Role::User]));
//! // Large things are linked: the host reads them if it wants to.
//! let report = ResourceInfo::new("reports://2026", "report").mime_type("text/csv").size(120_000);
//! ToolResult::text("Sales rose by a tenth.").with(picture).with(Content::link(report))
//! # }
//! # assert_eq!(chart(vec![]).content.len(), 3);
//! ```
//!
//! [`Content::audio`](crate::Content::audio) and [`Content::embedded`](crate::Content::embedded) are the others;
//! [`Content::other`](crate::Content::other) is for a kind of block that is newer than the SDK, and `meta` adds members of
//! `_meta`.
//!
//! # Both by hand
//! A [`ToolResult`](crate::ToolResult) can hold structured content next to a text of its own. `output` names its type:
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
//! A type of your own that implements [`IntoToolResult`](crate::IntoToolResult) can be returned like those above.
