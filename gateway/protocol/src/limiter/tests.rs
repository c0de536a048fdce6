//! Tests of queues, rejections, and fairness between plugins and between callers.

use std::num::NonZeroU32;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::*;
use crate::call::RateScope;
use crate::call_rate::CallRate;
use crate::catalog::fake::bare_policy;

fn id(name: &str) -> PluginId {
    PluginId::new(name).unwrap()
}

fn policy(plugin: &str, concurrency: u32, queue: u32) -> PluginPolicy {
    PluginPolicy { concurrency, queue, ..bare_policy(&id(plugin)) }
}

/// A call of a client.
fn call_of(name: &str) -> CallContext {
    CallContext::internal(Caller::Named(name.into()))
}

/// Requests a permit with a queue of two.
async fn admit(
    limiter: &ConcurrencyLimiter,
    plugin: &str,
    concurrency: u32,
) -> Result<CallPermit, CallError> {
    limiter.admit(&policy(plugin, concurrency, 2), &CallContext::internal(Caller::Local)).await
}

/// Requests a permit in a task of its own, and lets it run until it blocks.
async fn ask(
    limiter: &Arc<ConcurrencyLimiter>,
    plugin: &'static str,
    concurrency: u32,
) -> JoinHandle<Result<CallPermit, CallError>> {
    ask_for(limiter, policy(plugin, concurrency, 2), CallContext::internal(Caller::Local)).await
}

async fn ask_for(
    limiter: &Arc<ConcurrencyLimiter>,
    policy: PluginPolicy,
    context: CallContext,
) -> JoinHandle<Result<CallPermit, CallError>> {
    let limiter = Arc::clone(limiter);
    let task = tokio::spawn(async move { limiter.admit(&policy, &context).await });
    tokio::task::yield_now().await;
    task
}

/// With paused time this isn't a delay: it ends as soon as nothing else can happen.
async fn waits(task: &mut JoinHandle<Result<CallPermit, CallError>>) -> bool {
    timeout(Duration::from_millis(1), task).await.is_err()
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
    let mut task = ask_for(&limiter, policy("b", 1, 0), call_of("ann")).await;
    assert!(waits(&mut task).await);
    let busy = ask_for(&limiter, policy("b", 1, 0), call_of("bob")).await.await.unwrap();
    assert_eq!(busy.unwrap_err(), CallError::Busy(BusyReason::Plugin { running: 0, waiting: 1 }));
    drop(running);
    drop(task.await.unwrap().unwrap());
}

#[tokio::test(start_paused = true)]
async fn limits_waiting_calls_of_all_plugins() {
    let limiter = Arc::new(ConcurrencyLimiter::new(1));
    let _running = admit(&limiter, "a", 1).await.unwrap();
    let mut waiting = Vec::new();
    for number in 0..MIN_WAITING_CALLS {
        let context = CallContext::internal(Caller::Local);
        waiting.push(ask_for(&limiter, policy(&format!("p{number}"), 1, 1), context).await);
    }
    assert_eq!(limiter.places.used(), u64::from(MIN_WAITING_CALLS));
    assert_eq!(admit(&limiter, "b", 1).await.unwrap_err(), CallError::Busy(BusyReason::Gateway));
    assert_eq!(limiter.load(&id("b")), CallLoad::default());
    waiting.iter().for_each(JoinHandle::abort);
}

