//! Changing what is in a directory: as WASI does it; where the directory is granted only for reading, the operator hears
//! of it, with the line that would grant more.
//!
//! WASI's own checks refuse, and stay the ones that count. Which grant a descriptor belongs to is kept beside it, because
//! a descriptor doesn't say; so is which ones are the granted directories themselves, and what counts the others as
//! open. All of it is forgotten when it is dropped, because the next one that is opened gets its number.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime};

use moongate_core::call::Cure;
use moongate_core::config::{DirGrant, DirMode};
use wasmtime::component::{Linker, Resource, ResourceType};
use wasmtime::{Result, StoreContextMut};
use wasmtime_wasi::filesystem::{Descriptor, WasiFilesystemView as _};
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::preopens::Host as _;
use wasmtime_wasi::p2::bindings::filesystem::types::{
    DescriptorStat, ErrorCode, HostDescriptor as _, MetadataHashValue, NewTimestamp, PathFlags,
};

use super::missed::{Asked, Looks};
use super::quota::Open;
use super::{Answer, MADE, answer, open, permissions, quota};
use crate::host::sandbox::store::State;
use crate::host::wasi::grant_audit::Lack;

type Store<'s> = StoreContextMut<'s, State>;
type File = Resource<Descriptor>;

/// What is known of each descriptor: which of the granted directories it was opened in, and more.
#[derive(Debug, Default)]
pub(in crate::host) struct Homes {
    of: HashMap<u32, usize>,
    /// Those that are a granted directory itself, as it was handed out.
    granted: HashSet<u32>,
    /// What counts the others as open.
    open: HashMap<u32, Open>,
    /// What the call that runs has to do with them.
    pub(super) looks: Looks,
}

impl Homes {
    /// How many handles of the granted directories themselves the guest holds.
    pub(in crate::host) fn granted(&self) -> usize {
        self.granted.len()
    }

    /// The same for another call of the same instance.
    pub(in crate::host) fn again(self) -> Self {
        Self { looks: self.looks.earlier(), ..self }
    }

    /// The instance is made: what it did so far has nothing to do with what it is asked.
    pub(in crate::host) fn started(&mut self) {
        self.looks = self.looks.earlier();
    }

    /// Notes that the guest looked for something in a directory, there or not.
    pub(super) fn looked(&mut self, directory: u32) {
        self.looks.inside |= self.of.contains_key(&directory);
    }

    /// Keeps what counts a descriptor as open for as long as the guest holds it.
    pub(super) fn hold(&mut self, descriptor: u32, open: Open) {
        self.open.insert(descriptor, open);
    }

    /// What counts a descriptor as open, for whatever keeps its file open, too; none: it is a granted directory.
    pub(super) fn held(&self, descriptor: u32) -> Option<Open> {
        self.open.get(&descriptor).cloned()
    }
}

/// Puts functions that tell in the place of WASI's.
pub(super) fn add_to_linker(linker: &mut Linker<State>) -> Result<()> {
    linker.instance("wasi:filesystem/preopens@0.2.12")?.func_wrap("get-directories", get_directories)?;
    let mut types = linker.instance("wasi:filesystem/types@0.2.12")?;
    types.resource("descriptor", ResourceType::host::<Descriptor>(), dropped)?;
    types.func_wrap_async("[method]descriptor.stat-at", |store, question| Box::new(stat(store, question)))?;
    types.func_wrap_async("[method]descriptor.metadata-hash-at", |store, question| {
        Box::new(metadata_hash(store, question))
    })?;
    types.func_wrap_async("[method]descriptor.readlink-at", |store, question| {
        Box::new(read_link(store, question))
    })?;
    types.func_wrap_async("[method]descriptor.create-directory-at", |store, question| {
        Box::new(create_directory(store, question))
    })?;
    types.func_wrap_async("[method]descriptor.remove-directory-at", |store, question| {
        Box::new(remove_directory(store, question))
    })?;
    types.func_wrap_async("[method]descriptor.unlink-file-at", |store, question| {
        Box::new(unlink(store, question))
    })?;
    types.func_wrap_async("[method]descriptor.symlink-at", |store, question| {
        Box::new(symlink(store, question))
    })?;
    types.func_wrap_async("[method]descriptor.rename-at", |store, question| {
        Box::new(rename(store, question))
    })?;
    types.func_wrap_async("[method]descriptor.link-at", |store, question| Box::new(link(store, question)))?;
    types.func_wrap_async("[method]descriptor.set-times-at", |store, question| {
        Box::new(set_times_at(store, question))
    })?;
    types.func_wrap_async("[method]descriptor.set-times", |store, question| {
        Box::new(set_times(store, question))
    })?;
    Ok(())
}

