//! `wasi:filesystem`: never opens anything that could block, and counts reads and writes.
//!
//! WASI's own `open-at` opens anything. Opening a pipe that has no other end never returns, and the system can't cancel
//! it, so its thread is lost: a few hundred calls would use up all threads that files, schemas and loading need.
//! Reading a terminal or another device can block in the same way. So [`mod@open`] replaces the opening function, and
//! this module replaces every other function that would open something along the way.
//!
//! The amount that a call reads and writes is limited, and so are the number of its open files and the amount that the
//! plugin's calls add to their directories. Above a limit, the guest gets the error for an exceeded disk quota.
//!
//! [`FilesState`] is a store's part for files, and these functions access it through [`FilesView`].

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use moongate_config::PluginConfig;
use wasmtime::component::{Linker, Resource, ResourceTable};
use wasmtime::{Result, StoreContextMut};
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorFlags, ErrorCode, Filesize, HostDescriptor as _, OpenFlags, PathFlags,
};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, FsResult, IoError};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use self::descriptor_grants::DescriptorGrants;
use self::disk_usage::DiskQuota;
use self::error::{stream_error_code, system_error};
use self::file_writer::{FileWriter, grow};
use self::lookups::Lookups;
use self::open::OpenRequest;
use self::quota::{FileQuota, QuotaExceeded};
use self::streams::{QuotaReader, QuotaWriter};
use crate::wasi::grant_audit::GrantAudit;
use crate::wasi::preopens::PreopenedDirectory;

mod directory_operations;
mod error;
mod listing;
mod lookups;
mod open;
mod descriptor_grants;
pub(crate) mod disk_usage;
mod file_modes;
mod file_writer;
mod quota;
mod streams;

pub(crate) use self::lookups::LookupOutcome;

/// The size that a new file, directory or link counts as written, regardless of its contents: about its size on disk.
const NEW_ENTRY_BYTES: u64 = 4 << 10;

/// A store's part for files.
#[derive(Debug)]
pub(crate) struct FilesState {
    config: Arc<PluginConfig>,
    audit: GrantAudit,
    max_open: u32,
    disk: DiskQuota,
    quota: FileQuota,
    preopens: Vec<PreopenedDirectory>,
    descriptor_grants: DescriptorGrants,
    lookups: Lookups,
}

impl FilesState {
    /// `max_open` is the maximum number of files that the call can have open, in addition to the granted directories.
    pub(crate) fn new(config: Arc<PluginConfig>, max_open: u32, disk: DiskQuota, audit: GrantAudit) -> Self {
        Self {
            max_open,
            quota: FileQuota::new(&config.limits, max_open, disk.clone(), audit.clone()),
            disk,
            preopens: Vec::new(),
            descriptor_grants: DescriptorGrants::default(),
            lookups: Lookups::default(),
            config,
            audit,
        }
    }

    /// Prepares for the next call to the same instance: resets the quotas, and keeps the descriptors that are still
    /// open.
    pub(crate) fn renew(&mut self, max_open: u32, audit: GrantAudit) {
        let descriptor_grants = std::mem::take(&mut self.descriptor_grants);
        let renewed = Self::new(Arc::clone(&self.config), max_open, self.disk.clone(), audit);
        *self = Self { descriptor_grants, ..renewed };
    }

    /// Adds the granted directories.
    pub(crate) fn set_preopens(&mut self, preopens: Vec<PreopenedDirectory>) {
        self.preopens = preopens;
    }

    pub(crate) fn max_open(&self) -> u32 {
        self.max_open
    }

    /// Call this once the instance exists: lookups during its start are unrelated to the call.
    pub(crate) fn instantiated(&mut self) {
        self.lookups = Lookups::default();
    }

    /// The number of the guest's handles to granted directories themselves.
    pub(crate) fn preopen_handles(&self) -> usize {
        self.descriptor_grants.preopens()
    }
}

