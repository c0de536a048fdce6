//! What the tools take. Names and shapes are those of the official server; unknown members are ignored, as there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nothing.
#[derive(Deserialize)]
pub(crate) struct Nothing {}

/// One path.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct OnePath {
    pub(crate) path: String,
}

/// A text file, or its first or last lines.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ReadText {
    pub(crate) path: String,
    /// How many lines to return from the end of the file; all lines if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub(crate) tail: Option<f64>,
    /// How many lines to return from the start of the file; all lines if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub(crate) head: Option<f64>,
}

/// Several files.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ManyPaths {
    /// The paths of the files, at least one, each inside an allowed directory.
    #[schemars(length(min = 1))]
    pub(crate) paths: Vec<String>,
}

/// A file and its new content.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct WriteFile {
    pub(crate) path: String,
    pub(crate) content: String,
}

/// A file and what to replace in it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EditFile {
    pub(crate) path: String,
    pub(crate) edits: Vec<Edit>,
    /// Only show the diff; leave the file as it is.
    #[serde(default)]
    pub(crate) dry_run: bool,
}

/// One replacement.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Edit {
    /// The text to replace, as it stands in the file.
    pub(crate) old_text: String,
    /// The text to put in its place.
    pub(crate) new_text: String,
}

/// A directory and the order of its entries.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListSizes {
    pub(crate) path: String,
    /// Whether entries come by name or largest first.
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

/// A directory, and what to leave out below it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tree {
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) exclude_patterns: Vec<String>,
}

/// From where to where.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct MoveFile {
    pub(crate) source: String,
    pub(crate) destination: String,
}

/// Where to look for what.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SearchFiles {
    pub(crate) path: String,
    pub(crate) pattern: String,
    #[serde(default)]
    pub(crate) exclude_patterns: Vec<String>,
}
