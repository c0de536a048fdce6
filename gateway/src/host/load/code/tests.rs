//! How long code is held.

use super::*;

const AFTER: Duration = Duration::from_secs(30);
const REST: Duration = Duration::from_secs(10);
const MOMENT: Duration = Duration::from_millis(1);

fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_ended_gives_its_code_back_while_the_plugin_is_still_held() {
    let code = Arc::new(());
    let lease = Lease::new(Arc::clone(&code));
    lease.end(AFTER, REST);
    tokio::time::sleep(AFTER - MOMENT).await;
    let running = lease.code().unwrap();
    tokio::time::sleep(2 * MOMENT).await;
    assert!(lease.code().is_none() && lease.another().code().is_none());
    // The call that runs has some time left.
    assert!(!lease.over().is_cancelled());
    tokio::time::sleep(REST).await;
    assert!(lease.over().is_cancelled());
    drop(running);
    assert_eq!(Arc::strong_count(&code), 1);
    assert_eq!(tasks(), 0);
}

#[tokio::test(start_paused = true)]
async fn another_lease_on_the_same_code_goes_on() {
    let lease = Lease::new(Arc::new(()));
    let another = lease.another();
    lease.end(Duration::ZERO, Duration::ZERO);
    tokio::time::sleep(MOMENT).await;
    assert!(lease.code().is_none() && lease.over().is_cancelled());
    assert!(another.code().is_some() && !another.over().is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn nothing_waits_for_the_end_of_a_lease_that_nobody_has() {
    for _ in 0..100 {
        let code = Arc::new(());
        let lease = Lease::new(Arc::clone(&code));
        lease.end(AFTER, REST);
        drop(lease);
        assert_eq!(Arc::strong_count(&code), 1);
    }
    let begun = tokio::time::Instant::now();
    while tasks() > 0 {
        tokio::task::yield_now().await;
    }
    assert!(begun.elapsed() < AFTER);
}

#[test]
fn generations_are_counted_for_each_plugin() {
    let all = Generations::default();
    let id = |id: &str| PluginId::new(id).unwrap();
    let (one, two, other) = (all.one_more(id("a")), all.one_more(id("a")), all.one_more(id("b")));
    assert_eq!(all.counts(), BTreeMap::from([(id("a"), 2), (id("b"), 1)]));
    assert_eq!(all.total(), 3);
    drop((one, other));
    assert_eq!(all.counts(), BTreeMap::from([(id("a"), 1)]));
    drop(two);
    assert_eq!((all.counts(), all.total()), (BTreeMap::new(), 0));
}
