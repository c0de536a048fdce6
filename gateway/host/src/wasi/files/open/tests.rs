//! Opened and refused paths, also without the check before opening.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use moongate_config::Limits;
use moongate_model::names::PluginId;
use wasmtime_wasi::FsPerms;

use super::*;
use crate::wasi::files::disk_usage::DiskQuota;
use crate::wasi::grant_audit::GrantAudit;

/// A time that only a blocked operation exceeds.
const FOREVER: Duration = Duration::from_secs(60);

/// A directory with a file, a directory, a pipe, a socket, and links to them.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), "text").unwrap();
    fs::create_dir(at("folder")).unwrap();
    assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    drop(std::os::unix::net::UnixListener::bind(at("socket")).unwrap());
    for name in ["file", "folder", "pipe", "socket"] {
        std::os::unix::fs::symlink(name, at(&format!("to-{name}"))).unwrap();
    }
    folder
}

/// Runs an action that must not block.
#[track_caller]
fn at_once<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, answer) = mpsc::channel();
    std::thread::spawn(move || done.send(work()));
    answer.recv_timeout(FOREVER).expect("it blocks, and its thread is lost")
}

/// Opens without the check before opening.
#[track_caller]
fn opened_unchecked(
    folder: PathBuf,
    path: &'static str,
    set: fn(&mut OpenOptions),
) -> Result<bool, ErrorCode> {
    at_once(move || {
        let mut options = options(FollowSymlinks::Yes);
        set(&mut options);
        let start = fs::File::open(folder).unwrap();
        open_unchecked(&start, Path::new(path), &options).map(|(_, is_dir)| is_dir).map_err(code)
    })
}

fn code(error: FsError) -> ErrorCode {
    error.downcast().unwrap()
}

#[test]
fn refuses_what_became_a_pipe_without_blocking() {
    let folder = folder();
    let ways: [fn(&mut OpenOptions); 5] = [
        |options| _ = options.read(true),
        |options| _ = options.write(true),
        |options| _ = options.read(true).write(true),
        |options| _ = options.write(true).create(true),
        |options| _ = options.write(true).truncate(true),
    ];
    for path in ["pipe", "to-pipe", "socket", "to-socket"] {
        for way in ways {
            let opened = opened_unchecked(folder.path().to_owned(), path, way);
            assert_eq!(opened, Err(ErrorCode::NotPermitted), "{path}");
        }
    }
    let reading: fn(&mut OpenOptions) = |options| _ = options.read(true);
    for (path, is_dir) in [("file", false), ("to-file", false), ("folder", true), ("to-folder", true)] {
        assert_eq!(opened_unchecked(folder.path().to_owned(), path, reading), Ok(is_dir), "{path}");
    }
}

fn quota() -> FileQuota {
    FileQuota::new(
        &Limits::default(),
        8,
        DiskQuota::of_directory(u64::MAX, Path::new("/")),
        GrantAudit::new(PluginId::new("guest").unwrap(), None, Arc::default()),
    )
}

fn dir(folder: &tempfile::TempDir, perms: FsPerms) -> Dir {
    Dir::new(fs::File::open(folder.path()).unwrap(), perms, OpenMode::READ | OpenMode::WRITE, false)
}

/// The flags of `all` whose bits are set.
fn some<F: Copy + std::ops::BitOr<Output = F>>(none: F, all: [F; 4], bits: u8) -> F {
    (0..4).filter(|bit| bits & (1 << bit) != 0).fold(none, |some, bit| some | all[bit])
}

