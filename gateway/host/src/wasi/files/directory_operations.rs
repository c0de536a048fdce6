//! Changes in directories, and lookups of names: like WASI's own, with the quota, the audit and all error codes added.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use cap_primitives::fs::{DirOptions, SystemTimeSpec};
use wasmtime::component::{Linker, Resource, ResourceType};
use wasmtime::{Result, StoreContextMut};
use wasmtime_wasi::filesystem::{Descriptor, Dir, WasiFilesystemView as _};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorStat, ErrorCode, HostDescriptor as _, MetadataHashValue, NewTimestamp, PathFlags,
};

use super::error::system_error;
use super::{
    FilesCtxView, FilesResult, FilesView, NEW_ENTRY_BYTES, answer, file_modes, open, quota_exceeded,
};
use crate::wasi::preopens::PreopenedDirectory;

type Store<'s, T> = StoreContextMut<'s, T>;
type File = Resource<Descriptor>;

/// Replaces WASI's functions with those of this module.
pub(super) fn add_to_linker<T: FilesView>(linker: &mut Linker<T>) -> Result<()> {
    linker.instance("wasi:filesystem/preopens@0.2.12")?.func_wrap("get-directories", get_directories)?;
    let mut types = linker.instance("wasi:filesystem/types@0.2.12")?;
    types.resource("descriptor", ResourceType::host::<Descriptor>(), drop_descriptor)?;
    types
        .func_wrap_async("[method]descriptor.stat-at", |store, arguments| Box::new(stat(store, arguments)))?;
    types.func_wrap_async("[method]descriptor.metadata-hash-at", |store, arguments| {
        Box::new(metadata_hash(store, arguments))
    })?;
    types.func_wrap_async("[method]descriptor.readlink-at", |store, arguments| {
        Box::new(read_link(store, arguments))
    })?;
    types.func_wrap_async("[method]descriptor.create-directory-at", |store, arguments| {
        Box::new(create_directory(store, arguments))
    })?;
    types.func_wrap_async("[method]descriptor.remove-directory-at", |store, arguments| {
        Box::new(remove_directory(store, arguments))
    })?;
    types.func_wrap_async("[method]descriptor.unlink-file-at", |store, arguments| {
        Box::new(unlink(store, arguments))
    })?;
    types.func_wrap_async("[method]descriptor.symlink-at", |store, arguments| {
        Box::new(symlink(store, arguments))
    })?;
    types.func_wrap_async("[method]descriptor.rename-at", |store, arguments| {
        Box::new(rename(store, arguments))
    })?;
    types
        .func_wrap_async("[method]descriptor.link-at", |store, arguments| Box::new(link(store, arguments)))?;
    types.func_wrap_async("[method]descriptor.set-times-at", |store, arguments| {
        Box::new(set_times_at(store, arguments))
    })?;
    types.func_wrap_async("[method]descriptor.set-times", |store, arguments| {
        Box::new(set_times(store, arguments))
    })?;
    Ok(())
}

fn get_directories<T: FilesView>(mut store: Store<'_, T>, (): ()) -> Result<(Vec<(File, String)>,)> {
    let files = store.data_mut().files();
    files.state.lookups.listed_preopens = true;
    let mut directories = Vec::new();
    for PreopenedDirectory { directory, guest_path } in files.state.preopens.clone() {
        let grant = files.state.config.allow.dirs.iter().position(|grant| grant.guest_path == guest_path);
        let directory = files.table.push(Descriptor::Dir(directory))?;
        files.state.descriptor_grants.add_preopen(directory.rep(), grant);
        directories.push((directory, guest_path));
    }
    Ok((directories,))
}

fn drop_descriptor<T: FilesView>(mut store: Store<'_, T>, descriptor: u32) -> Result<()> {
    let files = store.data_mut().files();
    let _permit = files.state.descriptor_grants.remove(descriptor);
    files.table.delete(File::new_own(descriptor))?;
    Ok(())
}

async fn stat<T: FilesView>(
    mut store: Store<'_, T>,
    (dir, flags, path): (File, PathFlags, String),
) -> Result<FilesResult<DescriptorStat>> {
    let mut files = store.data_mut().files();
    files.looked_up(dir.rep());
    answer(files.filesystem().stat_at(dir, flags, path).await)
}

