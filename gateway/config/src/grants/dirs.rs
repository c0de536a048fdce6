//! `allow.dirs`: the directories that a plugin may use.

use std::path::Path;

use crate::model::diagnostic::quoted;
use crate::model::{Diagnostic, DirGrant, DirMode};
use crate::read::{ConfigReader, TomlString, TomlTable};

/// Reads `allow.dirs`.
pub(crate) fn read_dirs(reader: &mut ConfigReader<'_>, allow: &TomlTable<'_>) -> Vec<DirGrant> {
    let mut dirs: Vec<(DirGrant, TomlString)> = Vec::new();
    for table in reader.tables(allow, "dirs") {
        let host = reader.string(&table, "host");
        let host = host.and_then(|text| Some((reader.directory(&text)?, reader.path(&text)?, text)));
        let guest = match table.get("guest") {
            Some(_) => reader.string(&table, "guest").filter(|guest| check_guest_path(reader, guest)),
            None => host.as_ref().and_then(|(host, _, written)| same_path_inside(reader, host, written)),
        };
        let mode = reader.string(&table, "mode");
        let mode = match mode.as_ref().map(|mode| mode.text.as_str()) {
            Some("rw") => DirMode::ReadWrite,
            Some(_) | None => DirMode::ReadOnly, // any other word was reported
        };
        let allows_system = reader.boolean(&table, "system", false);
        let Some(guest) = guest else { continue };
        if let Some((_, other)) = dirs.iter().find(|(_, other)| overlaps(&guest.text, &other.text)) {
            let problem = overlapping_paths(&guest.text, &other.text);
            reader.report(
                problem.with_span(guest.span.clone()).with_related(other.span.clone(), "first used here"),
            );
        }
        if let Some((host, named, written)) = host {
            dirs.push((
                DirGrant {
                    span: written.span,
                    host_path: host,
                    unresolved_host_path: named,
                    guest_path: guest.text.clone(),
                    mode,
                    allows_system,
                },
                guest,
            ));
        }
    }
    dirs.into_iter().map(|(grant, _)| grant).collect()
}

/// The path inside the sandbox of a directory that is granted without one: its path on this machine.
fn same_path_inside(reader: &mut ConfigReader<'_>, host: &Path, written: &TomlString) -> Option<TomlString> {
    let text = host.to_str().filter(|text| invalid_guest_path(text).is_none());
    if text.is_none() {
        let problem = Diagnostic::error(format!(
            "the directory {} can't have the same path inside the sandbox",
            quoted(&host.to_string_lossy())
        ));
        let problem = problem.with_span(written.span.clone());
        reader.report(problem.with_hint("set `guest` to a path such as \"/notes\""));
    }
    text.map(|text| TomlString { text: text.to_owned(), ..written.clone() })
}

/// Reports an invalid path inside the sandbox.
fn check_guest_path(reader: &mut ConfigReader<'_>, guest: &TomlString) -> bool {
    let Some(hint) = invalid_guest_path(&guest.text) else { return true };
    let message = format!("invalid path inside the sandbox: {}", quoted(&guest.text));
    reader.report(Diagnostic::error(message).with_span(guest.span.clone()).with_hint(hint));
    false
}

/// The fix for an invalid path inside the sandbox. `None` means that it is valid.
fn invalid_guest_path(text: &str) -> Option<&'static str> {
    if !text.starts_with('/') {
        Some("use an absolute path, such as `/notes`")
    } else if text.len() > 1
        && text[1..].split('/').any(|part| part.is_empty() || part == "." || part == "..")
    {
        Some("remove `.`, `..`, `//` and any trailing `/`")
    } else if text.contains(|c: char| c.is_control() || c == '\\') {
        Some("remove control characters and `\\`")
    } else {
        None
    }
}

/// The diagnostic for two paths inside the sandbox that can't both be granted.
fn overlapping_paths(path: &str, first: &str) -> Diagnostic {
    if path == first {
        return Diagnostic::error(format!("duplicate path inside the sandbox: {}", quoted(path)))
            .with_hint("use a different path for each directory");
    }
    Diagnostic::error(format!("{} and {} overlap inside the sandbox", quoted(path), quoted(first)))
        .with_hint("use paths that don't contain each other, such as `/a` and `/b`")
}

/// Reports whether one of two paths inside the sandbox is the other, or is inside it.
fn overlaps(a: &str, b: &str) -> bool {
    let is_inside = |inner: &str, outer: &str| {
        let outer = outer.trim_end_matches('/');
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_inside(a, b) || is_inside(b, a)
}
