//! Reading a component's file while no other process writes to it.
//!
//! A build or a copy may be writing the file, so its contents are accepted only if two consecutive reads agree: the
//! same file, length and times, and the same contents. If the file hasn't changed for some time, one read is enough,
//! provided that the file is the same before and after it. Built-in components are unpacked instead.

use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use bytesize::ByteSize;
use moongate_config::{EntryKind, PluginConfig, nearest_path};
use moongate_model::builtin_plugin::BuiltinPlugin;
use moongate_model::names::Digest;
use rustix::fs::OFlags;
use tokio::time::{Instant, sleep};

use super::error::{LoadError, ReadFailure};
use moongate_system::blocking::BlockingLimiter;

/// The time without changes after which one read is enough. Every write updates the file's times, to within some
/// milliseconds. A copy that keeps the times of its original still updates the change time, which programs can't set.
const SETTLED_AGE: Duration = Duration::from_secs(2);
/// The delay between the first and the second read.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The maximum of the growing delays after that.
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// The time after which reading fails because the file keeps changing.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(10);

/// The bytes of a component's file, and their digest.
pub struct ComponentFile {
    pub(crate) bytes: Vec<u8>,
    pub(crate) digest: Digest,
    /// The version of the file, if it hadn't changed for a while before it was read.
    pub(crate) settled: Option<FileStamp>,
}

impl fmt::Debug for ComponentFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, digest, settled: _ } = self;
        f.debug_struct("Candidate").field("size", &bytes.len()).field("digest", &digest.short()).finish()
    }
}

impl ComponentFile {
    /// The SHA-256 digest of the bytes.
    #[must_use]
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The number of bytes.
    #[must_use]
    pub fn size(&self) -> ByteSize {
        ByteSize::b(self.bytes.len() as u64)
    }

    /// Rejects a file that is too large or doesn't have the pinned digest.
    pub(crate) fn check(&self, config: &PluginConfig) -> Result<(), LoadError> {
        let size = self.size();
        let most = config.limits.component;
        if size > most {
            return Err(LoadError::TooLarge { size, most });
        }
        match config.sha256.filter(|pinned| *pinned != self.digest) {
            Some(pinned) => Err(LoadError::DigestMismatch { found: self.digest, pinned }),
            None => Ok(()),
        }
    }
}

/// Reads the plugin's file once it has stopped changing, or unpacks a built-in component.
pub(crate) async fn read(config: &PluginConfig, lane: &BlockingLimiter) -> Result<ComponentFile, LoadError> {
    if let Some(plugin) = config.builtin {
        let unpacked = lane.run(move || unpack(plugin)).await;
        let candidate = unpacked
            .unwrap_or_else(|error| Err(LoadError::Internal(format!("unpacking panicked: {error}"))))?;
        candidate.check(config)?;
        return Ok(candidate);
    }
    if let Some(Err(problem)) = config.remote.as_ref().map(|remote| remote.locked.as_ref()) {
        return Err(LoadError::NotLocked(problem.clone()));
    }
    let most = config.limits.component;
    let attempt = || async {
        let path = config.source.clone();
        let attempt = lane.run(move || read_once(&path, most)).await;
        attempt.unwrap_or_else(|error| Err(LoadError::Internal(format!("reading panicked: {error}"))))
    };
    let candidate = match read_settled(&config.source, attempt).await {
        Err(LoadError::Read { path, why: ReadFailure::NotFound { link: None, directory, near: _ } }) => {
            let at = path.clone();
            let near = lane.run(move || nearest_path(&at, EntryKind::File)).await.ok().flatten();
            return Err(LoadError::Read { path, why: ReadFailure::NotFound { link: None, directory, near } });
        }
        result => result?,
    };
    candidate.check(config)?;
    Ok(candidate)
}

/// Unpacks a built-in component.
fn unpack(plugin: BuiltinPlugin) -> Result<ComponentFile, LoadError> {
    let component = moongate_builtin_plugins::component(plugin);
    let bytes = component.unpack().map_err(|error| {
        LoadError::Internal(format!("the built-in plugin `{}` can't be unpacked: {error}", plugin.name()))
    })?;
    Ok(ComponentFile { bytes, digest: component.digest(), settled: None })
}

/// The properties that identify a file and its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    device: u64,
    inode: u64,
    length: u64,
    /// The last change to its contents: seconds and nanoseconds since 1970.
    modified: (i64, i64),
    /// The last change to contents or metadata. Programs can't set it.
    changed: (i64, i64),
}

impl FileStamp {
    pub(crate) fn of(meta: &Metadata) -> Self {
        Self {
            device: meta.dev(),
            inode: meta.ino(),
            length: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }

    /// The device and the inode.
    pub(crate) fn inode(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    /// True if the file hasn't changed for a while before `now`. Times in the future count as recent.
    fn is_settled(&self, now: SystemTime) -> bool {
        let Ok(now) = now.duration_since(SystemTime::UNIX_EPOCH) else { return false };
        let Some(latest) = now.checked_sub(SETTLED_AGE) else { return false };
        let latest = (i64::try_from(latest.as_secs()).unwrap_or(i64::MAX), i64::from(latest.subsec_nanos()));
        self.modified < latest && self.changed < latest
    }
}

impl fmt::Display for FileStamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, inode, length, modified, changed } = self;
        write!(f, "{device} {inode} {length} {} {} {} {}", modified.0, modified.1, changed.0, changed.1)
    }
}

