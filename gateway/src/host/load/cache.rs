//! Compiled code, kept in a private folder by the digest of the component it was made from.
//!
//! A file of the cache is machine code that this process will run, so the folder must belong to us alone: mode 0700
//! or at least not writable by others, no symbolic link. Several gateways share it; a file is written under another
//! name, made durable and renamed, never changed afterwards, because it stays mapped while its component lives. Its name
//! ends with the digest of its own content, so that a disk that forgot a bit is noticed before the code runs. What
//! wasn't used for long goes, and so does the oldest where there is too much: a plugin that is built all day leaves
//! an entry each time.
//! Where the folder can't be used, code is compiled at each start; nothing else changes.

use std::fs::{self, DirBuilder, File};
use std::hash::{BuildHasher as _, Hash, Hasher, RandomState};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use moongate_core::names::Digest;
use sha2::{Digest as _, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::private_dir::{self, FolderError, Hands};

/// Entries that nobody used for so long are removed.
const KEEP: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// So many bytes are kept, of those that were used last: hundreds of usual plugins, or some very large ones.
const MOST: u64 = 1 << 30;
/// An entry's time of use is noted at most this often.
const NOTE: Duration = Duration::from_secs(60 * 60);
/// A file that was being written so long ago will never be finished.
const UNFINISHED: Duration = Duration::from_secs(60 * 60);

/// The folder, checked.
#[derive(Debug)]
pub(in crate::host) struct Cache {
    dir: PathBuf,
}

impl Cache {
    /// Makes the folder if it isn't there, and checks that it is ours alone.
    pub(in crate::host) fn open(dir: &Path) -> Result<Self, FolderError> {
        private_dir::private(dir)?;
        let cache = Self { dir: dir.to_owned() };
        cache.prune();
        Ok(cache)
    }

    /// The compiled code of the component with this digest, if it is there and can be used.
    pub(in crate::host) fn get(&self, engine: &Engine, digest: &Digest) -> Option<Component> {
        let stem = stem(engine, digest);
        let entries = fs::read_dir(&self.dir).ok()?.flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| is_entry(name, &stem)).find_map(|name| self.load(engine, &name))
    }

    /// Is there compiled code of it? Whether it can be used is found out when it is loaded.
    pub(in crate::host) fn holds(&self, engine: &Engine, digest: &Digest) -> bool {
        let stem = stem(engine, digest);
        let Ok(entries) = fs::read_dir(&self.dir) else { return false };
        entries.flatten().any(|entry| entry.file_name().to_str().is_some_and(|name| is_entry(name, &stem)))
    }

    /// The code in the file of that name, if it can be used.
    fn load(&self, engine: &Engine, name: &str) -> Option<Component> {
        let path = self.dir.join(name);
        let meta = fs::symlink_metadata(&path).ok()?; // another gateway may have removed it
        if !meta.is_file() || Hands::Own.check(&meta).is_err() {
            tracing::warn!("`{}` isn't ours alone and isn't used", path.display());
            return None;
        }
        let seal = File::open(&path).and_then(seal_of_file);
        let loaded = match seal {
            Ok(seal) if name.ends_with(&ending(&seal)) => self::load(engine, &path),
            Ok(_) => {
                let _ = fs::remove_file(&path); // nobody will ever use it
                Err(wasmtime::format_err!("it isn't what was written there"))
            }
            Err(error) => Err(error.into()),
        };
        match loaded {
            Ok(component) => {
                note_use(&path, &meta);
                Some(component)
            }
            Err(error) => {
                tracing::warn!("`{}` can't be used and is made anew: {error:#}", path.display());
                None
            }
        }
    }

    /// Keeps compiled code and gives it back mapped from the file.
    pub(in crate::host) fn put(
        &self,
        engine: &Engine,
        digest: &Digest,
        code: &[u8],
    ) -> wasmtime::Result<Component> {
        let name = stem(engine, digest) + &ending(&Sha256::digest(code).into());
        let path = self.dir.join(name);
        // By chance, not by process: gateways in different containers may share the folder and the number.
        let chance = RandomState::new().hash_one(digest);
        let unfinished = path.with_extension(format!("{chance:016x}.tmp"));
        self.write(&unfinished, code)
            .map_err(|error| wasmtime::format_err!("`{}`: {error}", self.dir.display()))?;
        fs::rename(&unfinished, &path).inspect_err(|_| drop(fs::remove_file(&unfinished)))?;
        let component = self::load(engine, &path)?;
        self.prune();
        Ok(component)
    }

    /// Writes a file. The folder is made again where somebody who cleans up has removed it.
    fn write(&self, path: &Path, code: &[u8]) -> io::Result<()> {
        match write(path, code) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                DirBuilder::new().mode(0o700).create(&self.dir)?;
                write(path, code)
            }
            written => written,
        }
    }

    /// Removes what nobody uses any more. Removing a file that a gateway has mapped does it no harm.
    fn prune(&self) {
        let Ok(files) = fs::read_dir(&self.dir) else { return };
        let mut entries = Vec::new();
        for file in files.flatten() {
            let path = file.path();
            let Ok(meta) = file.metadata() else { continue };
            let idle = meta.modified().map(age).unwrap_or_default();
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("cwasm") => entries.push((idle, meta.len(), path)),
                Some("tmp") if idle > UNFINISHED => drop(fs::remove_file(&path)),
                _ => {}
            }
        }
        entries.sort();
        let mut together = 0;
        for (at, (idle, size, path)) in entries.iter().enumerate() {
            together += size;
            // The newest stays however large it is: it was written or used just now.
            if *idle > KEEP || together > MOST && at > 0 {
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// How the names begin under which code is kept: with the component's digest, and with that of everything that the
/// compiler's result depends on.
fn stem(engine: &Engine, digest: &Digest) -> String {
    let mut settings = Settings(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut settings);
    format!("{digest}-{:016x}-", settings.finish())
}

/// The digest of an entry's own content.
type Seal = [u8; 32];

/// How the name of an entry with this content ends.
fn ending(seal: &Seal) -> String {
    let half = seal.iter().take(16).fold(0_u128, |sum, &byte| (sum << 8) | u128::from(byte));
    format!("{half:032x}.cwasm")
}

fn is_entry(name: &str, stem: &str) -> bool {
    name.strip_prefix(stem).and_then(|rest| rest.strip_suffix(".cwasm")).is_some_and(|seal| seal.len() == 32)
}

fn seal_of_file(mut file: File) -> io::Result<Seal> {
    let (mut seal, mut piece) = (Sha256::new(), vec![0; 64 << 10]);
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(seal.finalize().into()),
            Ok(length) => seal.update(&piece[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn age(time: SystemTime) -> Duration {
    SystemTime::now().duration_since(time).unwrap_or_default()
}

/// Lets the file's time say when it was last used.
fn note_use(path: &Path, meta: &fs::Metadata) {
    if meta.modified().is_ok_and(|time| age(time) > NOTE)
        && let Ok(file) = File::options().write(true).open(path)
    {
        let _ = file.set_modified(SystemTime::now());
    }
}

fn write(path: &Path, code: &[u8]) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    // Without the sync, a power cut could leave a file of the right name and the wrong content.
    let written = file.write_all(code).and_then(|()| file.sync_all());
    if written.is_err() {
        let _ = fs::remove_file(path);
    }
    written
}

#[expect(unsafe_code, reason = "the engine runs what the file says")]
fn load(engine: &Engine, path: &Path) -> wasmtime::Result<Component> {
    // SAFETY: the file was written by a gateway of this user: its folder and the file itself are ours and not
    // writable by others (checked when the folder was opened, and in `get`). It is never changed in place, only
    // renamed into being and removed. The engine itself refuses code of another version or other settings.
    unsafe { Component::deserialize_file(engine, path) }
}

/// Takes compiled code that couldn't be kept.
#[expect(unsafe_code, reason = "the engine runs what the bytes say")]
pub(in crate::host) fn unkept(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: the bytes come from the compiler of this very program, over a pipe that nobody else holds.
    unsafe { Component::deserialize(engine, code) }
}

/// A hash that is the same in every build of the gateway.
struct Settings(Sha256);

impl Hasher for Settings {
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
