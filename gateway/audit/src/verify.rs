//! Checks files of a log: the hash of each line, their order, and whether a known head is still there.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::chain::{ChainHash, ChainHead, ChainLine, LineError, check_line};
use crate::file_end::{MAX_LINE_BYTES, MAX_TORN_BYTES};
use crate::key::{AuditKey, TornHash};
use crate::log_file::full_files;

/// The number of attempts to open the newest files of a log between two rotations.
const MAX_OPEN_ATTEMPTS: u32 = 100;

/// The newest files, which are opened at once. A process can have fewer descriptors than a log has files, and rotation
/// takes long to reach the others.
const MAX_OPEN_FILES: usize = 32;

/// Files to check, oldest first.
#[derive(Debug)]
pub struct LogFiles {
    /// Those without a file are opened in their turn.
    files: Vec<(PathBuf, Option<File>)>,
    /// They are all files of a log.
    is_whole: bool,
}

impl LogFiles {
    /// All files of the log at `path`, which gateways can be writing.
    ///
    /// # Errors
    /// A file can't be read.
    pub fn of_log(path: &Path) -> Result<Self, VerificationError> {
        let list = || full_files(path).map_err(|error| io_error(path, error));
        let mut full = list()?;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let mut paths: Vec<_> = full.iter().map(|file| file.path.clone()).collect();
            // After a crash within a rotation, it is missing until the next start.
            if attempts < MAX_OPEN_ATTEMPTS || full.is_empty() || path.exists() {
                paths.push(path.to_owned());
            }
            let opened = Self::open(paths);
            let now = list()?;
            // The file is missing for a moment while it is rotated.
            if (opened.is_ok() && full == now) || attempts == MAX_OPEN_ATTEMPTS {
                return Ok(Self { is_whole: true, ..opened? });
            }
            full = now;
        }
    }

    /// These files, which can be part of a log.
    ///
    /// # Errors
    /// A file can't be read.
    pub fn open(paths: Vec<PathBuf>) -> Result<Self, VerificationError> {
        let older = paths.len().saturating_sub(MAX_OPEN_FILES);
        let open = |(at, path): (usize, PathBuf)| {
            let file = if at < older { None } else { Some(open_file(&path)?) };
            Ok((path, file))
        };
        Ok(Self {
            files: paths.into_iter().enumerate().map(open).collect::<Result<_, _>>()?,
            is_whole: false,
        })
    }

    /// The number of files.
    #[must_use]
    pub fn count(&self) -> usize {
        self.files.len()
    }
}

/// The result of a successful check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// The number of lines.
    pub lines: u64,
    /// The number of the first line. If it isn't 1, earlier files weren't checked.
    pub first_sequence: u64,
    /// The end of the chain.
    pub head: ChainHead,
    /// Remarks: repaired and incomplete lines, dropped records.
    pub notes: Vec<String>,
}

/// The first problem.
#[derive(Debug, thiserror::Error)]
pub enum VerificationError {
    /// A file can't be read.
    #[error("can't read `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A line is wrong.
    #[error("{}:{line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The problem.
        problem: String,
    },
    /// The known head isn't in the log.
    #[error("the line with the hash {hash} isn't in the log: the log was cut, or replaced by another{}", or_rotated(*first_sequence))]
    HeadMissing {
        /// The hash.
        hash: ChainHash,
        /// The first line that was checked.
        first_sequence: u64,
    },
    /// The oldest files are missing.
    #[error("the records {from} to {to} are missing: rotation hasn't removed them")]
    OldestMissing {
        /// The first missing record.
        from: u64,
        /// The last one.
        to: u64,
    },
    /// There are no lines.
    #[error("the log has no lines")]
    Empty,
}

/// Checks the files of a log as one chain. `known_head` is the hash of a line that must be there.
///
/// # Errors
/// The first problem.
pub fn verify(
    files: LogFiles,
    key: &AuditKey,
    known_head: Option<ChainHash>,
) -> Result<Verification, VerificationError> {
    let mut verifier = Verifier {
        key,
        head: None,
        first_sequence: 0,
        lines: 0,
        kept_from: 1,
        torn: None,
        known_head,
        notes: Vec::new(),
    };
    let LogFiles { files, is_whole } = files;
    for (path, file) in files {
        let file = match file.map_or_else(|| open_file(&path), Ok) {
            // Rotation has removed it meanwhile. If it hasn't, the oldest records are found to be missing.
            Err(VerificationError::Io { source, .. })
                if source.kind() == io::ErrorKind::NotFound && is_whole && verifier.head.is_none() =>
            {
                continue;
            }
            file => file?,
        };
        verifier.read(&path, file)?;
    }
    if let Some(torn) = verifier.torn.take() {
        if !torn.is_unfinished {
            return Err(torn.into_error());
        }
        verifier.notes.push(format!(
            "{}:{}: the last line is incomplete: a gateway is writing it, or it stopped while it did",
            torn.path.display(),
            torn.line
        ));
    }
    if let Some(hash) = verifier.known_head {
        let first_sequence = verifier.first_sequence;
        return Err(VerificationError::HeadMissing { hash, first_sequence });
    }
    let head = verifier.head.ok_or(VerificationError::Empty)?;
    let Verifier { first_sequence, lines, kept_from, notes, .. } = verifier;
    if is_whole && first_sequence > kept_from {
        return Err(VerificationError::OldestMissing { from: kept_from, to: first_sequence - 1 });
    }
    Ok(Verification { lines, first_sequence, head, notes })
}

