//! What is on the disk after a change, and after one that failed.

use std::fs;

use serde_json::json;

use crate::tests::{Folder, refused, said};

#[test]
fn a_file_is_written_new_or_over_and_nothing_else_is_left() {
    let folder = Folder::new();
    for content in ["one", "", "zwei \u{1f600}\r\n"] {
        let text = said("write_file", json!({ "path": "a.txt", "content": content }));
        assert_eq!(text, "Successfully wrote to a.txt");
        assert_eq!(fs::read_to_string(folder.path("a.txt")).unwrap(), content);
    }
    assert_eq!(folder.names(), ["a.txt"]);
}

#[test]
fn writing_through_a_link_changes_what_it_leads_to() {
    let folder = Folder::new();
    let path = folder.write("sub/a.txt", "one");
    let link = folder.link("sub/a.txt", "link");
    said("write_file", json!({ "path": link, "content": "two" }));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(path).unwrap(), "two");
}

#[test]
fn what_cannot_be_written_is_left_alone() {
    let folder = Folder::new();
    folder.write("dir/a.txt", "one");
    assert_eq!(
        refused("write_file", json!({ "path": folder.path("dir"), "content": "x" })),
        format!("EISDIR: illegal operation on a directory, open '{}'", folder.path("dir"))
    );
    assert_eq!(
        refused("write_file", json!({ "path": folder.path("gone/a.txt"), "content": "x" })),
        format!("ENOENT: no such file or directory, open '{}'", folder.path("gone/a.txt"))
    );
    let socket = folder.path("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert_eq!(
        refused("write_file", json!({ "path": socket, "content": "x" })),
        format!("Not a regular file: {socket}")
    );
    assert_eq!(folder.names(), ["dir/", "dir/a.txt", "socket"]);
}

#[test]
fn directories_are_made_with_those_above_and_may_exist() {
    let folder = Folder::new();
    for _ in 0..2 {
        assert_eq!(
            said("create_directory", json!({ "path": "a/b/c" })),
            "Successfully created directory a/b/c"
        );
    }
    assert_eq!(folder.names(), ["a/", "a/b/", "a/b/c/"]);
    let file = folder.write("file", "");
    assert_eq!(
        refused("create_directory", json!({ "path": file })),
        format!("EEXIST: file already exists, mkdir '{file}'")
    );
}

#[test]
fn a_move_takes_nothing_away() {
    let folder = Folder::new();
    let one = folder.write("one.txt", "1");
    let two = folder.write("two.txt", "2");
    folder.write("dir/x", "");
    let moved = |from: &str, to: &str| json!({ "source": from, "destination": to });
    assert_eq!(refused("move_file", moved(&one, &two)), format!("Destination already exists: {two}"));
    assert_eq!(
        refused("move_file", moved(&folder.path("gone"), &folder.path("new"))),
        format!(
            "ENOENT: no such file or directory, rename '{}' -> '{}'",
            folder.path("gone"),
            folder.path("new")
        )
    );
    assert!(refused("move_file", moved(&folder.path("dir"), &folder.path("dir/in"))).starts_with("EINVAL: "));
    assert!(refused("move_file", moved(&folder.path(""), &folder.path("dir/in"))).starts_with("EINVAL: "));
    assert_eq!(
        said("move_file", moved("one.txt", "dir/uno.txt")),
        "Successfully moved one.txt to dir/uno.txt"
    );
    said("move_file", moved("dir", "other"));
    assert_eq!(folder.names(), ["other/", "other/uno.txt", "other/x", "two.txt"]);
}
