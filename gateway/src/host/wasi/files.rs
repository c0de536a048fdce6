//! Files: only what can't make the gateway wait is opened, and what is read and written is counted.
//!
//! WASI's own `open-at` opens whatever there is. Opening a pipe whose other end nobody holds never returns, and the
//! thread that waits for it is lost, because the system offers no way to call it back: a few hundred calls would take
//! all threads that files, schemas and loading need. A terminal or another device may wait likewise when it is read.
//! So opening is our own, see [`mod@open`], and so is whatever else would open something on its way.
//!
//! What a call reads and writes is limited, and so is how much it has open; beyond that it gets the error that a full
//! quota of disk space is.

use wasmtime::component::{Linker, Resource};
use wasmtime::{Result, StoreContextMut};
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, ErrorCode, Filesize, Host as _, HostDescriptor as _, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsResult, IoError};

use self::open::Wanted;
use self::quota::{Exceeded, Open};
use self::streams::{Reader, Writer};
use crate::host::sandbox::store::State;

mod changes;
mod listing;
mod missed;
mod open;
mod permissions;
mod quota;
mod streams;

pub(in crate::host) use self::changes::Homes;
pub(in crate::host) use self::quota::Quota;

/// What a new file, directory or link counts, however little is in it: about what it takes on the disk.
const MADE: u64 = 4 << 10;

type Question = (Resource<Descriptor>, PathFlags, String, OpenFlags, DescriptorFlags);
type Answer<T> = (std::result::Result<T, ErrorCode>,);

/// Puts careful and counting functions in the place of WASI's.
pub(super) fn add_to_linker(linker: &mut Linker<State>) -> Result<()> {
    linker.allow_shadowing(true);
    let mut types = linker.instance("wasi:filesystem/types@0.2.12")?;
    types.func_wrap_async("[method]descriptor.open-at", |store, question| Box::new(open(store, question)))?;
    types.func_wrap_async("[method]descriptor.read", |store, question| Box::new(read(store, question)))?;
    types.func_wrap_async("[method]descriptor.write", |store, question| Box::new(write(store, question)))?;
    types.func_wrap_async("[method]descriptor.set-size", |store, question| {
        Box::new(set_size(store, question))
    })?;
    types.func_wrap("[method]descriptor.read-via-stream", read_via_stream)?;
    types.func_wrap_async("[method]descriptor.write-via-stream", |store, question| {
        Box::new(write_via_stream(store, question))
    })?;
    types.func_wrap("[method]descriptor.append-via-stream", append_via_stream)?;
    types.func_wrap("filesystem-error-code", error_code)?;
    listing::add_to_linker(linker)?;
    changes::add_to_linker(linker)?;
    linker.allow_shadowing(false);
    Ok(())
}

/// What the guest gets.
fn answer<T>(result: FsResult<T>) -> Result<Answer<T>> {
    match result {
        Ok(value) => Ok((Ok(value),)),
        Err(error) => Ok((Err(error.downcast()?),)),
    }
}

/// The guest's error for what was too much.
fn quota<T>(_: Exceeded) -> Answer<T> {
    (Err(ErrorCode::Quota),)
}

async fn open(
    mut store: StoreContextMut<'_, State>,
    (dir, links, path, open, flags): Question,
) -> Result<Answer<Resource<Descriptor>>> {
    let (state, home) = (store.data_mut(), dir.rep());
    state.homes.looked(home);
    let changes =
        flags.contains(DescriptorFlags::WRITE) || open.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE);
    let opened = opened(state, &dir, Wanted { path, links, open, flags }).await;
    match &opened {
        Ok(opened) => state.opened_in(home, opened.rep()),
        Err(_) if changes => return state.changed(&[home], opened),
        Err(_) => {}
    }
    answer(opened)
}

async fn opened(
    state: &mut State,
    dir: &Resource<Descriptor>,
    wanted: Wanted,
) -> FsResult<Resource<Descriptor>> {
    let dir = open::directory(state, dir)?;
    let open = state.files.open()?;
    let opened = open::open(&dir, wanted, state.files.clone()).await?;
    let opened = state.table.push(opened)?;
    state.homes.hold(opened.rep(), open);
    Ok(opened)
}

