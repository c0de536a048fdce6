//! The database file: found or made, checked, opened. Nothing that isn't ours is ever written to.
//!
//! It is SQLite's, with a log beside it (WAL), because that is what lets several processes read and one of them write
//! at the same time. A transaction that was answered is in the log; it outlives a process that is killed, and what a
//! machine that loses its power forgets of it is whole transactions, the last ones.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rusqlite::ffi::ErrorCode;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::entries::TABLES;
use crate::private_dir::{self, FolderError, Hands, Stranger, io_hint};

/// What the file is called.
pub(super) const DATABASE_FILE: &str = "state.sqlite3";
/// Marks a database as Moongate's.
const APPLICATION: i64 = 0x4d6f_4e67;
/// The form of the tables.
const SCHEMA_VERSION: i64 = 1;
/// The log is shortened to this once all of it is in the file. SQLite begins with that at about as many bytes.
const LOG: u64 = 4 << 20;
/// A log that is longer than this is worth waiting for whoever still reads in it.
const LONG_LOG: u64 = 4 * LOG;
/// Files up to this size are checked through and through when they are opened: it takes some milliseconds.
const CHECKED: u64 = 16 << 20;

/// Why the database can't be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum DatabaseError {
    /// Somebody else holds it; it passes.
    #[error("another process has kept it locked for too long")]
    Busy,
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("`{}` can't be used: {reason}", file.display())]
    Io { file: PathBuf, reason: io::Error },
    #[error("`{}` is no regular file", .0.display())]
    NoFile(PathBuf),
    #[error("`{}` belongs to another user", .0.display())]
    Foreign(PathBuf),
    #[error("`{}` may be read or written by others (mode {mode:03o}; it should be 600)", file.display())]
    Open { file: PathBuf, mode: u32 },
    #[error("`{}` is the database of another program", .0.display())]
    Other(PathBuf),
    #[error("`{}` was written by a newer version of Moongate (form {form}; this version knows form {SCHEMA_VERSION})", file.display())]
    Newer { file: PathBuf, form: i64 },
    #[error("`{}` is damaged ({reason})", file.display())]
    Damaged { file: PathBuf, reason: String },
    #[error("`{}` lies where processes can't share a database, such as on a network's file system", .0.display())]
    Unshared(PathBuf),
    #[error("there is no room left on the disk of `{}`", .0.display())]
    NoRoom(PathBuf),
    #[error("`{}` may not be written", .0.display())]
    ReadOnly(PathBuf),
    #[error("`{}` can't be used: {reason}", file.display())]
    Sqlite { file: PathBuf, reason: String },
}

impl DatabaseError {
    /// What to do about it.
    pub(super) fn hint(&self) -> String {
        match self {
            Self::Busy => "find out who holds it open, such as a backup or a shell of SQLite".to_owned(),
            Self::Folder(error) => error.hint(),
            Self::Io { reason, .. } => io_hint(reason).to_owned(),
            Self::NoFile(_) => "move away what stands there, or name another directory".to_owned(),
            Self::Foreign(_) => {
                "run the gateway as that user, or let `chown` give it to the gateway's".to_owned()
            }
            Self::Open { file, .. } => format!("`chmod 600 {}`", file.display()),
            Self::Other(_) => "name a directory for Moongate alone; nothing was written to it".to_owned(),
            Self::Newer { .. } => "use that version, or name another directory".to_owned(),
            Self::Damaged { .. } => "it stays as it is: restore it, or move it away to begin anew".to_owned(),
            Self::Unshared(_) => "name a directory on a disk of this machine".to_owned(),
            Self::NoRoom(_) => "make room there; what was kept before stays".to_owned(),
            Self::ReadOnly(_) => "let the gateway's user write to it and to its directory".to_owned(),
            Self::Sqlite { .. } => "see what is wrong there, or name another directory".to_owned(),
        }
    }
}

/// Which file it is, whatever it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ConnectionRole {
    Reader,
    Writer,
}

/// An open connection.
pub(super) struct DatabaseConnection {
    pub(super) connection: Connection,
    pub(super) identity: Identity,
    file: PathBuf,
}

