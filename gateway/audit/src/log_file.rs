//! The files of the log: opening, locking, repairing and rotating them.
//!
//! Several gateways can write to one log, because each host starts its own gateway with the same configuration. Each
//! batch of lines is written under a lock, after looking for lines of others. A file is only appended to. When it is
//! full, it is renamed once, to a name with the number of its first line, so that a crash leaves nothing half done.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use ring::rand::{SecureRandom as _, SystemRandom};
use rustix::fs::OFlags;

use crate::background_sync::{BackgroundSync, SyncFile, SyncedPart};
use crate::chain::{ChainHead, ChainLine, add_line, check_line, hex, line_start};
use crate::file_end::{FileEnd, MAX_LINE_BYTES, TornEnd, line_at};
use crate::key::AuditKey;
use crate::lock_holder::LockHolder;
use crate::record::{AuditEvent, AuditOutcome, AuditRecord};

/// The time to wait for another gateway that is writing.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The interval between attempts to lock.
const LOCK_INTERVAL: Duration = Duration::from_millis(2);

/// The size of the part of a file that isn't synced yet from which it is, in bytes.
const SYNC_STEP_BYTES: u64 = 8 << 20;

/// The largest part of a file that is synced when it is renamed, in bytes. A larger one is synced before, and lines are
/// appended meanwhile, up to twice the size of a full file.
const MAX_UNSYNCED_BYTES: u64 = 1 << 20;

/// The digits of a line's number in the name of a full file.
const SEQUENCE_DIGITS: usize = 20;

/// An error with a file of the log.
#[derive(Debug, thiserror::Error)]
pub enum AuditFileError {
    /// The system refused something.
    #[error("can't write the audit log `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Others can access it, or it isn't a regular file of this user.
    #[error(
        "can't write the audit log `{}`: it must be a regular file, without links, that only its owner can access",
        .0.display()
    )]
    NotPrivate(PathBuf),
    /// Its end isn't part of the chain.
    #[error("can't continue the audit log `{}`: its end isn't valid with this key", .0.display())]
    InvalidEnd(PathBuf),
    /// Another gateway has held the lock for long.
    #[error("can't lock the audit log `{}`: {holder} holds its lock", path.display())]
    Locked {
        /// The log.
        path: PathBuf,
        /// The other gateway.
        holder: LockHolder,
    },
}

/// The location and size of a log.
#[derive(Debug, Clone)]
pub struct AuditFiles {
    /// The file that lines are appended to.
    pub path: PathBuf,
    /// The size from which a file is full.
    pub max_bytes: u64,
    /// The number of full files to keep.
    pub keep: usize,
}

/// A file that was full, and was renamed. Their order is that of their lines.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FullFile {
    /// The number of its first line.
    first_sequence: u64,
    pub(crate) path: PathBuf,
}

/// The full files of a log, oldest first.
pub(crate) fn full_files(path: &Path) -> io::Result<Vec<FullFile>> {
    let prefix = format!("{}.", path.file_name().unwrap_or_default().to_string_lossy());
    let mut found = Vec::new();
    for entry in fs::read_dir(directory(path))? {
        let name = entry?.file_name();
        let digits = name.to_str().and_then(|name| name.strip_prefix(&prefix));
        let digits = digits.filter(|it| it.len() == SEQUENCE_DIGITS && !it.starts_with('+'));
        if let Some(first_sequence) = digits.and_then(|digits| digits.parse().ok()) {
            found.push(FullFile { first_sequence, path: directory(path).join(name) });
        }
    }
    found.sort();
    Ok(found)
}

/// Reports whether there is a log with lines.
pub(crate) fn has_lines(path: &Path) -> bool {
    let is_filled = fs::metadata(path).is_ok_and(|found| found.len() > 0);
    is_filled || full_files(path).is_ok_and(|files| !files.is_empty())
}

