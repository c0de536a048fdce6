//! Tests of futures that move to the background pool, and of what they keep there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use moongate_model::names::PluginId;
use tokio::sync::{Notify, oneshot};

use super::*;

fn is_in_background() -> bool {
    PLACE.get() == PollPlace::Background
}

/// Sets a flag when it is dropped, and reports where.
struct OnDrop(Option<oneshot::Sender<bool>>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        if let Some(dropped) = self.0.take() {
            let _ = dropped.send(is_in_background());
        }
    }
}

#[tokio::test]
async fn a_future_moves_when_it_asks_and_stays_there() {
    let places = MovableFuture::new(async {
        let before = is_in_background();
        tokio::task::yield_now().await;
        let still = is_in_background();
        move_to_background(WorkOwner::default()).await;
        let after = is_in_background();
        tokio::task::yield_now().await;
        [before, still, after, is_in_background()]
    });
    assert_eq!(places.await, [false, false, true, true]);
}

#[tokio::test]
async fn a_future_returns_when_it_requests_it_and_can_move_again() {
    let places = MovableFuture::new(async {
        let mut places = Vec::new();
        for _ in 0..3 {
            move_to_background(WorkOwner::default()).await;
            places.push(is_in_background());
            request_return();
            tokio::task::yield_now().await;
            places.push(is_in_background());
        }
        places
    });
    assert_eq!(places.await, [true, false, true, false, true, false]);
}

#[tokio::test]
async fn a_future_within_one_that_has_moved_does_not_take_it_back() {
    let place = MovableFuture::new(async {
        move_to_background(WorkOwner::default()).await;
        MovableFuture::new(async {
            request_return();
            tokio::task::yield_now().await;
        })
        .await;
        is_in_background()
    });
    assert!(place.await);
}

#[tokio::test]
async fn a_future_that_never_asks_stays() {
    let here = thread::current().id();
    let polled_by = MovableFuture::new(async {
        tokio::task::yield_now().await;
        thread::current().id()
    });
    assert_eq!(polled_by.await, here);
    move_to_background(WorkOwner::default()).await; // outside of a movable future
    assert!(!is_in_background());
}

#[tokio::test]
async fn the_innermost_movable_future_moves() {
    let outer = MovableFuture::new(async {
        let inner = MovableFuture::new(async {
            move_to_background(WorkOwner::default()).await;
            is_in_background()
        });
        (inner.await, is_in_background())
    });
    assert_eq!(outer.await, (true, false));
}

#[tokio::test]
async fn timers_tasks_and_blocking_work_stay_with_the_runtime() {
    let runtime = Handle::current().id();
    let found = spawn(&Caller::Local, async move {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let spawned = tokio::spawn(async { (is_in_background(), Handle::current().id()) }).await.unwrap();
        let blocking = tokio::task::spawn_blocking(is_in_background).await.unwrap();
        (Handle::current().id(), spawned, blocking, is_in_background())
    });
    assert_eq!(found.await, (runtime, (false, runtime), false, true));
}

#[tokio::test]
async fn a_panic_reaches_the_task_that_waits() {
    let waiting = tokio::spawn(run(&Caller::Local, || panic!("as this test wants")));
    assert!(waiting.await.unwrap_err().is_panic());
    assert_eq!(run(&Caller::Local, || 1).await, 1, "the pool's threads survive");
}

#[tokio::test]
async fn dropping_the_future_drops_it_on_the_pool() {
    let (dropped, is_dropped) = oneshot::channel();
    let (begin, begun) = oneshot::channel();
    let waiting = tokio::spawn(spawn(&Caller::Local, async move {
        let _guard = OnDrop(Some(dropped));
        let _ = begin.send(());
        std::future::pending::<()>().await;
    }));
    begun.await.unwrap();
    waiting.abort();
    assert!(is_dropped.await.unwrap());
}

#[tokio::test]
async fn a_future_that_never_waits_is_dropped_after_its_present_poll() {
    let (dropped, is_dropped) = oneshot::channel();
    let (begin, begun) = oneshot::channel();
    let waiting = tokio::spawn(spawn(&Caller::Local, async move {
        let _guard = OnDrop(Some(dropped));
        let _ = begin.send(());
        loop {
            tokio::task::yield_now().await;
        }
    }));
    begun.await.unwrap();
    waiting.abort();
    assert!(is_dropped.await.unwrap());
}

#[tokio::test]
async fn many_futures_take_turns() {
    let stop = Arc::new(AtomicBool::new(false));
    let endless = (0..16).map(|_| {
        let stop = Arc::clone(&stop);
        tokio::spawn(spawn(&Caller::Local, async move {
            while !stop.load(Ordering::Relaxed) {
                tokio::task::yield_now().await;
            }
        }))
    });
    let endless: Vec<_> = endless.collect();
    for _ in 0..100 {
        run(&Caller::Local, || ()).await;
    }
    stop.store(true, Ordering::Relaxed);
    for task in endless {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn wakes_from_other_threads_arrive() {
    let notify = Arc::new(Notify::new());
    let waits = Arc::clone(&notify);
    let (begin, begun) = oneshot::channel();
    let waiting = tokio::spawn(spawn(&Caller::Local, async move {
        let _ = begin.send(());
        waits.notified().await;
        is_in_background()
    }));
    begun.await.unwrap();
    notify.notify_one();
    assert!(waiting.await.unwrap());
}

/// Computes for about a millisecond of processor time.
fn compute() {
    let started = thread_cpu_time();
    while thread_cpu_time() - started < Duration::from_millis(1) {}
}

#[tokio::test]
async fn a_plugin_with_many_calls_leaves_half_of_the_time_to_another() {
    let [busy, honest] = ["busy", "honest"].map(|name| PluginId::new(name).unwrap());
    let polls = Arc::new(AtomicU32::new(0));
    let work = |plugin: &PluginId, count: u32, polls: &Arc<AtomicU32>| {
        let (plugin, polls) = (plugin.clone(), Arc::clone(polls));
        tokio::spawn(MovableFuture::new(async move {
            move_to_background(WorkOwner { plugin: Some(&plugin), caller: Some(&Caller::Local) }).await;
            for _ in 0..count {
                compute();
                polls.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        }))
    };
    let many: Vec<_> = (0..16).map(|_| work(&busy, u32::MAX, &polls)).collect();
    while polls.load(Ordering::Relaxed) < 100 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let before = polls.load(Ordering::Relaxed);
    work(&honest, 50, &Arc::default()).await.unwrap();
    let meanwhile = polls.load(Ordering::Relaxed) - before;
    many.iter().for_each(tokio::task::JoinHandle::abort);
    // Each thread polls one of them while it polls the other. In turns without accounts, it would be 16 of them.
    let threads = u32::try_from(available_parallelism().unwrap().get()).unwrap();
    assert!(meanwhile < 50 * 2 * threads, "{meanwhile}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn its_threads_have_the_lowest_priority() {
    let niceness = || {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let fields = stat.rsplit(')').next().unwrap().split_whitespace();
        fields.skip(16).map(str::to_owned).next().unwrap()
    };
    assert_eq!(run(&Caller::Local, niceness).await, "19");
    assert_ne!(niceness(), "19");
}