/// A store with files.
pub(crate) trait FilesView: WasiView + 'static {
    fn files(&mut self) -> FilesCtxView<'_>;
}

/// The parts of a store that these functions need.
pub(crate) struct FilesCtxView<'a> {
    pub(crate) ctx: &'a mut WasiCtx,
    pub(crate) table: &'a mut ResourceTable,
    pub(crate) state: &'a mut FilesState,
}

impl WasiView for FilesCtxView<'_> {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: self.ctx, table: self.table }
    }
}

impl FilesCtxView<'_> {
    /// The file or directory behind a handle, if the guest may write it.
    fn writable_file(&self, descriptor: &Resource<Descriptor>) -> FsResult<Arc<File>> {
        let (file, perms) = match self.table.get(descriptor)? {
            Descriptor::File(file) => (&file.file, file.perms),
            Descriptor::Dir(dir) => (&dir.dir, dir.perms),
        };
        if perms.write_not_permitted() { Err(ErrorCode::NotPermitted.into()) } else { Ok(Arc::clone(file)) }
    }
}

type OpenArguments = (Resource<Descriptor>, PathFlags, String, OpenFlags, DescriptorFlags);
type FilesResult<T> = (std::result::Result<T, ErrorCode>,);

/// Replaces WASI's functions with those of this module.
pub(super) fn add_to_linker<T: FilesView>(linker: &mut Linker<T>) -> Result<()> {
    linker.allow_shadowing(true);
    let mut types = linker.instance("wasi:filesystem/types@0.2.12")?;
    types
        .func_wrap_async("[method]descriptor.open-at", |store, arguments| Box::new(open(store, arguments)))?;
    types.func_wrap_async("[method]descriptor.read", |store, arguments| Box::new(read(store, arguments)))?;
    types
        .func_wrap_async("[method]descriptor.write", |store, arguments| Box::new(write(store, arguments)))?;
    types.func_wrap_async("[method]descriptor.set-size", |store, arguments| {
        Box::new(set_size(store, arguments))
    })?;
    types.func_wrap_async("[method]descriptor.sync", |store, arguments| {
        Box::new(sync(store, arguments, File::sync_all))
    })?;
    types.func_wrap_async("[method]descriptor.sync-data", |store, arguments| {
        Box::new(sync(store, arguments, File::sync_data))
    })?;
    types.func_wrap("[method]descriptor.read-via-stream", read_via_stream)?;
    types.func_wrap_async("[method]descriptor.write-via-stream", |store, arguments| {
        Box::new(write_via_stream(store, arguments))
    })?;
    types.func_wrap("[method]descriptor.append-via-stream", append_via_stream)?;
    types.func_wrap("filesystem-error-code", error_code)?;
    listing::add_to_linker(linker)?;
    directory_operations::add_to_linker(linker)?;
    linker.allow_shadowing(false);
    Ok(())
}

fn answer<T>(result: FsResult<T>) -> Result<FilesResult<T>> {
    match result {
        Ok(value) => Ok((Ok(value),)),
        Err(error) => Ok((Err(error.downcast()?),)),
    }
}

fn quota_exceeded<T>(_: QuotaExceeded) -> FilesResult<T> {
    (Err(ErrorCode::Quota),)
}

async fn open<T: FilesView>(
    mut store: StoreContextMut<'_, T>,
    (dir, path_flags, path, open_flags, flags): OpenArguments,
) -> Result<FilesResult<Resource<Descriptor>>> {
    let mut files = store.data_mut().files();
    let parent = dir.rep();
    files.looked_up(parent);
    let changes = flags.contains(DescriptorFlags::WRITE)
        || open_flags.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE);
    let request = OpenRequest { path, path_flags, open_flags, flags };
    let opened = open_counted(&mut files, &dir, request).await;
    match &opened {
        Ok(opened) => files.opened(parent, opened.rep()),
        Err(_) if changes => return files.changed(&[parent], opened),
        Err(_) => {}
    }
    answer(opened)
}

