//! Arguments of the tools. Names and schemas are those of the official server. As there, unknown members are ignored.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use crate::granted::GrantedDirectories;

/// No arguments.
#[derive(Deserialize)]
pub(crate) struct NoArgs {}

/// One path.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct PathArgs {
    #[schemars(transform = name_directories)]
    pub(crate) path: String,
}

/// A text file, or its first or last lines.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ReadText {
    #[schemars(transform = name_directories)]
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
    #[schemars(length(min = 1), transform = name_directories)]
    pub(crate) paths: Vec<String>,
}

/// A file and its new content.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct WriteFile {
    #[schemars(transform = name_directories)]
    pub(crate) path: String,
    pub(crate) content: String,
}

/// A file and the edits to make.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EditFile {
    #[schemars(transform = name_directories)]
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
    #[schemars(transform = name_directories)]
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
    #[schemars(transform = name_directories)]
    pub(crate) path: String,
    #[serde(default)]
    pub(crate) exclude_patterns: Vec<String>,
}

/// The source and destination of a move.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct MoveFile {
    #[schemars(transform = name_directories)]
    pub(crate) source: String,
    #[schemars(transform = name_directories)]
    pub(crate) destination: String,
}

/// The start directory, the pattern, and patterns to exclude.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SearchFiles {
    #[schemars(transform = name_directories)]
    pub(crate) path: String,
    pub(crate) pattern: String,
    #[serde(default)]
    pub(crate) exclude_patterns: Vec<String>,
}

/// Adds the allowed directories to the description of an argument.
fn name_directories(schema: &mut Schema) {
    let Some(directories) = GrantedDirectories::now().description() else { return };
    let about = match schema.get("description") {
        Some(serde_json::Value::String(about)) => format!("{about} Allowed directories: {directories}."),
        _ => format!("An absolute path in one of the allowed directories: {directories}."),
    };
    schema.insert("description".to_owned(), about.into());
}
