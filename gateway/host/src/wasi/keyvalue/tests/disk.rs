//! The database: shared, persistent, never replaced by memory, and left alone if it isn't Moongate's.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use rusqlite::Connection;

use super::super::database::{ConnectionRole, DATABASE_FILE};
use super::super::entries::StoreEntries;
use super::*;

fn file(directory: &TempDir) -> PathBuf {
    directory.path().join("state").join(DATABASE_FILE)
}

/// An existing state directory.
fn prepared() -> TempDir {
    let directory = TempDir::new().unwrap();
    let dir = directory.path().join("state");
    fs::create_dir(&dir).unwrap();
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
    directory
}

fn write_private(path: &Path, content: &[u8]) {
    fs::write(path, content).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// A state directory with one key, which no gateway uses any more.
async fn filled() -> TempDir {
    let directory = TempDir::new().unwrap();
    let kept = granted(&on_disk(directory.path()), "a", StateGrant::Own);
    kept.set("key".into(), b"kept".into(), PLENTY).await.unwrap();
    drop(kept);
    // The threads end a little later, and the last connection removes the log: of two that close at once, neither may
    // have been the last.
    while file(&directory).with_extension("sqlite3-wal").exists() {
        let last = Connection::open(file(&directory)).unwrap();
        let _ = last.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()));
        drop(last);
        tokio::task::yield_now().await;
    }
    directory
}

/// Checks that reading and writing fail for this reason.
async fn is_refused(directory: &TempDir, why: &str) {
    let stores = on_disk(directory.path());
    let kept = granted(&stores, "a", StateGrant::Own);
    assert_eq!(kept.get("key".into()).await, Err(StateError::Unavailable), "{why}");
    assert_eq!(kept.set("key".into(), b"new".into(), PLENTY).await, Err(StateError::Unavailable), "{why}");
    assert_eq!(kept.increment("n".into(), 1, PLENTY).await, Err(StateError::Unavailable), "{why}");
    let problem = stores.problem().await.map(|problem| problem.reason).unwrap_or_default();
    assert!(problem.contains(why), "{why}: {problem}");
}

#[tokio::test]
async fn state_outlives_the_host_and_is_private() {
    let directory = filled().await;
    let stores = on_disk(directory.path());
    let kept = granted(&stores, "a", StateGrant::Own);
    assert_eq!(kept.text("key").await.as_deref(), Some("kept"));
    assert_eq!(stores.problem().await, None);
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&directory.path().join("state")), 0o700);
    for entry in fs::read_dir(directory.path().join("state")).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[tokio::test]
