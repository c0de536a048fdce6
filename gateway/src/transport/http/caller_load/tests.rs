//! Callers alone, next to others, and after others.

use super::*;

fn named(name: &str) -> Caller {
    Caller::Named(name.into())
}

#[test]
fn only_a_caller_with_many_requests_next_to_others_makes_way() {
    let (busy, quiet) = (named("busy"), named("quiet"));
    let mut requests = RequestsInProgress::default();
    let start = Instant::now();
    let many = *MAX_REQUESTS * 4;
    for _ in 0..many {
        assert!(!requests.begin(&busy, start), "it is alone");
    }
    assert!(!requests.begin(&quiet, start), "it has few requests");
    requests.end(&quiet);
    assert!(requests.begin(&busy, start), "another caller is active");
    assert!(!requests.begin(&busy, start + ACTIVE_TIME), "the other caller was active long ago");
    for _ in 0..many + 2 {
        requests.end(&busy);
    }
    assert!(requests.counts.is_empty());
    let again = start + ACTIVE_TIME;
    assert!(!requests.begin(&quiet, again) && !requests.begin(&busy, again), "it has few requests now");
}

#[tokio::test]
async fn a_request_ends_when_it_is_dropped() {
    let load = Arc::new(CallerLoad::default());
    let first = load.begin(&Caller::Local).await;
    let second = load.begin(&Caller::Local).await;
    drop(first);
    assert_eq!(load.lock().counts.get(&Caller::Local), Some(&1));
    drop(second);
    assert_eq!(load.lock().counts.get(&Caller::Local), None);
}
