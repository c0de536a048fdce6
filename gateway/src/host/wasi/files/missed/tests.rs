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
        "'/da`ta/x'",
        "'/da\u{202e}ta/x'",
    ] {
        assert_eq!(named(said, &notes()), None, "{said}");
    }
}

#[test]
fn of_the_longest_complaint_little_is_looked_at() {
    let (long, most) = (7 << 20, 4 * LOOKED_AT);
    for piece in ["=/", "'/", "'/ \"/ `/ (/ ", " /", "/", "='/=\"/=`/", "=/aaaa", "'/ä", "\"/x\"/"] {
        let text = piece.repeat(long / piece.len());
        let pieces: Vec<_> = candidates(&text).collect();
        let sum: usize = pieces.iter().map(|piece| piece.len()).sum();
        assert!(pieces.len() <= LOOKED_AT && sum <= most, "{piece}: {sum}");
        assert!(pieces.iter().all(|piece| piece.len() <= LONGEST + TOO_LONG), "{piece}");
    }
    let behind = format!("{}'/data/x'", " ".repeat(LOOKED_AT));
    assert_eq!(named(&behind, &notes()), None);
}

#[test]
fn a_path_that_is_too_long_is_no_shorter_path() {
    for name in ["x".repeat(LONGEST), "ä".repeat(LONGEST), format!("x{}", "👩".repeat(LONGEST))] {
        for text in [format!("'/{name}'"), format!("'/{name}"), format!("/{name}")] {
            assert_eq!(named(&text, &notes()), None, "{text}");
        }
    }
}

#[test]
fn the_directory_that_a_path_is_in_would_be_granted() {
    for (path, guest) in
        [("/data/x", "/data"), ("/data/a/b c.txt", "/data/a"), ("/data", "/data"), ("/notes.txt", "/")]
    {
        assert_eq!(cure(Some(path)), Cure::ReadDirectory { guest: Some(guest.to_owned()) });
    }
}

#[test]
fn no_line_takes_over_what_is_no_plain_path() {
    for path in [
        "/a/./x",
        "/a//x",
        "/a\" }, { host = \"/x",
        "/a b/x",
        "/…/x",
        "/a\u{202e}/x",
        "/a/../x",
        "/$x/y",
        "/ä/x",
    ] {
        assert_eq!(cure(Some(path)), Cure::ReadDirectory { guest: None }, "{path}");
    }
    assert_eq!(cure(None), Cure::ReadDirectory { guest: None });
}
