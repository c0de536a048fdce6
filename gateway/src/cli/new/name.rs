//! A name that is fit for a plugin, for cargo, and for a type in Rust. Used by `new`.

use std::fmt;
use std::path::Path;

use moongate_model::names::PluginId;

/// Words that can't be a crate's name: those of Rust, and crates that are always there.
const TAKEN: [&str; 57] = [
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

/// Types that the project's own code names: one of its own would hide them.
const MEANT: [&str; 9] =
    ["Client", "Default", "Err", "Ok", "Option", "Result", "Self", "String", "ToolError"];

/// The name of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProjectName(String);

/// Why a folder's name is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NameError {
    /// It ends in `..`, or is the root.
    #[error("the folder's path doesn't end in a name")]
    None,
    /// A plugin can't be called that.
    #[error("`{0}` can't be a plugin's name")]
    Unfit(String),
    /// A crate can't be called that.
    #[error("`{0}` can't be a plugin's name: it has a meaning in Rust")]
    Taken(String),
}

impl NameError {
    /// What to do about it.
    pub(super) fn hint(&self) -> &'static str {
        match self {
            Self::None => "say what it is to be called, as in `moongate new hello`",
            Self::Unfit(_) => {
                "a name begins with a letter and has small letters, digits, `-` and `_`, 40 at most, as in \
                 `moongate new word-count`"
            }
            Self::Taken(_) => "add a word to it, as in `moongate new my-plugin`",
        }
    }
}

impl ProjectName {
    /// The name of the project in `folder`: its last part.
    pub(super) fn of(folder: &Path) -> Result<Self, NameError> {
        let name = folder.file_name().ok_or(NameError::None)?.to_string_lossy().into_owned();
        let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase())
            && !name.contains(|c: char| c.is_ascii_uppercase());
        if !is_plain || PluginId::new(&name).is_err() {
            return Err(NameError::Unfit(name.escape_debug().to_string()));
        }
        if TAKEN.contains(&name.replace('-', "_").as_str()) {
            return Err(NameError::Taken(name));
        }
        Ok(Self(name))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// `WordCount` for `word-count`. A digit at the beginning of a word stays one.
    pub(super) fn type_name(&self) -> String {
        let words = self.0.split(['-', '_']).filter(|word| !word.is_empty());
        let name: String = words.map(|word| word[..1].to_ascii_uppercase() + &word[1..]).collect();
        if MEANT.contains(&name.as_str()) { name + "Plugin" } else { name }
    }

    /// What cargo calls the component.
    pub(super) fn file(&self) -> String {
        format!("{}.wasm", self.0.replace('-', "_"))
    }
}

impl fmt::Display for ProjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
