//! The cache of descriptions: what each plugin offers, in a file beside its compiled code.
//!
//! With it, a start lists plugins without running them, or even mapping their code. An entry is only a prediction: a
//! plugin can describe itself differently each time, depending on its state, its files or the time. So each plugin is
//! asked again after the start, and before its first call at the latest. An entry also has the results of checks, which a
//! start needn't repeat.
//!
//! The name of an entry contains a hash of everything else that the description depends on: the gateway, the plugin's
//! grants, limits and settings. The hash is keyed with a random number that only the gateway's user can read, so that
//! nobody can find a secret setting by trying. An entry itself can contain settings that the plugin puts into its
//! descriptions; only the gateway's user can read it.

use std::fs::{self, File};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use moongate_config::PluginConfig;
use moongate_model::manifest::{Interfaces, Manifest};
use moongate_model::names::Digest;
use moongate_model::plugin::PastChecks;
use serde::{Deserialize, Serialize};
use wasmtime::Engine;

use super::cache::{self, CodeCache, StableHasher, UNFINISHED_EXTENSION};

/// The extension of an entry's name.
pub(super) const EXTENSION: &str = ".description";
/// The file with the random number.
pub(super) const SALT_NAME: &str = "descriptions.salt";
/// The length of the random number, in bytes.
const SALT_BYTES: usize = 32;
/// The largest entry that is read.
const MAX_ENTRY_BYTES: u64 = 64 << 20;

/// The cache, in the directory of the code cache.
#[derive(Debug)]
pub(crate) struct DescriptionCache {
    cache: Arc<CodeCache>,
    salt: [u8; SALT_BYTES],
    gateway: String,
}

/// An entry.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CachedDescription {
    /// The name of the entry with the compiled code.
    code: String,
    pub(crate) interfaces: Interfaces,
    pub(crate) manifest: Manifest,
    pub(crate) past_checks: PastChecks,
}

impl DescriptionCache {
    /// Opens the cache. `None` if the random number can't be stored.
    pub(crate) fn open(cache: &Arc<CodeCache>) -> Option<Self> {
        let salt = read_salt(cache).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof => create_salt(cache),
            _ => Err(error),
        });
        match salt {
            Ok(salt) => Some(Self { cache: Arc::clone(cache), salt, gateway: gateway_build() }),
            Err(error) => {
                tracing::debug!(%error, "can't cache descriptions");
                None
            }
        }
    }

    /// The description of a component with this configuration. `None` if there is no usable entry, or if the component's
    /// code isn't cached.
    pub(crate) fn get(
        &self,
        engine: &Engine,
        digest: &Digest,
        config: &PluginConfig,
    ) -> Option<CachedDescription> {
        let name = self.name(digest, config);
        let dir = self.cache.dir();
        let (file, meta) = cache::open_entry(&dir, &name).ok()?;
        let description = read_entry(&file, meta.len());
        if description.is_none() {
            tracing::debug!("ignoring the unusable cache entry `{}`", dir.path().join(&name).display());
            let _ = dir.remove(&name);
        }
        let description = description?;
        cache::touch(&file, &meta);
        self.cache.contains_entry(engine, digest, &description.code).then_some(description)
    }

    /// Adds or replaces a description. Without it, the plugin is asked again at the next start.
    pub(crate) fn put(
        &self,
        engine: &Engine,
        digest: &Digest,
        config: &PluginConfig,
        description: (&Interfaces, &Manifest, PastChecks),
    ) {
        let Some(code) = self.cache.entry_name(engine, digest) else { return };
        let (interfaces, manifest, past_checks) = description;
        let (interfaces, manifest) = (interfaces.clone(), manifest.clone());
        let entry = CachedDescription { code, interfaces, manifest, past_checks };
        let name = self.name(digest, config);
        if let Err(error) = self.write(&name, &entry) {
            tracing::debug!(%error, "can't cache a description");
        }
    }

    fn write(&self, name: &str, entry: &CachedDescription) -> io::Result<()> {
        let text = serde_json::to_vec(entry)?;
        let dir = self.cache.dir();
        let unfinished = format!("{name}.{:016x}{UNFINISHED_EXTENSION}", RandomState::new().hash_one(name));
        let mut file = dir.create_file(&unfinished)?;
        // Not synced: a torn entry doesn't match its checksum.
        let written = writeln!(file, "{}", Digest::of(&text)).and_then(|()| file.write_all(&text));
        written.and_then(|()| dir.rename(&unfinished, name)).inspect_err(|_| drop(dir.remove(&unfinished)))
    }

    /// The name of an entry.
    fn name(&self, digest: &Digest, config: &PluginConfig) -> String {
        let mut hasher = StableHasher::default();
        hasher.write(&self.salt);
        hasher.write(self.gateway.as_bytes());
        hasher.write_u8(0);
        config.hash_description_inputs(&mut hasher);
        format!("{digest}-{:032x}{EXTENSION}", hasher.finish_long())
    }
}

/// The build of this program: another one may convert descriptions in another way.
fn gateway_build() -> String {
    let running = Path::new("/proc/self/exe");
    let program = if running.exists() { Some(running.to_owned()) } else { std::env::current_exe().ok() };
    let meta = program.and_then(|program| fs::metadata(program).ok());
    let file = meta.map(|meta| (meta.len(), meta.mtime(), meta.mtime_nsec()));
    format!("{} {file:?}", env!("CARGO_PKG_VERSION"))
}

fn read_salt(cache: &CodeCache) -> io::Result<[u8; SALT_BYTES]> {
    let (mut file, _) = cache::open_entry(&cache.dir(), SALT_NAME)?;
    let mut salt = [0; SALT_BYTES];
    file.read_exact(&mut salt)?;
    Ok(salt)
}

/// Stores a random number. If several gateways do so at the same time, the last one counts.
fn create_salt(cache: &CodeCache) -> io::Result<[u8; SALT_BYTES]> {
    let mut salt = [0; SALT_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut salt)?;
    let dir = cache.dir();
    let unfinished =
        format!("{SALT_NAME}{EXTENSION}.{:016x}{UNFINISHED_EXTENSION}", RandomState::new().hash_one(salt));
    dir.create_file(&unfinished)?.write_all(&salt)?;
    dir.rename(&unfinished, SALT_NAME)?;
    read_salt(cache)
}

/// The description in an entry. `None` if it is corrupt.
fn read_entry(file: &File, length: u64) -> Option<CachedDescription> {
    // One byte more than the entry, so that it is read at once. A start can read a thousand of them.
    let mut entry = Vec::with_capacity(length.min(MAX_ENTRY_BYTES) as usize + 1);
    file.take(MAX_ENTRY_BYTES).read_to_end(&mut entry).ok()?;
    let end = entry.iter().position(|byte| *byte == b'\n')?;
    let (checksum, text) = (std::str::from_utf8(&entry[..end]).ok()?, &entry[end + 1..]);
    if checksum.parse() != Ok(Digest::of(text)) {
        return None;
    }
    serde_json::from_slice(text).ok()
}

#[cfg(test)]
mod tests;
