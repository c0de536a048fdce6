//! Tests of when permits are released.

use std::sync::mpsc;

use super::*;

fn id(name: &str) -> PluginId {
    PluginId::new(name).unwrap()
}

/// Starts work that continues until the sender is dropped, and drops its future.
async fn leave_work_in(lane: &BlockingLimiter) -> mpsc::Sender<()> {
    let (release, released) = mpsc::channel::<()>();
    let (begin, begun) = tokio::sync::oneshot::channel();
    let lane = lane.clone();
    let waiting = tokio::spawn(async move {
        let work = move || {
            let _ = begin.send(());
            let _ = released.recv();
        };
        lane.run(work).await
    });
    begun.await.unwrap();
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    release
}

/// Reports whether every permit is taken.
fn is_taken(lane: &BlockingLimiter) -> bool {
    lane.0.available_permits() == 0
}

#[tokio::test]
async fn abandoned_work_keeps_its_permit_until_it_ends() {
    let lane = BlockingLimiter::new(2);
    let first = leave_work_in(&lane).await;
    assert_eq!(lane.run(|| 1).await.unwrap(), 1, "another thread is free");
    let second = leave_work_in(&lane).await;
    assert!(is_taken(&lane));
    drop(first);
    assert_eq!(lane.run(|| 2).await.unwrap(), 2);
    drop(second);
}

#[tokio::test]
async fn each_plugin_has_its_own_limit() {
    let lanes = PluginBlockingLimiters::new(1);
    let release = leave_work_in(&lanes.for_plugin(&id("a"))).await;
    assert_eq!(lanes.for_plugin(&id("b")).run(|| 1).await.unwrap(), 1);
    assert!(is_taken(&lanes.for_plugin(&id("a"))), "its thread still runs, so the lane is still taken");
    drop(release);
    assert_eq!(lanes.for_plugin(&id("a")).run(|| 2).await.unwrap(), 2);
}

#[tokio::test]
async fn a_panic_releases_the_permit() {
    let lane = BlockingLimiter::new(1);
    assert!(lane.run(|| panic!("requested by the test")).await.unwrap_err().is_panic());
    assert_eq!(lane.run(|| 1).await.unwrap(), 1);
}
