//! The cache of compiled code: a private directory with one entry for each component, named by its digest.
//!
//! A cache entry is machine code that this process runs, so the directory must be private: mode 0700 or at least not
//! writable by others, and not a symlink. It is kept open, so that no other user can replace it, and an entry
//! is checked after it is opened. Several gateways can share the directory. An entry is written under another name, synced
//! and renamed, and never changed afterwards, because it is mapped while its component is loaded. Its name ends with
//! the digest of its own contents, so that a disk error is detected before the code runs. Old unused entries are
//! evicted, and above the maximum size, the oldest ones: a plugin that is rebuilt all day leaves an entry each time.
//! The compiling process adds the entry itself, so that it is of use even if the gateway ends first. While it compiles,
//! it locks a file, so that the next gateway's process waits for the entry and doesn't compile the component again.
//! If the directory can't be used, components are compiled at each start; nothing else changes.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::hash::{BuildHasher as _, Hash, Hasher, RandomState};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use moongate_config::COMPONENT_DIRECTORY;
use moongate_model::names::Digest;
use sha2::{Digest as _, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use super::{description_cache, known_files};
use moongate_system::private_dir::{ExposedFiles, Ownership, PrivateDir, PrivateDirError, PrivateFiles};

/// The time without use after which an entry is evicted.
const MAX_IDLE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The maximum size of the cache, in bytes: hundreds of usual plugins, or some very large ones.
const MAX_BYTES: u64 = 1 << 30;
/// The minimum time between updates to an entry's time of use.
const TOUCH_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// The age after which an unfinished file is abandoned.
const ABANDONED_AGE: Duration = Duration::from_secs(60 * 60);

/// The files of the directory. Code that another user could have changed is never run.
const CACHE_FILES: PrivateFiles = PrivateFiles {
    subdirectory: "moongate-cache",
    is_own_name: |name| {
        is_evictable(name)
            || is_unfinished(name)
            || name.ends_with(LOCK_EXTENSION)
            || [description_cache::SALT_NAME, known_files::LIST_NAME, COMPONENT_DIRECTORY].contains(&name)
    },
    exposed: ExposedFiles::Delete,
};
const ENTRY_EXTENSION: &str = ".cwasm";
pub(super) const UNFINISHED_EXTENSION: &str = ".tmp";
const LOCK_EXTENSION: &str = ".cwasm.lock";

/// The interval at which a process tries again to lock a file.
const LOCK_INTERVAL: Duration = Duration::from_millis(20);

/// The cache, in a checked directory.
#[derive(Debug)]
pub(crate) struct CodeCache {
    /// The configured path.
    path: PathBuf,
    /// Replaced if the directory was removed.
    dir: Mutex<Arc<PrivateDir>>,
    /// The names of entries that were found, so that the directory isn't read again for each.
    found: Mutex<BTreeMap<Digest, String>>,
    /// The hash of everything that affects the compiled code, apart from the component.
    compatibility: OnceLock<u64>,
}

impl CodeCache {
    /// Creates the directory if it is missing, and checks that it is private.
    pub(crate) fn open(path: &Path) -> Result<Self, PrivateDirError> {
        let dir = Arc::new(PrivateDir::create(path, CACHE_FILES)?);
        Ok(Self {
            path: path.to_owned(),
            dir: Mutex::new(dir),
            found: Mutex::default(),
            compatibility: OnceLock::new(),
        })
    }

    /// The configured path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn dir(&self) -> Arc<PrivateDir> {
        Arc::clone(&self.dir.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The compiled code of the component with this digest. `None` if there is no usable entry.
    pub(crate) fn get(&self, engine: &Engine, digest: &Digest) -> Option<Component> {
        let dir = self.dir();
        let found = self.found().get(digest).cloned();
        let component = found.and_then(|name| load_entry(&dir, engine, &name));
        component.or_else(|| {
            let prefix = self.prefix(engine, digest);
            let names = dir.names().ok()?.into_iter();
            names.filter(|name| is_entry(name, &prefix)).find_map(|name| load_entry(&dir, engine, &name))
        })
    }

    /// The name of an entry. Loading can still find that the entry is unusable.
    pub(super) fn entry_name(&self, engine: &Engine, digest: &Digest) -> Option<String> {
        if let Some(name) = self.found().get(digest).filter(|name| self.dir().contains(name)) {
            return Some(name.clone());
        }
        let prefix = self.prefix(engine, digest);
        let name = self.dir().names().ok()?.into_iter().find(|name| is_entry(name, &prefix))?;
        self.found().insert(*digest, name.clone());
        Some(name)
    }

    /// Finds all entries for this engine, so that the directory isn't read for each.
    pub(crate) fn find_all(&self, engine: &Engine) {
        let names = self.dir().names().unwrap_or_default();
        let compatibility = self.compatibility(engine);
        let entries = names.into_iter().filter_map(|name| {
            is_entry(name.get(64..)?, &compatibility).then(|| Some((name.get(..64)?.parse().ok()?, name)))?
        });
        let entries: Vec<_> = entries.collect();
        self.found().extend(entries);
    }

    /// True if there is an entry with this name for the component with this digest.
    pub(super) fn contains_entry(&self, engine: &Engine, digest: &Digest, name: &str) -> bool {
        // Known since the directory was read. If the entry was evicted since, the component is compiled again.
        if self.found().get(digest).is_some_and(|found| found == name) {
            return true;
        }
        let is_there = is_entry(name, &self.prefix(engine, digest)) && self.dir().contains(name);
        if is_there {
            self.found().insert(*digest, name.to_owned());
        }
        is_there
    }

    /// True if there is an entry. Loading can still find that the entry is unusable.
    pub(crate) fn contains(&self, engine: &Engine, digest: &Digest) -> bool {
        self.entry_name(engine, digest).is_some()
    }

    /// The prefix of an entry's name: the component's digest, and a hash of everything else that affects the compiled code.
    fn prefix(&self, engine: &Engine, digest: &Digest) -> String {
        format!("{digest}{}", self.compatibility(engine))
    }

    /// The second part of a prefix.
    fn compatibility(&self, engine: &Engine) -> String {
        let compatibility = self.compatibility.get_or_init(|| {
            let mut hasher = StableHasher::default();
            engine.precompile_compatibility_hash().hash(&mut hasher);
            hasher.finish()
        });
        format!("-{compatibility:016x}-")
    }

    fn found(&self) -> MutexGuard<'_, BTreeMap<Digest, String>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds compiled code and returns it mapped from the file.
    pub(crate) fn put(&self, engine: &Engine, digest: &Digest, code: &[u8]) -> wasmtime::Result<Component> {
        self.add(engine, digest, code)?;
        self.load_added(engine, digest)
    }

    /// Compiles a component and adds its code. If another process is compiling it, waits for that one, but only for
    /// `max_wait`. Returns the code if it can't be added, and otherwise nothing.
    pub(crate) fn compile_once(
        &self,
        engine: &Engine,
        digest: &Digest,
        max_wait: Duration,
        compile: impl FnOnce() -> wasmtime::Result<Vec<u8>>,
    ) -> wasmtime::Result<Vec<u8>> {
        let name = self.prefix(engine, digest) + LOCK_EXTENSION;
        let dir = self.dir();
        let started = Instant::now();
        let mut waited = false;
        // Without locks, the component is compiled once by each process.
        let lock = loop {
            match dir.try_lock(&name) {
                Ok(None) if started.elapsed() < max_wait => {
                    waited = true;
                    std::thread::sleep(LOCK_INTERVAL);
                }
                Ok(lock) => break lock,
                Err(_) => break None,
            }
        };
        let added = if waited && self.has_intact_entry(engine, digest) {
            Ok(Vec::new())
        } else {
            compile().map(|code| if self.add(engine, digest, &code).is_ok() { Vec::new() } else { code })
        };
        // A process that has waited for too long leaves the lock to its holder.
        if lock.is_some() {
            let _ = dir.remove(&name);
        }
        added
    }

    /// True if there is an entry whose contents match its name.
    fn has_intact_entry(&self, engine: &Engine, digest: &Digest) -> bool {
        let prefix = self.prefix(engine, digest);
        let dir = self.dir();
        let is_intact = |name: &String| {
            let checksum = || open_entry(&dir, name).and_then(|(file, _)| file_checksum(&file));
            is_entry(name, &prefix) && checksum().is_ok_and(|checksum| name.ends_with(&suffix(&checksum)))
        };
        dir.names().is_ok_and(|names| names.iter().any(is_intact))
    }

    /// Maps an entry that was just added.
    pub(crate) fn load_added(&self, engine: &Engine, digest: &Digest) -> wasmtime::Result<Component> {
        let prefix = self.prefix(engine, digest);
        let find = |dir: &PrivateDir| dir.names().ok()?.into_iter().find(|name| is_entry(name, &prefix));
        let mut dir = self.dir();
        let name = match find(&dir) {
            Some(name) => name,
            None => {
                // The process that added it found no directory, and created it again.
                dir = self.reopen()?;
                find(&dir).ok_or_else(|| wasmtime::format_err!("the compiled code was removed"))?
            }
        };
        // Code for a component that doesn't fit into the pool never becomes usable.
        let component = open_entry(&dir, &name)
            .map_err(wasmtime::Error::from)
            .and_then(|(file, _)| self::load(engine, &file))
            .inspect_err(|_| drop(dir.remove(&name)))?;
        self.prune();
        Ok(component)
    }

    /// Opens the directory at the configured path again.
    fn reopen(&self) -> Result<Arc<PrivateDir>, PrivateDirError> {
        let dir = Arc::new(PrivateDir::create(&self.path, CACHE_FILES)?);
        *self.dir.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&dir);
        Ok(dir)
    }

    /// Adds compiled code.
    fn add(&self, engine: &Engine, digest: &Digest, code: &[u8]) -> wasmtime::Result<()> {
        let name = self.prefix(engine, digest) + &suffix(&Sha256::digest(code).into());
        // Not the process id: gateways in different containers can share both the directory and the id.
        let random = RandomState::new().hash_one(digest);
        let unfinished = format!("{name}.{random:016x}{UNFINISHED_EXTENSION}");
        let dir = self
            .write(&unfinished, code)
            .map_err(|error| wasmtime::format_err!("`{}`: {error}", self.path.display()))?;
        dir.rename(&unfinished, &name).inspect_err(|_| drop(dir.remove(&unfinished)))?;
        Ok(())
    }

    /// Writes a file, and re-creates the directory if it was removed.
    fn write(
        &self,
        name: &str,
        code: &[u8],
    ) -> Result<Arc<PrivateDir>, Box<dyn std::error::Error + Send + Sync>> {
        let dir = self.dir();
        match write(&dir, name, code) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let dir = self.reopen()?;
                write(&dir, name, code)?;
                Ok(dir)
            }
            written => Ok(written.map(|()| dir)?),
        }
    }

    /// Evicts entries. Removing a file that a gateway has mapped doesn't affect that gateway.
    pub(crate) fn prune(&self) {
        let dir = self.dir();
        let mut entries = Vec::new();
        for name in dir.names().unwrap_or_default() {
            let Ok((size, modified)) = dir.size_and_time(&name) else { continue };
            let idle = age(modified);
            if is_evictable(&name) {
                entries.push((idle, size, name));
            } else if is_temporary(&name) && idle > ABANDONED_AGE {
                let _ = dir.remove(&name);
            }
        }
        entries.sort();
        let mut total = 0;
        for (index, (idle, size, name)) in entries.iter().enumerate() {
            total += size;
            // The newest entry is kept regardless of its size, because it was just written or used.
            if *idle > MAX_IDLE || total > MAX_BYTES && index > 0 {
                let _ = dir.remove(name);
            }
        }
    }
}

