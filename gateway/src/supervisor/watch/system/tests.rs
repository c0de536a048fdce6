//! What the library says, in our words.

use std::io;

use notify::event::{CreateKind, DataChange, MetadataKind, RemoveKind};

use super::*;

#[test]
fn who_only_reads_changes_nothing() {
    for kind in [
        AccessKind::Open(AccessMode::Any),
        AccessKind::Read,
        AccessKind::Close(AccessMode::Read),
        AccessKind::Any,
    ] {
        assert_eq!(change(EventKind::Access(kind)), None, "{kind:?}");
    }
    assert_eq!(change(EventKind::Access(AccessKind::Close(AccessMode::Write))), Some(Change::Other));
}

#[test]
fn what_may_hold_something_new_is_told_from_what_is_gone() {
    let renamed = |mode| EventKind::Modify(ModifyKind::Name(mode));
    for kind in [
        EventKind::Create(CreateKind::File),
        EventKind::Modify(ModifyKind::Data(DataChange::Any)),
        renamed(RenameMode::To),
        renamed(RenameMode::Both),
        EventKind::Any,
    ] {
        assert_eq!(change(kind), Some(Change::Content), "{kind:?}");
    }
    for kind in [EventKind::Remove(RemoveKind::Folder), renamed(RenameMode::From)] {
        assert_eq!(change(kind), Some(Change::Gone), "{kind:?}");
    }
    assert_eq!(change(EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any))), Some(Change::Other));
}

#[test]
fn limits_of_the_system_are_named() {
    let told = |error: notify::Error| match failure(&error) {
        Failure::Limit(reason) => reason,
        other => panic!("{other:?}"),
    };
    let watches = told(notify::Error::new(ErrorKind::MaxFilesWatch).add_path("/a".into()));
    assert!(watches.contains("max_user_watches"), "{watches}");
    let instances =
        told(notify::Error::io(io::Error::from_raw_os_error(rustix::io::Errno::MFILE.raw_os_error())));
    assert!(instances.contains("max_user_instances"), "{instances}");
    let denied = notify::Error::io(io::ErrorKind::PermissionDenied.into());
    assert!(matches!(failure(&denied), Failure::Folder(_)));
}

#[test]
fn a_library_that_panics_has_ended() {
    let hook = caught::<()>(|| std::panic::panic_any("its thread is gone"));
    let Err(Failure::Ended(reason)) = hook else { panic!("{hook:?}") };
    assert!(reason.ends_with("its thread is gone"), "{reason}");
}

#[test]
fn a_folder_that_is_not_there_is_told_from_one_that_cannot_be_watched() {
    let folder = tempfile::tempdir().unwrap();
    let mut reports = Native.start(Sink::default()).unwrap();
    assert_eq!(reports.watch(folder.path()), Ok(()));
    assert_eq!(reports.watch(&folder.path().join("nowhere")), Err(Failure::NotThere));
    reports.unwatch(&folder.path().join("nowhere"));
    reports.unwatch(folder.path());
    assert_eq!(reports.watch(folder.path()), Ok(()));
}
