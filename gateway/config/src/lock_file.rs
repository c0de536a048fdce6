//! `moongate.lock`: which component each address has led to. It is beside `gateway.toml`, and named after it.
//!
//! The gateway itself only reads it, so that neither a moved tag nor an unreachable registry affects a start. Only
//! `moongate fetch`, `update`, `add` and `remove` write it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use moongate_model::names::{Digest, PluginId};
use serde::Deserialize;
use toml::value::Datetime;

use crate::model::diagnostic::quoted;
use crate::model::{SignerId, parse_sha256, toml_string};

#[cfg(any(test, feature = "fuzz"))]
mod fuzz;

#[cfg(any(test, feature = "fuzz"))]
pub use fuzz::fuzz_lock;

/// The version of the format.
const LOCK_VERSION: i64 = 1;

/// The largest lock file, in bytes. An entry has some 500.
const MAX_LOCK_BYTES: u64 = 4 * 1024 * 1024;

/// The lock file's extension.
const LOCK_EXTENSION: &str = "lock";

const LOCK_HEADER: &str = "\
# The components that the addresses in the configuration led to. Commit this file, but don't edit it:
# `moongate fetch` adds what is missing, and `moongate update` resolves addresses again.
";

/// The content of a lock file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockFile {
    /// The entries, by plugin.
    pub plugins: BTreeMap<PluginId, LockedComponent>,
}

/// The component that an address has led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedComponent {
    /// The address as configured, with variables filled in.
    pub source: String,
    /// The reference of the manifest by its digest, for an OCI artifact.
    pub resolved: Option<String>,
    /// The digest of the component.
    pub component: Digest,
    /// The size of the component, in bytes.
    pub size: u64,
    /// The key whose signature was checked. `None` if none was required.
    pub signer: Option<SignerId>,
    /// The time of the download (RFC 3339).
    pub fetched: String,
}

/// A lock file that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum LockFileError {
    /// The file can't be read.
    #[error("can't read {}: {reason}", shown(path))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        reason: io::Error,
    },
    /// A newer gateway wrote the file.
    #[error("{} has version {version}, and this gateway supports version {LOCK_VERSION}", shown(path))]
    NewerVersion {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: i64,
    },
    /// The file contains the markers of a merge conflict.
    #[error("{} contains a merge conflict", shown(path))]
    MergeConflict {
        /// The file.
        path: PathBuf,
    },
    /// The file isn't a lock file.
    #[error("{} is damaged: {reason}", shown(path))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The reason, with the line if it is known.
        reason: String,
    },
}

fn shown(path: &Path) -> String {
    quoted(&path.file_name().unwrap_or(path.as_os_str()).to_string_lossy())
}

impl LockFileError {
    /// The fix.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Unreadable { .. } => "let the gateway's user read the file".to_owned(),
            Self::NewerVersion { .. } => {
                "update Moongate, or restore an earlier version of the file".to_owned()
            }
            Self::MergeConflict { path } => format!(
                "take one side of {}, and run `moongate fetch`, which adds missing entries",
                shown(path)
            ),
            Self::Damaged { path, .. } => {
                format!(
                    "restore {}, or remove it and run `moongate fetch`, which resolves all addresses again",
                    shown(path)
                )
            }
        }
    }
}

/// The file as TOML.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LockDocument {
    #[serde(rename = "version")]
    _version: i64,
    #[serde(default)]
    plugins: BTreeMap<String, LockEntry>,
}

/// An entry as TOML.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LockEntry {
    source: String,
    resolved: Option<String>,
    component: String,
    size: u64,
    signer: Option<String>,
    fetched: Datetime,
}

impl LockFile {
    /// The path of a configuration's lock file: `moongate.lock` for `gateway.toml`, and `NAME.lock` for `NAME.toml`.
    #[must_use]
    pub fn path_for(configuration: &Path) -> PathBuf {
        if configuration.file_name().is_none_or(|name| name == "gateway.toml") {
            return configuration.with_file_name("moongate.lock");
        }
        configuration.with_extension(LOCK_EXTENSION)
    }

