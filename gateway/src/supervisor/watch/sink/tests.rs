//! What is let through.

use super::*;

fn sink() -> Sink {
    let sink = Sink::default();
    let names = HashSet::from([OsString::from("file"), OsString::from("sub")]);
    let folder = Names { id: Id { device: 1, inode: 2 }, names };
    let sub = Names { id: Id { device: 1, inode: 3 }, names: HashSet::from([OsString::from("x")]) };
    sink.set_interest(Interest(HashMap::from([("/a".into(), folder), ("/a/sub".into(), sub)])));
    sink
}

#[test]
fn other_names_leave_nothing_behind() {
    let sink = sink();
    for number in 0..10_000 {
        sink.event(&PathBuf::from(format!("/a/{number}.o")), Change::Content);
        sink.event(&PathBuf::from(format!("/b/{number}/file")), Change::Gone);
    }
    sink.event(Path::new("/"), Change::Content);
    sink.event(Path::new(""), Change::Content);
    assert_eq!(sink.take(), Raised::default());
}

#[test]
fn names_of_interest_are_kept_once() {
    let sink = sink();
    for _ in 0..1000 {
        sink.event(Path::new("/a/file"), Change::Content);
        sink.event(Path::new("/a/file"), Change::Other);
    }
    let spot = (Id { device: 1, inode: 2 }, OsString::from("file"));
    let expected = Raised { stirred: true, touched: BTreeSet::from([spot]), ..Raised::default() };
    assert_eq!(sink.take(), expected);
    assert!(sink.take().is_empty());
}

#[test]
fn a_folder_that_went_is_known_by_name() {
    let sink = sink();
    sink.event(Path::new("/a/sub"), Change::Gone);
    let raised = sink.take();
    assert_eq!(raised.gone, BTreeSet::from([PathBuf::from("/a/sub")]));
    assert_eq!(raised.touched.len(), 1);
    sink.event(Path::new("/a"), Change::Gone);
    assert_eq!(sink.take().gone, BTreeSet::from([PathBuf::from("/a")]));
}

#[test]
fn a_change_of_permissions_stirs_but_says_nothing_of_the_content() {
    let sink = sink();
    sink.event(Path::new("/a/file"), Change::Other);
    assert_eq!(sink.take(), Raised { stirred: true, ..Raised::default() });
}

#[tokio::test]
async fn what_was_reported_before_anyone_waited_is_not_lost() {
    let sink = sink();
    sink.overflown();
    sink.raised().await;
    assert!(sink.take().overflown);
    let other = sink.clone();
    let waiting = tokio::spawn(async move {
        other.raised().await;
        other.take().failed
    });
    tokio::task::yield_now().await;
    sink.failed("first".to_owned());
    sink.failed("second".to_owned());
    let failed = waiting.await.unwrap();
    assert_eq!(failed.as_deref(), Some("first"));
}
