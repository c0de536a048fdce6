//! The release of code.

use super::*;

const DELAY: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_secs(10);
const MOMENT: Duration = Duration::from_millis(1);

fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

#[tokio::test(start_paused = true)]
async fn releases_code_while_the_plugin_is_still_referenced() {
    let code = Arc::new(());
    let lease = CodeLease::new(Arc::clone(&code));
    lease.release_after(DELAY, GRACE);
    tokio::time::sleep(DELAY - MOMENT).await;
    let running = lease.code().unwrap();
    tokio::time::sleep(2 * MOMENT).await;
    assert!(lease.code().is_none() && lease.renew().code().is_none());
    // The running call has its grace period.
    assert!(!lease.aborted().is_cancelled());
    tokio::time::sleep(GRACE).await;
    assert!(lease.aborted().is_cancelled());
    drop(running);
    assert_eq!(Arc::strong_count(&code), 1);
    assert_eq!(tasks(), 0);
}

#[tokio::test(start_paused = true)]
async fn another_lease_on_the_same_code_is_not_affected() {
    let lease = CodeLease::new(Arc::new(()));
    let another = lease.renew();
    lease.release_after(Duration::ZERO, Duration::ZERO);
    tokio::time::sleep(MOMENT).await;
    assert!(lease.code().is_none() && lease.aborted().is_cancelled());
    assert!(another.code().is_some() && !another.aborted().is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn no_task_outlives_a_dropped_lease() {
    for _ in 0..100 {
        let code = Arc::new(());
        let lease = CodeLease::new(Arc::clone(&code));
        lease.release_after(DELAY, GRACE);
        drop(lease);
        assert_eq!(Arc::strong_count(&code), 1);
    }
    let started = tokio::time::Instant::now();
    while tasks() > 0 {
        tokio::task::yield_now().await;
    }
    assert!(started.elapsed() < DELAY);
}

#[test]
fn counts_generations_by_plugin() {
    let all = Generations::default();
    let id = |id: &str| PluginId::new(id).unwrap();
    let one = all.add(id("a"));
    let two = all.add(id("a"));
    let other = all.add(id("b"));
    assert_eq!(all.counts(), BTreeMap::from([(id("a"), 2), (id("b"), 1)]));
    assert_eq!(all.total(), 3);
    drop((one, other));
    assert_eq!(all.counts(), BTreeMap::from([(id("a"), 1)]));
    drop(two);
    assert_eq!((all.counts(), all.total()), (BTreeMap::new(), 0));
}
