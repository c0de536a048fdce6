//! `[audit]`: the audit log.

use std::path::PathBuf;

use bytesize::ByteSize;

use crate::model::{Diagnostic, Secret};
use crate::read::{ConfigReader, TomlTable};

/// The name of the log beside the configuration.
const DEFAULT_FILE: &str = "audit.jsonl";

/// The default size of a full file.
const DEFAULT_MAX_SIZE: ByteSize = ByteSize::mib(64);

/// The default number of full files.
const DEFAULT_KEEP: u32 = 10;

/// The shortest key, in characters. A shorter one could be guessed.
const MIN_AUDIT_KEY_CHARS: usize = 32;

/// The audit log.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditConfig {
    /// The file that lines are appended to.
    pub file: PathBuf,
    /// The key. `None` means that it is in [`Self::key_file`].
    pub key: Option<Secret>,
    /// The effect on calls if the log can't be written.
    pub when_full: AuditWhenFull,
    /// The form in which arguments are recorded.
    pub arguments: AuditArguments,
    /// The names of the members of arguments whose values aren't recorded.
    pub mask: Vec<String>,
    /// The size from which a file is full.
    pub max_size: ByteSize,
    /// The number of full files to keep.
    pub keep: u32,
}

impl AuditConfig {
    /// The file of the key, which is created if it doesn't exist, unless a key is configured.
    #[must_use]
    pub fn key_file(&self) -> PathBuf {
        self.beside("key")
    }

    /// All files of the log that have fixed names. Full files are beside them.
    #[must_use]
    pub fn files(&self) -> [PathBuf; 3] {
        [self.file.clone(), self.beside("key"), self.beside("lock")]
    }

    fn beside(&self, extension: &str) -> PathBuf {
        let mut name = self.file.clone().into_os_string();
        name.push(format!(".{extension}"));
        PathBuf::from(name)
    }
}

/// The effect on calls if the audit log can't be written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AuditWhenFull {
    /// They are refused.
    #[default]
    Refuse,
    /// They run, and their records are dropped and counted.
    Drop,
}

/// The form in which arguments are recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AuditArguments {
    /// Their keyed hash and size.
    #[default]
    Hash,
    /// Also the arguments themselves.
    Full,
}

/// Reads `[audit]`. Without the table, there is no audit log.
pub(crate) fn read_audit(reader: &mut ConfigReader<'_>, root: &TomlTable<'_>) -> Option<AuditConfig> {
    let table = reader.table(root, "audit")?;
    let file = match reader.string(&table, "file") {
        Some(text) => reader.path(&text)?,
        None => reader.base.join(DEFAULT_FILE),
    };
    let is_word = |reader: &mut ConfigReader<'_>, key: &str, word: &str| {
        reader.string(&table, key).is_some_and(|written| written.text == word)
    };
    let when_full =
        if is_word(reader, "when_full", "drop") { AuditWhenFull::Drop } else { AuditWhenFull::Refuse };
    let arguments =
        if is_word(reader, "arguments", "full") { AuditArguments::Full } else { AuditArguments::Hash };
    let mask = reader.strings(&table, "mask").unwrap_or_default();
    Some(AuditConfig {
        file,
        key: read_key(reader, &table),
        when_full,
        arguments,
        mask: mask.into_iter().map(|name| name.text).collect(),
        max_size: reader.size(&table, "max_size", DEFAULT_MAX_SIZE),
        keep: reader.integer(&table, "keep", DEFAULT_KEEP),
    })
}

fn read_key(reader: &mut ConfigReader<'_>, table: &TomlTable<'_>) -> Option<Secret> {
    let value = table.get("key")?;
    let key = reader.secret(&value)?;
    if key.expose().trim().chars().count() < MIN_AUDIT_KEY_CHARS {
        let message =
            format!("the audit key is too short: it needs {MIN_AUDIT_KEY_CHARS} characters or more");
        let problem = Diagnostic::error(message).with_span(value.span);
        reader.report(problem.with_hint("generate one with `openssl rand -hex 32`"));
        return None;
    }
    Some(key)
}
