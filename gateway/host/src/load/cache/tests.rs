//! The cache of compiled code: reused, rebuilt and rejected entries.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::sync::Arc;

use moongate_model::plugin::Plugin as _;
use tempfile::TempDir;

use super::*;
use crate::tests::{Guest, config, host, load_file};

/// The entries with code, with their inodes, which change when a file is rewritten.
fn entries(dir: &Path) -> Vec<(PathBuf, u64)> {
    let entries = fs::read_dir(dir.join("cache")).unwrap().map(|entry| entry.unwrap());
    let code = entries.filter(|entry| entry.path().extension().is_some_and(|it| it == "cwasm"));
    code.map(|entry| (entry.path(), entry.metadata().unwrap().ino())).collect()
}

#[tokio::test]
async fn a_second_load_uses_the_cached_code() {
    let dir = TempDir::new().unwrap();
    let config = Arc::new(config(dir.path(), &Guest::default().build()));
    let one = host(dir.path());
    let two = host(dir.path());
    load_file(&one, &config).await.unwrap();
    let first = entries(dir.path());
    assert_eq!(first.len(), 1);
    assert_eq!(fs::metadata(&first[0].0).unwrap().mode() & 0o777, 0o600);
    load_file(&one, &config).await.unwrap();
    load_file(&two, &config).await.unwrap();
    assert_eq!(entries(dir.path()), first);
    // A host that starts later also uses it.
    assert!(load_file(&host(dir.path()), &config).await.is_ok());
    assert_eq!(entries(dir.path()), first);
}

#[tokio::test]
async fn hosts_can_compile_the_same_component_concurrently() {
    let dir = TempDir::new().unwrap();
    let config = Arc::new(config(dir.path(), &Guest::default().build()));
    let hosts: Vec<_> = (0..4).map(|_| host(dir.path())).collect();
    let loads = hosts.iter().map(|host| load_file(host, &config));
    for plugin in futures_util::future::join_all(loads).await {
        assert_eq!(plugin.unwrap().manifest().tools.len(), 1);
    }
    assert_eq!(entries(dir.path()).len(), 1);
}

#[tokio::test]
async fn rebuilds_corrupt_entries() {
    let dir = TempDir::new().unwrap();
    let config = Arc::new(config(dir.path(), &Guest::default().build()));
    load_file(&host(dir.path()), &config).await.unwrap();
    let (entry, _) = entries(dir.path()).remove(0);
    let whole = fs::read(&entry).unwrap();
    for broken in [&b""[..], b"nonsense", &whole[..whole.len() / 2]] {
        fs::remove_file(&entry).unwrap();
        fs::write(&entry, broken).unwrap();
        load_file(&host(dir.path()), &config).await.unwrap();
        assert_eq!(fs::read(&entry).unwrap().len(), whole.len());
    }
    // A single flipped bit. In most places, the engine itself wouldn't notice.
    for at in [whole.len() / 3, whole.len() - 1] {
        let mut flipped = whole.clone();
        flipped[at] ^= 4;
        fs::write(&entry, flipped).unwrap();
        load_file(&host(dir.path()), &config).await.unwrap();
        assert!(fs::read(&entry).unwrap() == whole, "byte {at}");
    }
}

#[tokio::test]
async fn ignores_entries_that_others_can_write() {
    let dir = TempDir::new().unwrap();
    let config = Arc::new(config(dir.path(), &Guest::default().build()));
    load_file(&host(dir.path()), &config).await.unwrap();
    let (entry, _) = entries(dir.path()).remove(0);
    // Writable by others.
    fs::set_permissions(&entry, fs::Permissions::from_mode(0o666)).unwrap();
    load_file(&host(dir.path()), &config).await.unwrap();
    assert_eq!(fs::metadata(&entry).unwrap().mode() & 0o777, 0o600);
    // A symlink, even to a valid entry.
    let elsewhere = dir.path().join("elsewhere.cwasm");
    fs::rename(&entry, &elsewhere).unwrap();
    symlink(&elsewhere, &entry).unwrap();
    load_file(&host(dir.path()), &config).await.unwrap();
    assert!(fs::symlink_metadata(&entry).unwrap().is_file());
}

#[tokio::test]
async fn refuses_a_directory_that_others_can_write() {
    let dir = TempDir::new().unwrap();
    let cache = dir.path().join("cache");
    fs::create_dir(&cache).unwrap();
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(CodeCache::open(&cache), Err(PrivateDirError::WritableByOthers { mode: 0o777, .. })));
    // The plugin is compiled in memory, and the host reports the reason.
    let host = host(dir.path());
    assert!(matches!(host.cache_error(), Some(PrivateDirError::WritableByOthers { .. })));
    let config = Arc::new(config(dir.path(), &Guest::default().build()));
    assert!(load_file(&host, &config).await.is_ok());
    assert_eq!(entries(dir.path()), []);

    let link = dir.path().join("link");
    symlink(dir.path(), &link).unwrap();
    assert!(matches!(CodeCache::open(&link), Err(PrivateDirError::NotADirectory(_))));
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(CodeCache::open(&file).is_err());
}

