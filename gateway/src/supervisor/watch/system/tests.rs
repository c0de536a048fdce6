//! Translation of the library's events and errors.

use std::io;

use notify::event::{CreateKind, DataChange, MetadataKind, RemoveKind};

use super::*;

#[test]
fn reads_are_not_changes() {
    for kind in [
        AccessKind::Open(AccessMode::Any),
        AccessKind::Read,
        AccessKind::Close(AccessMode::Read),
        AccessKind::Any,
    ] {
        assert_eq!(change_kind(EventKind::Access(kind)), None, "{kind:?}");
    }
    assert_eq!(
        change_kind(EventKind::Access(AccessKind::Close(AccessMode::Write))),
        Some(ChangeKind::Metadata)
    );
}

#[test]
fn distinguishes_new_content_from_removal() {
    let renamed = |mode| EventKind::Modify(ModifyKind::Name(mode));
    for kind in [
        EventKind::Create(CreateKind::File),
        EventKind::Modify(ModifyKind::Data(DataChange::Any)),
        renamed(RenameMode::To),
        renamed(RenameMode::Both),
        EventKind::Any,
    ] {
        assert_eq!(change_kind(kind), Some(ChangeKind::Content), "{kind:?}");
    }
    for kind in [EventKind::Remove(RemoveKind::Folder), renamed(RenameMode::From)] {
        assert_eq!(change_kind(kind), Some(ChangeKind::Removed), "{kind:?}");
    }
    assert_eq!(
        change_kind(EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any))),
        Some(ChangeKind::Metadata)
    );
}

#[test]
fn names_the_limits_of_the_system() {
    let reason = |error: notify::Error| match watch_error(&error) {
        WatchError::Limit(reason) => reason,
        other => panic!("{other:?}"),
    };
    let watches = reason(notify::Error::new(ErrorKind::MaxFilesWatch).add_path("/a".into()));
    assert!(watches.contains("max_user_watches"), "{watches}");
    let instances =
        reason(notify::Error::io(io::Error::from_raw_os_error(rustix::io::Errno::MFILE.raw_os_error())));
    assert!(instances.contains("max_user_instances"), "{instances}");
    let denied = notify::Error::io(io::ErrorKind::PermissionDenied.into());
    assert!(matches!(watch_error(&denied), WatchError::Directory(_)));
}

#[test]
fn panic_of_the_library_ends_watching() {
    let hook = catch_panic::<()>(|| std::panic::panic_any("its thread is gone"));
    let Err(WatchError::Ended(reason)) = hook else { panic!("{hook:?}") };
    assert!(reason.ends_with("its thread is gone"), "{reason}");
}

#[test]
fn distinguishes_missing_from_unwatchable_directories() {
    let directory = tempfile::tempdir().unwrap();
    let mut reports = NativeSystem.start(EventSink::default()).unwrap();
    assert_eq!(reports.watch(directory.path()), Ok(()));
    assert_eq!(reports.watch(&directory.path().join("nowhere")), Err(WatchError::NotFound));
    reports.unwatch(&directory.path().join("nowhere"));
    reports.unwatch(directory.path());
    assert_eq!(reports.watch(directory.path()), Ok(()));
}
