//! The index file.

use super::*;

#[test]
fn reads_what_it_writes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("index");
    let mut index = Index::read(&path).unwrap();
    for path in ["a", "a.b", "c/d", "c/e"] {
        index.insert(IndexEntry::new(path.into(), Mode::FILE, ObjectId::of(crate::object::Kind::Blob, b"x")));
    }
    // A file replaces a directory.
    index.insert(IndexEntry::new("c".into(), Mode::LINK, ObjectId::default()));
    let mut sparse = IndexEntry::new("z".into(), Mode::FILE, ObjectId::default());
    sparse.skip_worktree = true;
    index.insert(sparse);
    index.write(index.lock().unwrap()).unwrap();
    let read = Index::read(&path).unwrap();
    let paths: Vec<String> = read.entries().iter().map(|entry| entry.path.to_string()).collect();
    assert_eq!(paths, ["a", "a.b", "c", "z"]);
    assert!(read.get("z".into(), 0).unwrap().skip_worktree);
    assert!(!path.with_extension("lock").exists());
}

#[test]
fn refuses_a_truncated_file() {
    assert!(parse(b"DIRC\0\0\0\x02\0\0\0\x01").is_err());
    assert!(parse(b"").is_err());
}
