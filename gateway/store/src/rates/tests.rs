//! Rates in a real server, compared with the rates of a single gateway.

use tokio::time::Instant;

use moongate_system::rate_table::RateTable;

use super::*;
use crate::test_server::TestServer;

fn rate(text: &str, burst: u32) -> CallRate {
    CallRate { burst: burst.try_into().unwrap(), ..CallRate::parse(text).unwrap() }
}

/// Counts an event, or returns the index of the exceeded rate and the seconds to wait, rounded up to tens.
async fn count(store: &SharedStore, rates: &[(&str, CallRate)]) -> Option<(usize, u64)> {
    let rates: Vec<(String, CallRate)> =
        rates.iter().map(|(name, rate)| ((*name).to_owned(), *rate)).collect();
    let exceeded = SharedRates::count(store, &rates).await.unwrap();
    exceeded.map(|ExceededRate { index, retry_after }| (index, retry_after.as_secs_f64().ceil() as u64))
}

#[tokio::test]
async fn gateways_count_together_for_all_rates_or_none() {
    let Some(server) = TestServer::start(&[]).await else { return };
    let (first, second) = (server.store().await, server.store().await);
    let slow = ("caller", rate("1/h", 2));
    let fast = ("tool", rate("1/min", 3));
    assert_eq!(count(&first, &[slow, fast]).await, None);
    assert_eq!(count(&second, &[slow, fast]).await, None);
    assert_eq!(count(&first, &[slow, fast]).await, Some((0, 3_600)));
    assert_eq!(count(&second, &[slow]).await, Some((0, 3_600)));
    assert_eq!(count(&second, &[fast]).await, None, "refused calls weren't counted for it");
    assert_eq!(count(&first, &[fast]).await, Some((0, 60)));
    assert_eq!(count(&first, &[("other", rate("1/min", 1)), slow]).await, Some((1, 3_600)));
    assert_eq!(count(&first, &[("other", rate("1/min", 1))]).await, None);
}

#[tokio::test]
async fn the_store_counts_like_a_single_gateway() {
    let Some(server) = TestServer::start(&[]).await else { return };
    let store = server.store().await;
    let now = Instant::now();
    let mut table = RateTable::new(8);
    // From slow to fast, so that the time between the steps isn't multiplied.
    let rates = [rate("1/day", 3), rate("7/h", 5), rate("60/h", 7), rate("60/h", 9), rate("1000/day", 2)];
    for step in 0..40_usize {
        let rate = rates[step / 8];
        let expected = table.wait(now, &0, rate);
        if expected.is_none() {
            table.add(now, &0, rate);
        }
        let counted = SharedRates::count(&store, &[("key".to_owned(), rate)]).await.unwrap();
        let wait = counted.map(|exceeded| exceeded.retry_after);
        assert_eq!(wait.is_some(), expected.is_some(), "step {step} at {rate}: {wait:?} and {expected:?}");
        // The server's clock goes on between the steps.
        let difference = expected.unwrap_or_default().abs_diff(wait.unwrap_or_default());
        assert!(difference <= now.elapsed() + Duration::from_millis(1), "step {step}: {difference:?}");
    }
}

#[tokio::test]
async fn counted_keys_expire() {
    let Some(server) = TestServer::start(&[]).await else { return };
    let store = server.store().await;
    for _ in 0..3 {
        assert_eq!(count(&store, &[("caller", rate("60/min", 3))]).await, None);
    }
    let keys: Vec<String> = store.run(StoreUse::Rates, redis::cmd("KEYS").arg("test:rate:*")).await.unwrap();
    assert_eq!(keys.len(), 1, "{keys:?}");
    assert!(!keys[0].contains("caller"), "{keys:?}");
    let left: i64 = store.run(StoreUse::Rates, redis::cmd("PTTL").arg(&keys[0])).await.unwrap();
    assert!((1..=3_001).contains(&left), "{left}");
}
