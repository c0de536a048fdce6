//! The choice of the connection to evict.

use super::*;

async fn advance() {
    tokio::time::advance(Duration::from_millis(10)).await;
}

fn evicted(slots: &[&ConnectionSlot]) -> Vec<bool> {
    slots.iter().map(|slot| slot.handle.0.evicted.is_cancelled()).collect()
}

#[tokio::test(start_paused = true)]
async fn evicts_the_connection_that_is_idle_longest() {
    let limiter = ConnectionLimiter::new(3);
    let busy = limiter.acquire().await;
    let active = busy.handle().begin_request();
    advance().await;
    let first = limiter.acquire().await;
    let second = limiter.acquire().await;
    advance().await;
    first.handle().touch();
    let mut fourth = Box::pin(limiter.acquire());
    assert!(futures_util::poll!(&mut fourth).is_pending());
    assert_eq!(evicted(&[&busy, &first, &second]), [false, false, true]);
    second.evicted().await;
    drop(second);
    advance().await;
    let fourth = fourth.await;
    advance().await;
    drop(active);
    let mut fifth = Box::pin(limiter.acquire());
    assert!(futures_util::poll!(&mut fifth).is_pending());
    assert_eq!(evicted(&[&busy, &first, &fourth]), [false, true, false]);
}

#[tokio::test(start_paused = true)]
async fn waits_until_a_busy_connection_becomes_idle() {
    let limiter = ConnectionLimiter::new(1);
    let only = limiter.acquire().await;
    let active = only.handle().begin_request();
    let mut next = Box::pin(limiter.acquire());
    assert!(timeout(Duration::from_secs(60), &mut next).await.is_err());
    assert_eq!(evicted(&[&only]), [false]);
    drop(active);
    assert!(timeout(EVICTION_RETRY * 2, &mut next).await.is_err());
    assert_eq!(evicted(&[&only]), [true]);
    drop(only);
    next.await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_idle_from_the_end_of_its_last_request() {
    let limiter = ConnectionLimiter::new(1);
    let slot = limiter.acquire().await;
    let active = slot.handle().begin_request();
    assert!(timeout(Duration::from_secs(60), slot.idle_for(Duration::from_secs(5))).await.is_err());
    drop(active);
    let answered = Instant::now();
    slot.idle_for(Duration::from_secs(5)).await;
    assert_eq!(answered.elapsed(), Duration::from_secs(5));
}
