//! Tests of queues, rejections and fairness between plugins.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::*;

fn id(name: &str) -> PluginId {
    PluginId::new(name).unwrap()
}

/// Requests a permit with a queue of two.
async fn admit(
    limiter: &ConcurrencyLimiter,
    plugin: &str,
    concurrency: u32,
) -> Result<CallPermit, CallError> {
    limiter.admit(&id(plugin), concurrency, 2, &CancellationToken::new()).await
}

/// Requests a permit in a task of its own, and lets it run until it blocks.
async fn ask(
    limiter: &Arc<ConcurrencyLimiter>,
    plugin: &'static str,
    concurrency: u32,
) -> JoinHandle<Result<CallPermit, CallError>> {
    let limiter = Arc::clone(limiter);
    let task = tokio::spawn(async move { admit(&limiter, plugin, concurrency).await });
    tokio::task::yield_now().await;
    task
}

/// With paused time this isn't a delay: it ends as soon as nothing else can happen.
async fn waits(task: &mut JoinHandle<Result<CallPermit, CallError>>) -> bool {
    timeout(Duration::from_secs(60), task).await.is_err()
}

#[tokio::test(start_paused = true)]
async fn calls_above_the_concurrency_wait_in_order() {
    let limiter = Arc::new(ConcurrencyLimiter::new(10));
    let first = admit(&limiter, "a", 1).await.unwrap();
    let mut second = ask(&limiter, "a", 1).await;
    let mut third = ask(&limiter, "a", 1).await;
    assert!(waits(&mut second).await && waits(&mut third).await);
    assert_eq!(limiter.load(&id("a")), CallLoad { running: 1, waiting: 2 });
    drop(first);
    let permit = second.await.unwrap().unwrap();
    assert!(waits(&mut third).await, "the later call still waits");
    drop(permit);
    drop(third.await.unwrap().unwrap());
    assert_eq!(limiter.load(&id("a")), CallLoad::default());
}

#[tokio::test(start_paused = true)]
async fn full_queue_rejects_immediately() {
    let limiter = Arc::new(ConcurrencyLimiter::new(10));
    let _running = admit(&limiter, "a", 1).await.unwrap();
    let second = ask(&limiter, "a", 1).await;
    let _third = ask(&limiter, "a", 1).await;
    let busy = BusyReason::Plugin { running: 1, waiting: 2 };
    assert_eq!(admit(&limiter, "a", 1).await.unwrap_err(), CallError::Busy(busy));
    drop(admit(&limiter, "b", 1).await.expect("another plugin isn't concerned"));
    second.abort();
    assert!(second.await.unwrap_err().is_cancelled());
    assert_eq!(limiter.load(&id("a")).waiting, 1, "a call that gives up makes room");
}

#[tokio::test(start_paused = true)]
async fn no_plugin_gets_the_last_permit() {
    let limiter = Arc::new(ConcurrencyLimiter::new(3));
    let _a1 = admit(&limiter, "a", 100).await.unwrap();
    let _a2 = admit(&limiter, "a", 100).await.unwrap();
    let mut a3 = ask(&limiter, "a", 100).await;
    assert!(waits(&mut a3).await);
    let b1 = admit(&limiter, "b", 100).await.expect("another plugin gets through");
    let mut c1 = ask(&limiter, "c", 100).await;
    assert!(waits(&mut c1).await, "three calls run");
    assert_eq!(limiter.load(&id("c")), CallLoad { running: 0, waiting: 1 });
    drop(b1);
    drop(c1.await.unwrap().expect("what waits for the gateway comes before what waits for its own plugin"));
    assert!(!a3.is_finished());
}

#[tokio::test(start_paused = true)]
async fn plugin_without_queue_waits_for_the_gateway() {
    let limiter = Arc::new(ConcurrencyLimiter::new(1));
    let running = admit(&limiter, "a", 1).await.unwrap();
    let other = Arc::clone(&limiter);
    let mut task = tokio::spawn(async move { other.admit(&id("b"), 1, 0, &CancellationToken::new()).await });
    assert!(waits(&mut task).await);
    drop(running);
    drop(task.await.unwrap().unwrap());
}