/// The C library calls this first, and nothing else if the path doesn't exist.
async fn metadata_hash<T: FilesView>(
    mut store: Store<'_, T>,
    (dir, flags, path): (File, PathFlags, String),
) -> Result<FilesResult<MetadataHashValue>> {
    let mut files = store.data_mut().files();
    files.looked_up(dir.rep());
    answer(files.filesystem().metadata_hash_at(dir, flags, path).await)
}

async fn read_link<T: FilesView>(
    mut store: Store<'_, T>,
    (dir, path): (File, String),
) -> Result<FilesResult<String>> {
    let mut files = store.data_mut().files();
    files.looked_up(dir.rep());
    answer(files.filesystem().readlink_at(dir, path).await)
}

async fn create_directory<T: FilesView>(
    mut store: Store<'_, T>,
    (dir, path): (File, String),
) -> Result<FilesResult<()>> {
    if let Err(exceeded) = store.data_mut().files().state.quota.write(NEW_ENTRY_BYTES) {
        return Ok(quota_exceeded(exceeded));
    }
    let create = move |dir: &_| cap_primitives::fs::create_dir(dir, Path::new(&path), &DirOptions::new());
    change_entry(store, dir, create).await
}

async fn remove_directory<T: FilesView>(
    store: Store<'_, T>,
    (dir, path): (File, String),
) -> Result<FilesResult<()>> {
    change_entry(store, dir, move |dir| cap_primitives::fs::remove_dir(dir, Path::new(&path))).await
}

async fn unlink<T: FilesView>(store: Store<'_, T>, (dir, path): (File, String)) -> Result<FilesResult<()>> {
    change_entry(store, dir, move |dir| cap_primitives::fs::remove_file(dir, Path::new(&path))).await
}

async fn symlink<T: FilesView>(
    mut store: Store<'_, T>,
    (dir, target, path): (File, String, String),
) -> Result<FilesResult<()>> {
    if let Err(exceeded) = store.data_mut().files().state.quota.write(NEW_ENTRY_BYTES) {
        return Ok(quota_exceeded(exceeded));
    }
    let link = move |dir: &_| cap_primitives::fs::symlink(Path::new(&target), dir, Path::new(&path));
    change_entry(store, dir, link).await
}

/// Changes an entry of a directory that the guest can change.
async fn change_entry<T: FilesView>(
    mut store: Store<'_, T>,
    dir: File,
    work: impl FnOnce(&fs::File) -> io::Result<()> + Send + 'static,
) -> Result<FilesResult<()>> {
    let mut files = store.data_mut().files();
    let descriptor = dir.rep();
    let dir = files.writable_dir(&dir);
    let result = change(dir, work).await;
    files.changed(&[descriptor], result)
}

async fn rename<T: FilesView>(
    mut store: Store<'_, T>,
    (dir, path, new_dir, new_path): (File, String, File, String),
) -> Result<FilesResult<()>> {
    let mut files = store.data_mut().files();
    let descriptors = [dir.rep(), new_dir.rep()];
    file_modes::preserve_permissions(&mut files, (&new_dir, &new_path), (&dir, &path)).await;
    let dirs = [&dir, &new_dir].map(|dir| files.writable_dir(dir));
    let result = change_both(dirs, move |dir, new_dir| {
        cap_primitives::fs::rename(dir, Path::new(&path), new_dir, Path::new(&new_path))
    });
    let result = result.await;
    files.changed(&descriptors, result)
}

async fn link<T: FilesView>(
    mut store: Store<'_, T>,
    (dir, flags, path, new_dir, new_path): (File, PathFlags, String, File, String),
) -> Result<FilesResult<()>> {
    let mut files = store.data_mut().files();
    let descriptors = [dir.rep(), new_dir.rep()];
    if let Err(exceeded) = files.state.quota.write(NEW_ENTRY_BYTES) {
        return Ok(quota_exceeded(exceeded));
    }
    if flags.contains(PathFlags::SYMLINK_FOLLOW) {
        return files.changed(&descriptors, Err(ErrorCode::Invalid.into()));
    }
    let dirs = [&dir, &new_dir].map(|dir| files.writable_dir(dir));
    let result = change_both(dirs, move |dir, new_dir| {
        cap_primitives::fs::hard_link(dir, Path::new(&path), new_dir, Path::new(&new_path))
    });
    let result = result.await;
    files.changed(&descriptors, result)
}