/// Another reason that a line is missing.
fn or_rotated(first_sequence: u64) -> String {
    if first_sequence > 1 {
        format!(", or it is older than the first line here, which has the number {first_sequence}")
    } else {
        String::new()
    }
}

fn open_file(path: &Path) -> Result<File, VerificationError> {
    // It waits for no pipe.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    File::options().read(true).custom_flags(flags).open(path).map_err(|error| io_error(path, error))
}

fn io_error(path: &Path, source: io::Error) -> VerificationError {
    VerificationError::Io { path: path.to_owned(), source }
}

struct Verifier<'a> {
    key: &'a AuditKey,
    head: Option<ChainHead>,
    first_sequence: u64,
    lines: u64,
    /// The first line that rotation has kept.
    kept_from: u64,
    /// Lines that are wrong unless the next line accounts for them.
    torn: Option<TornLines>,
    /// `None` once it was found.
    known_head: Option<ChainHash>,
    notes: Vec<String>,
}

/// Lines that aren't valid.
struct TornLines {
    path: PathBuf,
    /// The first one.
    line: u64,
    problem: String,
    /// The hash of all of them, with the line ends between them.
    hash: TornHash,
    /// The last one has its line end, which isn't hashed yet.
    is_ended: bool,
    /// The file ends in the only one, without an end of line.
    is_unfinished: bool,
}

impl TornLines {
    fn into_error(self) -> VerificationError {
        let Self { path, line, problem, .. } = self;
        VerificationError::Line { path, line, problem }
    }
}

impl Verifier<'_> {
    fn read(&mut self, path: &Path, file: File) -> Result<(), VerificationError> {
        let io = |error| io_error(path, error);
        // A gateway can be appending to the last file.
        let bytes = file.metadata().map_err(io)?.len();
        let mut reader = BufReader::new(file.take(bytes));
        let mut text = Vec::new();
        let (mut line, mut is_start) = (1, true);
        loop {
            text.clear();
            // Longer lines aren't records, and are read in pieces.
            let limit = 2 * MAX_LINE_BYTES as u64;
            if (&mut reader).take(limit).read_until(b'\n', &mut text).map_err(io)? == 0 {
                break;
            }
            let is_complete = text.ends_with(b"\n");
            let content = text.strip_suffix(b"\n").unwrap_or(&text);
            let checked = if is_start { check_line(self.key, content) } else { Err(LineError::Form) };
            match checked {
                Ok(found) if is_complete => self.add(path, line, &found)?,
                Ok(_) => self.add_torn(path, line, "it has no end of line".to_owned(), content, false)?,
                Err(problem) => self.add_torn(path, line, problem.to_string(), content, is_complete)?,
            }
            is_start = is_complete;
            line += u64::from(is_complete);
        }
        Ok(())
    }

    fn add(&mut self, path: &Path, line: u64, found: &ChainLine) -> Result<(), VerificationError> {
        let error = |problem: String| Err(VerificationError::Line { path: path.to_owned(), line, problem });
        if let Some(torn) = self.torn.take() {
            let bytes = torn.hash.bytes();
            let is_accounted_for = found.event == "log_repaired"
                && found.count == Some(bytes)
                && found.detail.as_deref() == Some(&*torn.hash.clone().finish().to_string());
            if !is_accounted_for {
                return Err(torn.into_error());
            }
            self.notes.push(format!(
                "{}:{}: {bytes} bytes that aren't a record, left by a crash; the next record accounts for them",
                torn.path.display(),
                torn.line
            ));
        }
        match self.head {
            None => {
                self.first_sequence = found.sequence;
                if found.sequence == 1 && found.previous != ChainHash::GENESIS {
                    return error("the first line names a line before it".to_owned());
                }
            }
            Some(head) if found.sequence != head.sequence + 1 => {
                let expected = head.sequence + 1;
                return error(format!(
                    "it has the number {}, and {expected} is expected: lines were removed, repeated or reordered",
                    found.sequence
                ));
            }
            Some(head) if found.previous != head.hash => {
                return error("it doesn't follow the line before it".to_owned());
            }
            Some(_) => {}
        }
        match found.event.as_str() {
            "log_shortened" => {
                let lines = found.count.map_or("lines".to_owned(), |count| format!("{count} lines"));
                return error(format!("a gateway noticed here that {lines} before this one were removed"));
            }
            "log_dropped" => self.notes.push(format!(
                "{}:{line}: records that were dropped: {}",
                path.display(),
                found.count.unwrap_or_default()
            )),
            _ => {}
        }
        self.kept_from = self.kept_from.max(found.kept_from.unwrap_or_default());
        self.lines += 1;
        self.head = Some(found.head());
        if self.known_head == Some(found.hash) {
            self.known_head = None;
        }
        Ok(())
    }

    fn add_torn(
        &mut self,
        path: &Path,
        line: u64,
        problem: String,
        content: &[u8],
        is_complete: bool,
    ) -> Result<(), VerificationError> {
        let torn = self.torn.get_or_insert_with(|| TornLines {
            path: path.to_owned(),
            line,
            problem,
            hash: self.key.torn_hash(),
            is_ended: false,
            is_unfinished: false,
        });
        if torn.is_ended {
            torn.hash.update(b"\n");
        }
        torn.hash.update(content);
        torn.is_unfinished = !is_complete && torn.line == line;
        torn.is_ended = is_complete;
        if torn.path == path && torn.hash.bytes() <= MAX_TORN_BYTES {
            return Ok(());
        }
        match self.torn.take() {
            Some(torn) => Err(torn.into_error()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
