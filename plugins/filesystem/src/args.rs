//! Arguments of the tools. Names and schemas are those of the official server. As there, unknown members are ignored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No arguments.
#[derive(Deserialize)]
pub(crate) struct NoArgs {}

/// One path.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct PathArgs {
    pub(crate) path: String,
}

/// A text file, or its first or last lines.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ReadText {
    pub(crate) path: String,
    /// The number of lines to return from the end of the file. Default: all lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub(crate) tail: Option<f64>,
    /// The number of lines to return from the start of the file. Default: all lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub(crate) head: Option<f64>,
}

/// Several files.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ManyPaths {
    /// The paths of the files, at least one, each in an allowed directory.
    #[schemars(length(min = 1))]
    pub(crate) paths: Vec<String>,
}

/// A file and its new content.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct WriteFile {
    pub(crate) path: String,
    pub(crate) content: String,
}

/// A file and the edits to make.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EditFile {
    pub(crate) path: String,
    pub(crate) edits: Vec<Edit>,
    /// Only return the diff, without changing the file.
    #[serde(default)]
    pub(crate) dry_run: bool,
}

/// One replacement.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Edit {
    /// The text to replace, exactly as in the file.
    pub(crate) old_text: String,
    /// The replacement.
    pub(crate) new_text: String,
}

/// A directory and the order of its entries.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListSizes {
    pub(crate) path: String,
    /// Sort entries by name or by size, largest first.
    #[serde(default)]
    pub(crate) sort_by: SortBy,
}

/// The order of a directory's entries.
#[derive(Debug, Default, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum SortBy {
    #[default]
    Name,
    Size,
}

/// A directory, and patterns to exclude.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tree {
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) exclude_patterns: Vec<String>,
}

/// The source and destination of a move.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct MoveFile {
    pub(crate) source: String,
    pub(crate) destination: String,
}

/// The start directory, the pattern, and patterns to exclude.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SearchFiles {
    pub(crate) path: String,
    pub(crate) pattern: String,
    #[serde(default)]
    pub(crate) exclude_patterns: Vec<String>,
}
