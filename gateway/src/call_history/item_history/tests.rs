//! Counts by minute, and percentiles.

use super::*;

#[test]
fn classes_cover_all_durations_in_order() {
    for class_number in 1..CLASSES {
        let low = lower_bound(class_number);
        assert_eq!(class(Duration::from_micros(low)), class_number);
        assert_eq!(class(Duration::from_micros(low - 1)), class_number - 1);
    }
    assert_eq!((class(Duration::ZERO), class(Duration::MAX)), (0, CLASSES - 1));
    assert!(Duration::from_micros(lower_bound(CLASSES - 1)) > Duration::from_secs(500));
}

#[test]
fn an_hour_of_minutes_is_kept() {
    let item = ItemHistory::default();
    for minute in 0..100 {
        item.record(minute, minute % 10 != 0, None);
    }
    let counts = item.counts(99);
    assert_eq!((counts.calls(), counts.errors(), counts.minutes.len()), (60, 6, MINUTES));
    // The minutes 100 to 129 had no calls.
    let counts = item.counts(129);
    assert_eq!((counts.calls(), counts.errors()), (30, 3));
    assert_eq!(counts.minutes[0], MinuteCounts { calls: 1, errors: 1 }, "minute 70");
    assert_eq!(item.counts(10_000).calls(), 0);
}

#[test]
fn percentiles_are_close_and_expire() {
    let item = ItemHistory::default();
    for millis in 1..=100 {
        item.record(5, true, Some(Duration::from_millis(millis)));
    }
    let counts = item.counts(5);
    for (found, exact) in [(counts.p50, 50.0), (counts.p95, 95.0)] {
        let found = found.unwrap().as_secs_f64() * 1000.0;
        assert!((found / exact - 1.0).abs() < 0.15, "{found} instead of {exact}");
    }
    assert!(item.counts(59).p50.is_some());
    assert_eq!(item.counts(70).p50, None);
}

#[test]
fn percentiles_of_one_call_are_close_to_its_duration() {
    for micros in [100_u64, 250, 700, 3_400, 66_000, 757_000, 3_400_000, 200_000_000] {
        let item = ItemHistory::default();
        item.record(0, true, Some(Duration::from_micros(micros)));
        let found = item.counts(0).p95.unwrap().as_secs_f64() * 1e6 / micros as f64;
        assert!((found - 1.0).abs() <= 0.125, "{found} times {micros} µs");
    }
}

#[test]
fn calls_in_flight_never_underflow() {
    let item = ItemHistory::default();
    item.end();
    item.begin();
    item.begin();
    item.end();
    assert_eq!(item.counts(0).in_flight, 1);
}
