//! The SQLite database: created or found, checked, opened. A file that doesn't belong to Moongate is never written to.
//!
//! The database has a write-ahead log (WAL), so that several processes can read while one writes. A confirmed
//! transaction is in the log and survives if the process is killed. A power failure can lose only the last
//! transactions, each as a whole.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rusqlite::ffi::ErrorCode;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::entries::TABLES;
use moongate_system::private_dir::{self, Ownership, OwnershipError, PrivateDirError, io_hint};

/// The name of the file.
pub(super) const DATABASE_FILE: &str = "state.sqlite3";
/// Marks a database as Moongate's.
const APPLICATION_ID: i64 = 0x4d6f_4e67;
/// The version of the tables.
const SCHEMA_VERSION: i64 = 1;
/// The log is truncated to this size once all of it is in the file. SQLite starts moving it at about the same size.
const WAL_LIMIT_BYTES: u64 = 4 << 20;
/// A log above this size is worth waiting for its readers.
const LONG_WAL_BYTES: u64 = 4 * WAL_LIMIT_BYTES;
/// The maximum size of files that are checked completely when they are opened, which takes some milliseconds.
const MAX_CHECKED_BYTES: u64 = 16 << 20;

/// An error when using the database.
#[derive(Debug, thiserror::Error)]
pub(super) enum DatabaseError {
    /// Another process has locked the database, which is temporary.
    #[error("another process has locked it for too long")]
    Busy,
    #[error(transparent)]
    Directory(#[from] PrivateDirError),
    #[error("can't use `{}`: {reason}", file.display())]
    Io { file: PathBuf, reason: io::Error },
    #[error("`{}` is not a regular file", .0.display())]
    NotAFile(PathBuf),
    #[error("`{}` belongs to another user", .0.display())]
    Foreign(PathBuf),
    #[error("other users can read or write `{}` (mode {mode:03o} instead of 600)", file.display())]
    Open { file: PathBuf, mode: u32 },
    #[error("`{}` is the database of another program", .0.display())]
    Other(PathBuf),
    #[error("`{}` was written by a newer version of Moongate (schema version {version}; this one supports {SCHEMA_VERSION})", file.display())]
    Newer { file: PathBuf, version: i64 },
    #[error("`{}` is damaged ({reason})", file.display())]
    Damaged { file: PathBuf, reason: String },
    #[error("`{}` is on a file system where processes can't share a database, such as a network file system", .0.display())]
    Unshared(PathBuf),
    #[error("no space left on the disk of `{}`", .0.display())]
    DiskFull(PathBuf),
    #[error("`{}` is not writable", .0.display())]
    ReadOnly(PathBuf),
    #[error("can't use `{}`: {reason}", file.display())]
    Sqlite { file: PathBuf, reason: String },
}

impl DatabaseError {
    /// The hint for the operator.
    pub(super) fn hint(&self) -> String {
        match self {
            Self::Busy => {
                "close other programs that use the file, such as a backup or an SQLite shell".to_owned()
            }
            Self::Directory(error) => error.hint(),
            Self::Io { reason, .. } => io_hint(reason).to_owned(),
            Self::NotAFile(_) => "move it away, or choose another directory".to_owned(),
            Self::Foreign(_) => {
                "run the gateway as that user, or `chown` the file to the gateway's user".to_owned()
            }
            Self::Open { file, .. } => format!("`chmod 600 {}`", file.display()),
            Self::Other(_) => {
                "choose a directory that only Moongate uses; the file wasn't changed".to_owned()
            }
            Self::Newer { .. } => "use the newer version of Moongate, or choose another directory".to_owned(),
            Self::Damaged { .. } => "restore a backup, or move it away to start with empty state".to_owned(),
            Self::Unshared(_) => "choose a directory on a local disk".to_owned(),
            Self::DiskFull(_) => "free some disk space; existing data is kept".to_owned(),
            Self::ReadOnly(_) => {
                "give the gateway's user write access to the file and its directory".to_owned()
            }
            Self::Sqlite { .. } => "fix the problem, or choose another directory".to_owned(),
        }
    }
}

/// Identifies a file regardless of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity {
    device: u64,
    inode: u64,
}

/// The purpose of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ConnectionRole {
    Reader,
    Writer,
}

/// An open connection.
pub(super) struct DatabaseConnection {
    pub(super) connection: Connection,
    pub(super) identity: FileIdentity,
    file: PathBuf,
}