/// Opens an entry. It must be a file that only its owner can write to, because its code is run.
pub(super) fn open_entry(dir: &PrivateDir, name: &str) -> io::Result<(File, Metadata)> {
    let file = dir.open(name)?;
    let meta = file.metadata()?;
    if !meta.is_file() || Ownership::OwnerWrites.check(&meta).is_err() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "other users can write to it"));
    }
    Ok((file, meta))
}

/// The code in the entry with that name. `None` if the entry is unusable.
fn load_entry(dir: &PrivateDir, engine: &Engine, name: &str) -> Option<Component> {
    let path = dir.path().join(name);
    let (file, meta) = match open_entry(dir, name) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None, // another gateway may have removed it
        Err(_) => {
            tracing::warn!("ignoring `{}`: other users can write to it", path.display());
            return None;
        }
    };
    let loaded = match file_checksum(&file) {
        Ok(checksum) if name.ends_with(&suffix(&checksum)) => self::load(engine, &file),
        Ok(_) => {
            let _ = dir.remove(name); // it will never become usable
            Err(wasmtime::format_err!("the contents are corrupt"))
        }
        Err(error) => Err(error.into()),
    };
    match loaded {
        Ok(component) => {
            touch(&file, &meta);
            Some(component)
        }
        Err(error) => {
            tracing::warn!("rebuilding the unusable cache entry `{}`: {error:#}", path.display());
            None
        }
    }
}