async fn read(
    mut store: StoreContextMut<'_, State>,
    (file, length, offset): (Resource<Descriptor>, Filesize, Filesize),
) -> Result<Answer<(Vec<u8>, bool)>> {
    let state = store.data_mut();
    let length = state.files.readable(length);
    let read = state.filesystem().read(file, length, offset).await;
    if let Ok((bytes, _)) = &read
        && let Err(exceeded) = state.files.read(bytes.len() as u64)
    {
        return Ok(quota(exceeded));
    }
    answer(read)
}

async fn write(
    mut store: StoreContextMut<'_, State>,
    (file, bytes, offset): (Resource<Descriptor>, Vec<u8>, Filesize),
) -> Result<Answer<Filesize>> {
    let state = store.data_mut();
    let length = bytes.len() as u64;
    let grows = match growth(state, &file, offset.saturating_add(length)).await {
        Ok(grows) => grows,
        Err(error) => return answer(Err(error)),
    };
    if let Err(exceeded) = state.files.write(length.max(grows)) {
        return Ok(quota(exceeded));
    }
    answer(state.filesystem().write(file, bytes, offset).await)
}

/// How much a file grows when it is as long as this: what lies between its end and there was written by nobody, but is
/// there.
async fn growth(state: &mut State, file: &Resource<Descriptor>, size: Filesize) -> FsResult<Filesize> {
    let before = state.filesystem().stat(Resource::new_borrow(file.rep())).await?.size;
    Ok(size.saturating_sub(before))
}

/// A file that grows is written to, though nobody sends the bytes.
async fn set_size(
    mut store: StoreContextMut<'_, State>,
    (file, size): (Resource<Descriptor>, Filesize),
) -> Result<Answer<()>> {
    let state = store.data_mut();
    let grows = match growth(state, &file, size).await {
        Ok(grows) => grows,
        Err(error) => return answer(Err(error)),
    };
    if let Err(exceeded) = state.files.write(grows) {
        return Ok(quota(exceeded));
    }
    let home = file.rep();
    let result = state.filesystem().set_size(file, size).await;
    state.changed(&[home], result)
}

fn read_via_stream(
    mut store: StoreContextMut<'_, State>,
    (file, offset): (Resource<Descriptor>, Filesize),
) -> Result<Answer<Resource<DynInputStream>>> {
    let state = store.data_mut();
    let open = state.homes.held(file.rep());
    let opened = state.filesystem().read_via_stream(file, offset);
    let quota = state.files.clone();
    answer(opened.and_then(|stream| {
        let inner = state.table.delete(stream)?;
        let counting: DynInputStream = Box::new(Reader::new(inner, quota, open));
        Ok(state.table.push(counting)?)
    }))
}

async fn write_via_stream(
    mut store: StoreContextMut<'_, State>,
    (file, offset): (Resource<Descriptor>, Filesize),
) -> Result<Answer<Resource<DynOutputStream>>> {
    let state = store.data_mut();
    let grows = match growth(state, &file, offset).await {
        Ok(grows) => grows,
        Err(error) => return answer(Err(error)),
    };
    if let Err(exceeded) = state.files.write(grows) {
        return Ok(quota(exceeded));
    }
    let open = state.homes.held(file.rep());
    let opened = state.filesystem().write_via_stream(file, offset);
    answer(opened.and_then(|stream| counted(state, stream, open)))
}

fn append_via_stream(
    mut store: StoreContextMut<'_, State>,
    (file,): (Resource<Descriptor>,),
) -> Result<Answer<Resource<DynOutputStream>>> {
    let state = store.data_mut();
    let open = state.homes.held(file.rep());
    let opened = state.filesystem().append_via_stream(file);
    answer(opened.and_then(|stream| counted(state, stream, open)))
}

fn counted(
    state: &mut State,
    stream: Resource<DynOutputStream>,
    open: Option<Open>,
) -> FsResult<Resource<DynOutputStream>> {
    let inner = state.table.delete(stream)?;
    let counting: DynOutputStream = Box::new(Writer::new(inner, state.files.clone(), open));
    Ok(state.table.push(counting)?)
}

/// What became of a stream, in the words of files.
fn error_code(
    mut store: StoreContextMut<'_, State>,
    (error,): (Resource<IoError>,),
) -> Result<(Option<ErrorCode>,)> {
    let state = store.data_mut();
    if state.table.get(&error)?.is::<Exceeded>() {
        return Ok((Some(ErrorCode::Quota),));
    }
    Ok((state.filesystem().filesystem_error_code(error)?,))
}

#[cfg(test)]
mod tests;