impl DatabaseConnection {
    /// Opens the database in a directory. Both are created if they are missing.
    pub(super) fn open(dir: &Path, role: ConnectionRole) -> Result<Self, DatabaseError> {
        private_dir::create(dir)?;
        let io = |file: &Path, reason| DatabaseError::Io { file: file.to_owned(), reason };
        // Parent directories may be symlinks, and SQLite must not follow any.
        let dir = fs::canonicalize(dir).map_err(|reason| io(dir, reason))?;
        let file = dir.join(DATABASE_FILE);
        // Only a new file is opened here, because closing a file releases every lock that this process has on it.
        match File::options().write(true).create_new(true).mode(0o600).open(&file) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io(&file, error)),
        }
        let identity = checked_identity(&file)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection =
            Connection::open_with_flags(&file, flags).map_err(|error| database_error(&file, &error))?;
        let mut database = Self { connection, identity, file };
        database.prepare(role)?;
        Ok(database)
    }

    fn prepare(&mut self, role: ConnectionRole) -> Result<(), DatabaseError> {
        self.connection
            .busy_timeout(std::time::Duration::ZERO)
            .map_err(|error| self.database_error(&error))?;
        let empty = self.is_empty()?;
        self.configure().map_err(|error| self.database_error(&error))?;
        if empty {
            self.create_tables()?;
        }
        match role {
            ConnectionRole::Reader => self.connection.pragma_update(None, "query_only", true),
            ConnectionRole::Writer => return self.check(),
        }
        .map_err(|error| self.database_error(&error))
    }

    /// True if the file is empty. Any other file must belong to Moongate and have a known schema version.
    fn is_empty(&self) -> Result<bool, DatabaseError> {
        const QUERY: &str = "SELECT (SELECT application_id FROM pragma_application_id), \
                            (SELECT user_version FROM pragma_user_version), \
                            (SELECT count(*) FROM sqlite_schema)";
        let header = self.connection.query_row(QUERY, (), |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
        });
        match header.map_err(|error| self.database_error(&error))? {
            (0, 0, 0) => Ok(true),
            (APPLICATION_ID, SCHEMA_VERSION, _) => Ok(false),
            (APPLICATION_ID, version, _) if version > SCHEMA_VERSION => {
                Err(DatabaseError::Newer { file: self.file.clone(), version })
            }
            _ => Err(DatabaseError::Other(self.file.clone())),
        }
    }

    fn configure(&self) -> rusqlite::Result<()> {
        let db = &self.connection;
        let mode: String = db.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
        if mode != "wal" {
            return Err(rusqlite::Error::SqliteFailure(
                rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_SHMMAP),
                None,
            ));
        }
        db.pragma_update(None, "synchronous", "normal")?;
        db.pragma_update(None, "journal_size_limit", i64::try_from(WAL_LIMIT_BYTES).unwrap_or(i64::MAX))?;
        db.pragma_update(None, "trusted_schema", false)
    }

    /// Creates the tables, unless another process was faster.
    fn create_tables(&mut self) -> Result<(), DatabaseError> {
        let file = self.file.clone();
        let failed = |error: rusqlite::Error| database_error(&file, &error);
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let count = "SELECT count(*) FROM sqlite_schema";
        let tables: i64 = transaction.query_row(count, (), |row| row.get(0)).map_err(failed)?;
        if tables == 0 {
            let made = transaction
                .execute_batch(TABLES)
                .and_then(|()| transaction.pragma_update(None, "application_id", APPLICATION_ID))
                .and_then(|()| transaction.pragma_update(None, "user_version", SCHEMA_VERSION));
            made.map_err(failed)?;
        }
        transaction.commit().map_err(failed)
    }

    /// Checks for damage, unless that would take long.
    fn check(&self) -> Result<(), DatabaseError> {
        if fs::metadata(&self.file).is_ok_and(|meta| meta.len() > MAX_CHECKED_BYTES) {
            return Ok(());
        }
        let found = self.connection.query_row("PRAGMA quick_check(1)", (), |row| row.get::<_, String>(0));
        match found.map_err(|error| self.database_error(&error))? {
            found if found == "ok" => Ok(()),
            found => {
                let reason = found.lines().next_back().unwrap_or_default().to_owned();
                Err(DatabaseError::Damaged { file: self.file.clone(), reason })
            }
        }
    }

    /// True if the file is still the one that was opened.
    pub(super) fn is_in_place(&self) -> bool {
        identity(&self.file).is_some_and(|identity| identity == self.identity)
    }

    /// Moves a long log into the file. SQLite does that itself, except while there is always a reader.
    pub(super) fn checkpoint(&self) {
        let mut log = self.file.clone().into_os_string();
        log.push("-wal");
        if fs::metadata(&log).is_ok_and(|meta| meta.len() > LONG_WAL_BYTES) {
            let wait = std::time::Duration::from_millis(20);
            let _ = self.connection.busy_timeout(wait);
            // If a reader doesn't end, the next attempt may succeed.
            let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()));
            let _ = self.connection.busy_timeout(std::time::Duration::ZERO);
        }
    }

    /// The meaning of an SQLite error.
    pub(super) fn database_error(&self, error: &rusqlite::Error) -> DatabaseError {
        database_error(&self.file, error)
    }
}

/// The file's identity, if no other user can read or change the file.
fn checked_identity(file: &Path) -> Result<FileIdentity, DatabaseError> {
    let meta = fs::symlink_metadata(file);
    let meta = meta.map_err(|reason| DatabaseError::Io { file: file.to_owned(), reason })?;
    if !meta.is_file() {
        return Err(DatabaseError::NotAFile(file.to_owned()));
    }
    Ownership::OwnerOnly.check(&meta).map_err(|stranger| match stranger {
        OwnershipError::Owner => DatabaseError::Foreign(file.to_owned()),
        OwnershipError::Permissions { mode } => DatabaseError::Open { file: file.to_owned(), mode },
    })?;
    Ok(FileIdentity { device: meta.dev(), inode: meta.ino() })
}

/// The identity of the file that is at the path now.
pub(super) fn identity(file: &Path) -> Option<FileIdentity> {
    let meta = fs::symlink_metadata(file).ok()?;
    Some(FileIdentity { device: meta.dev(), inode: meta.ino() })
}

fn database_error(file: &Path, error: &rusqlite::Error) -> DatabaseError {
    let file = file.to_owned();
    let reason = error.to_string();
    let Some(code) = error.sqlite_error() else { return DatabaseError::Sqlite { file, reason } };
    if code.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMMAP {
        return DatabaseError::Unshared(file);
    }
    match code.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed => {
            DatabaseError::Busy
        }
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => DatabaseError::Damaged { file, reason },
        ErrorCode::DiskFull => DatabaseError::DiskFull(file),
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => DatabaseError::ReadOnly(file),
        _ => DatabaseError::Sqlite { file, reason },
    }
}
