//! The component store: a private directory in the cache directory, with one file for each downloaded component, named
//! by its digest.
//!
//! A file is written under another name, synced and renamed, so that it is either complete or missing. Several gateways
//! and commands can share the directory. Nothing is removed: a lock file somewhere can still refer to it. The digest of
//! a file is checked whenever it is read, so a damaged one is never used.

use std::fs::{self, File};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use moongate_config::component_file_name;
use moongate_model::names::Digest;
use moongate_system::private_dir::{ExposedFiles, PrivateDir, PrivateDirError, PrivateFiles, io_hint};
use rustix::process::geteuid;

use crate::error::SourceError;

/// The files of the directory. A file that another user has changed is detected by its digest.
const STORE_FILES: PrivateFiles = PrivateFiles {
    subdirectory: "moongate-components",
    is_own_name: |name| name.ends_with(COMPONENT_EXTENSION) || name.ends_with(UNFINISHED_EXTENSION),
    exposed: ExposedFiles::Keep,
};
const COMPONENT_EXTENSION: &str = ".wasm";
const UNFINISHED_EXTENSION: &str = ".tmp";

/// The age after which an unfinished file is abandoned.
const ABANDONED_AGE: Duration = Duration::from_secs(60 * 60);

/// The downloaded components.
#[derive(Debug, Clone)]
pub struct ComponentStore(Arc<PrivateDir>);

impl ComponentStore {
    /// Creates the directory if it is missing, and opens it.
    ///
    /// # Errors
    /// The directory can't be used.
    pub fn open(directory: &Path) -> Result<Self, SourceError> {
        let unusable = |error: &PrivateDirError| {
            SourceError::new(format!("can't store components: {error}")).with_hint(error.hint())
        };
        refuse_foreign_place(directory)?;
        let dir = PrivateDir::create(directory, STORE_FILES).map_err(|error| unusable(&error))?;
        if dir.path() != directory {
            // The gateway looks for components at the configured path.
            return Err(unusable(&PrivateDirError::OtherOwner(directory.to_owned())));
        }
        let store = Self(Arc::new(dir));
        store.remove_abandoned();
        Ok(store)
    }

    /// The path of a component, whether it is stored or not.
    #[must_use]
    pub fn path(&self, digest: &Digest) -> PathBuf {
        self.0.path().join(component_file_name(digest))
    }

    /// The size of a component in bytes. `None` if it is missing or damaged.
    #[must_use]
    pub fn find(&self, digest: &Digest) -> Option<u64> {
        let bytes = self.read(digest)?;
        Some(bytes.len() as u64)
    }

    /// The bytes of a component. `None` if it is missing or damaged.
    #[must_use]
    pub fn read(&self, digest: &Digest) -> Option<Vec<u8>> {
        let file = self.0.open(&component_file_name(digest)).ok()?;
        let length = file.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes).ok()?;
        (Digest::of(&bytes) == *digest).then_some(bytes)
    }

    /// Stores a component, and returns its digest.
    ///
    /// # Errors
    /// It can't be written.
    pub fn put(&self, bytes: &[u8]) -> Result<Digest, SourceError> {
        let digest = Digest::of(bytes);
        if self.find(&digest).is_some() {
            return Ok(digest);
        }
        let name = component_file_name(&digest);
        let unfinished = format!("{name}.{:016x}{UNFINISHED_EXTENSION}", RandomState::new().hash_one(&name));
        let written = self.0.create_file(&unfinished).and_then(|file| write(file, bytes));
        let stored = written.and_then(|()| self.0.rename(&unfinished, &name));
        stored.map_err(|error| {
            let _ = self.0.remove(&unfinished);
            let message = format!("can't store the component in `{}`: {error}", self.0.path().display());
            SourceError::new(message).with_hint(io_hint(&error))
        })?;
        Ok(digest)
    }

    /// Removes what interrupted downloads have left.
    fn remove_abandoned(&self) {
        for name in self.0.names().unwrap_or_default() {
            let modified = || self.0.open(&name).and_then(|file| file.metadata()?.modified());
            let is_old = |modified: SystemTime| modified.elapsed().is_ok_and(|age| age > ABANDONED_AGE);
            if name.ends_with(UNFINISHED_EXTENSION) && modified().is_ok_and(is_old) {
                let _ = self.0.remove(&name);
            }
        }
    }
}

/// Keeps root from creating a store that the gateway's user can't use, in the directory of that user.
fn refuse_foreign_place(directory: &Path) -> Result<(), SourceError> {
    const ROOT: u32 = 0;
    if directory.exists() {
        return Ok(());
    }
    let existing = directory.ancestors().find_map(|place| Some((place, fs::symlink_metadata(place).ok()?)));
    let foreign = existing.filter(|(_, found)| geteuid().is_root() && found.uid() != ROOT);
    let Some((place, found)) = foreign else { return Ok(()) };
    let message = format!(
        "can't store components: `{}` belongs to the user with the id {}",
        place.display(),
        found.uid()
    );
    Err(SourceError::new(message)
        .with_hint("run the command as that user; docs/install.md has the command for the systemd service"))
}

fn write(mut file: File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests;