pub(crate) fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// A log that is open for appending.
#[derive(Debug)]
pub(crate) struct LogFile {
    files: AuditFiles,
    key: AuditKey,
    /// Distinguishes the lines of gateways that share a log.
    gateway: String,
    lock_path: PathBuf,
    lock: File,
    sync: BackgroundSync,
    current: Option<CurrentFile>,
    /// The last head that this gateway has written or read.
    head: Option<ChainHead>,
}

/// The file that lines are appended to, as this gateway left it.
#[derive(Debug)]
struct CurrentFile {
    file: File,
    identity: (u64, u64),
    bytes: u64,
    first_sequence: Option<u64>,
    /// The offset of its last line.
    last_line: Option<u64>,
}

/// Lines that the log itself needs before the next record.
#[derive(Default)]
struct OwnRecords {
    records: Vec<AuditRecord>,
    /// The file ends within a line.
    ends_line: bool,
    /// Files to remove once these records are written.
    unneeded: Vec<FullFile>,
}

impl LogFile {
    /// Opens or creates the log.
    pub(crate) fn open(files: AuditFiles, key: AuditKey) -> Result<Self, AuditFileError> {
        Self::open_with_sync(files, key, File::sync_data)
    }

    /// Opens a log whose growing file is synced with `sync`.
    fn open_with_sync(files: AuditFiles, key: AuditKey, sync: SyncFile) -> Result<Self, AuditFileError> {
        let lock_path = with_suffix(&files.path, ".lock");
        let lock = open_private(&lock_path)?;
        let mut name = [0; 4];
        let random = SystemRandom::new().fill(&mut name);
        random.map_err(|_| io_error(&files.path, io::Error::other("no randomness")))?;
        let (gateway, sync) = (hex(&name), BackgroundSync::new(sync));
        let mut log = Self { files, key, gateway, lock_path, lock, sync, current: None, head: None };
        log.append(&[])?;
        Ok(log)
    }

    /// The end of the chain.
    pub(crate) fn head(&self) -> ChainHead {
        self.head.unwrap_or(ChainHead::GENESIS)
    }

    /// Appends records, each given as the members of its line. If it fails, nothing was appended.
    pub(crate) fn append(&mut self, records: &[Vec<u8>]) -> Result<(), AuditFileError> {
        self.lock()?;
        let known = self.head;
        let result = self.append_locked(records).inspect_err(|_| {
            // The next attempt finds the end of the log again, and what there is to record about it.
            (self.head, self.current) = (known, None);
        });
        let unlocked = self.lock.unlock().map_err(|error| io_error(&self.files.path, error));
        if self.current.as_ref().is_some_and(|current| self.unsynced(current) >= self.sync_step(current)) {
            self.begin_sync();
        }
        result.and(unlocked)
    }

    /// The size of the part of a file that may not be on the disk.
    fn unsynced(&self, current: &CurrentFile) -> u64 {
        let synced = self.sync.synced().filter(|synced| synced.identity == current.identity);
        current.bytes.saturating_sub(synced.map_or(0, |synced| synced.bytes))
    }

    fn is_full(&self, current: &CurrentFile) -> bool {
        current.bytes >= self.files.max_bytes
    }

    fn sync_step(&self, current: &CurrentFile) -> u64 {
        if self.is_full(current) { MAX_UNSYNCED_BYTES + 1 } else { SYNC_STEP_BYTES }
    }

    /// Begins to write everything to the disk, unless a sync is running.
    pub(crate) fn begin_sync(&self) {
        if let Some(current) = &self.current {
            let &CurrentFile { ref file, identity, bytes, .. } = current;
            self.sync.begin(file, SyncedPart { identity, bytes, head: self.head() });
        }
    }

    /// The sync that runs, and the last one.
    pub(crate) fn background_sync(&self) -> &BackgroundSync {
        &self.sync
    }

    /// Writes everything to the disk, and waits for that.
    pub(crate) fn sync(&self) {
        if let Some(current) = &self.current
            && let Err(error) = current.file.sync_data()
        {
            tracing::warn!(file = %self.files.path.display(), %error, "can't sync the audit log");
        }
    }

