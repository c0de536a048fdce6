//! Tests of one location under several paths.

use std::path::Path;

use crate::protected_paths::mounts::MountTable;

/// The disk, one of its directories mounted again below `/etc`, one with spaces in its name, and one file inside a
/// granted directory.
const TABLE: &[u8] = b"\
22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
30 22 8:1 /srv/app /etc/moongate rw - ext4 /dev/sda1 rw
31 22 8:1 /keys /srv/my\\040keys rw - ext4 /dev/sda1 rw
32 22 8:1 /run/token /srv/data/token rw - ext4 /dev/sda1 rw
33 22 0:5 / /srv/data/tmp rw - tmpfs tmpfs rw
34 33 0:5 /in /other rw - tmpfs tmpfs rw
";

fn overlap(a: &str, b: &str) -> bool {
    MountTable::parse(TABLE).overlap(Path::new(a), Path::new(b))
}

#[test]
fn mounted_directories_are_found_at_their_origin() {
    assert!(overlap("/srv", "/etc/moongate/gateway.toml"));
    assert!(overlap("/srv/app", "/etc/moongate/gateway.toml"));
    assert!(overlap("/etc/moongate", "/srv/app/gateway.toml"));
    assert!(!overlap("/srv/apple", "/etc/moongate/gateway.toml"));
    assert!(!overlap("/srv/data", "/etc/moongate/gateway.toml"));
}

#[test]
fn mounts_below_a_granted_directory_are_in_it() {
    assert!(overlap("/srv", "/keys/state/state.sqlite3"));
    assert!(overlap("/srv/my keys", "/keys/state"));
    assert!(overlap("/srv/data", "/run/token"));
    assert!(!overlap("/srv/data", "/run/tokens"));
    assert!(overlap("/srv/data", "/other/secret"), "the file system in memory is shown twice");
    assert!(!overlap("/srv/data/x", "/other/secret"));
}

#[test]
fn what_is_mounted_last_hides_what_was_there() {
    let table = [TABLE, b"35 22 8:2 / /etc/moongate rw - ext4 /dev/sdb1 rw\n"].concat();
    assert!(!MountTable::parse(&table).overlap(Path::new("/srv"), Path::new("/etc/moongate/gateway.toml")));
}

#[test]
fn the_root_of_a_mount_is_not_below_itself() {
    let mounts = MountTable::parse(TABLE);
    assert!(mounts.shows_below(Path::new("/srv"), Path::new("/etc/moongate")));
    assert!(!mounts.shows_below(Path::new("/etc/moongate"), Path::new("/srv/app")));
    assert!(mounts.shows_below(Path::new("/etc/moongate"), Path::new("/srv/app/sub")));
}

#[test]
fn without_a_list_nothing_is_found() {
    for text in [&b""[..], b"nonsense\n", b"1 2 3\n"] {
        assert!(!MountTable::parse(text).overlap(Path::new("/a"), Path::new("/a/b")));
    }
}
