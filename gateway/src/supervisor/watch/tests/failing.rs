//! A system that doesn't report, or not all of it.

use super::fake::Fake;
use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn file() -> PathBuf {
    "/d/file".into()
}

async fn start(fake: &Arc<Fake>, poll: Duration) -> Watch {
    fake.change(&file(), 1);
    let system = Arc::<Fake>::clone(fake);
    let mut watch = Watch::new(WatchOptions { poll, system, ..WatchOptions::default() });
    watch.set(set(&[&file()])).await;
    watch
}

/// A change that no event tells of is reported within a second or so.
async fn is_looked_at(fake: &Fake, watch: &mut Watch, version: i64) {
    let begun = Instant::now();
    fake.change(&file(), version);
    assert_eq!(files(watch).await, set(&[&file()]));
    assert!(begun.elapsed() <= SECOND + SECOND / 5, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn without_reports_files_are_looked_at_until_there_are_reports_again() {
    let fake = Arc::new(Fake::default());
    fake.refuse_to_start(Some(Failure::Limit("too many open files".to_owned())));
    let mut watch = start(&fake, 30 * SECOND).await;
    let polling = Watching::Polling("too many open files".to_owned());
    assert_eq!(watch.watching(), polling);
    assert_eq!(watching(&mut watch).await, polling);
    is_looked_at(&fake, &mut watch, 2).await;
    fake.refuse_to_start(None);
    let begun = Instant::now();
    assert_eq!(watching(&mut watch).await, Watching::Events);
    assert!(begun.elapsed() <= 65 * SECOND, "{:?}", begun.elapsed());
    assert_eq!(fake.starts(), 2);
    fake.change(&file(), 3);
    fake.event(&file(), Change::Content);
    assert_eq!(files(&mut watch).await, set(&[&file()]));
}

#[tokio::test(start_paused = true)]
async fn reports_that_end_are_asked_for_again() {
    let fake = Arc::new(Fake::default());
    let mut watch = start(&fake, 30 * SECOND).await;
    fake.change(&file(), 2);
    fake.sink().failed("it broke".to_owned());
    assert_eq!(files(&mut watch).await, set(&[&file()]));
    assert_eq!(watching(&mut watch).await, Watching::Polling("it broke".to_owned()));
    is_looked_at(&fake, &mut watch, 3).await;
    assert_eq!(watching(&mut watch).await, Watching::Events);
    assert_eq!(fake.starts(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_cannot_be_watched_is_named_once_and_its_files_are_looked_at() {
    let fake = Arc::new(Fake::default());
    fake.refuse("/d", Failure::Folder("permission denied".to_owned()));
    let mut watch = start(&fake, 30 * SECOND).await;
    let polling = Watching::Polling("`/d` can't be watched: permission denied".to_owned());
    assert_eq!(watching(&mut watch).await, polling);
    for version in 2..6 {
        is_looked_at(&fake, &mut watch, version).await;
    }
    fake.allow("/d");
    assert_eq!(watching(&mut watch).await, Watching::Events);
}

#[tokio::test(start_paused = true)]
async fn lost_reports_make_everything_be_looked_at_and_watched_anew() {
    let fake = Arc::new(Fake::default());
    let mut watch = start(&fake, 30 * SECOND).await;
    fake.asked();
    let begun = Instant::now();
    fake.change(&file(), 2);
    fake.sink().overflown();
    assert_eq!(files(&mut watch).await, set(&[&file()]));
    assert!(begun.elapsed() < SECOND, "{:?}", begun.elapsed());
    fake.change(&file(), 3);
    fake.event(&file(), Change::Content);
    assert_eq!(files(&mut watch).await, set(&[&file()]));
    assert_eq!(fake.asked(), ["unwatch /d", "watch /d"]);
}

#[tokio::test(start_paused = true)]
async fn a_folder_that_went_is_watched_anew() {
    let fake = Arc::new(Fake::default());
    let mut watch = start(&fake, 30 * SECOND).await;
    fake.asked();
    fake.event(Path::new("/d"), Change::Gone);
    fake.change(&file(), 2);
    assert_eq!(files(&mut watch).await, set(&[&file()]));
    fake.change(&file(), 3);
    fake.event(&file(), Change::Content);
    assert_eq!(files(&mut watch).await, set(&[&file()]));
    assert_eq!(fake.asked(), ["unwatch /d", "watch /d"]);
}

#[tokio::test(start_paused = true)]
async fn files_that_are_not_named_any_more_leave_nothing_behind() {
    let fake = Arc::new(Fake::default());
    let mut watch = start(&fake, 30 * SECOND).await;
    watch.set(BTreeSet::new()).await;
    assert_eq!(fake.asked(), ["watch /d", "unwatch /d"]);
    assert!(watch.files.is_empty());
    fake.change(&file(), 2);
    fake.event(&file(), Change::Content);
    assert!(timeout(NEVER, watch.changed()).await.is_err());
}

/// By the real clock: the runtime's would run ahead of what blocks.
#[tokio::test]
async fn a_folder_whose_mount_does_not_answer_is_not_waited_for() {
    let fake = Arc::new(Fake::default());
    fake.stop_answering(Path::new("/d"));
    let mut watch = start(&fake, Duration::ZERO).await;
    let Watching::Polling(reason) = watching(&mut watch).await else { panic!("nothing is wrong") };
    assert!(reason.contains("doesn't answer"), "{reason}");
    fake.change(&file(), 2);
    assert_eq!(files(&mut watch).await, set(&[&file()]));
    fake.answer(Path::new("/d"));
    assert_eq!(watching(&mut watch).await, Watching::Events);
    fake.change(&file(), 3);
    fake.event(&file(), Change::Content);
    assert_eq!(files(&mut watch).await, set(&[&file()]));
}