/// True for names of entries that are being written.
fn is_unfinished(name: &str) -> bool {
    [ENTRY_EXTENSION, description_cache::EXTENSION, known_files::LIST_NAME]
        .iter()
        .any(|extension| name.contains(extension))
        && name.ends_with(UNFINISHED_EXTENSION)
}

/// True for names of entries, which are evicted when they are old.
fn is_evictable(name: &str) -> bool {
    name.ends_with(ENTRY_EXTENSION) || name.ends_with(description_cache::EXTENSION)
}

/// True for files that are of use only for a short time. A process that still needs its lock then compiles the component
/// together with another one.
fn is_temporary(name: &str) -> bool {
    name.ends_with(UNFINISHED_EXTENSION) || name.ends_with(LOCK_EXTENSION)
}

/// The digest of an entry's own contents.
type Checksum = [u8; 32];

/// The suffix of an entry's name.
fn suffix(checksum: &Checksum) -> String {
    format!("{:032x}{ENTRY_EXTENSION}", leading_bits(checksum))
}

/// The first 16 bytes of a digest.
fn leading_bits(digest: &Checksum) -> u128 {
    digest.iter().take(16).fold(0, |sum, &byte| (sum << 8) | u128::from(byte))
}

fn is_entry(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix)
        .and_then(|rest| rest.strip_suffix(ENTRY_EXTENSION))
        .is_some_and(|checksum| checksum.len() == 32)
}