    fn lock(&mut self) -> Result<(), AuditFileError> {
        let begun = Instant::now();
        loop {
            match self.lock.try_lock() {
                // If the file was removed, another gateway can have locked a new one.
                Ok(()) if is_at(&self.lock, &self.lock_path) => return Ok(()),
                Ok(()) => self.lock = open_private(&self.lock_path)?,
                Err(TryLockError::WouldBlock) if begun.elapsed() < LOCK_TIMEOUT => {
                    thread::sleep(LOCK_INTERVAL);
                }
                Err(TryLockError::WouldBlock) => {
                    let (path, holder) = (self.files.path.clone(), LockHolder::of(&self.lock));
                    return Err(AuditFileError::Locked { path, holder });
                }
                Err(TryLockError::Error(error)) => return Err(io_error(&self.files.path, error)),
            }
        }
    }

    fn append_locked(&mut self, records: &[Vec<u8>]) -> Result<(), AuditFileError> {
        let mut own = OwnRecords::default();
        self.catch_up(&mut own)?;
        let is_due = self.current.as_ref().is_some_and(|current| {
            let is_synced = self.unsynced(current) <= MAX_UNSYNCED_BYTES;
            self.is_full(current) && (is_synced || current.bytes / 2 >= self.files.max_bytes)
        });
        if is_due && !records.is_empty() && !own.ends_line {
            self.rotate(&mut own)?;
        }
        if own.records.is_empty() && records.is_empty() && !own.ends_line {
            return Ok(());
        }
        let mut lines = Vec::new();
        if own.ends_line {
            lines.push(b'\n');
        }
        let mut head = self.head();
        let OwnRecords { records: own, ends_line: _, unneeded } = own;
        let own: Vec<_> = own.iter().map(AuditRecord::members).collect();
        for members in own.iter().chain(records) {
            head = add_line(&mut lines, &self.key, head, &self.gateway, members);
        }
        let before = self.head().sequence;
        let Some(current) = &mut self.current else { return Ok(()) }; // `catch_up` has opened it
        write_whole(&current.file, &lines, current.bytes)
            .map_err(|error| io_error(&self.files.path, error))?;
        let last_line =
            lines[..lines.len() - 1].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        current.last_line = Some(current.bytes + last_line as u64);
        current.bytes += lines.len() as u64;
        current.first_sequence.get_or_insert(before + 1);
        self.head = Some(head);
        for FullFile { path: file, .. } in unneeded {
            // The next rotation tries again.
            if let Err(error) = fs::remove_file(&file) {
                tracing::warn!(file = %file.display(), %error, "can't remove an old file of the audit log");
            }
        }
        Ok(())
    }

    /// Finds the end of the log. Most of the time, it is where this gateway left it.
    fn catch_up(&mut self, own: &mut OwnRecords) -> Result<(), AuditFileError> {
        let path = &self.files.path;
        let found = match fs::symlink_metadata(path) {
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(io_error(path, error)),
        };
        let found = found.map(|found| ((found.dev(), found.ino()), found.len()));
        if let Some(current) = &self.current
            && found == Some((current.identity, current.bytes))
        {
            return Ok(());
        }
        let file = open_private(path)?;
        let found = file.metadata().map_err(|error| io_error(path, error))?;
        let end = self.read_end(path, &file, found.len())?;
        let last_line = end.last.as_ref().map(|last| last.offset);
        let mut head = end.last.map(|last| last.head);
        if head.is_none() {
            head = self.head_of_full_files()?;
        }
        own.ends_line = end.is_unterminated;
        if let Some(TornEnd { bytes, hash }) = end.torn {
            let mut record = AuditRecord::new(AuditEvent::LogRepaired, AuditOutcome::Failed);
            record.count = Some(bytes);
            record.detail = Some(hash.to_string());
            own.records.push(record);
        }
        if let Some(known) = self.head {
            let found_head = head.unwrap_or(ChainHead::GENESIS);
            if !self.contains(known, found_head, &file)? {
                own.records.push(self.shortened(known, found_head));
            }
            // A file that was removed leaves a gap; the numbers go on.
            if head.is_none() {
                head = Some(known);
            }
        }
        self.head = head;
        let first_sequence = self.first_record(&file)?.map(|line| line.sequence);
        let identity = (found.dev(), found.ino());
        self.current = Some(CurrentFile { file, identity, bytes: found.len(), first_sequence, last_line });
        Ok(())
    }

