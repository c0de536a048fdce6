//! Known files, and files that are no longer known.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use super::*;

/// A file, and a list that contains it.
fn known_file(dir: &TempDir) -> (std::path::PathBuf, KnownFiles, Digest) {
    let path = dir.path().join("guest.wasm");
    fs::write(&path, "one").unwrap();
    let known = open(dir);
    let digest = Digest::of(b"one");
    known.add(FileStamp::of(&fs::metadata(&path).unwrap()), digest);
    (path, known, digest)
}

fn open(dir: &TempDir) -> KnownFiles {
    KnownFiles::open(&Arc::new(CodeCache::open(&dir.path().join("cache")).unwrap()))
}

#[test]
fn unchanged_files_are_known_at_the_next_start() {
    let dir = TempDir::new().unwrap();
    let (path, known, digest) = known_file(&dir);
    assert_eq!(open(&dir).find(&path), None, "nothing was saved");
    known.save();
    assert_eq!(open(&dir).find(&path), Some((digest, 3)));
    // A gateway with other files keeps it.
    let other = dir.path().join("other.wasm");
    fs::write(&other, "other").unwrap();
    let second = open(&dir);
    second.add(FileStamp::of(&fs::metadata(&other).unwrap()), Digest::of(b"other"));
    second.save();
    let third = open(&dir);
    assert_eq!((third.find(&path), third.find(&other)), (Some((digest, 3)), Some((Digest::of(b"other"), 5))));
    // The same content at another path is another file.
    let copy = dir.path().join("copy.wasm");
    fs::copy(&path, &copy).unwrap();
    assert_eq!(third.find(&copy), None);
}

#[test]
fn changed_files_are_unknown_even_if_length_and_times_are_kept() {
    let changes: [fn(&std::path::Path); 4] = [
        |path| {
            let modified = fs::metadata(path).unwrap().modified().unwrap();
            fs::write(path, "two").unwrap();
            File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
        },
        |path| {
            let modified = fs::metadata(path).unwrap().modified().unwrap();
            let other = path.with_extension("new");
            fs::write(&other, "two").unwrap();
            File::options().write(true).open(&other).unwrap().set_modified(modified).unwrap();
            fs::rename(&other, path).unwrap();
        },
        |path| {
            let early = SystemTime::now() - Duration::from_secs(100);
            File::options().write(true).open(path).unwrap().set_modified(early).unwrap();
        },
        |path| fs::set_permissions(path, fs::Permissions::from_mode(0o400)).unwrap(),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let dir = TempDir::new().unwrap();
        let (path, known, _) = known_file(&dir);
        // Times have a coarse clock, and only settled files are added.
        let before = FileStamp::of(&fs::metadata(&path).unwrap());
        while FileStamp::of(&fs::metadata(&path).unwrap()) == before {
            change(&path);
        }
        assert_eq!(known.find(&path), None, "change {number}");
    }
}

#[test]
fn damaged_lists_count_as_empty() {
    let dir = TempDir::new().unwrap();
    let (path, known, _) = known_file(&dir);
    known.save();
    let list = dir.path().join("cache").join(LIST_NAME);
    let text = fs::read_to_string(&list).unwrap();
    let forged = text.replace(&Digest::of(b"one").to_string(), &Digest::of(b"two").to_string());
    assert_ne!(forged, text);
    for damaged in ["", "x", &text[..text.len() - 2], &forged] {
        fs::write(&list, damaged).unwrap();
        assert_eq!(open(&dir).find(&path), None, "{damaged}");
    }
    fs::write(&list, &text).unwrap();
    fs::set_permissions(&list, fs::Permissions::from_mode(0o666)).unwrap();
    assert_eq!(open(&dir).find(&path), None, "others can write to it");
}
