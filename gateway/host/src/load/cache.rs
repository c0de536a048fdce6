//! The cache of compiled code: a private directory with one entry for each component, named by its digest.
//!
//! A cache entry is machine code that this process runs, so the directory must be private: mode 0700 or at least not
//! writable by others, and not a symlink. Several gateways can share it. An entry is written under another name, synced
//! and renamed, and never changed afterwards, because it is mapped while its component is loaded. Its name ends with
//! the digest of its own contents, so that a disk error is detected before the code runs. Old unused entries are
//! evicted, and above the maximum size, the oldest ones: a plugin that is rebuilt all day leaves an entry each time.
//! If the directory can't be used, components are compiled at each start; nothing else changes.

use std::fs::{self, DirBuilder, File};
use std::hash::{BuildHasher as _, Hash, Hasher, RandomState};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use moongate_model::names::Digest;
use sha2::{Digest as _, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use moongate_system::private_dir::{self, Ownership, PrivateDirError};

/// The time without use after which an entry is evicted.
const MAX_IDLE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The maximum size of the cache, in bytes: hundreds of usual plugins, or some very large ones.
const MAX_BYTES: u64 = 1 << 30;
/// The minimum time between updates to an entry's time of use.
const TOUCH_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// The age after which an unfinished file is abandoned.
const ABANDONED_AGE: Duration = Duration::from_secs(60 * 60);

/// The cache, in a checked directory.
#[derive(Debug)]
pub(crate) struct CodeCache {
    dir: PathBuf,
}

impl CodeCache {
    /// Creates the directory if it is missing, and checks that it is private.
    pub(crate) fn open(dir: &Path) -> Result<Self, PrivateDirError> {
        private_dir::create(dir)?;
        let cache = Self { dir: dir.to_owned() };
        cache.prune();
        Ok(cache)
    }

    /// The compiled code of the component with this digest. `None` if there is no usable entry.
    pub(crate) fn get(&self, engine: &Engine, digest: &Digest) -> Option<Component> {
        let prefix = prefix(engine, digest);
        let entries = fs::read_dir(&self.dir).ok()?.flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| is_entry(name, &prefix)).find_map(|name| self.load(engine, &name))
    }

    /// True if there is an entry. Loading can still find that the entry is unusable.
    pub(crate) fn contains(&self, engine: &Engine, digest: &Digest) -> bool {
        let prefix = prefix(engine, digest);
        let Ok(entries) = fs::read_dir(&self.dir) else { return false };
        entries.flatten().any(|entry| entry.file_name().to_str().is_some_and(|name| is_entry(name, &prefix)))
    }

    /// The code in the entry with that name. `None` if the entry is unusable.
    fn load(&self, engine: &Engine, name: &str) -> Option<Component> {
        let path = self.dir.join(name);
        let meta = fs::symlink_metadata(&path).ok()?; // another gateway may have removed it
        if !meta.is_file() || Ownership::OwnerWrites.check(&meta).is_err() {
            tracing::warn!("ignoring `{}`: other users can write to it", path.display());
            return None;
        }
        let checksum = File::open(&path).and_then(file_checksum);
        let loaded = match checksum {
            Ok(checksum) if name.ends_with(&suffix(&checksum)) => self::load(engine, &path),
            Ok(_) => {
                let _ = fs::remove_file(&path); // it will never become usable
                Err(wasmtime::format_err!("the contents are corrupt"))
            }
            Err(error) => Err(error.into()),
        };
        match loaded {
            Ok(component) => {
                touch(&path, &meta);
                Some(component)
            }
            Err(error) => {
                tracing::warn!("rebuilding the unusable cache entry `{}`: {error:#}", path.display());
                None
            }
        }
    }

    /// Adds compiled code and returns it mapped from the file.
    pub(crate) fn put(&self, engine: &Engine, digest: &Digest, code: &[u8]) -> wasmtime::Result<Component> {
        let name = prefix(engine, digest) + &suffix(&Sha256::digest(code).into());
        let path = self.dir.join(name);
        // Not the process id: gateways in different containers can share both the directory and the id.
        let random = RandomState::new().hash_one(digest);
        let unfinished = path.with_extension(format!("{random:016x}.tmp"));
        self.write(&unfinished, code)
            .map_err(|error| wasmtime::format_err!("`{}`: {error}", self.dir.display()))?;
        fs::rename(&unfinished, &path).inspect_err(|_| drop(fs::remove_file(&unfinished)))?;
        let component = self::load(engine, &path)?;
        self.prune();
        Ok(component)
    }

    /// Writes a file, and re-creates the directory if it was removed.
    fn write(&self, path: &Path, code: &[u8]) -> io::Result<()> {
        match write(path, code) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new().mode(0o700).create(&self.dir)?;
                write(path, code)
            }
            result => result,
        }
    }

    /// Evicts entries. Removing a file that a gateway has mapped doesn't affect that gateway.
    fn prune(&self) {
        let Ok(files) = fs::read_dir(&self.dir) else { return };
        let mut entries = Vec::new();
        for file in files.flatten() {
            let path = file.path();
            let Ok(meta) = file.metadata() else { continue };
            let idle = meta.modified().map(age).unwrap_or_default();
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("cwasm") => entries.push((idle, meta.len(), path)),
                Some("tmp") if idle > ABANDONED_AGE => drop(fs::remove_file(&path)),
                _ => {}
            }
        }
        entries.sort();
        let mut total = 0;
        for (index, (idle, size, path)) in entries.iter().enumerate() {
            total += size;
            // The newest entry is kept regardless of its size, because it was just written or used.
            if *idle > MAX_IDLE || total > MAX_BYTES && index > 0 {
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// The prefix of an entry's name: the component's digest, and a hash of everything else that affects the compiled code.
fn prefix(engine: &Engine, digest: &Digest) -> String {
    let mut hasher = StableHasher(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    format!("{digest}-{:016x}-", hasher.finish())
}

/// The digest of an entry's own contents.
type Checksum = [u8; 32];

/// The suffix of an entry's name.
fn suffix(checksum: &Checksum) -> String {
    let half = checksum.iter().take(16).fold(0_u128, |sum, &byte| (sum << 8) | u128::from(byte));
    format!("{half:032x}.cwasm")
}

fn is_entry(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix)
        .and_then(|rest| rest.strip_suffix(".cwasm"))
        .is_some_and(|checksum| checksum.len() == 32)
}

fn file_checksum(mut file: File) -> io::Result<Checksum> {
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
fn touch(path: &Path, meta: &fs::Metadata) {
    if meta.modified().is_ok_and(|time| age(time) > TOUCH_INTERVAL)
        && let Ok(file) = File::options().write(true).open(path)
    {
        let _ = file.set_modified(SystemTime::now());
    }
}

fn write(path: &Path, code: &[u8]) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    // Without the sync, a power failure could leave a file with the right name and the wrong contents.
    let written = file.write_all(code).and_then(|()| file.sync_all());
    if written.is_err() {
        let _ = fs::remove_file(path);
    }
    written
}

#[expect(unsafe_code, reason = "the engine runs the machine code in the file")]
fn load(engine: &Engine, path: &Path) -> wasmtime::Result<Component> {
    // SAFETY: a gateway of this user wrote the file: its directory and the file itself belong to this user and aren't
    // writable by others (checked in `open` and in `CodeCache::load`). The file is never changed in place, only created
    // by renaming and removed. The engine itself rejects code from another version or with other settings.
    unsafe { Component::deserialize_file(engine, path) }
}

/// Loads compiled code that couldn't be cached.
#[expect(unsafe_code, reason = "the engine runs the machine code")]
pub(crate) fn load_uncached(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: the bytes come from the compiler of this very program, through a pipe of this process.
    unsafe { Component::deserialize(engine, code) }
}

/// A hasher with the same results in every build of the gateway.
struct StableHasher(Sha256);

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