#[tokio::test(start_paused = true)]
async fn limits_waiting_calls_of_all_plugins() {
    let limiter = Arc::new(ConcurrencyLimiter::new(1));
    let _running = admit(&limiter, "a", 1).await.unwrap();
    let mut waiting = Vec::new();
    for number in 0..MIN_WAITING_CALLS {
        let limiter = Arc::clone(&limiter);
        let plugin = id(&format!("p{number}"));
        waiting
            .push(tokio::spawn(async move { limiter.admit(&plugin, 1, 1, &CancellationToken::new()).await }));
    }
    while limiter.waiting.load(Ordering::Relaxed) < MIN_WAITING_CALLS {
        tokio::task::yield_now().await;
    }
    assert_eq!(admit(&limiter, "b", 1).await.unwrap_err(), CallError::Busy(BusyReason::Gateway));
    assert_eq!(limiter.load(&id("b")), CallLoad::default());
    waiting.iter().for_each(JoinHandle::abort);
}

#[tokio::test(start_paused = true)]
async fn cancelled_call_leaves_the_queue() {
    let limiter = Arc::new(ConcurrencyLimiter::new(4));
    let running = admit(&limiter, "a", 1).await.unwrap();
    let cancel = CancellationToken::new();
    let plugin = id("a");
    let mut waiting = std::pin::pin!(limiter.admit(&plugin, 1, 2, &cancel));
    assert!(timeout(Duration::from_secs(60), &mut waiting).await.is_err());
    cancel.cancel();
    assert_eq!(waiting.await.unwrap_err(), CallError::Cancelled);
    assert_eq!(limiter.load(&plugin), CallLoad { running: 1, waiting: 0 });
    drop(running);
    assert_eq!(limiter.admit(&plugin, 1, 2, &cancel).await.unwrap_err(), CallError::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn changed_concurrency_applies_immediately() {
    let limiter = Arc::new(ConcurrencyLimiter::new(10));
    let three = [
        admit(&limiter, "a", 3).await.unwrap(),
        admit(&limiter, "a", 3).await.unwrap(),
        admit(&limiter, "a", 3).await.unwrap(),
    ];
    let mut next = ask(&limiter, "a", 2).await;
    let [first, second, third] = three;
    drop(first);
    assert!(waits(&mut next).await, "two calls still run");
    drop(second);
    let next = next.await.unwrap().unwrap();
    let _fourth = admit(&limiter, "a", 3).await.expect("raised again");
    drop((third, next));
}

#[tokio::test(start_paused = true)]
async fn keeps_plugins_with_calls() {
    let limiter = ConcurrencyLimiter::new(4);
    let running = admit(&limiter, "a", 1).await.unwrap();
    drop(admit(&limiter, "b", 1).await.unwrap());
    limiter.retain(|_| false);
    assert_eq!(limiter.loads(), [(id("a"), CallLoad { running: 1, waiting: 0 })]);
    drop(running);
    limiter.retain(|_| false);
    assert_eq!(limiter.loads(), []);
}

#[tokio::test(start_paused = true)]
async fn idle_without_running_or_waiting_calls() {
    let limiter = Arc::new(ConcurrencyLimiter::new(10));
    limiter.idle().await;
    let first = admit(&limiter, "a", 1).await.unwrap();
    let second = ask(&limiter, "a", 1).await;
    let third = ask(&limiter, "b", 1).await;
    let idle = Arc::clone(&limiter);
    let mut idle = tokio::spawn(async move { idle.idle().await });
    let mut is_idle = async || timeout(Duration::from_secs(60), &mut idle).await.is_ok();
    drop(first);
    let second = second.await.unwrap().unwrap();
    assert!(!is_idle().await, "the waiting call runs now");
    drop(second);
    assert!(!is_idle().await, "another plugin's call runs");
    drop(third.await.unwrap().unwrap());
    assert!(is_idle().await);
    let _again = admit(&limiter, "a", 1).await.unwrap();
    assert!(timeout(Duration::from_secs(60), limiter.idle()).await.is_err());
}