    /// Reports whether the log still contains its last line that this gateway knows. Other gateways can have written
    /// since, also after lines were removed.
    fn contains(&self, known: ChainHead, found: ChainHead, current: &File) -> Result<bool, AuditFileError> {
        if found.sequence <= known.sequence || known.sequence == 0 {
            return Ok(found == known || known.sequence == 0);
        }
        let path = &self.files.path;
        let is_known = |line: &[u8]| check_line(&self.key, line).is_ok_and(|line| line.head() == known);
        let full = full_files(path).map_err(|error| io_error(path, error))?;
        let is_before = |first: u64| first <= known.sequence;
        let first = self.first_record(current)?;
        let renamed;
        let (file, place) = if first.as_ref().is_some_and(|line| is_before(line.sequence)) {
            (current, path)
        } else if let Some(full) = full.iter().rfind(|file| is_before(file.first_sequence)) {
            renamed = open_private(&full.path)?;
            (&renamed, &full.path)
        } else {
            // Rotation can have removed it.
            return Ok(first.is_some_and(|line| line.kept_from.is_some_and(|kept| kept > known.sequence)));
        };
        let io = |error| io_error(place, error);
        // Most of the time, it is the file that this gateway has written.
        let identity = file.metadata().map(|found| (found.dev(), found.ino())).map_err(io)?;
        if let Some(CurrentFile { identity: own, last_line: Some(offset), .. }) = &self.current
            && *own == identity
            && is_known(&line_at(file, *offset).map_err(io)?)
        {
            return Ok(true);
        }
        find_line(file, known.sequence, is_known).map_err(io)
    }

    /// The record of lines that are gone.
    fn shortened(&self, known: ChainHead, found: ChainHead) -> AuditRecord {
        let mut record = AuditRecord::new(AuditEvent::LogShortened, AuditOutcome::Failed);
        // If others have written since, the number of lines isn't known.
        let lines = known.sequence.checked_sub(found.sequence).filter(|lines| *lines > 0);
        record.count = lines;
        record.detail = Some(format!("expected line {} with the hash {}", known.sequence, known.hash));
        tracing::error!(file = %self.files.path.display(), lines, "lines at the end of the audit log are gone");
        record
    }

    /// The first line of a file, if it is a record.
    fn first_record(&self, file: &File) -> Result<Option<ChainLine>, AuditFileError> {
        let line = first_line(file).map_err(|error| io_error(&self.files.path, error))?;
        Ok(line.and_then(|line| check_line(&self.key, &line).ok()))
    }

    /// The end of the newest full file.
    fn head_of_full_files(&self) -> Result<Option<ChainHead>, AuditFileError> {
        let path = &self.files.path;
        let Some(FullFile { path: newest, .. }) =
            full_files(path).map_err(|error| io_error(path, error))?.pop()
        else {
            return Ok(None);
        };
        let file = open_private(&newest)?;
        let size = file.metadata().map_err(|error| io_error(&newest, error))?.len();
        match self.read_end(&newest, &file, size)?.last {
            Some(last) => Ok(Some(last.head)),
            None => Err(AuditFileError::InvalidEnd(newest)),
        }
    }

    fn read_end(&self, path: &Path, file: &File, size: u64) -> Result<FileEnd, AuditFileError> {
        let end = FileEnd::read(file, size, &self.key).map_err(|error| io_error(path, error))?;
        if end.is_invalid { Err(AuditFileError::InvalidEnd(path.to_owned())) } else { Ok(end) }
    }

