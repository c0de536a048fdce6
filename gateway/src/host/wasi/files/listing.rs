//! What is in a directory, read as the guest asks for it.
//!
//! WASI's own function reads a directory to its end before the guest gets the first name, however many there are.
//! Here a few are read ahead, so that a listing takes little memory however large the directory is, and the guest
//! pays for each name when it gets it.

use std::collections::VecDeque;
use std::fs;
use std::io;

use rustix::fs::{AtFlags, Dir as Entries, DirEntry, FileType, Mode, OFlags, openat, statat};
use wasmtime::component::{Linker, Resource, ResourceType};
use wasmtime::{Result, StoreContextMut};
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorType, DirectoryEntry, ErrorCode};

use super::open::{directory, without_holding_up};
use super::quota::Open;
use super::{Answer, answer, quota};
use crate::host::sandbox::store::State;

/// How many names are read at once.
const AHEAD: usize = 32;

/// What a name counts beside its own bytes.
const ENTRY: u64 = 32;

type Name = std::result::Result<DirectoryEntry, ErrorCode>;

/// A listing that the guest holds.
struct Held {
    listing: Listing,
    /// Goes after the directory has.
    _open: Open,
}

/// A directory that is being read.
struct Listing {
    ahead: VecDeque<Name>,
    /// None: it was read to its end.
    rest: Option<Entries>,
}

/// Puts listings in the place of WASI's.
pub(super) fn add_to_linker(linker: &mut Linker<State>) -> Result<()> {
    let mut types = linker.instance("wasi:filesystem/types@0.2.12")?;
    types.resource(
        "directory-entry-stream",
        ResourceType::host::<Held>(),
        |mut store: StoreContextMut<'_, State>, listing| {
            store.data_mut().table.delete(Resource::<Held>::new_own(listing))?;
            Ok(())
        },
    )?;
    types.func_wrap_async("[method]descriptor.read-directory", |store, question| {
        Box::new(read_directory(store, question))
    })?;
    types.func_wrap_async("[method]directory-entry-stream.read-directory-entry", |store, question| {
        Box::new(read_directory_entry(store, question))
    })?;
    Ok(())
}

impl Listing {
    /// Opens the directory once more: each listing has a place in it of its own.
    fn new(dir: &fs::File) -> io::Result<Self> {
        let again = openat(dir, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { ahead: VecDeque::new(), rest: Some(Entries::new(again)?) })
    }

    /// Reads ahead.
    fn read_on(mut rest: Entries) -> Self {
        let mut listing = Self { ahead: VecDeque::new(), rest: None };
        while listing.ahead.len() < AHEAD {
            match rest.read() {
                None => return listing,
                Some(Ok(entry)) if [c".", c".."].contains(&entry.file_name()) => {}
                Some(entry) => {
                    let name = entry.map_err(io::Error::from).map_err(ErrorCode::from);
                    listing.ahead.push_back(name.and_then(|entry| named(&rest, &entry)));
                }
            }
        }
        listing.rest = Some(rest);
        listing
    }
}

/// The entry in the words of WASI.
fn named(dir: &Entries, entry: &DirEntry) -> Name {
    let name = entry.file_name().to_str().map_err(|_| ErrorCode::IllegalByteSequence)?.to_owned();
    let kind = match entry.file_type() {
        // Some file systems don't say it along with the name.
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

async fn read_directory(
    mut store: StoreContextMut<'_, State>,
    (dir,): (Resource<Descriptor>,),
) -> Result<Answer<Resource<Held>>> {
    let state = store.data_mut();
    state.homes.looked(dir.rep());
    answer(open(state, &dir).await)
}

async fn open(state: &mut State, dir: &Resource<Descriptor>) -> FsResult<Resource<Held>> {
    let dir = directory(state, dir)?.dir;
    let open = state.files.open()?;
    let listing = without_holding_up(move || Ok(Listing::new(&dir)?)).await?;
    Ok(state.table.push(Held { listing, _open: open })?)
}

async fn read_directory_entry(
    mut store: StoreContextMut<'_, State>,
    (listing,): (Resource<Held>,),
) -> Result<Answer<Option<DirectoryEntry>>> {
    let state = store.data_mut();
    match next(state, &listing).await {
        Ok(None) => Ok((Ok(None),)),
        Ok(Some(name)) => {
            let length = name.as_ref().map_or(0, |entry| entry.name.len());
            match state.files.read(ENTRY + length as u64) {
                Ok(()) => Ok((name.map(Some),)),
                Err(exceeded) => Ok(quota(exceeded)),
            }
        }
        Err(error) => answer(Err(error)),
    }
}

async fn next(state: &mut State, listing: &Resource<Held>) -> FsResult<Option<Name>> {
    let this = &mut state.table.get_mut(listing)?.listing;
    if this.ahead.is_empty()
        && let Some(rest) = this.rest.take()
    {
        let read = without_holding_up(move || Ok(Listing::read_on(rest))).await?;
        state.table.get_mut(listing)?.listing = read;
    }
    Ok(state.table.get_mut(listing)?.listing.ahead.pop_front())
}

#[cfg(test)]
mod tests;
