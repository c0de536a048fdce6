//! Counting and measuring of disk usage, in a real directory.

use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;

use super::*;

const ENTRY: u64 = NEW_ENTRY_BYTES;

/// A directory with two files, a subdirectory and links.
fn content() -> TempDir {
    let directory = TempDir::new().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("inner")).unwrap();
    fs::write(at("a"), [0; 100]).unwrap();
    fs::write(at("inner/b"), [0; 1000]).unwrap();
    symlink("/", at("root")).unwrap();
    symlink("inner", at("inner/again")).unwrap();
    directory
}

fn measured(directory: &Path, enough: u64, max_entries: usize) -> Option<u64> {
    content_size(&[directory.to_owned()], enough, max_entries).ok()
}

#[test]
fn measures_files_and_entries_without_following_links() {
    let directory = content();
    let path = directory.path();
    assert_eq!(measured(path, u64::MAX, 100), Some(5 * ENTRY + 1100));
    assert_eq!(measured(path, u64::MAX, 4), None, "too many entries");
    assert!(measured(path, ENTRY, 1).is_some_and(|size| size >= ENTRY), "enough is enough");
    assert_eq!(measured(&path.join("absent"), u64::MAX, 100), Some(0));
    assert_eq!(measured(&path.join("a"), u64::MAX, 100), None, "not a directory");
}

#[test]
fn directories_with_long_paths_are_collected_up_to_a_limit() {
    let root = TempDir::new().unwrap();
    let mut deepest = root.path().to_owned();
    let name = "d".repeat(250);
    while deepest.as_os_str().len() + name.len() < 3_900 {
        deepest.push(&name);
    }
    let directories = MAX_WAITING_BYTES / deepest.as_os_str().len() + 10;
    for number in 0..directories {
        fs::create_dir_all(deepest.join(number.to_string())).unwrap();
    }
    assert_eq!(measured(root.path(), u64::MAX, MAX_MEASURED_ENTRIES), None);
    fs::remove_dir_all(&deepest).unwrap();
    assert!(measured(root.path(), u64::MAX, MAX_MEASURED_ENTRIES).is_some());
}

#[test]
fn refuses_what_exceeds_the_limit_and_returns_what_failed() {
    let quota = DiskQuota::of_directory(100, Path::new("/"));
    quota.add(60).unwrap().keep();
    assert!(quota.add(41).is_none());
    drop(quota.add(40).unwrap());
    quota.add(40).unwrap().keep_part(10);
    assert_eq!(quota.added(), 70);
    quota.remove(1000);
    assert_eq!(quota.added(), 0, "removing other files allows no more than the limit");
    assert!(quota.add(101).is_none() && quota.add(u64::MAX).is_none());
}

#[tokio::test]
async fn a_measurement_lowers_the_usage_to_the_content() {
    let directory = content();
    let quota = DiskQuota::of_directory(100_000, directory.path());
    quota.add(40_000).unwrap().keep();
    tokio::task::yield_now().await;
    assert_eq!(quota.added(), 40_000, "at most half of the limit isn't measured");
    quota.add(40_000).unwrap().keep();
    let ended = || quota.measuring.measurable_at.lock().unwrap().is_some();
    while !ended() {
        tokio::task::yield_now().await;
    }
    assert_eq!(quota.added(), 5 * ENTRY + 1100);
}

/// A file that moves meanwhile can be missed, and one that is removed was already subtracted.
#[tokio::test]
async fn changes_during_a_measurement_invalidate_it() {
    let directory = TempDir::new().unwrap();
    let quota = DiskQuota::of_directory(100_000, directory.path());
    quota.add(40_000).unwrap().keep();
    let before = quota.snapshot().await;
    drop(quota.shrinking().await);
    quota.measure(&before);
    assert_eq!(quota.added(), 40_000);
    let before = quota.snapshot().await;
    quota.add(500).unwrap().keep();
    quota.measure(&before);
    assert_eq!(quota.added(), 500, "what was added meanwhile may not have been measured");
}

#[tokio::test]
async fn a_change_that_never_ends_stops_no_measurement_of_another_configuration() {
    let directory = content();
    let hung = DiskQuota::of_directory(100_000, directory.path());
    let reloaded =
        DiskQuota { usage: Arc::clone(&hung.usage), ..DiskQuota::of_directory(100_000, directory.path()) };
    let _change = hung.shrinking().await;
    hung.add(80_000).unwrap().keep();
    tokio::task::yield_now().await;
    assert!(reloaded.add(80_000).is_none());
    let ended = || reloaded.measuring.measurable_at.lock().unwrap().is_some();
    let measured = async {
        while !ended() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), measured).await.expect("it is measured");
    assert_eq!(reloaded.added(), 5 * ENTRY + 1100);
}

#[tokio::test]
async fn a_usage_is_corrected_by_one_measurement_at_a_time() {
    let directory = TempDir::new().unwrap();
    let quota = DiskQuota::of_directory(100_000, directory.path());
    quota.add(40_000).unwrap().keep();
    let (first, second) = (quota.snapshot().await, quota.snapshot().await);
    quota.measure(&first);
    quota.add(30_000).unwrap().keep();
    quota.measure(&second);
    assert_eq!(quota.added(), 30_000);
}