/// Runs a change in a directory.
async fn change(
    dir: FsResult<Dir>,
    work: impl FnOnce(&fs::File) -> io::Result<()> + Send + 'static,
) -> FsResult<()> {
    let dir = dir?;
    open::run_blocking(move || work(&dir.dir).map_err(system_error)).await
}

/// Runs a change in two directories.
async fn change_both(
    [dir, new_dir]: [FsResult<Dir>; 2],
    work: impl FnOnce(&fs::File, &fs::File) -> io::Result<()> + Send + 'static,
) -> FsResult<()> {
    let dir = dir?;
    let new_dir = new_dir?;
    open::run_blocking(move || work(&dir.dir, &new_dir.dir).map_err(system_error)).await
}

impl FilesCtxView<'_> {
    /// The directory behind a handle, if the guest can change it.
    fn writable_dir(&self, dir: &File) -> FsResult<Dir> {
        let dir = open::directory(self.table, dir)?;
        open::check_write_granted(&dir)?;
        Ok(dir)
    }
}

async fn set_times_at<T: FilesView>(
    mut store: Store<'_, T>,
    (dir, flags, path, accessed, modified): (File, PathFlags, String, NewTimestamp, NewTimestamp),
) -> Result<FilesResult<()>> {
    let mut files = store.data_mut().files();
    let descriptor = dir.rep();
    let dir = files.writable_dir(&dir);
    let result = set_times_in(dir, flags, path, [accessed, modified]).await;
    files.changed(&[descriptor], result)
}

async fn set_times_in(
    dir: FsResult<Dir>,
    flags: PathFlags,
    path: String,
    times: [NewTimestamp; 2],
) -> FsResult<()> {
    let [accessed, modified] = times.map(time);
    let accessed = accessed?;
    let modified = modified?;
    if flags.contains(PathFlags::SYMLINK_FOLLOW) {
        // WASI's own function opens the target of a link, which can block.
        return open::set_times(&dir?, path, accessed, modified).await;
    }
    let spec = |time: SystemTime| SystemTimeSpec::from(cap_primitives::time::SystemTime::from_std(time));
    let accessed = accessed.map(spec);
    let modified = modified.map(spec);
    let work = move |dir: &fs::File| {
        cap_primitives::fs::set_times_nofollow(dir, Path::new(&path), accessed, modified)
    };
    change(dir, work).await
}

/// `None` leaves the time unchanged.
fn time(new: NewTimestamp) -> std::result::Result<Option<SystemTime>, ErrorCode> {
    match new {
        NewTimestamp::NoChange => Ok(None),
        NewTimestamp::Now => Ok(Some(SystemTime::now())),
        NewTimestamp::Timestamp(time) => {
            let since_epoch = Duration::from_secs(time.seconds)
                .checked_add(Duration::from_nanos(time.nanoseconds.into()))
                .and_then(|since_epoch| SystemTime::UNIX_EPOCH.checked_add(since_epoch));
            since_epoch.map(Some).ok_or(ErrorCode::Overflow)
        }
    }
}

async fn set_times<T: FilesView>(
    mut store: Store<'_, T>,
    (file, accessed, modified): (File, NewTimestamp, NewTimestamp),
) -> Result<FilesResult<()>> {
    let mut files = store.data_mut().files();
    let descriptor = file.rep();
    let file = files.writable_file(&file);
    let result = set_times_of(file, [accessed, modified]).await;
    files.changed(&[descriptor], result)
}

async fn set_times_of(
    file: FsResult<Arc<fs::File>>,
    [accessed, modified]: [NewTimestamp; 2],
) -> FsResult<()> {
    let times = open::file_times(time(accessed)?, time(modified)?);
    let file = file?;
    open::run_blocking(move || file.set_times(times).map_err(system_error)).await
}
