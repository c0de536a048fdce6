//! Filtering of reports.

use super::*;

fn sink() -> EventSink {
    let sink = EventSink::default();
    let names = HashSet::from([OsString::from("file"), OsString::from("sub")]);
    let directory = NamesInDirectory { directory: FileId { device: 1, inode: 2 }, names };
    let sub = NamesInDirectory {
        directory: FileId { device: 1, inode: 3 },
        names: HashSet::from([OsString::from("x")]),
    };
    sink.buffer
        .set_watched_names(WatchedNames(HashMap::from([("/a".into(), directory), ("/a/sub".into(), sub)])));
    sink
}

#[test]
fn reports_of_other_names_are_dropped() {
    let sink = sink();
    for number in 0..10_000 {
        sink.report(&PathBuf::from(format!("/a/{number}.o")), ChangeKind::Content);
        sink.report(&PathBuf::from(format!("/b/{number}/file")), ChangeKind::Removed);
    }
    sink.report(Path::new("/"), ChangeKind::Content);
    sink.report(Path::new(""), ChangeKind::Content);
    assert_eq!(sink.buffer.take(), SystemReports::default());
}

#[test]
fn reports_of_watched_names_are_kept_once() {
    let sink = sink();
    for _ in 0..1000 {
        sink.report(Path::new("/a/file"), ChangeKind::Content);
        sink.report(Path::new("/a/file"), ChangeKind::Metadata);
    }
    let entry = (FileId { device: 1, inode: 2 }, OsString::from("file"));
    let expected = SystemReports {
        any_change: true,
        changed_entries: BTreeSet::from([entry]),
        ..SystemReports::default()
    };
    assert_eq!(sink.buffer.take(), expected);
    assert!(sink.buffer.take().is_empty());
}

#[test]
fn removed_directory_is_kept_by_path() {
    let sink = sink();
    sink.report(Path::new("/a/sub"), ChangeKind::Removed);
    let reports = sink.buffer.take();
    assert_eq!(reports.removed_directories, BTreeSet::from([PathBuf::from("/a/sub")]));
    assert_eq!(reports.changed_entries.len(), 1);
    sink.report(Path::new("/a"), ChangeKind::Removed);
    assert_eq!(sink.buffer.take().removed_directories, BTreeSet::from([PathBuf::from("/a")]));
}

#[test]
fn permission_change_is_not_a_content_change() {
    let sink = sink();
    sink.report(Path::new("/a/file"), ChangeKind::Metadata);
    assert_eq!(sink.buffer.take(), SystemReports { any_change: true, ..SystemReports::default() });
}

#[test]
fn first_reason_for_failing_is_kept() {
    let sink = sink();
    sink.failed("first".to_owned());
    sink.failed("second".to_owned());
    assert_eq!(sink.buffer.take().failed.as_deref(), Some("first"));
}
