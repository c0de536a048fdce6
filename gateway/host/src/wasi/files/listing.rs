//! Listings of directories, read as the guest asks for them.
//!
//! WASI's own function reads the whole directory before the guest gets the first name. This one reads only a few names
//! ahead, so that a listing takes little memory, and the guest pays for each name when it gets it.

use std::collections::VecDeque;
use std::fs;
use std::io;

use rustix::fs::{AtFlags, Dir as Entries, DirEntry, FileType, Mode, OFlags, openat, statat};
use wasmtime::component::{Linker, Resource, ResourceType};
use wasmtime::{Result, StoreContextMut};
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorType, DirectoryEntry, ErrorCode};

use super::error::{error_code, system_error};
use super::open::{directory, run_blocking};
use super::quota::OpenFilePermit;
use super::{FilesCtxView, FilesResult, FilesView, answer, quota_exceeded};

/// The number of names that are read at once.
const READ_AHEAD_ENTRIES: usize = 32;

/// The number of bytes that an entry counts as read, in addition to its name.
const ENTRY_BYTES: u64 = 32;

type EntryResult = std::result::Result<DirectoryEntry, ErrorCode>;

/// A listing in the guest's table.
struct OpenListing {
    listing: Listing,
    /// Dropped after the directory.
    _permit: OpenFilePermit,
}

/// A directory that is being read.
struct Listing {
    read_ahead: VecDeque<EntryResult>,
    /// `None` once the directory was read to its end.
    rest: Option<Entries>,
}

/// Replaces WASI's listings.
pub(super) fn add_to_linker<T: FilesView>(linker: &mut Linker<T>) -> Result<()> {
    let mut types = linker.instance("wasi:filesystem/types@0.2.12")?;
    types.resource(
        "directory-entry-stream",
        ResourceType::host::<OpenListing>(),
        |mut store: StoreContextMut<'_, T>, listing| {
            store.data_mut().files().table.delete(Resource::<OpenListing>::new_own(listing))?;
            Ok(())
        },
    )?;
    types.func_wrap_async("[method]descriptor.read-directory", |store, arguments| {
        Box::new(read_directory(store, arguments))
    })?;
    types.func_wrap_async("[method]directory-entry-stream.read-directory-entry", |store, arguments| {
        Box::new(read_directory_entry(store, arguments))
    })?;
    Ok(())
}

impl Listing {
    /// Opens the directory again, so that each listing has its own position.
    fn new(dir: &fs::File) -> io::Result<Self> {
        let again = openat(dir, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { read_ahead: VecDeque::new(), rest: Some(Entries::new(again)?) })
    }

    /// Reads the next entries.
    fn read_next(mut rest: Entries) -> Self {
        let mut listing = Self { read_ahead: VecDeque::new(), rest: None };
        while listing.read_ahead.len() < READ_AHEAD_ENTRIES {
            match rest.read() {
                None => return listing,
                Some(Ok(entry)) if [c".", c".."].contains(&entry.file_name()) => {}
                Some(entry) => {
                    let entry = entry.map_err(|error| error_code(&error.into()));
                    listing.read_ahead.push_back(entry.and_then(|entry| wasi_entry(&rest, &entry)));
                }
            }
        }
        listing.rest = Some(rest);
        listing
    }
}

fn wasi_entry(dir: &Entries, entry: &DirEntry) -> EntryResult {
    let name = entry.file_name().to_str().map_err(|_| ErrorCode::IllegalByteSequence)?.to_owned();
    let kind = match entry.file_type() {
        // Some file systems don't report the type with the name.
        FileType::Unknown => {
            let found = dir.fd().and_then(|dir| statat(dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW));
            FileType::from_raw_mode(found.map_err(io::Error::from)?.st_mode)
        }
        known => known,
    };
    let type_ = match kind {
        FileType::RegularFile => DescriptorType::RegularFile,
        FileType::Directory => DescriptorType::Directory,
        FileType::Symlink => DescriptorType::SymbolicLink,
        FileType::CharacterDevice => DescriptorType::CharacterDevice,
        FileType::BlockDevice => DescriptorType::BlockDevice,
        FileType::Fifo | FileType::Socket | FileType::Unknown => DescriptorType::Unknown,
    };
    Ok(DirectoryEntry { type_, name })
}

async fn read_directory<T: FilesView>(
    mut store: StoreContextMut<'_, T>,
    (dir,): (Resource<Descriptor>,),
) -> Result<FilesResult<Resource<OpenListing>>> {
    let mut files = store.data_mut().files();
    files.looked_up(dir.rep());
    answer(open(&mut files, &dir).await)
}

async fn open(files: &mut FilesCtxView<'_>, dir: &Resource<Descriptor>) -> FsResult<Resource<OpenListing>> {
    let dir = directory(files.table, dir)?.dir;
    let permit = files.state.quota.open()?;
    let listing = run_blocking(move || Listing::new(&dir).map_err(system_error)).await?;
    Ok(files.table.push(OpenListing { listing, _permit: permit })?)
}

async fn read_directory_entry<T: FilesView>(
    mut store: StoreContextMut<'_, T>,
    (listing,): (Resource<OpenListing>,),
) -> Result<FilesResult<Option<DirectoryEntry>>> {
    let mut files = store.data_mut().files();
    match next(&mut files, &listing).await {
        Ok(None) => Ok((Ok(None),)),
        Ok(Some(entry)) => {
            let name_length = entry.as_ref().map_or(0, |entry| entry.name.len());
            match files.state.quota.read(ENTRY_BYTES + name_length as u64) {
                Ok(()) => Ok((entry.map(Some),)),
                Err(exceeded) => Ok(quota_exceeded(exceeded)),
            }
        }
        Err(error) => answer(Err(error)),
    }
}

async fn next(
    files: &mut FilesCtxView<'_>,
    listing: &Resource<OpenListing>,
) -> FsResult<Option<EntryResult>> {
    let this = &mut files.table.get_mut(listing)?.listing;
    if this.read_ahead.is_empty()
        && let Some(rest) = this.rest.take()
    {
        let next = run_blocking(move || Ok(Listing::read_next(rest))).await?;
        files.table.get_mut(listing)?.listing = next;
    }
    Ok(files.table.get_mut(listing)?.listing.read_ahead.pop_front())
}

#[cfg(test)]
mod tests;