impl State {
    /// Notes that `opened` was opened in `dir`, and that the grant was used.
    pub(super) fn opened_in(&mut self, dir: u32, opened: u32) {
        if let Some(home) = self.homes.of.get(&dir).copied() {
            self.homes.of.insert(opened, home);
            self.used(dir);
        }
    }

    /// Notes that the grant was used that a descriptor belongs to.
    fn used(&self, file: u32) {
        if let Some(home) = self.homes.of.get(&file) {
            let grant = &self.config.allow.dirs[*home];
            self.uses.used(|| format!("dirs {} ({})", grant.guest, grant.mode.as_str()));
        }
    }

    /// Tells the operator where a change was refused because a directory is granted only for reading.
    pub(super) fn changed<T>(&mut self, files: &[u32], result: FsResult<T>) -> Result<Answer<T>> {
        let (answer,) = answer(result)?;
        files.iter().for_each(|file| self.homes.looked(*file));
        if answer.is_ok() {
            files.iter().for_each(|file| self.used(*file));
        }
        if matches!(&answer, Err(ErrorCode::NotPermitted)) {
            let homes = files.iter().filter_map(|file| self.homes.of.get(file));
            let grants = homes.map(|home| &self.config.allow.dirs[*home]);
            for DirGrant { guest, named, .. } in grants.filter(|grant| grant.mode == DirMode::ReadOnly) {
                let host = named.to_string_lossy().into_owned();
                self.uses.lacked(Lack {
                    wanted: format!("to change what is in `{guest}`"),
                    cure: Some(Cure::ChangeDirectory { host, guest: guest.clone() }),
                });
            }
        }
        Ok((answer,))
    }
}

fn get_directories(mut store: Store<'_>, (): ()) -> Result<(Vec<(File, String)>,)> {
    let state = store.data_mut();
    let directories = state.filesystem().get_directories()?;
    state.homes.looks.asked = Asked::InCall;
    state.homes.granted.extend(directories.iter().map(|(directory, _)| directory.rep()));
    for (directory, guest) in &directories {
        let home = state.config.allow.dirs.iter().position(|grant| grant.guest == *guest);
        state.homes.of.extend(home.map(|home| (directory.rep(), home)));
    }
    Ok((directories,))
}

/// Whatever is known of a descriptor goes with it.
fn dropped(mut store: Store<'_>, descriptor: u32) -> Result<()> {
    let state = store.data_mut();
    state.homes.of.remove(&descriptor);
    state.homes.granted.remove(&descriptor);
    state.table.delete(File::new_own(descriptor))?;
    state.homes.open.remove(&descriptor);
    Ok(())
}

async fn stat(
    mut store: Store<'_>,
    (dir, flags, path): (File, PathFlags, String),
) -> Result<Answer<DescriptorStat>> {
    let state = store.data_mut();
    state.homes.looked(dir.rep());
    answer(state.filesystem().stat_at(dir, flags, path).await)
}

/// With this the C library looks first, and no further where nothing is.
async fn metadata_hash(
    mut store: Store<'_>,
    (dir, flags, path): (File, PathFlags, String),
) -> Result<Answer<MetadataHashValue>> {
    let state = store.data_mut();
    state.homes.looked(dir.rep());
    answer(state.filesystem().metadata_hash_at(dir, flags, path).await)
}

async fn read_link(mut store: Store<'_>, (dir, path): (File, String)) -> Result<Answer<String>> {
    let state = store.data_mut();
    state.homes.looked(dir.rep());
    answer(state.filesystem().readlink_at(dir, path).await)
}

