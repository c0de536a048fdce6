//! The watched directories, on a system that records requests.

use std::sync::Mutex;

use super::*;
use crate::supervisor::watch::tests::fake::FakeSystem;

fn step(directory: &str, inode: u64, name: &str, kind: StepKind) -> PathStep {
    PathStep { directory: directory.into(), id: FileId { device: 1, inode }, name: name.into(), kind }
}

fn wanted(steps: &[PathStep]) -> WantedDirectories {
    WantedDirectories::from_steps(steps.iter())
}

fn watches(fake: &Arc<FakeSystem>) -> DirectoryWatches {
    DirectoryWatches::new(Arc::<FakeSystem>::clone(fake), EventSink::default())
}

fn now() -> Instant {
    Instant::now()
}

#[test]
fn watches_each_directory_once_and_unwatches_unwanted_ones() {
    let fake = Arc::new(FakeSystem::default());
    let mut watches = watches(&fake);
    let file = step("/a", 1, "file", StepKind::Leaf);
    let both = wanted(&[
        step("/", 0, "a", StepKind::Directory),
        file.clone(),
        step("/a", 1, "other", StepKind::Leaf),
    ]);
    let outcome = watches.watch_only(&both, LostWatches::default(), now());
    assert_eq!(outcome, WatchUpdate { grown: true, trouble: None });
    assert_eq!(fake.take_requests(), ["watch /a", "watch /"]);
    assert_eq!(watches.watch_only(&both, LostWatches::default(), now()), WatchUpdate::default());
    assert!(fake.take_requests().is_empty());
    assert_eq!(watches.watch_only(&wanted(&[file]), LostWatches::default(), now()), WatchUpdate::default());
    assert_eq!(fake.take_requests(), ["unwatch /"]);
}

#[test]
fn watches_replaced_and_lost_directories_again() {
    let fake = Arc::new(FakeSystem::default());
    let mut watches = watches(&fake);
    let at =
        |inode| wanted(&[step("/", 0, "a", StepKind::Directory), step("/a", inode, "file", StepKind::Leaf)]);
    watches.watch_only(&at(1), LostWatches::default(), now());
    fake.take_requests();
    assert!(watches.watch_only(&at(2), LostWatches::default(), now()).grown);
    assert_eq!(fake.take_requests(), ["unwatch /a", "watch /a"]);
    // The new directory may have the old one's inode number.
    let gone = LostWatches { removed: BTreeSet::from(["/a".into()]), ..LostWatches::default() };
    assert!(watches.watch_only(&at(2), gone, now()).grown);
    assert_eq!(fake.take_requests(), ["unwatch /a", "watch /a"]);
    let all = LostWatches { all: true, ..LostWatches::default() };
    assert!(watches.watch_only(&at(2), all, now()).grown);
    assert_eq!(fake.take_requests(), ["unwatch /", "unwatch /a", "watch /a", "watch /"]);
    assert_eq!(watches.watched.len(), 2);
}

#[test]
fn watches_a_directory_once_that_is_mounted_twice() {
    let both = wanted(&[step("/a", 1, "one", StepKind::Leaf), step("/b", 1, "two", StepKind::Leaf)]);
    let WatchedNames(names) = both.names();
    assert_eq!(names.keys().collect::<Vec<_>>(), [Path::new("/a")]);
    assert_eq!(names[Path::new("/a")].names.len(), 2);
}

#[test]
fn unwatchable_directory_matters_only_if_changes_are_expected() {
    let fake = Arc::new(FakeSystem::default());
    let mut watches = watches(&fake);
    let denied = || WatchError::Directory("permission denied".to_owned());
    fake.refuse("/", denied());
    let steps = [step("/", 0, "a", StepKind::Directory), step("/a", 1, "file", StepKind::Leaf)];
    assert_eq!(
        watches.watch_only(&wanted(&steps), LostWatches::default(), now()),
        WatchUpdate { grown: true, trouble: None }
    );
    fake.refuse("/b", denied());
    let steps = [step("/a", 1, "file", StepKind::Leaf), step("/b", 2, "file", StepKind::Leaf)];
    let trouble = Some("can't watch `/b`: permission denied".to_owned());
    assert_eq!(
        watches.watch_only(&wanted(&steps), LostWatches::default(), now()),
        WatchUpdate { grown: false, trouble }
    );
    // The directory is gone again, which its parent reports.
    fake.refuse("/b", WatchError::NotFound);
    assert_eq!(watches.watch_only(&wanted(&steps), LostWatches::default(), now()), WatchUpdate::default());
}

