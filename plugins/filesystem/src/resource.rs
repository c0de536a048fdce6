//! Files as resources: contents, completion and change notifications.

use moongate_sdk::{ResourceContents, ToolError, changes};

use crate::granted::GrantedDirectories;
use crate::list::{self, EntryKind, MAX_DEPTH};
use crate::path::{self, ResolvedPath};
use crate::{mime, read, uri};

/// The maximum number of suggestions in MCP.
const MAX_COMPLETIONS: usize = 100;

/// The maximum number of files in a moved directory for which subscribers are notified.
const MAX_MOVED_FILES: usize = 1000;

/// The contents of the file: text if it is UTF-8, or else bytes.
pub(crate) fn contents(
    granted: &GrantedDirectories,
    path: &str,
    uri: &str,
) -> Result<ResourceContents, ToolError> {
    let file = path::locate(granted, path).map_err(|fault| ToolError::not_found(&fault))?;
    let bytes = read::whole(&file.path).map_err(|fault| {
        if fault.is_not_found() { ToolError::not_found(&fault) } else { ToolError::failed(&fault) }
    })?;
    Ok(match String::from_utf8(bytes) {
        Ok(text) => ResourceContents::text(uri, text).mime_type(mime::of_resource(&file.path, true)),
        Err(other) => {
            ResourceContents::blob(uri, other.into_bytes()).mime_type(mime::of_resource(&file.path, false))
        }
    })
}

/// Reports that this file has changed.
pub(crate) fn changed(file: &ResolvedPath) {
    changes::resource(&uri::of(&file.path));
    if file.asked != file.path {
        // Subscribers through a link know the file by that name.
        changes::resource(&uri::of(&file.asked));
    }
}

/// Reports that a file or directory has moved, with every file in it.
pub(crate) fn moved(from: &ResolvedPath, to: &ResolvedPath) {
    changed(from);
    changed(to);
    let mut left = MAX_MOVED_FILES;
    moved_below(&from.path, &to.path, MAX_DEPTH, &mut left);
}

fn moved_below(from: &str, to: &str, depth: usize, left: &mut usize) {
    // A file has no entries.
    let Ok(entries) = list::entries(to) else { return };
    for entry in entries {
        let [from, to] = [from, to].map(|path| path::join(path, &entry.name));
        match entry.kind {
            EntryKind::Directory if depth > 0 => moved_below(&from, &to, depth - 1, left),
            EntryKind::Directory => {}
            EntryKind::File if *left > 0 => {
                *left -= 1;
                changes::resource(&uri::of(&from));
                changes::resource(&uri::of(&to));
            }
            EntryKind::File => return,
        }
    }
}

/// Paths that start with the typed text, without its leading slash. Directories end in a slash.
pub(crate) fn completions(granted: &GrantedDirectories, typed: &str) -> Vec<String> {
    let typed = format!("/{}", typed.trim_start_matches('/'));
    let (directory, name) = typed.rsplit_once('/').unwrap_or_default();
    let mut found: Vec<String> =
        granted.paths().map(|path| format!("{path}/")).filter(|path| path.starts_with(&typed)).collect();
    let directory = if directory.is_empty() { "/" } else { directory };
    if let Ok(located) = path::locate(granted, directory) {
        for entry in list::entries(&located.path).unwrap_or_default() {
            if entry.name.starts_with(name) {
                let slash = if entry.kind == EntryKind::Directory { "/" } else { "" };
                found.push(format!("{}{slash}", path::join(directory, &entry.name)));
            }
        }
    }
    found.truncate(MAX_COMPLETIONS);
    found.into_iter().map(|path| path.trim_start_matches('/').to_owned()).collect()
}
