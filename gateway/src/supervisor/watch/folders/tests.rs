//! Which folders are watched, against a system that remembers what it was asked.

use std::sync::Mutex;

use super::*;
use crate::supervisor::watch::tests::fake::Fake;

fn hop(folder: &str, inode: u64, name: &str, found: Found) -> Hop {
    Hop { folder: folder.into(), id: Id { device: 1, inode }, name: name.into(), found }
}

fn wanted(hops: &[Hop]) -> Wanted {
    Wanted::by(hops.iter())
}

fn folders(fake: &Arc<Fake>) -> Folders {
    Folders::new(Arc::<Fake>::clone(fake), Sink::default())
}

fn now() -> Instant {
    Instant::now()
}

#[test]
fn each_folder_is_watched_once_and_given_up_when_it_is_not_wanted() {
    let fake = Arc::new(Fake::default());
    let mut folders = folders(&fake);
    let file = hop("/a", 1, "file", Found::Other);
    let both = wanted(&[hop("/", 0, "a", Found::Folder), file.clone(), hop("/a", 1, "other", Found::Other)]);
    let fitted = folders.fit(&both, Lost::default(), now());
    assert_eq!(fitted, Fitted { grown: true, trouble: None });
    assert_eq!(fake.asked(), ["watch /a", "watch /"]);
    assert_eq!(folders.fit(&both, Lost::default(), now()), Fitted::default());
    assert!(fake.asked().is_empty());
    assert_eq!(folders.fit(&wanted(&[file]), Lost::default(), now()), Fitted::default());
    assert_eq!(fake.asked(), ["unwatch /"]);
}

#[test]
fn a_folder_that_was_replaced_or_lost_is_watched_anew() {
    let fake = Arc::new(Fake::default());
    let mut folders = folders(&fake);
    let at = |inode| wanted(&[hop("/", 0, "a", Found::Folder), hop("/a", inode, "file", Found::Other)]);
    folders.fit(&at(1), Lost::default(), now());
    fake.asked();
    assert!(folders.fit(&at(2), Lost::default(), now()).grown);
    assert_eq!(fake.asked(), ["unwatch /a", "watch /a"]);
    // The new one may have the old one's number.
    let gone = Lost { gone: BTreeSet::from(["/a".into()]), ..Lost::default() };
    assert!(folders.fit(&at(2), gone, now()).grown);
    assert_eq!(fake.asked(), ["unwatch /a", "watch /a"]);
    let all = Lost { all: true, ..Lost::default() };
    assert!(folders.fit(&at(2), all, now()).grown);
    assert_eq!(fake.asked(), ["unwatch /", "unwatch /a", "watch /a", "watch /"]);
    assert_eq!(folders.watched.len(), 2);
}

#[test]
fn a_folder_that_is_mounted_twice_is_watched_once() {
    let both = wanted(&[hop("/a", 1, "one", Found::Other), hop("/b", 1, "two", Found::Other)]);
    let Interest(names) = both.interest();
    assert_eq!(names.keys().collect::<Vec<_>>(), [Path::new("/a")]);
    assert_eq!(names[Path::new("/a")].names.len(), 2);
}

#[test]
fn a_folder_that_cannot_be_watched_matters_only_where_changes_are_expected() {
    let fake = Arc::new(Fake::default());
    let mut folders = folders(&fake);
    let denied = || Failure::Folder("permission denied".to_owned());
    fake.refuse("/", denied());
    let hops = [hop("/", 0, "a", Found::Folder), hop("/a", 1, "file", Found::Other)];
    assert_eq!(folders.fit(&wanted(&hops), Lost::default(), now()), Fitted { grown: true, trouble: None });
    fake.refuse("/b", denied());
    let hops = [hop("/a", 1, "file", Found::Other), hop("/b", 2, "file", Found::Other)];
    let trouble = Some("`/b` can't be watched: permission denied".to_owned());
    assert_eq!(folders.fit(&wanted(&hops), Lost::default(), now()), Fitted { grown: false, trouble });
    // It is gone again: that is said by the folder above it.
    fake.refuse("/b", Failure::NotThere);
    assert_eq!(folders.fit(&wanted(&hops), Lost::default(), now()), Fitted::default());
}

#[test]
fn where_watches_run_out_those_that_matter_are_kept() {
    let fake = Arc::new(Fake::default());
    let mut folders = folders(&fake);
    fake.refuse("/", Failure::Limit("no more".to_owned()));
    let hops = [hop("/", 0, "a", Found::Folder), hop("/a", 1, "file", Found::Other)];
    let fitted = folders.fit(&wanted(&hops), Lost::default(), now());
    assert_eq!(fitted, Fitted { grown: true, trouble: Some("no more".to_owned()) });
    assert_eq!(folders.watched.keys().collect::<Vec<_>>(), [Path::new("/a")]);
    fake.allow("/");
    assert_eq!(folders.fit(&wanted(&hops), Lost::default(), now()), Fitted { grown: true, trouble: None });
}

#[test]
fn what_cannot_be_started_is_tried_again_after_a_minute() {
    let fake = Arc::new(Fake::default());
    let mut folders = folders(&fake);
    let begun = now();
    let hops = wanted(&[hop("/a", 1, "file", Found::Other)]);
    fake.refuse_to_start(Some(Failure::Limit("too many".to_owned())));
    let trouble = Fitted { grown: false, trouble: Some("too many".to_owned()) };
    for time in [begun, begun + AGAIN / 2, begun + AGAIN, begun + AGAIN + AGAIN / 2] {
        assert_eq!(folders.fit(&hops, Lost::default(), time), trouble);
    }
    assert_eq!(fake.starts(), 2);
    fake.refuse_to_start(None);
    assert_eq!(folders.fit(&hops, Lost::default(), begun + 2 * AGAIN), Fitted { grown: true, trouble: None });
    let failed = || Lost { failed: Some("it broke".to_owned()), ..Lost::default() };
    let trouble = Fitted { grown: false, trouble: Some("it broke".to_owned()) };
    assert_eq!(folders.fit(&hops, failed(), begun + 2 * AGAIN), trouble);
    assert_eq!(fake.starts(), 3);
    fake.refuse("/a", Failure::Ended("it has ended".to_owned()));
    let trouble = Fitted { grown: false, trouble: Some("it has ended".to_owned()) };
    assert_eq!(folders.fit(&hops, Lost::default(), begun + 3 * AGAIN), trouble);
    assert_eq!(folders.fit(&hops, Lost::default(), begun + 3 * AGAIN), trouble);
    fake.allow("/a");
    assert_eq!(folders.fit(&hops, Lost::default(), begun + 4 * AGAIN), Fitted { grown: true, trouble: None });
}

#[test]
fn what_reports_is_let_go_when_it_is_not_wanted_any_more() {
    #[derive(Debug, Default)]
    struct Dropped(Arc<Mutex<usize>>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    impl Reports for Dropped {
        fn watch(&mut self, _: &Path) -> Result<(), Failure> {
            Ok(())
        }
        fn unwatch(&mut self, _: &Path) {}
    }
    let dropped = Arc::new(Mutex::new(0));
    let mut folders = folders(&Arc::default());
    folders.reports = Some(Box::new(Dropped(Arc::clone(&dropped))));
    folders.clear();
    assert_eq!(*dropped.lock().unwrap(), 1);
}