async fn open_counted(
    files: &mut FilesCtxView<'_>,
    dir: &Resource<Descriptor>,
    request: OpenRequest,
) -> FsResult<Resource<Descriptor>> {
    let dir = open::directory(files.table, dir)?;
    let permit = files.state.quota.open()?;
    let opened = open::open(&dir, request, files.state.quota.clone()).await?;
    let opened = files.table.push(opened)?;
    files.state.descriptor_grants.hold(opened.rep(), permit);
    Ok(opened)
}

async fn read<T: FilesView>(
    mut store: StoreContextMut<'_, T>,
    (file, length, offset): (Resource<Descriptor>, Filesize, Filesize),
) -> Result<FilesResult<(Vec<u8>, bool)>> {
    let mut files = store.data_mut().files();
    let length = files.state.quota.readable(length);
    let read = files.filesystem().read(file, length, offset).await;
    if let Ok((bytes, _)) = &read
        && let Err(exceeded) = files.state.quota.read(bytes.len() as u64)
    {
        return Ok(quota_exceeded(exceeded));
    }
    answer(read)
}

async fn write<T: FilesView>(
    mut store: StoreContextMut<'_, T>,
    (file, bytes, offset): (Resource<Descriptor>, Vec<u8>, Filesize),
) -> Result<FilesResult<Filesize>> {
    let files = store.data_mut().files();
    let file = match files.writable_file(&file) {
        Ok(file) => file,
        Err(error) => return answer(Err(error)),
    };
    let quota = files.state.quota.clone();
    let growing = quota.disk().growing().await;
    answer(
        open::run_blocking(move || {
            let _growing = growing;
            let length = bytes.len() as u64;
            let end = offset.saturating_add(length);
            let size = file.metadata().map_err(system_error)?.len();
            quota.write(length.max(end.saturating_sub(size)))?;
            Ok(grow(&file, end, &quota, || file.write_at(&bytes, offset))? as u64)
        })
        .await,
    )
}

/// The amount by which a file grows if it becomes this long. A gap after its old end counts, because it also takes up
/// space.
async fn growth(
    files: &mut FilesCtxView<'_>,
    file: &Resource<Descriptor>,
    size: Filesize,
) -> FsResult<Filesize> {
    let before = files.filesystem().stat(Resource::new_borrow(file.rep())).await?.size;
    Ok(size.saturating_sub(before))
}

/// Growth counts as written.
async fn set_size<T: FilesView>(
    mut store: StoreContextMut<'_, T>,
    (file, size): (Resource<Descriptor>, Filesize),
) -> Result<FilesResult<()>> {
    let mut files = store.data_mut().files();
    let descriptor = file.rep();
    let file = files.writable_file(&file);
    let result = set_file_size(file, size, files.state.quota.clone()).await;
    files.changed(&[descriptor], result)
}

async fn set_file_size(file: FsResult<Arc<File>>, size: Filesize, quota: FileQuota) -> FsResult<()> {
    let file = file?;
    let shrinking = quota.disk().shrinking().await;
    open::run_blocking(move || {
        let _shrinking = shrinking;
        let before = file.metadata().map_err(system_error)?;
        quota.write(size.saturating_sub(before.len()))?;
        grow(&file, size, &quota, || file.set_len(size))?;
        // A file without a name was subtracted when its last name was removed.
        if !is_removed(&before) {
            quota.disk().remove(before.len().saturating_sub(size));
        }
        Ok(())
    })
    .await
}

/// True if the file has no name left.
fn is_removed(metadata: &std::fs::Metadata) -> bool {
    metadata.nlink() == 0
}

