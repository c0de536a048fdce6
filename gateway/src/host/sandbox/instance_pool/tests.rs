//! Who waits, for how long, and for whom; numbers stand for instances.

use std::time::Duration;

use super::*;

fn own(all: &Arc<Waiting<u32>>) -> Own<u32> {
    all.own(PluginId::new("guest").unwrap())
}

fn named(name: &str) -> Principal {
    Principal::Named(name.into())
}

fn stay(most: u32) -> Stay {
    Stay { until: Instant::now() + Duration::from_secs(30), most }
}

/// The call that gives its place to the instance.
fn alone() -> u32 {
    1
}

#[tokio::test(start_paused = true)]
async fn an_instance_waits_for_its_own_caller_and_plugin() {
    let all = Waiting::new(8);
    let (one, other) = (own(&all), own(&all));
    one.park(named("ann"), 1, stay(8), alone);
    assert_eq!((one.take(&named("bob")), one.take(&Principal::Local)), (None, None));
    assert_eq!(other.take(&named("ann")), None);
    assert_eq!((one.take(&named("ann")), one.take(&named("ann"))), (Some(1), None));
    assert_eq!(all.total(), 0);
}

#[test]
fn who_has_no_name_shares_with_nobody() {
    assert!(shares(&Principal::Local) && shares(&named("ann")));
    assert!(!shares(&Principal::Anonymous));
}

#[tokio::test(start_paused = true)]
async fn the_last_that_came_goes_first_and_the_others_end_in_time() {
    let all = Waiting::new(8);
    let own = own(&all);
    own.park(Principal::Local, 1, stay(8), alone);
    tokio::time::sleep(Duration::from_secs(20)).await;
    own.park(Principal::Local, 2, stay(8), alone);
    own.park(Principal::Local, 3, Stay { until: Instant::now() + Duration::from_secs(1), most: 8 }, alone);
    assert_eq!(all.counts().into_values().sum::<u32>(), 3);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(all.total(), 2, "one that may wait for less is looked at earlier");
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(all.total(), 1);
    assert_eq!(own.take(&Principal::Local), Some(2));
    // The task has ended; another one is there for whoever comes now.
    tokio::time::sleep(Duration::from_secs(60)).await;
    own.park(Principal::Local, 4, stay(8), alone);
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert_eq!(all.total(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_plugin_has_no_more_waiting_than_it_may_have_running() {
    let all = Waiting::new(8);
    let own = own(&all);
    for instance in 0..5 {
        own.park(named(&instance.to_string()), instance, stay(2), alone);
    }
    assert_eq!((all.total(), own.take(&named("2")), own.take(&named("4"))), (2, None, Some(4)));
    own.park(Principal::Local, 9, stay(0), alone);
    assert_eq!(own.take(&Principal::Local), None);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_in_the_place_of_a_call() {
    let all = Waiting::new(3);
    let (one, other) = (own(&all), own(&all));
    for instance in 0..3 {
        one.park(Principal::Local, instance, stay(8), alone);
    }
    assert_eq!(all.total(), 3);
    // Another call begins beside none, then beside one.
    all.make_room(|| 1);
    all.make_room(|| 2);
    assert_eq!((all.total(), one.take(&Principal::Local)), (1, Some(2)));
    // Two calls run, one of which ends: its instance may stay, and one beside it.
    other.park(Principal::Local, 5, stay(8), || 2);
    other.park(Principal::Local, 6, stay(8), || 2);
    other.park(Principal::Local, 7, stay(8), || 2);
    assert_eq!((all.total(), other.take(&Principal::Local)), (2, Some(7)));
    all.make_room(|| 9);
    assert_eq!(all.total(), 0);
}

#[tokio::test(start_paused = true)]
async fn where_code_ends_nobody_waits_any_more() {
    let all = Waiting::new(8);
    let (one, other) = (own(&all), own(&all));
    one.park(Principal::Local, 1, stay(8), alone);
    other.park(Principal::Local, 2, stay(8), alone);
    one.end();
    one.park(Principal::Local, 3, stay(8), alone);
    assert_eq!((all.total(), one.take(&Principal::Local)), (1, None));
    drop(other);
    assert_eq!(all.total(), 0);
}