impl FromStr for FileStamp {
    type Err = InvalidStamp;

    fn from_str(text: &str) -> Result<Self, InvalidStamp> {
        let mut parts = text.split(' ');
        let mut next = || parts.next().ok_or(InvalidStamp);
        let [device, inode, length] = [next()?, next()?, next()?].map(|part| part.parse::<u64>().ok());
        let times = [next()?, next()?, next()?, next()?].map(|part| part.parse::<i64>().ok());
        let (Some(device), Some(inode), Some(length)) = (device, inode, length) else {
            return Err(InvalidStamp);
        };
        let [Some(modified), Some(modified_ns), Some(changed), Some(changed_ns)] = times else {
            return Err(InvalidStamp);
        };
        if parts.next().is_some() {
            return Err(InvalidStamp);
        }
        let (modified, changed) = ((modified, modified_ns), (changed, changed_ns));
        Ok(Self { device, inode, length, modified, changed })
    }
}

/// A text that isn't a file's version.
#[derive(Debug)]
pub(crate) struct InvalidStamp;

/// One read of the file.
struct ReadAttempt {
    candidate: ComponentFile,
    /// The open file before it was read.
    before: FileStamp,
    /// The file at the path after reading.
    after: FileStamp,
    /// The start of the read.
    started: SystemTime,
}

impl ReadAttempt {
    /// True if no second read is needed: the file didn't change during the read and for a while before it.
    fn is_settled(&self) -> bool {
        self.before == self.after && self.after.is_settled(self.started)
    }

    /// True if the file is the same as after the previous read.
    fn agrees(&self, (stamp, digest): (FileStamp, Digest)) -> bool {
        self.before == stamp && self.after == stamp && self.candidate.digest == digest
    }
}

/// Reads until two consecutive reads agree. Keeps the bytes of only one read in memory at a time.
async fn read_settled<F>(path: &Path, mut read_once: impl FnMut() -> F) -> Result<ComponentFile, LoadError>
where
    F: Future<Output = Result<ReadAttempt, LoadError>>,
{
    let deadline = Instant::now() + SETTLE_TIMEOUT;
    let first = read_once().await?;
    if first.is_settled() {
        return Ok(ComponentFile { settled: Some(first.after), ..first.candidate });
    }
    let mut previous = Some((first.after, first.candidate.digest));
    drop(first);
    let mut pause = FIRST_PAUSE;
    loop {
        sleep(pause).await;
        pause = (pause * 2).min(MAX_PAUSE);
        let is_last = Instant::now() >= deadline;
        match read_once().await {
            Ok(read) if previous.is_some_and(|previous| read.agrees(previous)) => return Ok(read.candidate),
            Ok(_) if is_last => return Err(LoadError::KeepsChanging { path: path.to_owned() }),
            Ok(read) => previous = Some((read.after, read.candidate.digest)),
            // The file existed a moment ago, so it is being replaced.
            Err(LoadError::Read { why: ReadFailure::NotFound { .. }, .. }) if !is_last => previous = None,
            Err(error) => return Err(error),
        }
    }
}

/// Reads the file once.
fn read_once(path: &Path, most: ByteSize) -> Result<ReadAttempt, LoadError> {
    let started = SystemTime::now();
    let unread = |error: io::Error| LoadError::Read { path: path.to_owned(), why: unreadable(path, error) };
    // Non-blocking, because opening a pipe can wait for ever.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(unread)?;
    let meta = file.metadata().map_err(unread)?;
    if !meta.is_file() {
        return Err(LoadError::NotAFile { path: path.to_owned(), directory: meta.is_dir() });
    }
    let too_big = |size| LoadError::TooLarge { size: ByteSize::b(size), most };
    if meta.len() > most.as_u64() {
        return Err(too_big(meta.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0));
    // The file can grow while it is being read.
    file.take(most.as_u64().saturating_add(1)).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() as u64 > most.as_u64() {
        return Err(too_big(bytes.len() as u64));
    }
    let digest = Digest::of(&bytes);
    let after = FileStamp::of(&fs::metadata(path).map_err(unread)?);
    Ok(ReadAttempt {
        candidate: ComponentFile { bytes, digest, settled: None },
        before: FileStamp::of(&meta),
        after,
        started,
    })
}

/// The reason that the file can't be read, with details about its path. A similar path is searched for only once, after
/// the last attempt.
fn unreadable(path: &Path, error: io::Error) -> ReadFailure {
    match error.kind() {
        io::ErrorKind::NotFound => {
            let link = fs::read_link(path).ok();
            let missing = path.ancestors().skip(1).take_while(|directory| !directory.exists());
            let directory = missing.last().map(Path::to_owned);
            ReadFailure::NotFound { link, directory, near: None }
        }
        io::ErrorKind::PermissionDenied => ReadFailure::PermissionDenied,
        _ => ReadFailure::Other(error),
    }
}

#[cfg(test)]
mod tests;