/// Each path with each set of flags.
fn everything() -> impl Iterator<Item = OpenRequest> {
    const PATHS: [&str; 13] = [
        "file",
        "folder",
        "pipe",
        "socket",
        "to-file",
        "to-folder",
        "to-pipe",
        "nothing",
        "file/",
        "folder/",
        "../x",
        "",
        "/etc",
    ];
    const OPEN: [OpenFlags; 4] =
        [OpenFlags::CREATE, OpenFlags::DIRECTORY, OpenFlags::EXCLUSIVE, OpenFlags::TRUNCATE];
    const FLAGS: [DescriptorFlags; 4] = [
        DescriptorFlags::READ,
        DescriptorFlags::WRITE,
        DescriptorFlags::MUTATE_DIRECTORY,
        DescriptorFlags::DATA_INTEGRITY_SYNC,
    ];
    let all = PATHS.into_iter().flat_map(|path| (0..16).map(move |open| (path, open)));
    let all = all.flat_map(|(path, open)| (0..16).map(move |flags| (path, open, flags)));
    all.flat_map(|(path, open, flags)| {
        [PathFlags::empty(), PathFlags::SYMLINK_FOLLOW].map(|path_flags| OpenRequest {
            path: path.to_owned(),
            path_flags,
            open_flags: some(OpenFlags::empty(), OPEN, open),
            flags: some(DescriptorFlags::empty(), FLAGS, flags),
        })
    })
}

/// A file or a directory with its mode, or an error.
fn outcome(opened: FsResult<Descriptor>) -> String {
    match opened {
        Ok(Descriptor::File(file)) => format!("file {:?}", file.open_mode),
        Ok(Descriptor::Dir(dir)) => format!("dir {:?}", dir.open_mode),
        Err(error) => format!("{:?}", code(error)),
    }
}

/// Compares with WASI's own function, except for pipes, which block there, and sockets, which give another error there.
#[tokio::test]
async fn flags_work_as_in_wasmtime() {
    use wasmtime::component::ResourceTable;
    use wasmtime_wasi::filesystem::{WasiFilesystemCtx, WasiFilesystemCtxView};
    use wasmtime_wasi::p2::bindings::filesystem::types::HostDescriptor as _;

    let (ours, theirs) = (folder(), folder());
    let mut seen = BTreeSet::new();
    for perms in [FsPerms::ReadOnly, FsPerms::ReadWrite] {
        for request in everything() {
            let refused = ["pipe", "to-pipe", "socket"].contains(&request.path.as_str());
            let said = format!("{perms:?} {request:?}");
            let mut table = ResourceTable::new();
            let asked = table.push(Descriptor::Dir(dir(&theirs, perms))).unwrap();
            let mut ctx = WasiFilesystemCtx::default();
            let mut wasi = WasiFilesystemCtxView { ctx: &mut ctx, table: &mut table };
            let OpenRequest { path, path_flags, open_flags, flags } = &request;
            let expected = if refused {
                None
            } else {
                let opened = wasi.open_at(asked, *path_flags, path.clone(), *open_flags, *flags).await;
                Some(outcome(opened.map(|opened| table.delete(opened).unwrap())))
            };
            let found = outcome(super::open(&dir(&ours, perms), request, quota()).await);
            match expected {
                Some(expected) => assert_eq!(found, expected, "{said}"),
                None => assert!(!found.starts_with("file") && !found.starts_with("dir"), "{said}: {found}"),
            }
            seen.insert(found);
            for folder in [&ours, &theirs] {
                let made = folder.path().join("nothing");
                if made.exists() {
                    fs::remove_file(made).unwrap();
                }
            }
        }
    }
    assert!(seen.len() > 10, "{seen:?}");
}

#[tokio::test]
async fn sets_times_through_links_but_not_of_pipes() {
    let folder = folder();
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    let writable = dir(&folder, FsPerms::ReadWrite);
    for path in ["file", "to-file", "folder", "to-folder"] {
        set_times(&writable, path.to_owned(), Some(then), Some(then)).await.unwrap();
        let found = fs::metadata(folder.path().join(path)).unwrap();
        assert_eq!((found.modified().unwrap(), found.accessed().unwrap()), (then, then), "{path}");
    }
    for path in ["pipe", "to-pipe", "socket", "to-socket"] {
        let refused = set_times(&writable, path.to_owned(), Some(then), None).await;
        assert_eq!(refused.map_err(code), Err(ErrorCode::NotPermitted), "{path}");
    }
    let refused = set_times(&dir(&folder, FsPerms::ReadOnly), "file".to_owned(), Some(then), None).await;
    assert_eq!(refused.map_err(code), Err(ErrorCode::NotPermitted));
}
