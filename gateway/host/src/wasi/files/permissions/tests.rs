//! The permissions of a file that replaces another.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use super::*;

#[test]
fn permissions_are_only_removed_except_to_execute() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, mode: u32| {
        let path = folder.path().join(name);
        let file = File::create(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        file
    };
    for (old, current, expected) in [
        (0o755, 0o644, 0o755),
        (0o600, 0o644, 0o600),
        (0o444, 0o644, 0o444),
        (0o666, 0o600, 0o600),
        (0o777, 0o600, 0o700),
        (0o4755, 0o644, 0o755),
    ] {
        let (old, new) = (file("old", old), file("new", current));
        copy_permissions(&old, &new).unwrap();
        assert_eq!(new.metadata().unwrap().permissions().mode() & 0o7777, expected, "{current:o}");
    }
    let (old, new) = (file("old", 0o600), file("new", 0o644));
    fs::hard_link(folder.path().join("new"), folder.path().join("its-other-name")).unwrap();
    copy_permissions(&old, &new).unwrap();
    assert_eq!(
        new.metadata().unwrap().permissions().mode() & 0o777,
        0o644,
        "a file with a second name is unchanged"
    );
}