#[test]
fn directories_named_like_entries_are_ignored() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("cache");
    for name in ["x.cwasm", "x.cwasm.0.tmp"] {
        fs::create_dir_all(path.join(name)).unwrap();
        fs::write(path.join(name).join("inside"), "").unwrap();
    }
    fs::write(path.join("y.cwasm"), "code of another user").unwrap();
    // A group had access, so entries are deleted when the directory is opened.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o2770)).unwrap();
    let cache = CodeCache::open(&path).unwrap();
    cache.prune();
    assert_eq!(
        ["x.cwasm", "x.cwasm.0.tmp", "y.cwasm"].map(|name| path.join(name).exists()),
        [true, true, false]
    );
}

#[test]
fn creates_a_private_directory_and_evicts_old_entries() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a/b");
    let cache = CodeCache::open(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
    for (name, days, stays) in
        [("old.cwasm", 31, false), ("new.cwasm", 29, true), ("x.tmp", 1, false), ("other", 99, true)]
    {
        file(&path.join(name), days, 0);
        cache.prune();
        assert_eq!(path.join(name).exists(), stays, "{name}");
    }
    // A file that is being written.
    File::create(path.join("y.tmp")).unwrap();
    cache.prune();
    assert!(path.join("y.tmp").exists());
}

/// A sparse file that was used `days` ago.
fn file(path: &Path, days: u64, size: u64) {
    let file = File::create(path).unwrap();
    file.set_len(size).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60)).unwrap();
}

#[test]
fn evicts_the_oldest_entries_above_the_maximum_size() {
    let dir = TempDir::new().unwrap();
    let cache = CodeCache::open(&dir.path().join("cache")).unwrap();
    let at = |name: &str| dir.path().join("cache").join(name);
    for (name, days, size) in
        [("a.cwasm", 3, MAX_BYTES / 2), ("b.cwasm", 2, MAX_BYTES / 4), ("c.cwasm", 1, MAX_BYTES / 4)]
    {
        file(&at(name), days, size);
    }
    cache.prune();
    assert_eq!(["a.cwasm", "b.cwasm", "c.cwasm"].map(|name| at(name).exists()), [true; 3]);
    file(&at("d.cwasm"), 0, 1);
    cache.prune();
    let left = ["a.cwasm", "b.cwasm", "c.cwasm", "d.cwasm"].map(|name| at(name).exists());
    assert_eq!(left, [false, true, true, true]);
    // An entry above the maximum size is kept alone.
    file(&at("e.cwasm"), 0, 2 * MAX_BYTES);
    fs::remove_file(at("d.cwasm")).unwrap();
    cache.prune();
    assert_eq!(["b.cwasm", "c.cwasm", "e.cwasm"].map(|name| at(name).exists()), [false, false, true]);
}

#[tokio::test]
async fn adding_an_entry_evicts_old_ones() {
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let old = dir.path().join("cache/old.cwasm");
    file(&old, 31, 1);
    load_file(&host, &Arc::new(config(dir.path(), &Guest::default().build()))).await.unwrap();
    assert!(!old.exists() && entries(dir.path()).len() == 1);
}

#[tokio::test]
async fn using_an_entry_updates_its_time() {
    let dir = TempDir::new().unwrap();
    let config = Arc::new(config(dir.path(), &Guest::default().build()));
    load_file(&host(dir.path()), &config).await.unwrap();
    let (entry, inode) = entries(dir.path()).remove(0);
    File::options()
        .write(true)
        .open(&entry)
        .unwrap()
        .set_modified(SystemTime::now() - Duration::from_secs(29 * 24 * 60 * 60))
        .unwrap();
    load_file(&host(dir.path()), &config).await.unwrap();
    assert_eq!(entries(dir.path()), [(entry.clone(), inode)]);
    assert!(fs::metadata(&entry).unwrap().modified().map(age).unwrap() < TOUCH_INTERVAL);
}

#[tokio::test]
async fn creates_a_removed_directory_again() {
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let config = Arc::new(config(dir.path(), &Guest::default().build()));
    fs::remove_dir_all(dir.path().join("cache")).unwrap();
    load_file(&host, &config).await.unwrap();
    assert_eq!(entries(dir.path()).len(), 1);
    assert_eq!(fs::metadata(dir.path().join("cache")).unwrap().mode() & 0o777, 0o700);
}
