//! Paths in what guests say, and the directories that they are in.

use moongate_core::config::DirMode;

use super::*;

fn notes() -> Vec<DirGrant> {
    let (host, named) = ("notes".into(), "notes".into());
    vec![DirGrant { place: 0..0, host, named, guest: "/notes".to_owned(), mode: DirMode::ReadOnly }]
}

#[test]
fn a_path_is_found_in_the_words_of_each_language() {
    for (said, path) in [
        ("FileNotFoundError: [Errno 44] No such file or directory: '/data/x.txt'", "/data/x.txt"),
        ("Error: ENOENT: no such file or directory, open \"/data/a b.txt\"", "/data/a b.txt"),
        ("failed to find a directory through which \"/data/x\" could be opened", "/data/x"),
        ("can't read /data/x: No such file or directory (os error 44)", "/data/x"),
        ("`/data` isn't there", "/data"),
        ("neither /notes/a nor /notesxy/b.", "/notesxy/b"),
        ("(/data/x)", "/data/x"),
    ] {
        assert_eq!(named(said, &notes()), Some(path), "{said}");
    }
    for said in [
        "No such file or directory (os error 44)",
        "`/notes/a` isn't there",
        "see https://example.com/a/b or and/or",
        "'/'",
        "'//x/y'",
        "'/data/../etc'",
        "\"/a\\\"b\"",
        &format!("'/{}'", "x".repeat(LONGEST)),
    ] {
        assert_eq!(named(said, &notes()), None, "{said}");
    }
}

#[test]
fn the_directory_that_a_path_is_in_would_be_granted() {
    for (path, guest) in
        [("/data/x", "/data"), ("/data/a/b.txt", "/data/a"), ("/data", "/data"), ("/notes.txt", "/")]
    {
        assert_eq!(cure(path), format!("dirs = [{{ host = \"…\", guest = \"{guest}\", mode = \"ro\" }}]"));
    }
}