async fn the_directory_is_created_with_the_first_store() {
    let directory = TempDir::new().unwrap();
    let stores = on_disk(directory.path());
    assert!(matches!(
        stores.of(&config("a", StateGrant::NotGranted), &Principal::Local),
        StoreAccess::Refused
    ));
    assert_eq!(stores.problem().await, None);
    assert!(!directory.path().join("state").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn hosts_can_share_a_new_directory() {
    let directory = TempDir::new().unwrap();
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let kept = granted(&on_disk(directory.path()), "a", StateGrant::Own);
            tokio::spawn(async move { count(&*kept.backend, &kept.owner, 25).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let kept = granted(&on_disk(directory.path()), "a", StateGrant::Own);
    for key in ["sum", "swapped"] {
        assert_eq!(kept.text(key).await.as_deref(), Some("100"), "{key}");
    }
}

#[tokio::test]
async fn the_limit_holds_across_hosts() {
    let directory = TempDir::new().unwrap();
    let [one, two] = [0; 2].map(|_| granted(&on_disk(directory.path()), "a", StateGrant::Own));
    let limit = 2 * ENTRY_OVERHEAD_BYTES + 2;
    one.set("a".into(), Vec::new(), limit).await.unwrap();
    two.set("b".into(), Vec::new(), limit).await.unwrap();
    assert_eq!(one.set("c".into(), Vec::new(), limit).await, Err(StateError::Full(limit)));
    two.delete("a".into()).await.unwrap();
    one.set("c".into(), Vec::new(), limit).await.unwrap();
    assert_eq!(two.size().await, limit);
}

#[tokio::test]
async fn refuses_directories_and_files_that_others_can_access() {
    let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let directory = filled().await;
    mode(&directory.path().join("state"), 0o770);
    is_refused(&directory, "is writable by others (mode 770").await;

    let directory = filled().await;
    mode(&file(&directory), 0o644);
    is_refused(&directory, "(mode 644 instead of 600)").await;

    let directory = TempDir::new().unwrap();
    fs::create_dir(directory.path().join("elsewhere")).unwrap();
    symlink(directory.path().join("elsewhere"), directory.path().join("state")).unwrap();
    is_refused(&directory, "isn't a directory, or is a symlink").await;
    assert_eq!(fs::read_dir(directory.path().join("elsewhere")).unwrap().count(), 0);

    let directory = prepared();
    write_private(&directory.path().join("elsewhere"), b"");
    symlink(directory.path().join("elsewhere"), file(&directory)).unwrap();
    is_refused(&directory, "is not a regular file").await;
    assert_eq!(fs::read(directory.path().join("elsewhere")).unwrap(), b"");

    let directory = prepared();
    fs::create_dir(file(&directory)).unwrap();
    is_refused(&directory, "is not a regular file").await;
}

#[tokio::test]
async fn leaves_other_files_unchanged() {
    for (content, why) in [
        (
            &b"notes of mine, certainly no database of anybody's, and longer than the head of one would be"[..],
            "not a database",
        ),
        (b"short", "not a database"),
    ] {
        let directory = prepared();
        write_private(&file(&directory), content);
        is_refused(&directory, why).await;
        assert_eq!(fs::read(file(&directory)).unwrap(), content);
    }
    for (statements, why) in [
        ("CREATE TABLE mine (a)", "the database of another program"),
        ("PRAGMA application_id = 7", "the database of another program"),
        (
            "PRAGMA application_id = 0x4d6f4e67; PRAGMA user_version = 2; CREATE TABLE stores (a)",
            "newer version of Moongate (schema version 2",
        ),
    ] {
        let directory = prepared();
        write_private(&file(&directory), b"");
        Connection::open(file(&directory)).unwrap().execute_batch(statements).unwrap();
        let before = fs::read(file(&directory)).unwrap();
        is_refused(&directory, why).await;
        assert!(fs::read(file(&directory)).unwrap() == before, "{statements}");
    }
}

#[tokio::test]
async fn a_damaged_database_is_unused_until_replaced() {
    let directory = filled().await;
    let whole = fs::read(file(&directory)).unwrap();
    let mut damaged = whole.clone();
    damaged[4096..].fill(0xa5);
    fs::write(file(&directory), &damaged).unwrap();
    is_refused(&directory, "is damaged").await;
    assert!(fs::read(file(&directory)).unwrap() == damaged);

    let stores = on_disk(directory.path());
    let kept = granted(&stores, "a", StateGrant::Own);
    assert!(kept.set("a".into(), Vec::new(), PLENTY).await.is_err());
    // Restore the backup.
    let saved = directory.path().join("saved");
    write_private(&saved, &whole);
    fs::rename(&saved, file(&directory)).unwrap();
    while stores.problem().await.is_some() {
        tokio::task::yield_now().await;
    }
    assert_eq!(kept.text("key").await.as_deref(), Some("kept"));
}

#[tokio::test]
async fn a_removed_database_is_created_again() {
    let directory = filled().await;
    let kept = granted(&on_disk(directory.path()), "a", StateGrant::Own);
    // Both threads have the file open. A thread that is still opening it would find a partial file.
    kept.set("other".into(), b"old".into(), PLENTY).await.unwrap();
    assert_eq!(kept.text("key").await.as_deref(), Some("kept"));
    fs::remove_dir_all(directory.path().join("state")).unwrap();
    kept.set("other".into(), b"new".into(), PLENTY).await.unwrap();
    assert_eq!(kept.text("key").await, None);
    let another = granted(&on_disk(directory.path()), "a", StateGrant::Own);
    assert_eq!(another.text("other").await.as_deref(), Some("new"));
}

#[tokio::test]
async fn a_full_disk_is_an_error_and_keeps_data() {
    let directory = filled().await;
    let database = Arc::new(StateDatabase::new(directory.path().join("state")));
    let stores = KeyValueStores::new(StateLocation::Shared(Arc::<StateDatabase>::clone(&database)));
    let kept = granted(&stores, "a", StateGrant::Own);
    // Limits the database to this many pages, like a full disk.
    let few =
        |StoreEntries { db, .. }: StoreEntries<'_>| db.pragma_update(None, "max_page_count", 20).map(Ok);
    database.on_entries(ConnectionRole::Writer, &kept.owner, few).await.unwrap();
    let large = kept.set("large".into(), vec![0; MAX_VALUE_BYTES], u64::MAX / 4).await;
    assert_eq!(large, Err(StateError::NoSpace));
    assert_eq!(kept.text("key").await.as_deref(), Some("kept"));
    assert_eq!(kept.exists("large".into()).await, Ok(false));
    assert_eq!(kept.size().await, ENTRY_OVERHEAD_BYTES + 7, "failed writes aren't counted");
    kept.set("small".into(), b"fits".into(), PLENTY).await.unwrap();
    assert_eq!(stores.problem().await, None);
}

#[tokio::test]
async fn writers_wait_for_other_processes_and_readers_do_not() {
    let directory = filled().await;
    let kept = granted(&on_disk(directory.path()), "a", StateGrant::Own);
    assert_eq!(kept.text("key").await.as_deref(), Some("kept"));
    let other = Connection::open(file(&directory)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let writer = {
        let kept = Arc::clone(&kept);
        tokio::spawn(async move { kept.set("key".into(), b"later".into(), PLENTY).await })
    };
    assert_eq!(kept.text("key").await.as_deref(), Some("kept"));
    // An abandoned operation is skipped.
    let abandoned = kept.set("key".into(), b"never".into(), PLENTY);
    assert!(tokio::time::timeout(std::time::Duration::from_millis(1), abandoned).await.is_err());
    other.execute_batch("COMMIT").unwrap();
    writer.await.unwrap().unwrap();
    kept.set("last".into(), b"1".into(), PLENTY).await.unwrap();
    assert_eq!(kept.text("key").await.as_deref(), Some("later"));
}

#[tokio::test]
async fn a_locked_database_is_an_error_after_a_while() {
    let directory = filled().await;
    let kept = granted(&on_disk(directory.path()), "a", StateGrant::Own);
    kept.set("key".into(), b"kept".into(), PLENTY).await.unwrap();
    let other = Connection::open(file(&directory)).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(kept.increment("n".into(), 1, PLENTY).await, Err(StateError::Busy));
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(kept.increment("n".into(), 1, PLENTY).await, Ok(1));
}

#[tokio::test]
async fn the_write_ahead_log_stays_short() {
    let directory = TempDir::new().unwrap();
    let kept = granted(&on_disk(directory.path()), "a", StateGrant::Own);
    for _ in 0..200 {
        kept.set("key".into(), vec![1; MAX_VALUE_BYTES / 2], PLENTY).await.unwrap();
    }
    let log = file(&directory).with_extension("sqlite3-wal");
    let (size, log) = (fs::metadata(file(&directory)).unwrap().len(), fs::metadata(log).unwrap().len());
    assert!(size < 4 << 20 && log < 20 << 20, "{size} and {log} bytes for half a MiB that is kept");
}
