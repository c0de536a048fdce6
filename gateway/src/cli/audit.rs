//! `audit`: checks the audit log.

use std::io;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use moongate_audit::{AuditKey, AuditKeyError, ChainHash, LogFiles, Verification, VerificationError, verify};
use serde_json::json;

use crate::cli::error::{CommandError, CommandResult};
use crate::cli::{CommonOptions, ExitKind, OutputFormat, configuration, print};

/// Check the audit log
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate audit verify   the log in gateway.toml")]
pub(super) struct Audit {
    #[command(subcommand)]
    verb: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    Verify(Verify),
}

/// Check that no record was changed, removed, added or reordered
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate audit verify                          the log in gateway.toml
  moongate audit verify --head 5f1c…             also check that it still contains the record with this hash
  moongate audit verify --key-file key a.jsonl   a copy, without gateway.toml

Records at the end can be removed without a trace in the log itself. To detect that, keep the hashes that the gateway \
logs every minute as `head of the audit log`, and pass the last one with `--head`.")]
struct Verify {
    /// Files of one log, oldest first [default: those of `[audit]` in the configuration]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The hash of a record that the log must contain
    #[arg(long, value_name = "HASH")]
    head: Option<ChainHash>,
    /// The file with the key [default: the key of `[audit]` in the configuration]
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: OutputFormat,
}

impl Audit {
    pub(super) fn run(self, common: &CommonOptions) -> CommandResult {
        let AuditCommand::Verify(verify) = self.verb;
        verify.run(common)
    }
}

impl Verify {
    fn run(self, common: &CommonOptions) -> CommandResult {
        let Self { files, head, key_file, format } = self;
        let failure = |error: &dyn std::error::Error, hint: Option<&str>| {
            CommandError::new(ExitKind::Failure).message(&error.to_string(), hint)
        };
        let (files, key) = match (files, key_file) {
            (files, Some(key)) if !files.is_empty() => (LogFiles::open(files), AuditKey::read(&key)),
            (files, key_file) => {
                let audit = audit_config(common)?;
                let key = match (key_file, &audit.key) {
                    (Some(file), _) => AuditKey::read(&file),
                    (None, Some(key)) => AuditKey::new(key.expose()),
                    (None, None) => AuditKey::read(&audit.key_file()),
                };
                let files =
                    if files.is_empty() { LogFiles::of_log(&audit.file) } else { LogFiles::open(files) };
                (files, key)
            }
        };
        let key = key.map_err(|error| failure(&error, Some(key_hint(&error))))?;
        let files = files.map_err(|error| failure(&error, None))?;
        let count = files.count();
        let found = verify(files, &key, head).map_err(|error| {
            let failed = failure(&error, hint(&error));
            match &error {
                VerificationError::Line { path, line, .. } => {
                    failed.member("file", json!(path.to_string_lossy())).member("line", json!(line))
                }
                VerificationError::Io { path, .. } => failed.member("file", json!(path.to_string_lossy())),
                VerificationError::HeadMissing { .. }
                | VerificationError::OldestMissing { .. }
                | VerificationError::Empty => failed,
            }
        })?;
        report(&found, count, format)
    }
}

fn hint(error: &VerificationError) -> Option<&'static str> {
    match error {
        VerificationError::OldestMissing { .. } => {
            Some("if you moved files away, pass all of them, or those that you want to check")
        }
        VerificationError::Io { .. }
        | VerificationError::Line { .. }
        | VerificationError::HeadMissing { .. }
        | VerificationError::Empty => None,
    }
}

fn key_hint(error: &AuditKeyError) -> &'static str {
    match error {
        AuditKeyError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            "the gateway creates the key and the log when it starts; pass the key of a copy with `--key-file`"
        }
        AuditKeyError::NotPrivate(_) => "run `chmod 600` on it, as its owner",
        AuditKeyError::Io { .. } | AuditKeyError::Missing(_) | AuditKeyError::TooShort => {
            "pass the file with `--key-file`"
        }
    }
}

/// The audit log of the configuration.
fn audit_config(common: &CommonOptions) -> Result<moongate_config::AuditConfig, CommandError> {
    let loaded = configuration::read(common.config.as_deref());
    let Some(config) = loaded.config else {
        let failed = CommandError::new(ExitKind::Configuration).diagnostics(&loaded.problems, &loaded.source);
        return Err(
            failed.notes("hint: to check a copy without the configuration, pass FILE and `--key-file`\n")
        );
    };
    config.audit.ok_or_else(|| {
        let hint = "add `[audit]`, or pass FILE and `--key-file`";
        CommandError::new(ExitKind::Usage).message("the configuration has no audit log", Some(hint))
    })
}

fn report(found: &Verification, files: usize, format: OutputFormat) -> CommandResult {
    let Verification { lines, first_sequence, head, notes } = found;
    match format {
        OutputFormat::Json => print::json(&json!({
            "lines": lines,
            "firstSequence": first_sequence,
            "lastSequence": head.sequence,
            "head": head.hash.to_string(),
            "notes": notes,
        }))?,
        OutputFormat::Text => {
            let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
            print::untrusted(&format!(
                "ok: {lines} records in {files}, from {first_sequence} to {}\nhead: {}\n",
                head.sequence, head.hash
            ))?;
            for note in notes {
                print::note(note);
            }
            if *first_sequence > 1 {
                print::note(
                    "earlier records weren't checked: rotation removed their files, or you didn't pass them",
                );
            }
        }
    }
    Ok(ExitKind::Success)
}
