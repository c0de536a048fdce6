//! Resolution of paths, and refused paths.

use crate::granted::GrantedDirectories;
use crate::tests::Directory;

use super::{locate, normal, parent};

fn found(asked: &str) -> String {
    match locate(&GrantedDirectories::now(), asked) {
        Ok(located) => located.path,
        Err(fault) => fault.to_string(),
    }
}

#[test]
fn normalizes_paths() {
    for (path, expected) in
        [("/a//b/./c/", "/a/b/c"), ("/a/../../b", "/b"), ("/", "/"), ("//", "/"), ("a/..", "/")]
    {
        assert_eq!(normal(path), expected, "{path}");
    }
    assert_eq!((parent("/a/b"), parent("/a"), parent("/")), ("/a", "/", "/"));
}

#[test]
fn resolves_relative_paths_in_the_allowed_directory() {
    let directory = Directory::new();
    assert_eq!(found("sub/new.txt"), directory.path("sub/new.txt"));
    assert_eq!(found("."), directory.path(""));
    assert_eq!(found(""), directory.path(""));
}

#[test]
fn refuses_outside_paths_and_names_allowed_directories() {
    let directory = Directory::new();
    let root = directory.path("");
    let outside =
        |path: &str| format!("Access denied - path outside allowed directories: {path} not in {root}");
    assert_eq!(found("/etc/hostname"), outside("/etc/hostname"));
    assert_eq!(found(&format!("{root}/../x")), outside(&format!("{}/x", parent(&root))));
    assert_eq!(found(&format!("{root}x")), outside(&format!("{root}x")), "a name with the same prefix");
    assert_eq!(found("~/x"), outside("~/x"));
    assert_eq!(found("a\0b"), outside(&format!("{root}/a\0b")));
    assert_eq!(
        found("C:\\Users\\x"),
        "Access denied - Windows-style path received on a POSIX host: C:\\Users\\x"
    );
}

#[test]
fn follows_links_inside_and_refuses_others() {
    let directory = Directory::new();
    let root = directory.path("");
    directory.write("sub/a.txt", "");
    directory.link("sub", "dir");
    directory.link("../sub/a.txt", "sub/up");
    directory.link("../../etc", "sub/out");
    directory.link("/etc", "absolute");
    directory.link("b", "a");
    directory.link("a", "b");
    directory.link("gone/x", "dangling");
    assert_eq!(found("dir/a.txt"), directory.path("sub/a.txt"));
    assert_eq!(found("dir/up"), directory.path("sub/a.txt"));
    assert_eq!(found("dir/new/deeper"), directory.path("sub/new/deeper"));
    for (asked, at) in [("sub/out/hostname", "sub/out/hostname"), ("absolute/x", "absolute/x")] {
        assert_eq!(
            found(asked),
            format!(
                "Access denied - symlink target outside allowed directories: {} not in {root}",
                directory.path(at)
            )
        );
    }
    assert!(found("a").starts_with("ELOOP: "));
    assert_eq!(found("dangling"), format!("Parent directory does not exist: {root}"));
    directory.write("file", "");
    assert!(found("file/x").starts_with("ENOTDIR: not a directory, realpath "), "{}", found("file/x"));
}

#[test]
fn finds_names_in_any_unicode_normalization() {
    let directory = Directory::new();
    let composed = directory.write("caf\u{e9}/x.txt", "");
    assert_eq!(found("cafe\u{301}/x.txt"), composed);
    assert_eq!(found("cafe\u{301}/new.txt"), directory.path("caf\u{e9}/new.txt"));
    directory.write("\u{212b}", "");
    directory.write("A\u{30a}", "");
    assert_eq!(found("\u{c5}"), "Ambiguous Unicode path component: \u{c5}");
    assert_eq!(found("\u{fc}"), directory.path("\u{fc}"), "doesn't exist yet");
}
