//! The folder of compiled code: found again, made anew, refused.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::sync::Arc;

use moongate_core::catalog::Plugin as _;
use tempfile::TempDir;

use super::*;
use crate::host::tests::{Guest, config, host, load_file};

/// The files of the cache, with what tells whether they were written anew.
fn entries(dir: &Path) -> Vec<(PathBuf, u64)> {
    let entries = fs::read_dir(dir.join("cache")).unwrap();
    entries.map(|entry| entry.unwrap()).map(|entry| (entry.path(), entry.metadata().unwrap().ino())).collect()
}

#[tokio::test]
async fn the_second_load_takes_what_the_first_one_compiled() {
    let dir = TempDir::new().unwrap();
    let config = Arc::new(config(dir.path(), &Guest::default().build()));
    let (one, two) = (host(dir.path()), host(dir.path()));
    load_file(&one, &config).await.unwrap();
    let first = entries(dir.path());
    assert_eq!(first.len(), 1);
    assert_eq!(fs::metadata(&first[0].0).unwrap().mode() & 0o777, 0o600);
    load_file(&one, &config).await.unwrap();
    load_file(&two, &config).await.unwrap();
    assert_eq!(entries(dir.path()), first);
    // A host that starts later finds it too.
    assert!(load_file(&host(dir.path()), &config).await.is_ok());
    assert_eq!(entries(dir.path()), first);
}

#[tokio::test]
async fn hosts_that_compile_the_same_at_once_dont_disturb_each_other() {
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
async fn an_entry_that_cant_be_used_is_made_anew() {
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
    // A single bit, anywhere: the engine itself wouldn't notice in most places.
    for at in [whole.len() / 3, whole.len() - 1] {
        let mut flipped = whole.clone();
        flipped[at] ^= 4;
        fs::write(&entry, flipped).unwrap();
        load_file(&host(dir.path()), &config).await.unwrap();
        assert!(fs::read(&entry).unwrap() == whole, "byte {at}");
    }
}

#[tokio::test]
async fn an_entry_that_isnt_ours_alone_isnt_trusted() {
    let dir = TempDir::new().unwrap();
    let config = Arc::new(config(dir.path(), &Guest::default().build()));
    load_file(&host(dir.path()), &config).await.unwrap();
    let (entry, _) = entries(dir.path()).remove(0);
    // One that others may write.
    fs::set_permissions(&entry, fs::Permissions::from_mode(0o666)).unwrap();
    load_file(&host(dir.path()), &config).await.unwrap();
    assert_eq!(fs::metadata(&entry).unwrap().mode() & 0o777, 0o600);
    // A link, even to what would be right.
    let elsewhere = dir.path().join("elsewhere.cwasm");
    fs::rename(&entry, &elsewhere).unwrap();
    symlink(&elsewhere, &entry).unwrap();
    load_file(&host(dir.path()), &config).await.unwrap();
    assert!(fs::symlink_metadata(&entry).unwrap().is_file());
}

#[tokio::test]
async fn a_folder_that_isnt_ours_alone_isnt_used() {
    let dir = TempDir::new().unwrap();
    let cache = dir.path().join("cache");
    fs::create_dir(&cache).unwrap();
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(Cache::open(&cache), Err(FolderError::Writable { mode: 0o777, .. })));
    // The plugin is compiled in memory, and the host says why.
    let host = host(dir.path());
    assert!(matches!(host.cache_problem(), Some(FolderError::Writable { .. })));
    let config = Arc::new(config(dir.path(), &Guest::default().build()));
    assert!(load_file(&host, &config).await.is_ok());
    assert_eq!(entries(dir.path()), []);

    let link = dir.path().join("link");
    symlink(dir.path(), &link).unwrap();
    assert!(matches!(Cache::open(&link), Err(FolderError::NoFolder(_))));
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(Cache::open(&file).is_err());
}

#[test]
fn a_new_folder_is_ours_alone_and_old_entries_go() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a/b");
    let cache = Cache::open(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
    for (name, days, stays) in
        [("old.cwasm", 31, false), ("new.cwasm", 29, true), ("x.tmp", 1, false), ("other", 99, true)]
    {
        file(&path.join(name), days, 0);
        cache.prune();
        assert_eq!(path.join(name).exists(), stays, "{name}");
    }
    // One that is being written.
    File::create(path.join("y.tmp")).unwrap();
    cache.prune();
    assert!(path.join("y.tmp").exists());
}

/// A file that was used so many days ago, and has so many bytes without taking room.
fn file(path: &Path, days: u64, size: u64) {
    let file = File::create(path).unwrap();
    file.set_len(size).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60)).unwrap();
}

#[test]
fn where_there_is_too_much_what_was_used_last_stays() {
    let dir = TempDir::new().unwrap();
    let cache = Cache::open(&dir.path().join("cache")).unwrap();
    let at = |name: &str| dir.path().join("cache").join(name);
    for (name, days, size) in [("a.cwasm", 3, MOST / 2), ("b.cwasm", 2, MOST / 4), ("c.cwasm", 1, MOST / 4)] {
        file(&at(name), days, size);
    }
    cache.prune();
    assert_eq!(["a.cwasm", "b.cwasm", "c.cwasm"].map(|name| at(name).exists()), [true; 3]);
    file(&at("d.cwasm"), 0, 1);
    cache.prune();
    let left = ["a.cwasm", "b.cwasm", "c.cwasm", "d.cwasm"].map(|name| at(name).exists());
    assert_eq!(left, [false, true, true, true]);
    // One that is larger than all that is kept is kept alone.
    file(&at("e.cwasm"), 0, 2 * MOST);
    fs::remove_file(at("d.cwasm")).unwrap();
    cache.prune();
    assert_eq!(["b.cwasm", "c.cwasm", "e.cwasm"].map(|name| at(name).exists()), [false, false, true]);
}

#[tokio::test]
async fn keeping_one_more_makes_room() {
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let old = dir.path().join("cache/old.cwasm");
    file(&old, 31, 1);
    load_file(&host, &Arc::new(config(dir.path(), &Guest::default().build()))).await.unwrap();
    assert!(!old.exists() && entries(dir.path()).len() == 1);
}

#[tokio::test]
async fn an_entry_that_is_used_stays() {
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
    assert!(fs::metadata(&entry).unwrap().modified().map(age).unwrap() < NOTE);
}

#[tokio::test]
async fn a_folder_that_is_removed_while_the_gateway_serves_is_made_again() {
    let dir = TempDir::new().unwrap();
    let host = host(dir.path());
    let config = Arc::new(config(dir.path(), &Guest::default().build()));
    fs::remove_dir_all(dir.path().join("cache")).unwrap();
    load_file(&host, &config).await.unwrap();
    assert_eq!(entries(dir.path()).len(), 1);
    assert_eq!(fs::metadata(dir.path().join("cache")).unwrap().mode() & 0o777, 0o700);
}
