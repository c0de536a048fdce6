//! The table of a new plugin, as text.

use std::fmt;
use std::path::Path;

use moongate_config::{DirMode, EntryKind, contains_table, nearest_path, toml_string};
use moongate_model::names::PluginId;

use super::absolute;
use super::requested_plugin::RequestedPlugin;
use super::suggested_grants::{SuggestedGrants, suggested_grants};
use crate::cli::error::CommandError;
use crate::cli::{ExitKind, print};

/// The keys of `allow` that `--grant` can set.
const GRANT_KEYS: [&str; 8] =
    ["dirs", "http", "credentials", "env", "client", "state", "state_scope", "instructions"];

/// The table of a new plugin.
#[derive(Debug)]
pub(super) struct PluginTable {
    id: PluginId,
    source: String,
    prefix: Option<&'static str>,
    /// Keys and values of `allow`, as TOML.
    allow: Vec<(String, String)>,
    /// Lines of `config`.
    config: Vec<String>,
    /// The resource templates that only one instance of the plugin can offer.
    shared_resources: &'static [&'static str],
    /// True if another instance offers the shared resources.
    omits_shared_resources: bool,
}

impl PluginTable {
    /// The table of a plugin with these directories and grants, and with those of the suggestion for which there is no
    /// other.
    ///
    /// # Errors
    /// A directory or grant is invalid, or the plugin needs a directory.
    pub(super) fn new(
        id: &PluginId,
        requested: &RequestedPlugin,
        directories: &[String],
        grants: &[String],
        file: &Path,
    ) -> Result<Self, CommandError> {
        let (source, suggested) = match requested {
            RequestedPlugin::Builtin(plugin) => (plugin.source(), Some(suggested_grants(*plugin))),
            RequestedPlugin::File(path) => (source_of_file(path, file)?, None),
            RequestedPlugin::Address(text) => (literal(text), None),
        };
        let mut allow = grants.iter().map(|grant| parse_grant(grant)).collect::<Result<Vec<_>, _>>()?;
        let is_set = |allow: &[(String, String)], key: &str| allow.iter().any(|(set, _)| set == key);
        if !directories.is_empty() {
            if is_set(&allow, "dirs") {
                let message = "directories are granted twice, as arguments and with `--grant`";
                return Err(usage(message, "use one of the two"));
            }
            let entries =
                directories.iter().map(|text| directory_entry(text)).collect::<Result<Vec<_>, _>>()?;
            allow.insert(0, ("dirs".to_owned(), format!("[{}]", entries.join(", "))));
        }
        let mut table = Self {
            id: id.clone(),
            source,
            prefix: None,
            allow,
            config: Vec::new(),
            shared_resources: &[],
            omits_shared_resources: false,
        };
        let Some(suggested) = suggested else { return Ok(table) };
        let SuggestedGrants { description: _, prefix, allow, config, needs_directory, shared_resources } =
            suggested;
        if needs_directory && !is_set(&table.allow, "dirs") {
            let message = format!("`{id}` needs a directory");
            return Err(usage(&message, "name one, such as `moongate add filesystem ~/notes`"));
        }
        for (key, value) in allow {
            if !is_set(&table.allow, key) {
                table.allow.push(((*key).to_owned(), (*value).to_owned()));
            }
        }
        // Another name was chosen on purpose, so that the plugin's names contain it.
        table.prefix = prefix.filter(|_| table.source.ends_with(id.as_str()));
        table.config = config.iter().map(|line| (*line).to_owned()).collect();
        Ok(Self { shared_resources, ..table })
    }

    /// Adds settings, which replace suggested ones.
    ///
    /// # Errors
    /// A setting is invalid.
    pub(super) fn with_settings(mut self, settings: &[String]) -> Result<Self, CommandError> {
        for text in settings {
            let example = "write it as in gateway.toml, such as `--setting 'unit = \"celsius\"'`";
            let (key, value) = parse_line(text, "setting", example)?;
            // Anything else could start another table or a text of several lines, which the permissions wouldn't show.
            let is_bare = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
            let line = format!("{key} = {value}");
            if key.is_empty() || !is_bare || contains_table(&line, &[]).is_err() {
                return Err(usage(&format!("invalid setting `{}`", print::inline(text)), example));
            }
            self.config.retain(|line| line.split_once('=').is_none_or(|(other, _)| other.trim() != key));
            self.config.push(line);
        }
        Ok(self)
    }

