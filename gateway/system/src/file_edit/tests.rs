//! Unit tests of editing files.

use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use super::*;

/// Adds a line to a file.
fn append(path: &Path, line: &str) -> io::Result<()> {
    let mut edit = FileEdit::start(path)?;
    let before = edit.read()?.unwrap_or_default();
    edit.replace(&format!("{before}{line}\n"))
}

#[test]
fn concurrent_edits_lose_no_line() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("host.json");
    let lines: Vec<String> = (0..8).map(|number| format!("line {number}")).collect();
    std::thread::scope(|scope| {
        for line in &lines {
            scope.spawn(|| append(&path, line).unwrap());
        }
    });
    let text = fs::read_to_string(&path).unwrap();
    assert!(lines.iter().all(|line| text.contains(line)), "{text}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
}

#[test]
fn a_change_by_another_program_is_kept() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("host.json");
    fs::write(&path, "old").unwrap();
    let mut edit = FileEdit::start(&path).unwrap();
    edit.read().unwrap();
    fs::write(&path, "theirs").unwrap();
    assert!(edit.replace("mine").unwrap_err().to_string().contains("another program"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
}

#[test]
fn two_edits_in_one_directory_share_the_lock() {
    let place = tempfile::tempdir().unwrap();
    let first = FileEdit::start(&place.path().join("one")).unwrap();
    first.also(&place.path().join("two")).unwrap().replace("2").unwrap();
    first.also(&place.path().join("other/three")).unwrap().replace("3").unwrap();
    assert_eq!(fs::read_to_string(place.path().join("other/three")).unwrap(), "3");
}

#[test]
fn permissions_are_kept() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("gateway.toml");
    fs::write(&path, "").unwrap();
    for mode in [0o600, 0o640, 0o644] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        append(&path, "line").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, mode);
    }
}

/// Only root can give a file to another user, and to a group that it isn't in.
#[test]
fn owner_and_group_are_kept() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let [path, copy] = ["gateway.toml", "backup"].map(|name| place.path().join(name));
    fs::write(&path, "").unwrap();
    chown(&path, Some(1234), Some(2345)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    append(&path, "line").unwrap();
    copy_file(&path, &copy).unwrap();
    for path in [path, copy] {
        let found = fs::metadata(path).unwrap();
        assert_eq!((found.uid(), found.gid(), found.mode() & 0o777), (1234, 2345, 0o640));
    }
}

/// Runs as another user, who can write to the file only through its group.
#[test]
fn files_that_a_group_shares_are_edited() {
    if let Some(path) = std::env::var_os("SHARED_FILE") {
        append(Path::new(&path), "line").unwrap();
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("gateway.toml");
    fs::write(&path, "a longer first line\n").unwrap();
    for (path, mode) in [(place.path(), 0o770), (&path, 0o664)] {
        chown(path, Some(1234), Some(2345)).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    // The test binary's directory can be private, so its copy is executed.
    let test = place.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &test).unwrap();
    let mut edit = Command::new(test);
    edit.args(["files_that_a_group_shares_are_edited", "--test-threads", "1"]).env("SHARED_FILE", &path);
    assert!(edit.uid(1235).gid(2345).current_dir(&place).status().unwrap().success());
    assert_eq!(fs::read_to_string(&path).unwrap(), "a longer first line\nline\n");
    let found = fs::metadata(&path).unwrap();
    assert_eq!((found.uid(), found.gid(), found.mode() & 0o777), (1234, 2345, 0o664));
    assert_eq!(fs::read_dir(&place).unwrap().count(), 2, "no unfinished file stays");
}

#[test]
fn a_file_overwritten_in_place_follows_no_symlink() {
    let place = tempfile::tempdir().unwrap();
    let [path, link] = ["gateway.toml", "link"].map(|name| place.path().join(name));
    fs::write(&path, "first").unwrap();
    symlink(&path, &link).unwrap();
    overwrite(&link, b"other").unwrap_err();
    overwrite(&path, b"1").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "1");
}

#[test]
fn symlinks_stay_even_if_their_target_is_missing() {
    let place = tempfile::tempdir().unwrap();
    let [link, between, target] = ["link", "between", "dir/target"].map(|name| place.path().join(name));
    symlink("between", &link).unwrap();
    symlink(&target, &between).unwrap();
    append(&link, "1").unwrap();
    append(&link, "2").unwrap();
    assert_eq!(fs::read_link(&link).unwrap(), Path::new("between"));
    assert_eq!(fs::read_to_string(&target).unwrap(), "1\n2\n");
    let looped = place.path().join("looped");
    symlink("looped", &looped).unwrap();
    assert!(append(&looped, "1").is_err());
}

#[test]
fn only_regular_files_are_edited() {
    let place = tempfile::tempdir().unwrap();
    let pipe = place.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
        .unwrap();
    for path in [&pipe, Path::new("/dev/full"), place.path()] {
        let error = append(path, "line").unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{}: {error}", path.display());
    }
    assert!(FileEdit::start(&pipe).unwrap().replace("text").is_err());
}
