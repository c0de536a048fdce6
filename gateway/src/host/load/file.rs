//! Reading a component's file as it is when nobody writes to it.
//!
//! A build or a copy may be at work when the file is looked at. What is taken is therefore what two looks in a row
//! agree on: the same file, length and times, and the same content. Where the file came to rest some time ago one look
//! is enough, provided that it was the same before and after.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use bytesize::ByteSize;
use moongate_core::config::{Entry, PluginConfig, nearest_path};
use moongate_core::names::Digest;
use rustix::fs::OFlags;
use tokio::time::{Instant, sleep};

use super::error::{LoadError, Unreadable};
use crate::blocking::Lane;

/// A file that wasn't touched for so long is looked at once. Every write notes its time, to some milliseconds; what is
/// copied with the times of its original shows in the time of its last change, which nobody can set.
const RESTED: Duration = Duration::from_secs(2);
/// How long the second look waits for after the first.
const PAUSE: Duration = Duration::from_millis(50);
/// The pauses after it grow, up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// After so long it is said that the file is still being written.
const PATIENCE: Duration = Duration::from_secs(10);

/// The bytes of a component's file, and their digest.
pub struct Candidate {
    pub(in crate::host) bytes: Vec<u8>,
    pub(in crate::host) digest: Digest,
}

impl std::fmt::Debug for Candidate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { bytes, digest } = self;
        f.debug_struct("Candidate").field("size", &bytes.len()).field("digest", &digest.short()).finish()
    }
}

impl Candidate {
    /// The SHA-256 digest of the bytes.
    #[must_use]
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// How many bytes there are.
    #[must_use]
    pub fn size(&self) -> ByteSize {
        ByteSize::b(self.bytes.len() as u64)
    }

    /// Refuses what the plugin's table doesn't accept: the size, and another digest than the pinned one.
    pub(in crate::host) fn check(&self, config: &PluginConfig) -> Result<(), LoadError> {
        let (size, most) = (self.size(), config.limits.component);
        if size > most {
            return Err(LoadError::TooBig { size, most });
        }
        match config.sha256.filter(|pinned| *pinned != self.digest) {
            Some(pinned) => Err(LoadError::Digest { found: self.digest, pinned }),
            None => Ok(()),
        }
    }
}

/// Reads the plugin's file when it has come to rest, in the plugin's lane.
pub(in crate::host) async fn read(config: &PluginConfig, lane: &Lane) -> Result<Candidate, LoadError> {
    let most = config.limits.component;
    let look = || async {
        let path = config.source.clone();
        let looked = lane.run(move || look(&path, most)).await;
        looked.unwrap_or_else(|error| Err(LoadError::Internal(format!("reading broke off: {error}"))))
    };
    let candidate = match settled(&config.source, look).await {
        Err(LoadError::Read { path, why: Unreadable::Absent { link: None, folder, near: _ } }) => {
            let at = path.clone();
            let near = lane.run(move || nearest_path(&at, Entry::File)).await.ok().flatten();
            return Err(LoadError::Read { path, why: Unreadable::Absent { link: None, folder, near } });
        }
        settled => settled?,
    };
    candidate.check(config)?;
    Ok(candidate)
}

/// What tells a file from another, and from itself before it was written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    /// When its content was written last: seconds and nanoseconds since 1970.
    modified: (i64, i64),
    /// The same for anything about it; no program can set this.
    changed: (i64, i64),
}

impl Stamp {
    fn of(meta: &Metadata) -> Self {
        Self {
            device: meta.dev(),
            inode: meta.ino(),
            length: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }

    /// Nobody touched it for a while before `now`. Times that lie ahead of the clock tell nothing.
    fn is_old(&self, now: SystemTime) -> bool {
        let Ok(now) = now.duration_since(SystemTime::UNIX_EPOCH) else { return false };
        let Some(latest) = now.checked_sub(RESTED) else { return false };
        let latest = (i64::try_from(latest.as_secs()).unwrap_or(i64::MAX), i64::from(latest.subsec_nanos()));
        self.modified < latest && self.changed < latest
    }
}

/// What one look at the file came to.
struct Look {
    candidate: Candidate,
    /// The file before it was read.
    before: Stamp,
    /// What stood at the path when it had been read.
    after: Stamp,
    /// When it began.
    at: SystemTime,
}

impl Look {
    /// Is there no need for another? Then the file was the same all the time, and for a while before.
    fn is_enough(&self) -> bool {
        self.before == self.after && self.after.is_old(self.at)
    }

    /// Does it agree with how the look before it ended?
    fn agrees(&self, (stamp, digest): (Stamp, Digest)) -> bool {
        self.before == stamp && self.after == stamp && self.candidate.digest == digest
    }
}

/// Looks until two looks in a row agree. The bytes of one look are held at a time.
async fn settled<F>(path: &Path, mut look: impl FnMut() -> F) -> Result<Candidate, LoadError>
where
    F: Future<Output = Result<Look, LoadError>>,
{
    let until = Instant::now() + PATIENCE;
    let first = look().await?;
    if first.is_enough() {
        return Ok(first.candidate);
    }
    let mut seen = Some((first.after, first.candidate.digest));
    drop(first);
    let mut pause = PAUSE;
    loop {
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
        let is_last = Instant::now() >= until;
        match look().await {
            Ok(look) if seen.is_some_and(|seen| look.agrees(seen)) => return Ok(look.candidate),
            Ok(_) if is_last => return Err(LoadError::Unsettled { path: path.to_owned() }),
            Ok(look) => seen = Some((look.after, look.candidate.digest)),
            // It was there a moment ago: somebody puts another in its place.
            Err(LoadError::Read { why: Unreadable::Absent { .. }, .. }) if !is_last => seen = None,
            Err(error) => return Err(error),
        }
    }
}

/// Reads the file once.
fn look(path: &Path, most: ByteSize) -> Result<Look, LoadError> {
    let at = SystemTime::now();
    let unread = |error: io::Error| LoadError::Read { path: path.to_owned(), why: unreadable(path, error) };
    // Without waiting: a pipe has no end, and perhaps no beginning.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path).map_err(unread)?;
    let meta = file.metadata().map_err(unread)?;
    if !meta.is_file() {
        return Err(LoadError::NoFile { path: path.to_owned(), directory: meta.is_dir() });
    }
    let too_big = |size| LoadError::TooBig { size: ByteSize::b(size), most };
    if meta.len() > most.as_u64() {
        return Err(too_big(meta.len()));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0));
    // It may grow while it is being read.
    file.take(most.as_u64().saturating_add(1)).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() as u64 > most.as_u64() {
        return Err(too_big(bytes.len() as u64));
    }
    let digest = Digest::of(&bytes);
    let after = Stamp::of(&fs::metadata(path).map_err(unread)?);
    Ok(Look { candidate: Candidate { bytes, digest }, before: Stamp::of(&meta), after, at })
}

/// Why the file can't be read: the system's word, and what the way to it adds. What may have been meant instead is looked
/// for once, when no look has found a file.
fn unreadable(path: &Path, error: io::Error) -> Unreadable {
    match error.kind() {
        io::ErrorKind::NotFound => {
            let link = fs::read_link(path).ok();
            let missing = path.ancestors().skip(1).take_while(|folder| !folder.exists());
            let folder = missing.last().map(Path::to_owned);
            Unreadable::Absent { link, folder, near: None }
        }
        io::ErrorKind::PermissionDenied => Unreadable::Denied,
        _ => Unreadable::Other(error),
    }
}

#[cfg(test)]
mod tests;
