//! Paths with and without symlinks, for both ways of opening.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;

use tempfile::TempDir;

use super::{open_step_by_step, open_without_symlinks};

#[test]
fn opens_directories_but_no_path_with_a_symlink() {
    let dir = TempDir::new().unwrap();
    let root = fs::canonicalize(dir.path()).unwrap();
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::write(root.join("file"), "").unwrap();
    symlink("a", root.join("parent")).unwrap();
    symlink("b", root.join("a/link")).unwrap();
    symlink("/proc/self/fd", root.join("magic")).unwrap();
    let openers: [fn(&Path) -> io::Result<File>; 2] = [open_without_symlinks, open_step_by_step];
    for open in openers {
        let opened = open(&root.join("a/b")).unwrap().metadata().unwrap();
        assert_eq!(opened.ino(), fs::metadata(root.join("a/b")).unwrap().ino());
        assert!(open(Path::new("/")).unwrap().metadata().unwrap().is_dir());
        for path in ["parent/b", "parent", "a/link", "magic", "magic/0", "file", "missing", "a/missing"] {
            assert!(open(&root.join(path)).is_err(), "{path}");
        }
    }
}
