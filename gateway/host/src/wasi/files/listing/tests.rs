//! Listings of large directories stay small, and contain every name once.

use std::collections::BTreeSet;

use super::*;

/// Reads a listing to its end. `look` is called after each read.
fn names(mut listing: Listing, mut look: impl FnMut(&Listing)) -> Vec<EntryResult> {
    let mut names = Vec::new();
    loop {
        names.extend(listing.read_ahead.drain(..));
        let Some(rest) = listing.rest.take() else { return names };
        listing = Listing::read_next(rest);
        look(&listing);
    }
}

#[test]
fn reads_a_large_directory_a_few_names_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let all: BTreeSet<String> = (0..3_000).map(|number| format!("name-{number}")).collect();
    for name in &all {
        fs::write(folder.path().join(name), "").unwrap();
    }
    let dir = fs::File::open(folder.path()).unwrap();
    let mut most = 0;
    let listings = [Listing::new(&dir).unwrap(), Listing::new(&dir).unwrap()];
    for listing in listings {
        assert!(listing.read_ahead.is_empty(), "nothing is read before the guest asks");
        let read = names(listing, |listing| most = most.max(listing.read_ahead.len()));
        let read: Vec<_> = read.into_iter().map(|name| name.unwrap().name).collect();
        assert_eq!(read.len(), all.len());
        assert_eq!(read.into_iter().collect::<BTreeSet<_>>(), all);
    }
    assert_eq!(most, READ_AHEAD_ENTRIES);
}

#[test]
fn entries_have_their_type() {
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::symlink;

    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), "").unwrap();
    fs::create_dir(at("folder")).unwrap();
    symlink("nowhere", at("link")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
    drop(std::os::unix::net::UnixListener::bind(at("socket")).unwrap());
    fs::write(folder.path().join(std::ffi::OsStr::from_bytes(b"no \xff text")), "").unwrap();
    let listing = Listing::new(&fs::File::open(folder.path()).unwrap()).unwrap();
    let mut found: Vec<_> = names(listing, |_| {})
        .into_iter()
        .map(|name| match name {
            Ok(entry) => format!("{}: {:?}", entry.name, entry.type_),
            Err(error) => format!("{error:?}"),
        })
        .collect();
    found.sort();
    let kinds = [
        ("file", DescriptorType::RegularFile),
        ("folder", DescriptorType::Directory),
        ("link", DescriptorType::SymbolicLink),
        ("pipe", DescriptorType::Unknown),
        ("socket", DescriptorType::Unknown),
    ];
    let mut expected = kinds.map(|(name, kind)| format!("{name}: {kind:?}")).to_vec();
    expected.push(format!("{:?}", ErrorCode::IllegalByteSequence));
    expected.sort();
    assert_eq!(found, expected);
}