    /// Renames the full file, and begins a new one.
    fn rotate(&mut self, own: &mut OwnRecords) -> Result<(), AuditFileError> {
        let path = &self.files.path;
        let io = |error| io_error(path, error);
        let Some(current) = &self.current else { return Ok(()) };
        let Some(first) = current.first_sequence else { return Ok(()) };
        let full = with_suffix(path, &format!(".{first:0SEQUENCE_DIGITS$}"));
        if let Some(error) = self.sync.take_failure() {
            return Err(io(error));
        }
        current.file.sync_all().map_err(io)?;
        if fs::symlink_metadata(&full).is_ok() {
            return Err(io(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "the name of the full file is taken",
            )));
        }
        fs::rename(path, &full).map_err(io)?;
        let file = open_private(path)?;
        File::open(directory(path)).and_then(|directory| directory.sync_all()).map_err(io)?;
        let found = file.metadata().map_err(io)?;
        let identity = (found.dev(), found.ino());
        self.current = Some(CurrentFile { file, identity, bytes: 0, first_sequence: None, last_line: None });
        let mut full_files = full_files(path).map_err(io)?;
        let kept = full_files.split_off(full_files.len().saturating_sub(self.files.keep));
        own.unneeded = full_files;
        let mut record = AuditRecord::new(AuditEvent::LogRotated, AuditOutcome::Allowed);
        record.detail = full.file_name().map(|name| name.to_string_lossy().into_owned());
        record.kept_from = Some(kept.first().map_or(self.head().sequence + 1, |file| file.first_sequence));
        own.records.push(record);
        Ok(())
    }
}

/// Appends everything or nothing.
fn write_whole(mut file: &File, lines: &[u8], bytes_before: u64) -> io::Result<()> {
    file.write_all(lines).inspect_err(|_| {
        // If this fails too, the next attempt repairs the end.
        let _ = file.set_len(bytes_before);
    })
}

/// Reports whether a path leads to this open file.
fn is_at(file: &File, path: &Path) -> bool {
    let identity = |found: fs::Metadata| (found.dev(), found.ino());
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(open), Ok(found)) => identity(open) == identity(found),
        (Err(_), _) | (_, Err(_)) => false,
    }
}

fn io_error(path: &Path, source: io::Error) -> AuditFileError {
    AuditFileError::Io { path: path.to_owned(), source }
}

/// Opens or creates a file that only this user can access. It follows no link and waits for no pipe.
fn open_private(path: &Path) -> Result<File, AuditFileError> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY).bits().cast_signed();
    let mut options = File::options();
    options.read(true).append(true).create(true).mode(0o600).custom_flags(flags);
    let file = options.open(path).map_err(|error| match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => AuditFileError::NotPrivate(path.to_owned()),
        Ok(_) | Err(_) => io_error(path, error),
    })?;
    let found = file.metadata().map_err(|error| io_error(path, error))?;
    let is_private = found.is_file()
        && found.uid() == rustix::process::geteuid().as_raw()
        && found.mode() & 0o077 == 0
        && found.nlink() <= 1;
    if is_private { Ok(file) } else { Err(AuditFileError::NotPrivate(path.to_owned())) }
}

/// Reports whether a file has a line with this number that is the right one.
fn find_line(mut file: &File, sequence: u64, is_right: impl Fn(&[u8]) -> bool) -> io::Result<bool> {
    file.seek(SeekFrom::Start(0))?;
    let start = line_start(sequence);
    let (mut reader, mut line) = (BufReader::new(file), Vec::new());
    loop {
        line.clear();
        if (&mut reader).take(2 * MAX_LINE_BYTES as u64).read_until(b'\n', &mut line)? == 0 {
            return Ok(false);
        }
        if line.starts_with(start.as_bytes()) && is_right(line.strip_suffix(b"\n").unwrap_or(&line)) {
            return Ok(true);
        }
    }
}

/// The first line of a file, if it is complete.
fn first_line(mut file: &File) -> io::Result<Option<Vec<u8>>> {
    file.seek(SeekFrom::Start(0))?; // lines are appended wherever this is
    let mut line = Vec::new();
    BufReader::new(file).take(MAX_LINE_BYTES as u64).read_until(b'\n', &mut line)?;
    Ok(line.strip_suffix(b"\n").map(<[u8]>::to_vec))
}

#[cfg(test)]
mod tests;
