//! The configuration file of each host, and adding the gateway to it.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use moongate_config::{append_block, contains_table, remove_table};
use moongate_system::file_edit::{FileEdit, copy_file};
use serde_json::{Value, json};

use super::McpHost;
use super::jsonc::{JsonEditError, member, set_member};
use super::snippet::{ServerEntry, VSCODE_TOKEN_INPUT};
use crate::cli::ExitKind;
use crate::cli::configuration::user_config_directory;
use crate::cli::error::CommandError;

/// The ending of the copy of a file before it is changed.
const BACKUP_SUFFIX: &str = ".moongate-backup";

/// The members of a server's object that `client` sets. Others belong to the user.
const OWN_MEMBERS: [&str; 5] = ["type", "command", "args", "url", "headers"];

/// The keys of a server's table in Codex's file that `client` sets. Others belong to the user.
const OWN_TOML_KEYS: [&str; 4] = ["command", "args", "url", "bearer_token_env_var"];

/// The effect of writing to a host's file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HostFileChange {
    /// The file is new.
    Created,
    /// The file was changed; a copy of the earlier content is here.
    Updated { backup: PathBuf },
    /// The file already had the entry.
    Unchanged,
}

impl McpHost {
    /// The file with the user's servers. `None` if the host has none.
    pub(super) fn user_file(self) -> Option<PathBuf> {
        let home = || env::var_os("HOME").or_else(|| env::var_os("USERPROFILE")).map(PathBuf::from);
        match self {
            Self::ClaudeCode => Some(home()?.join(".claude.json")),
            Self::ClaudeDesktop => Some(application_data()?.join("Claude/claude_desktop_config.json")),
            Self::Cursor => Some(home()?.join(".cursor/mcp.json")),
            Self::VsCode => Some(application_data()?.join("Code/User/mcp.json")),
            Self::Zed if cfg!(windows) => Some(application_data()?.join("Zed/settings.json")),
            Self::Zed => Some(user_config_directory()?.join("zed/settings.json")),
            Self::Codex => {
                let codex = env::var_os("CODEX_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
                Some(codex.or_else(|| Some(home()?.join(".codex")))?.join("config.toml"))
            }
            Self::Inspector => None,
        }
    }

    /// The text of the file with the gateway.
    fn edited(self, text: &str, entry: &ServerEntry) -> Result<String, String> {
        match self {
            Self::Codex => with_toml_server(text, entry),
            Self::ClaudeCode
            | Self::ClaudeDesktop
            | Self::Cursor
            | Self::VsCode
            | Self::Zed
            | Self::Inspector => self.with_json_server(text, entry).map_err(|error| error.to_string()),
        }
    }

    fn with_json_server(self, text: &str, entry: &ServerEntry) -> Result<String, JsonEditError> {
        let key = self.servers_key();
        let path = [key, entry.name.as_str()];
        let ours = self.server_object(entry);
        let mut server = member(text, &path)?.filter(Value::is_object).unwrap_or_else(|| json!({}));
        if let Some(members) = server.as_object_mut() {
            members.retain(|name, _| !OWN_MEMBERS.contains(&name.as_str()));
            members.extend(
                ours.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())),
            );
        }
        let edited = match member(text, &path)? {
            Some(found) if found == server => text.to_owned(),
            Some(_) | None => set_member(text, &path, &server)?,
        };
        let Some(input) = self.token_input(entry) else { return Ok(edited) };
        let mut inputs = member(&edited, &["inputs"])?.unwrap_or_else(|| json!([]));
        if let Some(inputs) = inputs.as_array_mut() {
            if inputs.iter().any(|there| there["id"] == VSCODE_TOKEN_INPUT) {
                return Ok(edited);
            }
            inputs.push(input);
        }
        set_member(&edited, &["inputs"], &inputs)
    }
}