async fn create_directory(mut store: Store<'_>, (dir, path): (File, String)) -> Result<Answer<()>> {
    let (state, home) = (store.data_mut(), dir.rep());
    if let Err(exceeded) = state.files.write(MADE) {
        return Ok(quota(exceeded));
    }
    let result = state.filesystem().create_directory_at(dir, path).await;
    state.changed(&[home], result)
}

async fn remove_directory(mut store: Store<'_>, (dir, path): (File, String)) -> Result<Answer<()>> {
    let (state, home) = (store.data_mut(), dir.rep());
    let result = state.filesystem().remove_directory_at(dir, path).await;
    state.changed(&[home], result)
}

async fn unlink(mut store: Store<'_>, (dir, path): (File, String)) -> Result<Answer<()>> {
    let (state, home) = (store.data_mut(), dir.rep());
    let result = state.filesystem().unlink_file_at(dir, path).await;
    state.changed(&[home], result)
}

async fn symlink(mut store: Store<'_>, (dir, to, path): (File, String, String)) -> Result<Answer<()>> {
    let (state, home) = (store.data_mut(), dir.rep());
    if let Err(exceeded) = state.files.write(MADE) {
        return Ok(quota(exceeded));
    }
    let result = state.filesystem().symlink_at(dir, to, path).await;
    state.changed(&[home], result)
}

async fn rename(
    mut store: Store<'_>,
    (dir, path, new_dir, new_path): (File, String, File, String),
) -> Result<Answer<()>> {
    let (state, homes) = (store.data_mut(), [dir.rep(), new_dir.rep()]);
    permissions::take_over(state, (&dir, &path), (&new_dir, &new_path)).await;
    let result = state.filesystem().rename_at(dir, path, new_dir, new_path).await;
    state.changed(&homes, result)
}

async fn link(
    mut store: Store<'_>,
    (dir, flags, path, new_dir, new_path): (File, PathFlags, String, File, String),
) -> Result<Answer<()>> {
    let (state, homes) = (store.data_mut(), [dir.rep(), new_dir.rep()]);
    if let Err(exceeded) = state.files.write(MADE) {
        return Ok(quota(exceeded));
    }
    let result = state.filesystem().link_at(dir, flags, path, new_dir, new_path).await;
    state.changed(&homes, result)
}

async fn set_times_at(
    mut store: Store<'_>,
    (dir, flags, path, accessed, modified): (File, PathFlags, String, NewTimestamp, NewTimestamp),
) -> Result<Answer<()>> {
    let (state, home) = (store.data_mut(), dir.rep());
    let result = if flags.contains(PathFlags::SYMLINK_FOLLOW) {
        set_times_following(state, &dir, path, [accessed, modified]).await
    } else {
        state.filesystem().set_times_at(dir, flags, path, accessed, modified).await
    };
    state.changed(&[home], result)
}

/// WASI's own opens what a link leads to, and waits there.
async fn set_times_following(
    state: &mut State,
    dir: &File,
    path: String,
    times: [NewTimestamp; 2],
) -> FsResult<()> {
    let dir = open::directory(state, dir)?;
    let [accessed, modified] = times.map(time);
    open::set_times(&dir, path, accessed?, modified?).await
}

/// The time; none: it stays as it is.
fn time(new: NewTimestamp) -> std::result::Result<Option<SystemTime>, ErrorCode> {
    match new {
        NewTimestamp::NoChange => Ok(None),
        NewTimestamp::Now => Ok(Some(SystemTime::now())),
        NewTimestamp::Timestamp(time) => {
            let after = Duration::from_secs(time.seconds)
                .checked_add(Duration::from_nanos(time.nanoseconds.into()))
                .and_then(|after| SystemTime::UNIX_EPOCH.checked_add(after));
            after.map(Some).ok_or(ErrorCode::Overflow)
        }
    }
}

async fn set_times(
    mut store: Store<'_>,
    (file, accessed, modified): (File, NewTimestamp, NewTimestamp),
) -> Result<Answer<()>> {
    let (state, home) = (store.data_mut(), file.rep());
    let result = state.filesystem().set_times(file, accessed, modified).await;
    state.changed(&[home], result)
}
