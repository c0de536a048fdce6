//! The key, and its file.
//!
//! Two keys are derived from it: one for the chain and one for the arguments, so that a hash of arguments is never that
//! of a line.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use rustix::fs::OFlags;

use crate::chain::{ChainHash, hex};
use crate::log_file::{directory, has_lines};

/// The length of a generated key, in bytes.
const KEY_BYTES: usize = 32;

/// The minimum length of a key, in characters.
const MIN_KEY_CHARS: usize = 32;

/// The time within which a new log has its first line.
const LOG_CREATION_TIME: Duration = Duration::from_secs(60);

/// The maximum length of a key file, in bytes.
const MAX_KEY_FILE_BYTES: u64 = 4096;

/// An error with the key.
#[derive(Debug, thiserror::Error)]
pub enum AuditKeyError {
    /// The file can't be read or created.
    #[error("can't read the audit key `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Others can read the file, or it isn't a regular file of this user.
    #[error("can't use the audit key `{}`: it must be a regular file that only its owner can access", .0.display())]
    NotPrivate(PathBuf),
    /// There is a log, but its key is gone.
    #[error("the audit key `{}` is missing, but there are records with it", .0.display())]
    Missing(PathBuf),
    /// The key could be guessed.
    #[error("the audit key is too short: it needs 32 characters or more")]
    TooShort,
}

/// The key of an audit log.
#[derive(Clone)]
pub struct AuditKey {
    chain: hmac::Key,
    arguments: hmac::Key,
}

impl fmt::Debug for AuditKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditKey").finish_non_exhaustive()
    }
}

impl AuditKey {
    /// The key with this text.
    ///
    /// # Errors
    /// It is too short.
    pub fn new(secret: &str) -> Result<Self, AuditKeyError> {
        let secret = secret.trim();
        if secret.chars().count() < MIN_KEY_CHARS {
            return Err(AuditKeyError::TooShort);
        }
        let main = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let derived = |purpose: &[u8]| hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&main, purpose).as_ref());
        Ok(Self { chain: derived(b"moongate audit chain"), arguments: derived(b"moongate audit arguments") })
    }

    /// Reads the key from a file.
    ///
    /// # Errors
    /// The file can't be read, others can read it, or the key is too short.
    pub fn read(path: &Path) -> Result<Self, AuditKeyError> {
        let io = |source| AuditKeyError::Io { path: path.to_owned(), source };
        let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY).bits().cast_signed();
        let file = File::options().read(true).custom_flags(flags).open(path).map_err(io)?;
        let found = file.metadata().map_err(io)?;
        let is_own =
            found.uid() == rustix::process::geteuid().as_raw() || rustix::process::geteuid().is_root();
        if !found.is_file() || !is_own || found.mode() & 0o077 != 0 {
            return Err(AuditKeyError::NotPrivate(path.to_owned()));
        }
        let mut text = String::new();
        file.take(MAX_KEY_FILE_BYTES).read_to_string(&mut text).map_err(io)?;
        Self::new(&text)
    }

    /// Reads the key of `log` from a file, which is created with a random key if neither exists. Of several gateways
    /// that start at the same time, one creates it.
    ///
    /// # Errors
    /// The file can't be read or created, others can read it, or the key is too short.
    pub fn read_or_create(path: &Path, log: &Path) -> Result<Self, AuditKeyError> {
        // Before the key is read: another gateway creates the key first, and then the log.
        let has_lines = has_lines(log);
        match Self::read(path) {
            Err(AuditKeyError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            result => return result,
        }
        if has_lines {
            return Err(AuditKeyError::Missing(path.to_owned()));
        }
        create(path).map_err(|source| AuditKeyError::Io { path: path.to_owned(), source })?;
        Self::read(path)
    }

    /// Reports whether the key is older than a minute, and its log has no lines. Other gateways can start at the same
    /// time, so a newer key means nothing.
    #[must_use]
    pub fn has_lost_log(path: &Path, log: &Path) -> bool {
        let created = fs::symlink_metadata(path).and_then(|found| found.modified());
        let age = created.ok().and_then(|created| created.elapsed().ok());
        !has_lines(log) && age.is_some_and(|age| age > LOG_CREATION_TIME)
    }

    /// The keyed hash of a line.
    pub(crate) fn hash_line(&self, line: &[u8]) -> ChainHash {
        chain_hash(&hmac::sign(&self.chain, line))
    }

    /// Begins the keyed hash of bytes that can be many, as that of a line.
    pub(crate) fn torn_hash(&self) -> TornHash {
        TornHash { context: hmac::Context::with_key(&self.chain), bytes: 0 }
    }

    /// Begins the keyed hash of arguments.
    #[must_use]
    pub fn arguments_hash(&self) -> ArgumentsHash {
        ArgumentsHash(hmac::Context::with_key(&self.arguments))
    }
}

/// The size and keyed hash of bytes that aren't a record.
#[derive(Clone)]
pub(crate) struct TornHash {
    context: hmac::Context,
    bytes: u64,
}

impl TornHash {
    pub(crate) fn update(&mut self, part: &[u8]) {
        self.context.update(part);
        self.bytes += part.len() as u64;
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn finish(self) -> ChainHash {
        chain_hash(&self.context.sign())
    }
}

/// The keyed hash of arguments. Equal arguments have equal hashes, and only who has the key can try out values.
#[derive(Debug, Clone)]
pub struct ArgumentsHash(hmac::Context);

impl ArgumentsHash {
    /// Adds the next part of the arguments.
    pub fn update(&mut self, part: &[u8]) {
        self.0.update(part);
    }

    /// The hash, in hexadecimal.
    #[must_use]
    pub fn finish(self) -> String {
        chain_hash(&self.0.sign()).to_string()
    }
}

fn chain_hash(tag: &hmac::Tag) -> ChainHash {
    let mut hash = [0; 32];
    hash.copy_from_slice(tag.as_ref());
    ChainHash::new(hash)
}

/// Creates the file as a whole: another gateway never reads half a key, and an existing file stays.
fn create(path: &Path) -> io::Result<()> {
    let (mut key, mut name) = ([0; KEY_BYTES], [0; 8]);
    let random = SystemRandom::new();
    random
        .fill(&mut key)
        .and_then(|()| random.fill(&mut name))
        .map_err(|_| io::Error::other("no randomness"))?;
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(format!(".{}", hex(&name)));
    let unfinished = PathBuf::from(unfinished);
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    let written = file.write_all(format!("{}\n", hex(&key)).as_bytes()).and_then(|()| file.sync_all());
    let linked = written.and_then(|()| match fs::hard_link(&unfinished, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    });
    fs::remove_file(&unfinished)?;
    linked?;
    // The log mustn't outlast its key.
    File::open(directory(path))?.sync_all()
}