#[tokio::test(start_paused = true)]
async fn cancelled_call_leaves_the_queue() {
    let limiter = Arc::new(ConcurrencyLimiter::new(4));
    let running = admit(&limiter, "a", 1).await.unwrap();
    let context = call_of("ann");
    let policy = policy("a", 1, 2);
    let mut waiting = std::pin::pin!(limiter.admit(&policy, &context));
    assert!(timeout(Duration::from_secs(1), &mut waiting).await.is_err());
    context.cancel.cancel();
    assert_eq!(waiting.await.unwrap_err(), CallError::Cancelled);
    assert_eq!(limiter.load(&policy.id), CallLoad { running: 1, waiting: 0 });
    drop(running);
    assert_eq!(limiter.admit(&policy, &context).await.unwrap_err(), CallError::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn the_time_limit_includes_the_wait_of_every_kind() {
    let limiter = Arc::new(ConcurrencyLimiter::new(2));
    let late = |plugin: &str| PluginPolicy { timeout: Duration::from_secs(5), ..policy(plugin, 1, 2) };
    let _one = limiter.admit(&late("a"), &call_of("ann")).await.unwrap();
    let _two = limiter.admit(&late("b"), &call_of("ann")).await.unwrap();
    let started = Instant::now();
    for (plugin, waits_for) in [("a", "the plugin"), ("c", "the gateway")] {
        let context = call_of("bob");
        tokio::time::advance(Duration::from_secs(2)).await; // spent before it asked for a permit
        let error = limiter.admit(&late(plugin), &context).await.unwrap_err();
        assert_eq!(error, CallError::TimeoutBeforeStart(Duration::from_secs(5)), "waiting for {waits_for}");
        assert_eq!(context.arrived_at.elapsed(), Duration::from_secs(5), "waiting for {waits_for}");
        assert_eq!(limiter.load(&id(plugin)).waiting, 0);
    }
    assert_eq!(started.elapsed(), Duration::from_secs(10));
    let context = call_of("bob");
    tokio::time::advance(Duration::from_secs(5)).await;
    let idle = ConcurrencyLimiter::new(2);
    let error = idle.admit(&late("a"), &context).await.unwrap_err();
    assert_eq!(error, CallError::TimeoutBeforeStart(Duration::from_secs(5)), "slots are free");
}

#[tokio::test(start_paused = true)]
async fn a_caller_leaves_slots_and_places_of_a_plugin_to_others() {
    let limiter = Arc::new(ConcurrencyLimiter::new(64));
    let mut of_ann = Vec::new();
    for _ in 0..300 {
        of_ann.push(ask_for(&limiter, policy("a", 16, 256), call_of("ann")).await);
    }
    assert_eq!(limiter.load(&id("a")), CallLoad { running: 14, waiting: 224 });
    let refused = of_ann.pop().unwrap().await.unwrap().unwrap_err();
    assert_eq!(refused, CallError::Busy(BusyReason::PluginShare { running: 14, waiting: 224 }));
    let running = limiter.admit(&policy("a", 16, 256), &call_of("bob")).await.unwrap();
    let also_running = limiter.admit(&policy("a", 16, 256), &call_of("bob")).await.unwrap();
    let mut third = ask_for(&limiter, policy("a", 16, 256), call_of("bob")).await;
    assert!(waits(&mut third).await);
    of_ann.remove(0).await.unwrap().map(drop).unwrap();
    third.await.unwrap().map(drop).expect("it is next, although 224 calls wait for longer");
    drop((running, also_running));
    of_ann.iter().for_each(JoinHandle::abort);
}

#[tokio::test(start_paused = true)]
async fn several_slow_plugins_leave_slots_to_another_caller() {
    let limiter = Arc::new(ConcurrencyLimiter::new(64));
    let mut of_ann = Vec::new();
    for plugin in ["a", "b", "c", "d"] {
        for _ in 0..100 {
            of_ann.push(ask_for(&limiter, policy(plugin, 16, 256), call_of("ann")).await);
        }
    }
    assert_eq!(limiter.loads().iter().map(|(_, load)| load.running).sum::<u32>(), 56);
    for plugin in ["a", "b", "e"] {
        let mut permit = ask_for(&limiter, policy(plugin, 16, 256), call_of("bob")).await;
        drop(timeout(Duration::from_millis(1), &mut permit).await.expect("at once").unwrap().unwrap());
    }
    of_ann.iter().for_each(JoinHandle::abort);
}

#[tokio::test(start_paused = true)]
async fn a_caller_leaves_places_of_the_gateway_to_others() {
    let limiter = Arc::new(ConcurrencyLimiter::new(8));
    let mut of_ann = Vec::new();
    for number in 0..MIN_WAITING_CALLS {
        of_ann.push(ask_for(&limiter, policy(&format!("p{number}"), 1, 1), call_of("ann")).await);
    }
    let refused = of_ann.pop().unwrap().await.unwrap().unwrap_err();
    assert_eq!(refused, CallError::Busy(BusyReason::GatewayShare { running: 7, waiting: 896 }));
    let running = limiter.admit(&policy("x", 1, 1), &call_of("bob")).await.unwrap();
    let mut of_bob = ask_for(&limiter, policy("y", 1, 1), call_of("bob")).await;
    assert!(waits(&mut of_bob).await, "it isn't refused");
    drop(running);
    drop(of_bob.await.unwrap().unwrap());
    of_ann.iter().for_each(JoinHandle::abort);
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

#[tokio::test(start_paused = true)]
async fn calls_above_the_concurrency_of_a_caller_hold_no_slot() {
    let limiter = Arc::new(ConcurrencyLimiter::new(64));
    let limits = CallerLimits { concurrency: NonZeroU32::new(2), ..CallerLimits::default() };
    limiter.set_caller_limits(limits, None);
    let mut running = Vec::new();
    for plugin in ["a", "b"] {
        running.push(limiter.admit(&policy(plugin, 4, 4), &call_of("greedy")).await.unwrap());
    }
    let mut waiting = Vec::new();
    for _ in 0..8 {
        // More than the plugin's queue: they wait for their caller.
        waiting.push(ask_for(&limiter, policy("a", 4, 4), call_of("greedy")).await);
    }
    for task in &mut waiting {
        assert!(waits(task).await);
    }
    assert_eq!(limiter.load(&id("a")), CallLoad { running: 1, waiting: 8 });
    let other = [(); 2].map(|()| policy("a", 4, 0));
    let other = [
        limiter.admit(&other[0], &call_of("other")).await.unwrap(),
        limiter.admit(&other[1], &call_of("other")).await.unwrap(),
    ];
    drop(running.pop());
    drop(waiting.remove(0).await.unwrap().unwrap());
    limiter.set_caller_limits(CallerLimits::default(), None);
    drop(limiter.admit(&policy("b", 4, 4), &call_of("another")).await.unwrap());
    for task in waiting {
        drop(task.await.unwrap().unwrap());
    }
    drop((running, other));
    assert!(limiter.loads().iter().all(|(_, load)| *load == CallLoad::default()));
}

#[tokio::test(start_paused = true)]
async fn completions_and_later_rounds_are_not_counted_as_calls() {
    let limiter = ConcurrencyLimiter::new(64);
    let rate = CallRate { burst: NonZeroU32::MIN, ..CallRate::parse("60/min").unwrap() };
    let limits = CallerLimits { calls: Some(rate), completions: Some(rate), concurrency: None };
    limiter.set_caller_limits(limits, None);
    let policy = policy("a", 1, 1);
    let first = call_of("one");
    let later = CallContext { round_state: Some(Arc::from(*b"state")), ..call_of("one") };
    let scope = async |context: &CallContext, call: CountedAs<'static>| match limiter
        .count(&policy, context, call)
        .await
    {
        Ok(()) => None,
        Err(CallError::RateLimited(limited)) => Some((limited.scope, limited.retry_after_seconds())),
        Err(other) => panic!("{other}"),
    };
    assert_eq!(scope(&first, CountedAs::Completion).await, None);
    assert_eq!(scope(&first, CountedAs::Completion).await, Some((RateScope::Completions, 1)));
    assert_eq!(scope(&first, CountedAs::Other).await, None);
    for _ in 0..3 {
        assert_eq!(scope(&later, CountedAs::Other).await, None);
    }
    assert_eq!(scope(&first, CountedAs::Other).await, Some((RateScope::Caller, 1)));
    assert_eq!(scope(&call_of("two"), CountedAs::Other).await, None, "another caller");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(scope(&first, CountedAs::Other).await, None);
}
