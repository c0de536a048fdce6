//! The time at which changes are reported, by the driver's clock.

use super::super::burst::{MAX_BURST, QUIET_PERIOD};
use super::super::event_sink::ChangeKind;
use super::fake::FakeSystem;
use super::*;

/// The precision with which the end of a burst is detected.
const SLACK: Duration = Duration::from_millis(30);

fn file() -> PathBuf {
    "/d/file".into()
}

fn other() -> PathBuf {
    "/e/other".into()
}

/// Watches the two files, which are old.
fn start(fake: &Arc<FakeSystem>, poll: Duration) -> Driver {
    fake.change(&file(), 1);
    fake.change(&other(), 1);
    let mut driver = Driver::start(Arc::<FakeSystem>::clone(fake), &[&file(), &other()], poll);
    assert_eq!(driver.next_mode(), WatchMode::Events);
    driver
}

#[test]
fn change_is_reported_after_a_quiet_period() {
    let fake = Arc::new(FakeSystem::default());
    let mut driver = start(&fake, NEVER);
    let begun = driver.now;
    fake.change(&file(), 2);
    fake.report(&file(), ChangeKind::Content);
    assert_eq!(driver.next_files(), paths(&[&file()]));
    let took = driver.now - begun;
    assert!((QUIET_PERIOD..QUIET_PERIOD + SLACK).contains(&took), "{took:?}");
}

#[test]
fn file_that_is_written_all_the_time_is_reported() {
    let fake = Arc::new(FakeSystem::default());
    let mut driver = start(&fake, NEVER);
    let mut versions = 2..;
    for _ in 0..5 {
        let begun = driver.now;
        let event = loop {
            fake.change(&file(), versions.next().unwrap());
            fake.report(&file(), ChangeKind::Content);
            if let Some(event) = driver.next_within(QUIET_PERIOD / 3) {
                break event;
            }
        };
        assert_eq!(event, WatchEvent::FilesChanged(paths(&[&file()])));
        let took = driver.now - begun;
        assert!((QUIET_PERIOD..=MAX_BURST + QUIET_PERIOD).contains(&took), "{took:?}");
    }
}

#[test]
fn thousand_reports_cost_one_probe_of_each_file() {
    let fake = Arc::new(FakeSystem::default());
    let mut driver = start(&fake, NEVER);
    fake.take_probes();
    fake.change(&file(), 2);
    for _ in 0..1000 {
        fake.report(&file(), ChangeKind::Content);
    }
    assert_eq!(driver.next_files(), paths(&[&file()]));
    assert_eq!(fake.take_probes(), 2);
}

#[test]
fn reports_of_other_files_cost_no_probe() {
    let fake = Arc::new(FakeSystem::default());
    let mut driver = start(&fake, NEVER);
    fake.take_probes();
    for number in 0..10_000 {
        fake.report(&PathBuf::from(format!("/d/{number}.o")), ChangeKind::Content);
    }
    assert_eq!(driver.next_within(SECOND), None);
    assert_eq!(fake.take_probes(), 0);
    fake.change(&file(), 2);
    fake.report(&file(), ChangeKind::Content);
    assert_eq!(driver.next_files(), paths(&[&file()]));
    assert_eq!(fake.take_probes(), 2);
}

#[test]
fn unreported_change_is_found_by_polling() {
    let fake = Arc::new(FakeSystem::default());
    let mut driver = start(&fake, 5 * SECOND);
    let begun = driver.now;
    fake.change(&file(), 2);
    assert_eq!(driver.next_files(), paths(&[&file()]));
    let took = driver.now - begun;
    assert!((QUIET_PERIOD..5 * SECOND + QUIET_PERIOD + SLACK).contains(&took), "{took:?}");
    // The times of this file system are exact and it was quiet, so the file isn't reported again.
    fake.change(&other(), 2);
    assert_eq!(driver.next_files(), paths(&[&other()]));
}

#[test]
fn second_write_in_one_tick_of_a_coarse_clock_is_reported() {
    let fake = Arc::new(FakeSystem::default());
    let mut driver = start(&fake, SECOND);
    fake.change_coarsely(&file(), 2);
    assert_eq!(driver.next_files(), paths(&[&file()]));
    // The next write would leave no trace.
    let begun = driver.now;
    assert_eq!(driver.next_files(), paths(&[&file()]));
    assert!(driver.now - begun < 3 * SECOND, "{:?}", driver.now - begun);
    assert_eq!(driver.next_within(60 * SECOND), None);
    fake.change_coarsely(&other(), 2);
    assert_eq!(driver.next_files(), paths(&[&other()]));
}

