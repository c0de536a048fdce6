//! When things are reported. The clock is the runtime's, which stands still while anything runs.

use tokio::time::sleep;

use super::super::quiet::{MOST, QUIET};
use super::fake::Fake;
use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// How exactly the end of a burst is noticed.
const SLACK: Duration = Duration::from_millis(30);

fn file() -> PathBuf {
    "/d/file".into()
}

fn other() -> PathBuf {
    "/d/other".into()
}

/// Watches the two files, which were there long before.
async fn start(fake: &Arc<Fake>, poll: Duration) -> Watch {
    fake.change(&file(), 1);
    fake.change(&other(), 1);
    let system = Arc::<Fake>::clone(fake);
    let mut watch = Watch::new(WatchOptions { poll, system, ..WatchOptions::default() });
    watch.set(set(&[&file(), &other()])).await;
    assert_eq!(watch.watching(), Watching::Events);
    watch
}

#[tokio::test(start_paused = true)]
async fn a_change_is_reported_when_it_is_quiet() {
    let fake = Arc::new(Fake::default());
    let mut watch = start(&fake, NEVER).await;
    let begun = Instant::now();
    fake.change(&file(), 2);
    fake.event(&file(), Change::Content);
    assert_eq!(files(&mut watch).await, set(&[&file()]));
    let took = begun.elapsed();
    assert!((QUIET..QUIET + SLACK).contains(&took), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn who_never_stops_writing_is_reported_nevertheless() {
    let fake = Arc::new(Fake::default());
    let mut watch = start(&fake, NEVER).await;
    let writer = tokio::spawn({
        let fake = Arc::clone(&fake);
        async move {
            for version in 2.. {
                fake.change(&file(), version);
                fake.event(&file(), Change::Content);
                sleep(QUIET / 3).await;
            }
        }
    });
    for _ in 0..5 {
        let begun = Instant::now();
        assert_eq!(files(&mut watch).await, set(&[&file()]));
        let took = begun.elapsed();
        assert!((QUIET..=MOST + QUIET).contains(&took), "{took:?}");
    }
    writer.abort();
}

#[tokio::test(start_paused = true)]
async fn a_thousand_events_cost_one_look_at_each_file() {
    let fake = Arc::new(Fake::default());
    let mut watch = start(&fake, NEVER).await;
    fake.looks();
    fake.change(&file(), 2);
    for _ in 0..1000 {
        fake.event(&file(), Change::Content);
    }
    assert_eq!(files(&mut watch).await, set(&[&file()]));
    assert_eq!(fake.looks(), 2);
}

#[tokio::test(start_paused = true)]
async fn files_that_nobody_asked_for_cost_no_look() {
    let fake = Arc::new(Fake::default());
    let mut watch = start(&fake, NEVER).await;
    fake.looks();
    for number in 0..10_000 {
        fake.event(&PathBuf::from(format!("/d/{number}.o")), Change::Content);
    }
    assert!(timeout(SECOND, watch.changed()).await.is_err());
    assert_eq!(fake.looks(), 0);
    fake.change(&file(), 2);
    fake.event(&file(), Change::Content);
    assert_eq!(files(&mut watch).await, set(&[&file()]));
    assert_eq!(fake.looks(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_change_without_an_event_is_found_by_looking() {
    let fake = Arc::new(Fake::default());
    let mut watch = start(&fake, 5 * SECOND).await;
    let begun = Instant::now();
    fake.change(&file(), 2);
    assert_eq!(files(&mut watch).await, set(&[&file()]));
    let took = begun.elapsed();
    assert!((QUIET..5 * SECOND + QUIET + SLACK).contains(&took), "{took:?}");
    // The times of this file system are exact and it was quiet: that was all.
    fake.change(&other(), 2);
    assert_eq!(files(&mut watch).await, set(&[&other()]));
}

#[tokio::test(start_paused = true)]
async fn two_writes_in_one_tick_of_a_coarse_clock_are_both_reported_and_no_third() {
    let fake = Arc::new(Fake::default());
    let mut watch = start(&fake, SECOND).await;
    fake.change_coarsely(&file(), 2);
    assert_eq!(files(&mut watch).await, set(&[&file()]));
    // The next write would leave no trace.
    let begun = Instant::now();
    assert_eq!(files(&mut watch).await, set(&[&file()]));
    assert!(begun.elapsed() < 3 * SECOND, "{:?}", begun.elapsed());
    assert!(timeout(60 * SECOND, watch.changed()).await.is_err());
    fake.change_coarsely(&other(), 2);
    assert_eq!(files(&mut watch).await, set(&[&other()]));
}

#[tokio::test(start_paused = true)]
async fn an_event_about_a_file_that_looks_the_same_is_passed_on_once() {
    let fake = Arc::new(Fake::default());
    let mut watch = start(&fake, NEVER).await;
    fake.event(&file(), Change::Content);
    assert_eq!(files(&mut watch).await, set(&[&file()]));
    // Its end of writing and its permissions say nothing of what it holds.
    fake.event(&file(), Change::Other);
    assert!(timeout(60 * SECOND, watch.changed()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn what_changed_before_it_was_named_is_reported_if_it_was_after_the_last_report() {
    let fake = Arc::new(Fake::default());
    let mut watch = start(&fake, NEVER).await;
    let third = PathBuf::from("/d/third");
    fake.change(&third, 1);
    fake.changed_at(SystemTime::now() - 60 * SECOND);
    watch.set(set(&[&file(), &other(), &third])).await;
    assert!(timeout(60 * SECOND, watch.changed()).await.is_err());
    watch.set(set(&[&file(), &other()])).await;
    fake.changed_at(SystemTime::now() + 60 * SECOND);
    watch.set(set(&[&file(), &other(), &third])).await;
    assert_eq!(files(&mut watch).await, set(&[&third]));
    assert!(timeout(60 * SECOND, watch.changed()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_named_anew_is_not_reported_for_what_was_before() {
    let fake = Arc::new(Fake::default());
    let mut watch = start(&fake, NEVER).await;
    watch.set(set(&[&other()])).await;
    fake.change(&file(), 2);
    fake.event(&file(), Change::Content);
    assert!(timeout(60 * SECOND, watch.changed()).await.is_err());
    watch.set(set(&[&file(), &other()])).await;
    fake.change(&other(), 2);
    fake.event(&other(), Change::Content);
    assert_eq!(files(&mut watch).await, set(&[&other()]));
}

#[tokio::test(start_paused = true)]
async fn a_change_is_not_lost_on_who_stops_waiting_again_and_again() {
    let fake = Arc::new(Fake::default());
    let mut watch = start(&fake, NEVER).await;
    let begun = Instant::now();
    fake.change(&file(), 2);
    fake.event(&file(), Change::Content);
    let noticed = loop {
        assert!(begun.elapsed() < SECOND, "it is lost");
        if let Ok(noticed) = timeout(Duration::from_millis(1), watch.changed()).await {
            break noticed;
        }
    };
    assert_eq!(noticed, Noticed::Files(set(&[&file()])));
}

#[tokio::test(start_paused = true)]
async fn other_settings_are_taken_while_it_watches() {
    let fake = Arc::new(Fake::default());
    let mut watch = start(&fake, NEVER).await;
    watch.reconfigure(Events::Off, 3 * SECOND).await;
    assert_eq!(watching(&mut watch).await, Watching::Polling("`watch = false`".to_owned()));
    fake.event(&file(), Change::Content);
    let begun = Instant::now();
    fake.change(&file(), 2);
    assert_eq!(files(&mut watch).await, set(&[&file()]));
    assert!(begun.elapsed() > SECOND, "{:?}", begun.elapsed());
    watch.reconfigure(Events::Off, Duration::ZERO).await;
    assert_eq!(watching(&mut watch).await, Watching::Off);
    fake.change(&file(), 3);
    assert!(timeout(NEVER, watch.changed()).await.is_err());
    watch.reconfigure(Events::On, NEVER).await;
    assert_eq!(watching(&mut watch).await, Watching::Events);
    assert_eq!(files(&mut watch).await, set(&[&file()]));
    assert_eq!(fake.starts(), 2);
}

/// By the real clock: the runtime's would run ahead of what blocks.
#[tokio::test]
async fn a_file_that_does_not_answer_does_not_keep_others_waiting() {
    let fake = Arc::new(Fake::default());
    let mut watch = start(&fake, SECOND).await;
    fake.stop_answering(&file());
    fake.change(&other(), 2);
    assert_eq!(files(&mut watch).await, set(&[&other()]));
    for version in 3..10 {
        fake.change(&other(), version);
        fake.event(&other(), Change::Content);
        assert_eq!(files(&mut watch).await, set(&[&other()]));
    }
    fake.change(&file(), 2);
    fake.answer(&file());
    assert_eq!(files(&mut watch).await, set(&[&file()]));
}