fn file_checksum(mut file: &File) -> io::Result<Checksum> {
    let mut hasher = Sha256::new();
    let mut chunk = vec![0; 64 << 10];
    loop {
        match file.read(&mut chunk) {
            Ok(0) => return Ok(hasher.finalize().into()),
            Ok(length) => hasher.update(&chunk[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn age(time: SystemTime) -> Duration {
    SystemTime::now().duration_since(time).unwrap_or_default()
}

/// Records the time of use as the file's modification time.
pub(super) fn touch(file: &File, meta: &Metadata) {
    if meta.modified().is_ok_and(|time| age(time) > TOUCH_INTERVAL) {
        let _ = file.set_modified(SystemTime::now());
    }
}

fn write(dir: &PrivateDir, name: &str, code: &[u8]) -> io::Result<()> {
    let mut file = dir.create_file(name)?;
    // Without the sync, a power failure could leave a file with the right name and the wrong contents.
    let written = file.write_all(code).and_then(|()| file.sync_all());
    if written.is_err() {
        let _ = dir.remove(name);
    }
    written
}

#[expect(unsafe_code, reason = "the engine runs the machine code in the file")]
fn load(engine: &Engine, file: &File) -> wasmtime::Result<Component> {
    // The path of the open file itself: its name could lead to another one by now.
    let descriptors = if cfg!(target_os = "linux") { "/proc/self/fd" } else { "/dev/fd" };
    let path = format!("{descriptors}/{}", file.as_raw_fd());
    // SAFETY: a gateway of this user wrote the file: its directory and the file itself belong to this user and aren't
    // writable by others (checked in `open` and in `load_entry`, after opening both). The file is never changed in
    // place, only created by renaming and removed. The engine itself rejects code from another version or with other
    // settings.
    unsafe { Component::deserialize_file(engine, path) }
}

/// Loads compiled code that couldn't be cached.
#[expect(unsafe_code, reason = "the engine runs the machine code")]
pub(crate) fn load_uncached(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: the bytes come from the compiler of this very program, through a pipe of this process.
    unsafe { Component::deserialize(engine, code) }
}

/// A hasher with the same results in every build of the gateway.
#[derive(Default)]
pub(super) struct StableHasher(Sha256);

impl StableHasher {
    /// The first 16 bytes of the digest.
    pub(super) fn finish_long(&self) -> u128 {
        leading_bits(&self.0.clone().finalize().into())
    }
}

impl Hasher for StableHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let digest = self.0.clone().finalize();
        digest.iter().take(8).fold(0, |sum, &byte| (sum << 8) | u64::from(byte))
    }
}

#[cfg(test)]
mod tests;
