//! The plugin that `add` was asked for.

use std::path::{Path, PathBuf};

use moongate_model::builtin_plugin::{BUILTIN_PREFIX, BuiltinPlugin};
use moongate_model::names::PluginId;
use moongate_model::text::nearest_name;

use crate::cli::ExitKind;
use crate::cli::error::CommandError;

/// The plugin to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RequestedPlugin {
    /// A plugin that is part of the gateway.
    Builtin(BuiltinPlugin),
    /// A component file.
    File(PathBuf),
    /// An address, whose component is downloaded.
    Address(String),
}

impl RequestedPlugin {
    /// Parses the argument.
    ///
    /// # Errors
    /// There is no built-in plugin with this name.
    pub(super) fn parse(text: &str) -> Result<Self, CommandError> {
        let usage =
            |message: &str, hint: &str| CommandError::new(ExitKind::Usage).message(message, Some(hint));
        if text.contains("://") {
            return Ok(Self::Address(text.to_owned()));
        }
        let name = text.strip_prefix(BUILTIN_PREFIX);
        let is_file = name.is_none() && (text.contains(['/', '\\']) || text.ends_with(".wasm"));
        if is_file && is_registry_path(text) && !Path::new(text).exists() {
            let hint = format!("for an artifact in a registry, write `oci://{text}`");
            return Err(usage(&format!("the component `{text}` doesn't exist"), &hint));
        }
        if is_file {
            return Ok(Self::File(text.into()));
        }
        let name = name.unwrap_or(text);
        if let Some(plugin) = BuiltinPlugin::named(name) {
            return Ok(Self::Builtin(plugin));
        }
        let names = BuiltinPlugin::ALL.map(BuiltinPlugin::name);
        let hint = match nearest_name(name, names.into_iter()) {
            _ if Path::new(text).is_file() => format!("to add the file, write `./{text}`"),
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the built-in plugins are {}; a file needs its path", names.join(", ")),
        };
        Err(usage(&format!("no built-in plugin is called `{name}`"), &hint))
    }

    /// The name of the plugin's table.
    ///
    /// # Errors
    /// The name is invalid.
    pub(super) fn id(&self, chosen: Option<&str>) -> Result<PluginId, CommandError> {
        let stem = match self {
            Self::Builtin(plugin) => plugin.name().to_owned(),
            Self::File(path) => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            Self::Address(text) => last_name(text).to_owned(),
        };
        PluginId::new(chosen.unwrap_or(&stem)).map_err(|error| {
            let hint = "choose a name with `--name`: ASCII letters, digits, `_` and `-`";
            let message = format!("invalid plugin name: {error}");
            CommandError::new(ExitKind::Usage).message(&message, Some(hint))
        })
    }
}

/// Reports whether a path looks like a reference into a registry, such as `ghcr.io/acme/time:1`.
fn is_registry_path(text: &str) -> bool {
    let Some((host, name)) = text.split_once('/') else { return false };
    let is_host = !host.starts_with('.') && host.contains(['.', ':']) || host == "localhost";
    is_host && name.contains([':', '@'])
}

/// The last name in an address, without tag, digest, query and file extension.
fn last_name(address: &str) -> &str {
    let path = address.split(['?', '#', '@']).next().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    name.split([':', '.']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests;