impl DatabaseConnection {
    /// Opens the database in a folder; both are made if they aren't there.
    pub(super) fn open(dir: &Path, side: ConnectionRole) -> Result<Self, DatabaseError> {
        private_dir::private(dir)?;
        let io = |file: &Path, reason| DatabaseError::Io { file: file.to_owned(), reason };
        // The rest of the way may hold links; SQLite is to follow none.
        let dir = fs::canonicalize(dir).map_err(|reason| io(dir, reason))?;
        let file = dir.join(DATABASE_FILE);
        // Only one that is new is opened here: closing a file gives up every lock that this process holds on it.
        match File::options().write(true).create_new(true).mode(0o600).open(&file) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io(&file, error)),
        }
        let identity = checked(&file)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection = Connection::open_with_flags(&file, flags).map_err(|error| database_error(&file, &error))?;
        let mut database = Self { connection, identity, file };
        database.prepare(side)?;
        Ok(database)
    }

    fn prepare(&mut self, side: ConnectionRole) -> Result<(), DatabaseError> {
        self.connection.busy_timeout(std::time::Duration::ZERO).map_err(|error| self.database_error(&error))?;
        let empty = self.is_empty()?;
        self.set_up().map_err(|error| self.database_error(&error))?;
        if empty {
            self.make()?;
        }
        match side {
            ConnectionRole::Reader => self.connection.pragma_update(None, "query_only", true),
            ConnectionRole::Writer => return self.check(),
        }
        .map_err(|error| self.database_error(&error))
    }

    /// Is it to be filled? What isn't empty must be ours, of a form that is known.
    fn is_empty(&self) -> Result<bool, DatabaseError> {
        const WHAT: &str = "SELECT (SELECT application_id FROM pragma_application_id), \
                            (SELECT user_version FROM pragma_user_version), \
                            (SELECT count(*) FROM sqlite_schema)";
        let what = self.connection.query_row(WHAT, (), |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
        });
        match what.map_err(|error| self.database_error(&error))? {
            (0, 0, 0) => Ok(true),
            (APPLICATION, SCHEMA_VERSION, _) => Ok(false),
            (APPLICATION, form, _) if form > SCHEMA_VERSION => Err(DatabaseError::Newer { file: self.file.clone(), form }),
            _ => Err(DatabaseError::Other(self.file.clone())),
        }
    }

    fn set_up(&self) -> rusqlite::Result<()> {
        let db = &self.connection;
        let mode: String = db.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
        if mode != "wal" {
            return Err(rusqlite::Error::SqliteFailure(
                rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_SHMMAP),
                None,
            ));
        }
        db.pragma_update(None, "synchronous", "normal")?;
        db.pragma_update(None, "journal_size_limit", i64::try_from(LOG).unwrap_or(i64::MAX))?;
        db.pragma_update(None, "trusted_schema", false)
    }

    /// Makes the tables, unless another process was faster.
    fn make(&mut self) -> Result<(), DatabaseError> {
        let file = self.file.clone();
        let failed = |error: rusqlite::Error| database_error(&file, &error);
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let count = "SELECT count(*) FROM sqlite_schema";
        let tables: i64 = transaction.query_row(count, (), |row| row.get(0)).map_err(failed)?;
        if tables == 0 {
            let made = transaction
                .execute_batch(TABLES)
                .and_then(|()| transaction.pragma_update(None, "application_id", APPLICATION))
                .and_then(|()| transaction.pragma_update(None, "user_version", SCHEMA_VERSION));
            made.map_err(failed)?;
        }
        transaction.commit().map_err(failed)
    }

    /// Looks for damage, where that doesn't take long.
    fn check(&self) -> Result<(), DatabaseError> {
        if fs::metadata(&self.file).is_ok_and(|meta| meta.len() > CHECKED) {
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

    /// Is the file still the one that was opened?
    pub(super) fn is_in_place(&self) -> bool {
        identity(&self.file).is_some_and(|identity| identity == self.identity)
    }

    /// Brings a log that has become long into the file. Usually that happens by itself; but while somebody always
    /// reads, the log would only grow.
    pub(super) fn tidy(&self) {
        let mut log = self.file.clone().into_os_string();
        log.push("-wal");
        if fs::metadata(&log).is_ok_and(|meta| meta.len() > LONG_LOG) {
            let wait = std::time::Duration::from_millis(20);
            let _ = self.connection.busy_timeout(wait);
            // Where somebody reads on and on, the next time may do.
            let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()));
            let _ = self.connection.busy_timeout(std::time::Duration::ZERO);
        }
    }

    /// What an error of SQLite's means.
    pub(super) fn database_error(&self, error: &rusqlite::Error) -> DatabaseError {
        database_error(&self.file, error)
    }
}

/// The file that stands there, if nobody else can read or change it.
fn checked(file: &Path) -> Result<Identity, DatabaseError> {
    let meta = fs::symlink_metadata(file);
    let meta = meta.map_err(|reason| DatabaseError::Io { file: file.to_owned(), reason })?;
    if !meta.is_file() {
        return Err(DatabaseError::NoFile(file.to_owned()));
    }
    Hands::Secret.check(&meta).map_err(|stranger| match stranger {
        Stranger::Owner => DatabaseError::Foreign(file.to_owned()),
        Stranger::Others { mode } => DatabaseError::Open { file: file.to_owned(), mode },
    })?;
    Ok(Identity { device: meta.dev(), inode: meta.ino() })
}

/// Which file stands there now.
pub(super) fn identity(file: &Path) -> Option<Identity> {
    let meta = fs::symlink_metadata(file).ok()?;
    Some(Identity { device: meta.dev(), inode: meta.ino() })
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
        ErrorCode::DiskFull => DatabaseError::NoRoom(file),
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => DatabaseError::ReadOnly(file),
        _ => DatabaseError::Sqlite { file, reason },
    }
}