    /// Reads a lock file. A missing file has no entries.
    ///
    /// # Errors
    /// The file can't be read, or isn't a lock file of this version.
    pub fn read(path: &Path) -> Result<Self, LockFileError> {
        let unreadable = |reason| LockFileError::Unreadable { path: path.to_owned(), reason };
        let found = match fs::metadata(path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(unreadable(error)),
        };
        if !found.is_file() {
            return Err(unreadable(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")));
        }
        let mut text = String::new();
        let file = fs::File::open(path).map_err(unreadable)?;
        file.take(MAX_LOCK_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
        if text.len() as u64 > MAX_LOCK_BYTES {
            return Err(unreadable(io::Error::new(io::ErrorKind::FileTooLarge, "longer than 4 MiB")));
        }
        Self::parse(path, &text)
    }

    /// Parses the text of a lock file.
    ///
    /// # Errors
    /// The text isn't a lock file of this version.
    pub fn parse(path: &Path, text: &str) -> Result<Self, LockFileError> {
        if text.lines().any(|line| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ")) {
            return Err(LockFileError::MergeConflict { path: path.to_owned() });
        }
        let damaged = |reason: String| LockFileError::Damaged { path: path.to_owned(), reason };
        let at = |error: &toml::de::Error| {
            let line = error
                .span()
                .and_then(|span| text.get(..span.start))
                .map(|before| before.lines().count().max(1));
            let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
            format!("{line}{}", error.message().lines().next().unwrap_or_default())
        };
        let table: toml::Table = toml::from_str(text).map_err(|error| damaged(at(&error)))?;
        match table.get("version").and_then(toml::Value::as_integer) {
            Some(LOCK_VERSION) => {}
            Some(version) if version > LOCK_VERSION => {
                return Err(LockFileError::NewerVersion { path: path.to_owned(), version });
            }
            Some(_) | None => return Err(damaged("it has no `version`".to_owned())),
        }
        let document: LockDocument = toml::from_str(text).map_err(|error| damaged(at(&error)))?;
        let entries = document.plugins.into_iter().map(|(name, entry)| {
            let id = PluginId::new(&name).map_err(|error| damaged(format!("invalid name: {error}")))?;
            let component = entry.read().map_err(|key| damaged(format!("invalid `{key}` of `{id}`")))?;
            Ok((id, component))
        });
        Ok(Self { plugins: entries.collect::<Result<_, _>>()? })
    }

    /// The text of the lock file, with the plugins in alphabetical order.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{LOCK_HEADER}version = {LOCK_VERSION}\n");
        for (id, locked) in &self.plugins {
            let LockedComponent { source, resolved, component, size, signer, fetched } = locked;
            let _ = write!(text, "\n[plugins.{id}]\nsource = {}\n", toml_string(source));
            if let Some(resolved) = resolved {
                let _ = writeln!(text, "resolved = {}", toml_string(resolved));
            }
            let _ = writeln!(text, "component = \"sha256:{component}\"\nsize = {size}");
            if let Some(signer) = signer {
                let _ = writeln!(text, "signer = \"{signer}\"");
            }
            let _ = writeln!(text, "fetched = {fetched}");
        }
        text
    }
}

impl LockEntry {
    /// The entry. The error is the invalid key.
    fn read(self) -> Result<LockedComponent, &'static str> {
        let Self { source, resolved, component, size, signer, fetched } = self;
        let signer = signer.map(|signer| signer.parse::<SignerId>().map_err(|_| "signer")).transpose()?;
        Ok(LockedComponent {
            source,
            resolved,
            component: parse_sha256(&component).map_err(|_| "component")?,
            size,
            signer,
            fetched: fetched.to_string(),
        })
    }
}

#[cfg(test)]
mod tests;
