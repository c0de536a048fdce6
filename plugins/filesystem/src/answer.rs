//! Results of the tools: each is returned twice, as a block for the model and as structured content for programs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use moongate_sdk::{Content, IntoToolResult, ResourceContents, ToolError, ToolResult, config};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::fault::FsError;

/// The default of the maximum result size in bytes, counting both forms. Slightly below the gateway's
/// `limits.transfer`.
const DEFAULT_MAX_RESULT_BYTES: usize = 8_000_000;

/// The settings in `[plugins.<id>.config]`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct Settings {
    /// The maximum size of a result in bytes. Text counts twice, because a result contains it twice. Keep it below
    /// `limits.transfer`. Default: 8000000.
    max_answer_bytes: Option<usize>,
}

/// The maximum size of a result.
pub(crate) fn largest() -> usize {
    let settings: Settings = config::typed().unwrap_or_default();
    settings.max_answer_bytes.unwrap_or(DEFAULT_MAX_RESULT_BYTES)
}

/// Checks that a result can hold `bytes` of a file.
pub(crate) fn fits(path: &str, bytes: u64) -> Result<(), FsError> {
    let most = largest() as u64 / 2;
    if bytes <= most {
        return Ok(());
    }
    Err(FsError::Other(format!(
        "File too large: {path} has {bytes} bytes, but a result can have at most {most}; read part of it with `head` or `tail`"
    )))
}

/// The size of a text in a result: once as text, once as JSON.
pub(crate) fn size_of_text(text: &str) -> usize {
    let escapes = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 1,
        0..0x20 => 5,
        _ => 0,
    });
    2 * text.len() + escapes.sum::<usize>()
}

/// A text result.
#[derive(Debug)]
pub(crate) struct TextResult(pub(crate) String);

#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TextSchema {
    content: String,
}

impl IntoToolResult for TextResult {
    fn output_schema() -> Option<String> {
        Some(moongate_sdk::expansion::output_schema::<TextSchema>())
    }

    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        let form = TextSchema { content: self.0 };
        let structured = serde_json::to_string(&form)?;
        checked(form.content.len() + structured.len())?;
        Ok(ToolResult { structured: Some(structured), ..ToolResult::text(form.content) })
    }
}

/// A binary file.
#[derive(Debug)]
pub(crate) enum MediaResult {
    Image { data: Vec<u8>, mime_type: &'static str },
    Audio { data: Vec<u8>, mime_type: &'static str },
    Other { data: Vec<u8>, mime_type: &'static str, uri: String },
}

#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MediaSchema {
    content: Vec<Block>,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Block {
    MediaBlock(MediaBlock),
    EmbeddedBlock(EmbeddedBlock),
}

#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct MediaBlock {
    #[serde(rename = "type")]
    kind: MediaBlockKind,
    data: String,
    #[serde(rename = "mimeType")]
    mime_type: &'static str,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum MediaBlockKind {
    Image,
    Audio,
}

#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EmbeddedBlock {
    #[serde(rename = "type")]
    #[schemars(schema_with = "embedded_kind")]
    kind: &'static str,
    resource: EmbeddedData,
}

fn embedded_kind(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "const": "resource" })
}

#[derive(Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EmbeddedData {
    uri: String,
    #[serde(rename = "mimeType", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    mime_type: Option<&'static str>,
    blob: String,
}

impl IntoToolResult for MediaResult {
    fn output_schema() -> Option<String> {
        Some(moongate_sdk::expansion::output_schema::<MediaSchema>())
    }

    fn into_tool_result(self) -> Result<ToolResult, ToolError> {
        let (form, size, block) = match self {
            Self::Image { data, mime_type } => {
                let form =
                    MediaBlock { kind: MediaBlockKind::Image, data: STANDARD.encode(&data), mime_type };
                (Block::MediaBlock(form), data.len(), Content::image(data, mime_type))
            }
            Self::Audio { data, mime_type } => {
                let form =
                    MediaBlock { kind: MediaBlockKind::Audio, data: STANDARD.encode(&data), mime_type };
                (Block::MediaBlock(form), data.len(), Content::audio(data, mime_type))
            }
            Self::Other { data, mime_type, uri } => {
                let resource = EmbeddedData {
                    uri: uri.clone(),
                    mime_type: Some(mime_type),
                    blob: STANDARD.encode(&data),
                };
                let size = data.len();
                let contents = ResourceContents::blob(uri, data).mime_type(mime_type);
                let form = EmbeddedBlock { kind: "resource", resource };
                (Block::EmbeddedBlock(form), size, Content::embedded(contents))
            }
        };
        let structured = serde_json::to_string(&MediaSchema { content: vec![form] })?;
        checked(size + structured.len())?;
        Ok(ToolResult { structured: Some(structured), ..ToolResult::new(vec![block]) })
    }
}

/// Checks the size of a result.
fn checked(bytes: usize) -> Result<(), ToolError> {
    let most = largest();
    if bytes <= most {
        return Ok(());
    }
    Err(ToolError::failed(format_args!(
        "Result too large: it has {bytes} bytes, but can have at most {most}; request less in one call"
    )))
}
