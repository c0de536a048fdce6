//! The state on disk after successful and failed changes.

use std::fs;

use serde_json::json;

use crate::tests::{Folder, error_of, text_of};

#[test]
fn writes_files_and_leaves_no_temporary_files() {
    let folder = Folder::new();
    for content in ["one", "", "zwei \u{1f600}\r\n"] {
        let text = text_of("write_file", json!({ "path": "a.txt", "content": content }));
        assert_eq!(text, "Successfully wrote to a.txt");
        assert_eq!(fs::read_to_string(folder.path("a.txt")).unwrap(), content);
    }
    assert_eq!(folder.names(), ["a.txt"]);
}

#[test]
fn writes_to_the_target_of_a_link() {
    let folder = Folder::new();
    let path = folder.write("sub/a.txt", "one");
    let link = folder.link("sub/a.txt", "link");
    text_of("write_file", json!({ "path": link, "content": "two" }));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(path).unwrap(), "two");
}

#[test]
fn leaves_unwritable_paths_alone() {
    let folder = Folder::new();
    folder.write("dir/a.txt", "one");
    assert_eq!(
        error_of("write_file", json!({ "path": folder.path("dir"), "content": "x" })),
        format!("EISDIR: illegal operation on a directory, open '{}'", folder.path("dir"))
    );
    assert_eq!(
        error_of("write_file", json!({ "path": folder.path("gone/a.txt"), "content": "x" })),
        format!("ENOENT: no such file or directory, open '{}'", folder.path("gone/a.txt"))
    );
    let socket = folder.path("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert_eq!(
        error_of("write_file", json!({ "path": socket, "content": "x" })),
        format!("Not a regular file: {socket}")
    );
    assert_eq!(folder.names(), ["dir/", "dir/a.txt", "socket"]);
}

#[test]
fn creates_directories_with_parents() {
    let folder = Folder::new();
    for _ in 0..2 {
        assert_eq!(
            text_of("create_directory", json!({ "path": "a/b/c" })),
            "Successfully created directory a/b/c"
        );
    }
    assert_eq!(folder.names(), ["a/", "a/b/", "a/b/c/"]);
    let file = folder.write("file", "");
    assert_eq!(
        error_of("create_directory", json!({ "path": file })),
        format!("EEXIST: file already exists, mkdir '{file}'")
    );
}

#[test]
fn does_not_overwrite_on_move() {
    let folder = Folder::new();
    let one = folder.write("one.txt", "1");
    let two = folder.write("two.txt", "2");
    folder.write("dir/x", "");
    let moved = |from: &str, to: &str| json!({ "source": from, "destination": to });
    assert_eq!(error_of("move_file", moved(&one, &two)), format!("Destination already exists: {two}"));
    assert_eq!(
        error_of("move_file", moved(&folder.path("gone"), &folder.path("new"))),
        format!(
            "ENOENT: no such file or directory, rename '{}' -> '{}'",
            folder.path("gone"),
            folder.path("new")
        )
    );
    assert!(
        error_of("move_file", moved(&folder.path("dir"), &folder.path("dir/in"))).starts_with("EINVAL: ")
    );
    assert!(error_of("move_file", moved(&folder.path(""), &folder.path("dir/in"))).starts_with("EINVAL: "));
    assert_eq!(
        text_of("move_file", moved("one.txt", "dir/uno.txt")),
        "Successfully moved one.txt to dir/uno.txt"
    );
    text_of("move_file", moved("dir", "other"));
    assert_eq!(folder.names(), ["other/", "other/uno.txt", "other/x", "two.txt"]);
}