/// Reports the last error of the file's streams, or syncs the file.
async fn sync<T: FilesView>(
    mut store: StoreContextMut<'_, T>,
    (file,): (Resource<Descriptor>,),
    sync: fn(&File) -> std::io::Result<()>,
) -> Result<FilesResult<()>> {
    let mut files = store.data_mut().files();
    if let Some(code) = files.state.descriptor_grants.last_stream_error(file.rep()).take() {
        return Ok((Err(code),));
    }
    let file = match files.table.get(&file)? {
        Descriptor::File(file) => Arc::clone(&file.file),
        Descriptor::Dir(_) => return answer(files.filesystem().sync(file).await),
    };
    answer(open::run_blocking(move || sync(&file).map_err(system_error)).await)
}

fn read_via_stream<T: FilesView>(
    mut store: StoreContextMut<'_, T>,
    (file, offset): (Resource<Descriptor>, Filesize),
) -> Result<FilesResult<Resource<DynInputStream>>> {
    let mut files = store.data_mut().files();
    let permit = files.state.descriptor_grants.permit(file.rep());
    let last_error = files.state.descriptor_grants.last_stream_error(file.rep());
    let opened = files.filesystem().read_via_stream(file, offset);
    answer(opened.and_then(|stream| {
        let inner = files.table.delete(stream)?;
        let quota = files.state.quota.clone();
        let counted: DynInputStream = Box::new(QuotaReader::new(inner, quota, last_error, permit));
        Ok(files.table.push(counted)?)
    }))
}

async fn write_via_stream<T: FilesView>(
    mut store: StoreContextMut<'_, T>,
    (file, offset): (Resource<Descriptor>, Filesize),
) -> Result<FilesResult<Resource<DynOutputStream>>> {
    let mut files = store.data_mut().files();
    let growth = match growth(&mut files, &file, offset).await {
        Ok(growth) => growth,
        Err(error) => return answer(Err(error)),
    };
    // The disk quota is charged when the file grows, but the guest gets its error now.
    let quota = &files.state.quota;
    if let Err(exceeded) = quota.write(growth).and_then(|()| quota.add(growth).map(drop)) {
        return Ok(quota_exceeded(exceeded));
    }
    let descriptor = file.rep();
    let target = files.writable_file(&file);
    let opened = files.filesystem().write_via_stream(file, offset);
    answer(opened.and_then(|stream| counted_writer(&mut files, stream, target?, Some(offset), descriptor)))
}

fn append_via_stream<T: FilesView>(
    mut store: StoreContextMut<'_, T>,
    (file,): (Resource<Descriptor>,),
) -> Result<FilesResult<Resource<DynOutputStream>>> {
    let mut files = store.data_mut().files();
    let descriptor = file.rep();
    let target = files.writable_file(&file);
    let opened = files.filesystem().append_via_stream(file);
    answer(opened.and_then(|stream| counted_writer(&mut files, stream, target?, None, descriptor)))
}

fn counted_writer(
    files: &mut FilesCtxView<'_>,
    stream: Resource<DynOutputStream>,
    target: Arc<File>,
    position: Option<Filesize>,
    descriptor: u32,
) -> FsResult<Resource<DynOutputStream>> {
    files.table.delete(stream)?; // it doesn't count what it writes
    let FilesState { quota, descriptor_grants, .. } = &mut *files.state;
    let last_error = descriptor_grants.last_stream_error(descriptor);
    let permit = descriptor_grants.permit(descriptor);
    let inner = Box::new(FileWriter::new(target, position, quota.clone()));
    let counted: DynOutputStream = Box::new(QuotaWriter::new(inner, quota.clone(), last_error, permit));
    Ok(files.table.push(counted)?)
}

/// The error of a stream as an error of files.
fn error_code<T: FilesView>(
    mut store: StoreContextMut<'_, T>,
    (error,): (Resource<IoError>,),
) -> Result<(Option<ErrorCode>,)> {
    Ok((stream_error_code(store.data_mut().files().table.get(&error)?),))
}

#[cfg(test)]
mod tests;
