//! A system that reports nothing, or not everything.

use super::super::mailbox::ChangeKind;
use super::fake::FakeSystem;
use super::*;

fn file() -> PathBuf {
    "/d/file".into()
}

fn start(fake: &Arc<FakeSystem>, poll: Duration) -> Driver {
    fake.change(&file(), 1);
    Driver::start(Arc::<FakeSystem>::clone(fake), &[&file()], poll)
}

/// A change that the system doesn't report is found within about a second.
fn assert_polled(fake: &FakeSystem, driver: &mut Driver, version: i64) {
    let begun = driver.now;
    fake.change(&file(), version);
    assert_eq!(driver.next_files(), paths(&[&file()]));
    let took = driver.now - begun;
    assert!(took <= SECOND + SECOND / 5, "{took:?}");
}

#[test]
fn polls_until_the_system_reports_again() {
    let fake = Arc::new(FakeSystem::default());
    fake.set_start_error(Some(WatchError::Limit("too many open files".to_owned())));
    let mut driver = start(&fake, 30 * SECOND);
    assert_eq!(driver.next_mode(), WatchMode::Polling("too many open files".to_owned()));
    assert_polled(&fake, &mut driver, 2);
    fake.set_start_error(None);
    let begun = driver.now;
    assert_eq!(driver.next_mode(), WatchMode::Events);
    assert!(driver.now - begun <= 65 * SECOND, "{:?}", driver.now - begun);
    assert_eq!(fake.starts(), 2);
    fake.change(&file(), 3);
    fake.report(&file(), ChangeKind::Content);
    assert_eq!(driver.next_files(), paths(&[&file()]));
}

#[test]
fn restarts_reports_that_failed() {
    let fake = Arc::new(FakeSystem::default());
    let mut driver = start(&fake, 30 * SECOND);
    assert_eq!(driver.next_mode(), WatchMode::Events);
    fake.change(&file(), 2);
    fake.sink().failed("it broke".to_owned());
    assert_eq!(driver.next_mode(), WatchMode::Polling("it broke".to_owned()));
    assert_eq!(driver.next_files(), paths(&[&file()]));
    assert_polled(&fake, &mut driver, 3);
    assert_eq!(driver.next_mode(), WatchMode::Events);
    assert_eq!(fake.starts(), 2);
}

#[test]
fn polls_files_in_a_folder_that_cannot_be_watched() {
    let fake = Arc::new(FakeSystem::default());
    fake.refuse("/d", WatchError::Folder("permission denied".to_owned()));
    let mut driver = start(&fake, 30 * SECOND);
    let polling = WatchMode::Polling("can't watch `/d`: permission denied".to_owned());
    assert_eq!(driver.next_mode(), polling);
    for version in 2..6 {
        assert_polled(&fake, &mut driver, version);
    }
    fake.allow("/d");
    assert_eq!(driver.next_mode(), WatchMode::Events);
}

#[test]
fn lost_reports_probe_and_watch_everything_again() {
    let fake = Arc::new(FakeSystem::default());
    let mut driver = start(&fake, 30 * SECOND);
    assert_eq!(driver.next_mode(), WatchMode::Events);
    fake.take_requests();
    let begun = driver.now;
    fake.change(&file(), 2);
    fake.sink().overflowed();
    assert_eq!(driver.next_files(), paths(&[&file()]));
    assert!(driver.now - begun < SECOND, "{:?}", driver.now - begun);
    fake.change(&file(), 3);
    fake.report(&file(), ChangeKind::Content);
    assert_eq!(driver.next_files(), paths(&[&file()]));
    assert_eq!(fake.take_requests(), ["unwatch /d", "watch /d"]);
}

#[test]
fn removed_folder_is_watched_again() {
    let fake = Arc::new(FakeSystem::default());
    let mut driver = start(&fake, 30 * SECOND);
    assert_eq!(driver.next_mode(), WatchMode::Events);
    fake.take_requests();
    fake.report(Path::new("/d"), ChangeKind::Removed);
    fake.change(&file(), 2);
    assert_eq!(driver.next_files(), paths(&[&file()]));
    fake.change(&file(), 3);
    fake.report(&file(), ChangeKind::Content);
    assert_eq!(driver.next_files(), paths(&[&file()]));
    assert_eq!(fake.take_requests(), ["unwatch /d", "watch /d"]);
}

#[test]
fn files_that_are_no_longer_named_leave_nothing_behind() {
    let fake = Arc::new(FakeSystem::default());
    let mut driver = start(&fake, 30 * SECOND);
    assert_eq!(driver.next_mode(), WatchMode::Events);
    driver.set_files(&[]);
    assert_eq!(fake.take_requests(), ["watch /d", "unwatch /d"]);
    assert!(driver.watcher.files.is_empty());
    fake.change(&file(), 2);
    fake.report(&file(), ChangeKind::Content);
    assert_eq!(driver.next_within(NEVER), None);
}

#[test]
fn does_not_wait_for_a_folder_on_a_stalled_mount() {
    let fake = Arc::new(FakeSystem::default());
    fake.stall(Path::new("/d"));
    fake.change(&file(), 1);
    let mut driver = Driver::start(Arc::<FakeSystem>::clone(&fake), &[], Duration::ZERO);
    assert_eq!(driver.next_mode(), WatchMode::Events);
    driver.watcher.helper.set_timeout(SECOND / 5);
    driver.set_files(&[&file()]);
    let WatchMode::Polling(reason) = driver.next_mode() else { panic!("the directory is watched") };
    assert!(reason.contains("isn't responding"), "{reason}");
    fake.change(&file(), 2);
    assert_eq!(driver.next_files(), paths(&[&file()]));
    driver.resume(&fake, Path::new("/d"));
    assert_eq!(driver.next_mode(), WatchMode::Events);
    fake.change(&file(), 3);
    fake.report(&file(), ChangeKind::Content);
    assert_eq!(driver.next_files(), paths(&[&file()]));
}