#[test]
fn keeps_important_watches_when_they_run_out() {
    let fake = Arc::new(FakeSystem::default());
    let mut watches = watches(&fake);
    fake.refuse("/", WatchError::Limit("no more".to_owned()));
    let steps = [step("/", 0, "a", StepKind::Directory), step("/a", 1, "file", StepKind::Leaf)];
    let outcome = watches.watch_only(&wanted(&steps), LostWatches::default(), now());
    assert_eq!(outcome, WatchUpdate { grown: true, trouble: Some("no more".to_owned()) });
    assert_eq!(watches.watched.keys().collect::<Vec<_>>(), [Path::new("/a")]);
    fake.allow("/");
    assert_eq!(
        watches.watch_only(&wanted(&steps), LostWatches::default(), now()),
        WatchUpdate { grown: true, trouble: None }
    );
}

#[test]
fn retries_a_failed_watcher_after_a_minute() {
    let fake = Arc::new(FakeSystem::default());
    let mut watches = watches(&fake);
    let begun = now();
    let steps = wanted(&[step("/a", 1, "file", StepKind::Leaf)]);
    fake.set_start_error(Some(WatchError::Limit("too many".to_owned())));
    let trouble = WatchUpdate { grown: false, trouble: Some("too many".to_owned()) };
    for time in [
        begun,
        begun + RESTART_INTERVAL / 2,
        begun + RESTART_INTERVAL,
        begun + RESTART_INTERVAL + RESTART_INTERVAL / 2,
    ] {
        assert_eq!(watches.watch_only(&steps, LostWatches::default(), time), trouble);
    }
    assert_eq!(fake.starts(), 2);
    fake.set_start_error(None);
    assert_eq!(
        watches.watch_only(&steps, LostWatches::default(), begun + 2 * RESTART_INTERVAL),
        WatchUpdate { grown: true, trouble: None }
    );
    let failed = || LostWatches { failed: Some("it broke".to_owned()), ..LostWatches::default() };
    let trouble = WatchUpdate { grown: false, trouble: Some("it broke".to_owned()) };
    assert_eq!(watches.watch_only(&steps, failed(), begun + 2 * RESTART_INTERVAL), trouble);
    assert_eq!(fake.starts(), 3);
    fake.refuse("/a", WatchError::Ended("it has ended".to_owned()));
    let trouble = WatchUpdate { grown: false, trouble: Some("it has ended".to_owned()) };
    assert_eq!(watches.watch_only(&steps, LostWatches::default(), begun + 3 * RESTART_INTERVAL), trouble);
    assert_eq!(watches.watch_only(&steps, LostWatches::default(), begun + 3 * RESTART_INTERVAL), trouble);
    fake.allow("/a");
    assert_eq!(
        watches.watch_only(&steps, LostWatches::default(), begun + 4 * RESTART_INTERVAL),
        WatchUpdate { grown: true, trouble: None }
    );
}

#[test]
fn clear_drops_the_watcher() {
    #[derive(Debug, Default)]
    struct Dropped(Arc<Mutex<usize>>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    impl DirectoryWatcher for Dropped {
        fn watch(&mut self, _: &Path) -> Result<(), WatchError> {
            Ok(())
        }
        fn unwatch(&mut self, _: &Path) {}
    }
    let dropped = Arc::new(Mutex::new(0));
    let mut watches = watches(&Arc::default());
    watches.watcher = Some(Box::new(Dropped(Arc::clone(&dropped))));
    watches.clear();
    assert_eq!(*dropped.lock().unwrap(), 1);
}