    /// Leaves the resources that only one instance can offer to another plugin. False if there are none.
    pub(super) fn omit_shared_resources(&mut self) -> bool {
        self.omits_shared_resources = !self.shared_resources.is_empty();
        self.omits_shared_resources
    }
}

impl fmt::Display for PluginTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, source, prefix, allow, config, shared_resources, omits_shared_resources } = self;
        writeln!(f, "[plugins.{id}]")?;
        writeln!(f, "source = {}", toml_string(source))?;
        if let Some(prefix) = prefix {
            writeln!(f, "prefix = {}", toml_string(prefix))?;
        }
        if !config.is_empty() {
            writeln!(f, "\n[plugins.{id}.config]\n{}", config.join("\n"))?;
        }
        if !allow.is_empty() {
            writeln!(f, "\n[plugins.{id}.allow]")?;
            allow.iter().try_for_each(|(key, value)| writeln!(f, "{key} = {value}"))?;
        }
        if *omits_shared_resources {
            let denied: Vec<String> = shared_resources.iter().map(|text| toml_string(text)).collect();
            writeln!(
                f,
                "\n# Another plugin offers these resources.\n[plugins.{id}.resources]\ndeny = [{}]",
                denied.join(", ")
            )?;
        }
        Ok(())
    }
}

fn usage(message: &str, hint: &str) -> CommandError {
    CommandError::new(ExitKind::Usage).message(message, Some(hint))
}

/// The value of `source` for a component file: relative to the configuration if it is below its directory.
fn source_of_file(path: &Path, file: &Path) -> Result<String, CommandError> {
    if !path.is_file() {
        let shown = path.display();
        let hint = match nearest_path(&absolute(path)?, EntryKind::File) {
            Some(near) => format!("did you mean `{}`?", near.display()),
            None => "build the plugin first, or correct the path".to_owned(),
        };
        return Err(usage(&format!("the component `{shown}` doesn't exist"), &hint));
    }
    let path = absolute(path)?;
    let file = absolute(file)?;
    let below = file.parent().and_then(|directory| path.strip_prefix(directory).ok());
    Ok(literal(&below.unwrap_or(&path).to_string_lossy()))
}

/// Text without variables, for a string in the configuration.
fn literal(text: &str) -> String {
    text.replace("${", "$${")
}

/// An entry of `dirs` for a directory with an optional mode.
fn directory_entry(text: &str) -> Result<String, CommandError> {
    let (path, mode) = match text.rsplit_once(':') {
        Some((path, "ro")) => (path, DirMode::ReadOnly),
        Some((path, "rw")) => (path, DirMode::ReadWrite),
        Some(_) | None => (text, DirMode::ReadOnly),
    };
    let path = absolute(Path::new(path))?;
    if !path.is_dir() {
        let shown = print::inline(&path.to_string_lossy());
        let hint = match nearest_path(&path, EntryKind::Directory) {
            _ if path.exists() => "name the directory that it is in".to_owned(),
            Some(near) => format!("did you mean `{}`?", near.display()),
            None => format!("create it first: `mkdir {}`", print::shell_word(&path.to_string_lossy())),
        };
        return Err(usage(&format!("`{shown}` isn't a directory"), &hint));
    }
    let host = toml_string(&literal(&path.to_string_lossy()));
    Ok(format!("{{ host = {host}, mode = \"{}\" }}", mode.as_str()))
}

/// A line of `allow`.
fn parse_grant(text: &str) -> Result<(String, String), CommandError> {
    let example = "write it as in gateway.toml, such as `--grant 'http = [\"https://example.com\"]'`";
    let (key, value) = parse_line(text, "grant", example)?;
    if !GRANT_KEYS.contains(&key) {
        let message = format!("`{}` can't be granted", print::inline(key));
        return Err(usage(&message, &format!("use one of {}", GRANT_KEYS.join(", "))));
    }
    Ok((key.to_owned(), value.to_owned()))
}

/// The key and the value of a line. `what` is the noun for it in errors.
fn parse_line<'a>(text: &'a str, what: &str, example: &str) -> Result<(&'a str, &'a str), CommandError> {
    let Some((key, value)) = text.split_once('=') else {
        return Err(usage(&format!("invalid {what} `{}`", print::inline(text)), example));
    };
    // A line break could start another table, which the permissions wouldn't show.
    if text.contains(['\n', '\r']) {
        return Err(usage(&format!("a {what} must be one line"), example));
    }
    Ok((key.trim(), value.trim()))
}

#[cfg(test)]
mod tests;