#[test]
fn report_about_an_unchanged_stamp_is_forwarded_once() {
    let fake = Arc::new(FakeSystem::default());
    let mut driver = start(&fake, NEVER);
    fake.report(&file(), ChangeKind::Content);
    assert_eq!(driver.next_files(), paths(&[&file()]));
    // A closed writer and changed permissions don't affect the content.
    fake.report(&file(), ChangeKind::Metadata);
    assert_eq!(driver.next_within(60 * SECOND), None);
}

#[test]
fn change_between_the_last_report_and_naming_is_reported() {
    let fake = Arc::new(FakeSystem::default());
    let mut driver = start(&fake, NEVER);
    let third = PathBuf::from("/d/third");
    fake.change(&third, 1);
    fake.set_changed_at(SystemTime::now() - 60 * SECOND);
    driver.set_files(&[&file(), &other(), &third]);
    assert_eq!(driver.next_within(60 * SECOND), None);
    driver.set_files(&[&file(), &other()]);
    fake.set_changed_at(SystemTime::now() + 60 * SECOND);
    driver.set_files(&[&file(), &other(), &third]);
    assert_eq!(driver.next_files(), paths(&[&third]));
    assert_eq!(driver.next_within(60 * SECOND), None);
}

#[test]
fn file_that_is_named_again_is_not_reported_for_old_changes() {
    let fake = Arc::new(FakeSystem::default());
    let mut driver = start(&fake, NEVER);
    driver.set_files(&[&other()]);
    fake.change(&file(), 2);
    fake.report(&file(), ChangeKind::Content);
    assert_eq!(driver.next_within(60 * SECOND), None);
    driver.set_files(&[&file(), &other()]);
    fake.change(&other(), 2);
    fake.report(&other(), ChangeKind::Content);
    assert_eq!(driver.next_files(), paths(&[&other()]));
}

#[test]
fn new_settings_apply_while_watching() {
    let fake = Arc::new(FakeSystem::default());
    let mut driver = start(&fake, NEVER);
    driver.set_config(WatchConfig { watches_files: false, poll_interval: SECOND });
    assert_eq!(driver.next_mode(), WatchMode::Off);
    assert_eq!(fake.take_requests().last().unwrap(), "watch /e", "the watcher was dropped");
    fake.report(&file(), ChangeKind::Content);
    fake.change(&file(), 2);
    assert_eq!(driver.next_within(NEVER), None);
    driver.set_config(WatchConfig { watches_files: true, poll_interval: 3 * SECOND });
    assert_eq!(driver.next_mode(), WatchMode::Events);
    assert_eq!(fake.starts(), 2);
    let begun = driver.now;
    fake.change(&file(), 3);
    assert_eq!(driver.next_files(), paths(&[&file()]));
    assert!(driver.now - begun > SECOND, "{:?}", driver.now - begun);
}

#[test]
fn stalled_file_does_not_hold_up_others() {
    let fake = Arc::new(FakeSystem::default());
    let mut driver = start(&fake, SECOND);
    driver.watcher.helper.set_timeout(SECOND / 5);
    fake.stall(&file());
    fake.change(&other(), 2);
    assert_eq!(driver.next_files(), paths(&[&other()]));
    for version in 3..10 {
        fake.change(&other(), version);
        fake.report(&other(), ChangeKind::Content);
        assert_eq!(driver.next_files(), paths(&[&other()]));
    }
    fake.change(&file(), 2);
    driver.resume(&fake, &file());
    assert_eq!(driver.next_files(), paths(&[&file()]));
}

#[test]
fn stalled_mount_costs_one_probe() {
    let fake = Arc::new(FakeSystem::default());
    let mut driver = start(&fake, SECOND);
    let third = PathBuf::from("/d/third");
    driver.set_files(&[&file(), &other(), &third]);
    driver.watcher.helper.set_timeout(SECOND / 5);
    fake.stall(&file());
    fake.take_probes();
    for version in 2..4 {
        fake.change(&other(), version);
        assert_eq!(driver.next_files(), paths(&[&other()]));
        fake.change(&third, version);
    }
    assert_eq!(driver.next_within(10 * SECOND), None, "a file on the stalled mount was probed");
    driver.resume(&fake, &file());
    assert_eq!(driver.next_files(), paths(&[&third]));
}
