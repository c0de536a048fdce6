//! Changes in directories, and lookups of names: like WASI's own, with the quota and the audit added.

use std::time::{Duration, SystemTime};

use wasmtime::component::{Linker, Resource, ResourceType};
use wasmtime::{Result, StoreContextMut};
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemView as _};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::preopens::Host as _;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorStat, ErrorCode, HostDescriptor as _, MetadataHashValue, NewTimestamp, PathFlags,
};

use super::{
    FilesCtxView, FilesResult, FilesView, NEW_ENTRY_BYTES, answer, file_modes, open, quota_exceeded,
};

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
    let mut files = store.data_mut().files();
    let directories = files.filesystem().get_directories()?;
    files.state.lookups.listed_preopens = true;
    for (directory, guest) in &directories {
        let grant = files.state.config.allow.dirs.iter().position(|grant| grant.guest_path == *guest);
        files.state.descriptor_grants.add_preopen(directory.rep(), grant);
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
    let mut files = store.data_mut().files();
    let descriptor = dir.rep();
    if let Err(exceeded) = files.state.quota.write(NEW_ENTRY_BYTES) {
        return Ok(quota_exceeded(exceeded));
    }
    let result = files.filesystem().create_directory_at(dir, path).await;
    files.changed(&[descriptor], result)
}

async fn remove_directory<T: FilesView>(
    mut store: Store<'_, T>,
    (dir, path): (File, String),
) -> Result<FilesResult<()>> {
    let mut files = store.data_mut().files();
    let descriptor = dir.rep();
    let result = files.filesystem().remove_directory_at(dir, path).await;
    files.changed(&[descriptor], result)
}

async fn unlink<T: FilesView>(
    mut store: Store<'_, T>,
    (dir, path): (File, String),
) -> Result<FilesResult<()>> {
    let mut files = store.data_mut().files();
    let descriptor = dir.rep();
    let result = files.filesystem().unlink_file_at(dir, path).await;
    files.changed(&[descriptor], result)
}

async fn symlink<T: FilesView>(
    mut store: Store<'_, T>,
    (dir, target, path): (File, String, String),
) -> Result<FilesResult<()>> {
    let mut files = store.data_mut().files();
    let descriptor = dir.rep();
    if let Err(exceeded) = files.state.quota.write(NEW_ENTRY_BYTES) {
        return Ok(quota_exceeded(exceeded));
    }
    let result = files.filesystem().symlink_at(dir, target, path).await;
    files.changed(&[descriptor], result)
}

async fn rename<T: FilesView>(
    mut store: Store<'_, T>,
    (dir, path, new_dir, new_path): (File, String, File, String),
) -> Result<FilesResult<()>> {
    let mut files = store.data_mut().files();
    let descriptors = [dir.rep(), new_dir.rep()];
    file_modes::transfer(&mut files, (&new_dir, &new_path), (&dir, &path)).await;
    let result = files.filesystem().rename_at(dir, path, new_dir, new_path).await;
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
    let result = files.filesystem().link_at(dir, flags, path, new_dir, new_path).await;
    files.changed(&descriptors, result)
}

async fn set_times_at<T: FilesView>(
    mut store: Store<'_, T>,
    (dir, flags, path, accessed, modified): (File, PathFlags, String, NewTimestamp, NewTimestamp),
) -> Result<FilesResult<()>> {
    let mut files = store.data_mut().files();
    let descriptor = dir.rep();
    let result = if flags.contains(PathFlags::SYMLINK_FOLLOW) {
        set_times_following(&mut files, &dir, path, [accessed, modified]).await
    } else {
        files.filesystem().set_times_at(dir, flags, path, accessed, modified).await
    };
    files.changed(&[descriptor], result)
}

/// WASI's own function opens the target of a link, which can block.
async fn set_times_following(
    files: &mut FilesCtxView<'_>,
    dir: &File,
    path: String,
    times: [NewTimestamp; 2],
) -> FsResult<()> {
    let dir = open::directory(files.table, dir)?;
    let [accessed, modified] = times.map(time);
    open::set_times(&dir, path, accessed?, modified?).await
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
    let result = files.filesystem().set_times(file, accessed, modified).await;
    files.changed(&[descriptor], result)
}
