//! The state on disk after successful and failed changes.

use std::fs;

use serde_json::json;

use crate::tests::{Directory, error_of, text_of};

#[test]
fn writes_files_and_leaves_no_temporary_files() {
    let directory = Directory::new();
    for content in ["one", "", "zwei \u{1f600}\r\n"] {
        let text = text_of("write_file", json!({ "path": "a.txt", "content": content }));
        assert_eq!(text, "Successfully wrote to a.txt");
        assert_eq!(fs::read_to_string(directory.path("a.txt")).unwrap(), content);
    }
    assert_eq!(directory.names(), ["a.txt"]);
}

#[test]
fn writes_to_the_target_of_a_link() {
    let directory = Directory::new();
    let path = directory.write("sub/a.txt", "one");
    let link = directory.link("sub/a.txt", "link");
    text_of("write_file", json!({ "path": link, "content": "two" }));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(path).unwrap(), "two");
}

#[test]
fn leaves_unwritable_paths_alone() {
    let directory = Directory::new();
    directory.write("dir/a.txt", "one");
    assert_eq!(
        error_of("write_file", json!({ "path": directory.path("dir"), "content": "x" })),
        format!("EISDIR: illegal operation on a directory, open '{}'", directory.path("dir"))
    );
    assert_eq!(
        error_of("write_file", json!({ "path": directory.path("gone/a.txt"), "content": "x" })),
        format!("ENOENT: no such file or directory, open '{}'", directory.path("gone/a.txt"))
    );
    let socket = directory.path("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert_eq!(
        error_of("write_file", json!({ "path": socket, "content": "x" })),
        format!("Not a regular file: {socket}")
    );
    assert_eq!(directory.names(), ["dir/", "dir/a.txt", "socket"]);
}

#[test]
fn creates_directories_with_parents() {
    let directory = Directory::new();
    for _ in 0..2 {
        assert_eq!(
            text_of("create_directory", json!({ "path": "a/b/c" })),
            "Successfully created directory a/b/c"
        );
    }
    assert_eq!(directory.names(), ["a/", "a/b/", "a/b/c/"]);
    let file = directory.write("file", "");
    assert_eq!(
        error_of("create_directory", json!({ "path": file })),
        format!("EEXIST: file already exists, mkdir '{file}'")
    );
}

#[test]
fn does_not_overwrite_on_move() {
    let directory = Directory::new();
    let one = directory.write("one.txt", "1");
    let two = directory.write("two.txt", "2");
    directory.write("dir/x", "");
    let moved = |from: &str, to: &str| json!({ "source": from, "destination": to });
    assert_eq!(error_of("move_file", moved(&one, &two)), format!("Destination already exists: {two}"));
    assert_eq!(
        error_of("move_file", moved(&directory.path("gone"), &directory.path("new"))),
        format!(
            "ENOENT: no such file or directory, rename '{}' -> '{}'",
            directory.path("gone"),
            directory.path("new")
        )
    );
    assert!(
        error_of("move_file", moved(&directory.path("dir"), &directory.path("dir/in")))
            .starts_with("EINVAL: ")
    );
    assert!(
        error_of("move_file", moved(&directory.path(""), &directory.path("dir/in"))).starts_with("EINVAL: ")
    );
    assert_eq!(
        text_of("move_file", moved("one.txt", "dir/uno.txt")),
        "Successfully moved one.txt to dir/uno.txt"
    );
    text_of("move_file", moved("dir", "other"));
    assert_eq!(directory.names(), ["other/", "other/uno.txt", "other/x", "two.txt"]);
}