/// The text of Codex's file with the gateway. In an earlier table of the same name, the user's keys stay.
fn with_toml_server(text: &str, entry: &ServerEntry) -> Result<String, String> {
    let path = ["mcp_servers", entry.name.as_str()];
    let block = McpHost::Codex.snippet(entry).map(|snippet| snippet.text).unwrap_or_default();
    let is_there = contains_table(text, &path).map_err(|error| error.to_string())?;
    if is_there && text.replace("\r\n", "\n").contains(&block) {
        return Ok(text.to_owned());
    }
    if is_there && let Some(updated) = with_own_keys(text, &path, &block)? {
        return Ok(updated);
    }
    let without = remove_table(text, &path).map_err(|error| error.to_string())?;
    Ok(append_block(without.as_deref().unwrap_or(text), &block))
}

/// The text with new values of the keys that belong to the gateway, in a table with a header of its own. The user's keys
/// and subtables, such as `env`, stay. `None` if there is no such header.
fn with_own_keys(text: &str, path: &[&str], block: &str) -> Result<Option<String>, String> {
    let Some((header, keys)) = block.split_once('\n') else { return Ok(None) };
    if !text.lines().any(|line| line.trim() == header) {
        return Ok(None);
    }
    let mut edited = text.to_owned();
    for key in OWN_TOML_KEYS {
        let removed = remove_table(&edited, &[path, &[key]].concat()).map_err(|error| error.to_string())?;
        edited = removed.unwrap_or(edited);
    }
    let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut updated = String::new();
    for line in edited.split_inclusive('\n') {
        updated.push_str(line);
        if line.trim() == header {
            let is_last = !line.ends_with('\n');
            updated.push_str(if is_last { line_end } else { "" });
            keys.lines().for_each(|key| updated.extend([key, line_end]));
        }
    }
    Ok(Some(updated))
}

/// The directory in which desktop programs keep their settings.
fn application_data() -> Option<PathBuf> {
    if cfg!(target_os = "macos") {
        Some(PathBuf::from(env::var_os("HOME")?).join("Library/Application Support"))
    } else if cfg!(windows) {
        env::var_os("APPDATA").map(PathBuf::from)
    } else {
        user_config_directory()
    }
}

/// Adds the gateway to a host's file. Everything else in it stays as it is.
///
/// # Errors
/// The file can't be read, edited or written. It is then unchanged.
pub(super) fn write_entry(
    host: McpHost,
    file: &Path,
    entry: &ServerEntry,
) -> Result<HostFileChange, CommandError> {
    let shown = file.display();
    let failed =
        |message: String, hint: Option<&str>| CommandError::new(ExitKind::Failure).message(&message, hint);
    let unwritable = |error: io::Error| failed(format!("can't write `{shown}`: {error}"), None);
    let mut edit = FileEdit::start(file).map_err(unwritable)?;
    let before = edit.read().map_err(|error| failed(format!("can't read `{shown}`: {error}"), None))?;
    let after = host.edited(before.as_deref().unwrap_or_default(), entry).map_err(|reason| {
        let hint = "without `--write`, the command prints what to add; add it with an editor";
        failed(format!("can't add the gateway to `{shown}`: {reason}"), Some(hint))
    })?;
    if before.as_ref() == Some(&after) {
        return Ok(HostFileChange::Unchanged);
    }
    if before.is_none() {
        edit.replace(&after).map_err(unwritable)?;
        return Ok(HostFileChange::Created);
    }
    let backup =
        back_up(file).map_err(|error| failed(format!("can't write a backup of `{shown}`: {error}"), None))?;
    edit.replace(&after).map_err(unwritable)?;
    Ok(HostFileChange::Updated { backup })
}

/// Copies the file, and returns the path of the copy, beside the file. Earlier copies are kept. The copy can contain
/// secrets, as the file itself can.
fn back_up(file: &Path) -> io::Result<PathBuf> {
    let content = fs::read(file)?;
    let mut number = 1;
    loop {
        let backup = backup_path(file, number);
        match fs::symlink_metadata(&backup) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                copy_file(file, &backup)?;
                return Ok(backup);
            }
            Err(error) => return Err(error),
            Ok(_) if fs::read(&backup).is_ok_and(|earlier| earlier == content) => return Ok(backup),
            Ok(_) => number += 1,
        }
    }
}

/// The path of the copy with this number. The first one has no number.
fn backup_path(file: &Path, number: usize) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(BACKUP_SUFFIX);
    if number > 1 {
        name.push(format!(".{number}"));
    }
    PathBuf::from(name)
}

#[cfg(test)]
mod tests;
