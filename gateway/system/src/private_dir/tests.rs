//! Tests of the owners and modes that each policy accepts, and of directories that others rename.

use std::os::unix::fs::PermissionsExt;

use super::*;

#[test]
fn each_policy_accepts_its_owners_and_modes() {
    let me = rustix::process::geteuid().as_raw();
    let others = |mode| Err(OwnershipError::Permissions { mode });
    for (policy, mode, expected) in [
        (Ownership::OwnerOnly, 0o600, Ok(())),
        (Ownership::OwnerOnly, 0o640, others(0o640)),
        (Ownership::OwnerWrites, 0o755, Ok(())),
        (Ownership::OwnerWrites, 0o775, others(0o775)),
        (Ownership::OwnerWrites, 0o702, others(0o702)),
        (Ownership::SourceTree, 0o775, Ok(())),
        (Ownership::SourceTree, 0o777, others(0o777)),
    ] {
        assert_eq!(policy.check_mode(me, mode), expected, "{policy:?} {mode:o}");
        assert_eq!(policy.check_mode(me + 1, mode), Err(OwnershipError::Owner), "{policy:?} {mode:o}");
    }
    // Source trees can belong to root, because packages install them.
    assert_eq!(Ownership::SourceTree.check_mode(0, 0o755), Ok(()));
    assert_eq!(
        Ownership::OwnerWrites.check_mode(0, 0o755),
        if me == 0 { Ok(()) } else { Err(OwnershipError::Owner) }
    );
}

const FILES: PrivateFiles =
    PrivateFiles { subdirectory: "own", is_own_name: |name| name == "own", exposed: ExposedFiles::Keep };

#[test]
fn a_renamed_directory_stays_in_use() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("private");
    let dir = PrivateDir::create(&path, FILES).unwrap();
    drop(dir.create_file("own").unwrap());
    fs::rename(&path, directory.path().join("renamed")).unwrap();
    fs::create_dir(&path).unwrap();
    fs::write(path.join("own"), "replaced").unwrap();
    assert_eq!(dir.open("own").unwrap().metadata().unwrap().len(), 0);
    assert_eq!(dir.names().unwrap(), ["own"]);
}

#[test]
fn finds_the_directory_that_it_would_create() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a/private");
    assert_eq!(PrivateDir::find(&path, FILES).unwrap(), path);
    assert!(!path.exists());
    let created = PrivateDir::create(&path, FILES).unwrap();
    assert_eq!((created.path(), PrivateDir::find(&path, FILES).unwrap()), (&*path, path.clone()));
    // A group was given access.
    let shared = |mode| fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    shared(0o2770);
    assert!(PrivateDir::find(&path, FILES).is_ok());
    fs::write(path.join("other"), "").unwrap();
    for refused in [PrivateDir::find(&path, FILES).err(), PrivateDir::create(&path, FILES).err()] {
        assert!(
            matches!(refused, Some(PrivateDirError::WritableByOthers { mode: 0o770, .. })),
            "{refused:?}"
        );
    }
    fs::remove_file(path.join("other")).unwrap();
    shared(0o2772);
    assert!(PrivateDir::create(&path, FILES).is_err(), "every user can write to it");
}
