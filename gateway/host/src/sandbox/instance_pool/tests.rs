//! Reuse of idle instances, by time and principal. Numbers represent instances.

use std::time::Duration;

use super::*;

fn plugin_pool(all: &Arc<InstancePool<u32>>) -> PluginPool<u32> {
    all.for_plugin(PluginId::new("guest").unwrap())
}

fn named(name: &str) -> Principal {
    Principal::Named(name.into())
}

fn policy(max_idle: u32) -> IdlePolicy {
    IdlePolicy { expires_at: Instant::now() + Duration::from_secs(30), clearings: 0, max_idle }
}

/// Only the call that the instance served is running.
fn one_running() -> u32 {
    1
}

#[tokio::test(start_paused = true)]
async fn reuses_an_instance_for_its_own_principal_and_plugin() {
    let all = InstancePool::new(8);
    let one = plugin_pool(&all);
    let other = plugin_pool(&all);
    one.put(named("ann"), 1, policy(8), one_running);
    assert_eq!((one.take(&named("bob")), one.take(&Principal::Local)), (None, None));
    assert_eq!(other.take(&named("ann")), None);
    assert_eq!((one.take(&named("ann")), one.take(&named("ann"))), (Some(1), None));
    assert_eq!(all.total(), 0);
}

#[test]
fn anonymous_callers_never_reuse_instances() {
    assert!(can_reuse(&Principal::Local) && can_reuse(&named("ann")));
    assert!(!can_reuse(&Principal::Anonymous));
}

#[tokio::test(start_paused = true)]
async fn takes_the_latest_instance_and_expires_the_others() {
    let all = InstancePool::new(8);
    let pool = plugin_pool(&all);
    pool.put(Principal::Local, 1, policy(8), one_running);
    tokio::time::sleep(Duration::from_secs(20)).await;
    pool.put(Principal::Local, 2, policy(8), one_running);
    let short = IdlePolicy { expires_at: Instant::now() + Duration::from_secs(1), clearings: 0, max_idle: 8 };
    pool.put(Principal::Local, 3, short, one_running);
    assert_eq!(all.counts().into_values().sum::<u32>(), 3);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(all.total(), 2, "an earlier expiry is noticed");
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(all.total(), 1);
    assert_eq!(pool.take(&Principal::Local), Some(2));
    // The expiry task has ended; a new one starts with the next instance.
    tokio::time::sleep(Duration::from_secs(60)).await;
    pool.put(Principal::Local, 4, policy(8), one_running);
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert_eq!(all.total(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_plugin_has_at_most_max_idle_instances() {
    let all = InstancePool::new(8);
    let pool = plugin_pool(&all);
    for instance in 0..5 {
        pool.put(named(&instance.to_string()), instance, policy(2), one_running);
    }
    assert_eq!((all.total(), pool.take(&named("2")), pool.take(&named("4"))), (2, None, Some(4)));
    pool.put(Principal::Local, 9, policy(0), one_running);
    assert_eq!(pool.take(&Principal::Local), None);
}

#[tokio::test(start_paused = true)]
async fn idle_instances_give_way_to_calls() {
    let all = InstancePool::new(3);
    let one = plugin_pool(&all);
    let other = plugin_pool(&all);
    for instance in 0..3 {
        one.put(Principal::Local, instance, policy(8), one_running);
    }
    assert_eq!(all.total(), 3);
    // A call starts while none is running, then another while one is running.
    all.make_room(|| 1);
    all.make_room(|| 2);
    assert_eq!((all.total(), one.take(&Principal::Local)), (1, Some(2)));
    // Two calls are running and one of them ends: its instance can be kept, and one more.
    other.put(Principal::Local, 5, policy(8), || 2);
    other.put(Principal::Local, 6, policy(8), || 2);
    other.put(Principal::Local, 7, policy(8), || 2);
    assert_eq!((all.total(), other.take(&Principal::Local)), (2, Some(7)));
    all.make_room(|| 9);
    assert_eq!(all.total(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_closed_pool_accepts_no_instances() {
    let all = InstancePool::new(8);
    let one = plugin_pool(&all);
    let other = plugin_pool(&all);
    one.put(Principal::Local, 1, policy(8), one_running);
    other.put(Principal::Local, 2, policy(8), one_running);
    one.close();
    one.put(Principal::Local, 3, policy(8), one_running);
    assert_eq!((all.total(), one.take(&Principal::Local)), (1, None));
    drop(other);
    assert_eq!(all.total(), 0);
}

#[tokio::test]
async fn instances_of_calls_that_began_before_a_clearing_are_not_kept() {
    let all = InstancePool::new(8);
    let pool = plugin_pool(&all);
    let before = policy(8);
    all.clear();
    pool.put(named("ann"), 1, before, one_running);
    assert_eq!((pool.take(&named("ann")), all.total()), (None, 0));
    pool.put(named("ann"), 2, IdlePolicy { clearings: all.clearings(), ..before }, one_running);
    assert_eq!(pool.take(&named("ann")), Some(2));
}
