//! Values of log fields and targets, in the same form everywhere.

use std::time::Duration;

/// The target of the access log.
pub const ACCESS_TARGET: &str = "moongate::access";

/// A duration in milliseconds, for fields whose names end with `_ms`, rounded to microseconds.
#[must_use]
pub fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}

#[test]
fn milliseconds_have_at_most_three_decimals() {
    for (duration, expected) in [
        (Duration::from_nanos(341_009), "0.341"),
        (Duration::from_micros(1), "0.001"),
        (Duration::from_millis(1_500), "1500.0"),
        (Duration::from_secs(86_400 * 365) + Duration::from_nanos(1_234_567), "31536000001.235"),
    ] {
        assert_eq!(format!("{:?}", milliseconds(duration)), expected);
    }
}
