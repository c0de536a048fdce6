//! The reader: typed access to the parsed file, with all problems collected on the way.

mod aliases;
mod builtin;
pub(crate) mod environment;
pub(crate) mod interpolate;
mod nearest_path;
pub(crate) mod paths;
pub(crate) mod reader;
mod resolved_path;
mod scalars;
pub(crate) mod secret_detection;
mod secret_ref;
pub(crate) mod types;
mod unknown;

pub use environment::{Environment, ProcessEnvironment};
pub use nearest_path::{EntryKind, nearest_path};

pub(crate) use builtin::is_builtin;
pub(crate) use reader::{ConfigReader, DisclosedValue, TomlString, TomlTable, TomlValue};
pub(crate) use resolved_path::ResolvedPath;
pub(crate) use scalars::{NameOrBoolean, TextOrTable};
