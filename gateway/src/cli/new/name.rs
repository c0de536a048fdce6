//! The name of a new project, which must be valid for a plugin, for cargo, and as a Rust type.

use std::fmt;
use std::path::Path;

use moongate_model::names::PluginId;

/// Names that a crate can't have: keywords, and crates that always exist.
const RESERVED_CRATE_NAMES: [&str; 57] = [
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "core",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "moongate_sdk",
    "move",
    "mut",
    "override",
    "priv",
    "proc_macro",
    "pub",
    "ref",
    "return",
    "self",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
];

/// The types used in the template, which a type of the same name would shadow.
const RESERVED_TYPE_NAMES: [&str; 9] =
    ["Client", "Default", "Err", "Ok", "Option", "Result", "Self", "String", "ToolError"];

/// The name of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProjectName(String);

/// An invalid name of a project.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ProjectNameError {
    /// The path ends in `..`, or is the root.
    #[error("the path of the directory doesn't end in a name")]
    Missing,
    /// A plugin can't have this name.
    #[error("invalid plugin name `{0}`")]
    Invalid(String),
    /// A crate can't have this name.
    #[error("invalid plugin name `{0}`: it is reserved in Rust")]
    Reserved(String),
}

impl ProjectNameError {
    /// The hint for the error.
    pub(super) fn hint(&self) -> &'static str {
        match self {
            Self::Missing => "add a name, such as `moongate new hello`",
            Self::Invalid(_) => {
                "start with a letter, and use at most 40 lower-case letters, digits, `-` and `_`, such as `moongate new \
                 word-count`"
            }
            Self::Reserved(_) => "choose a longer name, such as `moongate new my-plugin`",
        }
    }
}

impl ProjectName {
    /// The name of the project in `directory`: its last part.
    pub(super) fn of(directory: &Path) -> Result<Self, ProjectNameError> {
        let name = directory.file_name().ok_or(ProjectNameError::Missing)?.to_string_lossy().into_owned();
        let is_unambiguous_path = name.starts_with(|c: char| c.is_ascii_lowercase())
            && !name.contains(|c: char| c.is_ascii_uppercase());
        if !is_unambiguous_path || PluginId::new(&name).is_err() {
            return Err(ProjectNameError::Invalid(name.escape_debug().to_string()));
        }
        if RESERVED_CRATE_NAMES.contains(&name.replace('-', "_").as_str()) {
            return Err(ProjectNameError::Reserved(name));
        }
        Ok(Self(name))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// `WordCount` for `word-count`.
    pub(super) fn type_name(&self) -> String {
        let words = self.0.split(['-', '_']).filter(|word| !word.is_empty());
        let name: String = words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect();
        if RESERVED_TYPE_NAMES.contains(&name.as_str()) { name + "Plugin" } else { name }
    }

    /// The file name that cargo gives the component.
    pub(super) fn file(&self) -> String {
        format!("{}.wasm", self.0.replace('-', "_"))
    }
}

impl fmt::Display for ProjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
