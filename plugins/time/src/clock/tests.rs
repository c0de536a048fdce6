//! Edge cases of times, at given moments.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Conversion, TimeError, convert, current, time_of_day};
use crate::zone::Zone;

fn zone(name: &str) -> Zone {
    Zone::named(name).unwrap()
}

fn at(now: &str) -> Timestamp {
    now.parse().unwrap()
}

fn converted(source: &str, time: &str, target: &str, now: &str) -> Result<Conversion, TimeError> {
    convert(&zone(source), time, &zone(target), at(now))
}

/// The two times and the difference.
fn short(conversion: Result<Conversion, TimeError>) -> [String; 3] {
    let Conversion { source, target, time_difference } = conversion.unwrap();
    [source.datetime, target.datetime, time_difference]
}

#[test]
fn returns_the_current_time_in_a_zone() {
    let moment = current(&zone("Asia/Kathmandu"), at("2026-11-27T23:08:09.7Z"));
    let expected = json!({
        "timezone": "Asia/Kathmandu",
        "datetime": "2026-11-28T04:53:09+05:45",
        "day_of_week": "Saturday",
        "is_dst": false
    });
    assert_eq!(serde_json::to_value(moment).unwrap(), expected);
}

#[test]
fn detects_daylight_saving_time() {
    let is_dst = |name: &str, now: &str| current(&zone(name), at(now)).is_dst;
    assert!(is_dst("Europe/Berlin", "2024-07-01T12:00:00Z"));
    assert!(!is_dst("Europe/Berlin", "2024-01-01T12:00:00Z"));
    assert!(is_dst("Australia/Lord_Howe", "2024-01-01T12:00:00Z"), "a shift of half an hour");
    assert!(!is_dst("Asia/Tokyo", "2024-07-01T12:00:00Z"));
    assert!(!is_dst("UTC", "2024-07-01T12:00:00Z"));
    // Irish law has a standard time and a winter time.
    assert!(is_dst("Europe/Dublin", "2024-01-01T12:00:00Z"));
    assert!(!is_dst("Europe/Dublin", "2024-07-01T12:00:00Z"));
}

#[test]
fn uses_the_offsets_of_the_day() {
    assert_eq!(
        short(converted("America/New_York", "16:30", "Europe/London", "2024-01-15T15:00:00Z")),
        ["2024-01-15T16:30:00-05:00", "2024-01-15T21:30:00+00:00", "+5.0h"]
    );
    // The clocks in New York change three weeks before those in London.
    assert_eq!(
        short(converted("America/New_York", "16:30", "Europe/London", "2024-03-15T15:00:00Z")),
        ["2024-03-15T16:30:00-04:00", "2024-03-15T20:30:00+00:00", "+4.0h"]
    );
}

#[test]
fn uses_the_day_in_the_source_zone() {
    assert_eq!(
        short(converted("Pacific/Auckland", "00:15", "UTC", "2024-06-30T13:00:00Z")),
        ["2024-07-01T00:15:00+12:00", "2024-06-30T12:15:00+00:00", "-12.0h"]
    );
}

#[test]
fn shows_fractional_differences() {
    let difference = |source, target| {
        let [_, _, difference] = short(converted(source, "12:00", target, "2024-01-15T12:00:00Z"));
        difference
    };
    assert_eq!(difference("UTC", "Asia/Kolkata"), "+5.5h");
    assert_eq!(difference("UTC", "Asia/Kathmandu"), "+5.75h");
    assert_eq!(difference("Asia/Kathmandu", "Asia/Kolkata"), "-0.25h");
    assert_eq!(difference("UTC", "America/St_Johns"), "-3.5h");
    assert_eq!(difference("Australia/Eucla", "Pacific/Chatham"), "+5.0h", "8:45 and 13:45");
    assert_eq!(difference("UTC", "Pacific/Marquesas"), "-9.5h");
    assert_eq!(difference("UTC", "UTC"), "+0.0h");
}

#[test]
fn refuses_skipped_times() {
    let error = converted("America/New_York", "02:30", "UTC", "2024-03-10T15:00:00Z").unwrap_err();
    assert_eq!(
        error.to_string(),
        "Invalid time: 02:30 does not exist in America/New_York on 2024-03-10 (skipped by a clock change)"
    );
    assert_eq!(
        short(converted("America/New_York", "03:00", "UTC", "2024-03-10T15:00:00Z")),
        ["2024-03-10T03:00:00-04:00", "2024-03-10T07:00:00+00:00", "+4.0h"]
    );
    let half_an_hour = converted("Australia/Lord_Howe", "02:15", "UTC", "2024-10-06T00:00:00Z");
    assert!(matches!(half_an_hour, Err(TimeError::Skipped { .. })), "{half_an_hour:?}");
    // Samoa skipped a whole day.
    let day = converted("Pacific/Apia", "12:00", "UTC", "2011-12-30T09:59:59Z").unwrap();
    assert_eq!(day.source.datetime, "2011-12-29T12:00:00-10:00");
}

#[test]
fn uses_the_first_of_repeated_times() {
    assert_eq!(
        short(converted("America/New_York", "01:30", "UTC", "2024-11-03T15:00:00Z")),
        ["2024-11-03T01:30:00-04:00", "2024-11-03T05:30:00+00:00", "+4.0h"]
    );
    let first = converted("America/New_York", "01:30", "UTC", "2024-11-03T15:00:00Z").unwrap();
    assert!(first.source.is_dst);
}

#[test]
fn keeps_the_order_of_keys() {
    let conversion = converted("UTC", "9:5", "Asia/Tokyo", "2024-01-15T12:00:00Z").unwrap();
    let text = serde_json::to_string(&conversion).unwrap();
    assert_eq!(
        text,
        r#"{"source":{"timezone":"UTC","datetime":"2024-01-15T09:05:00+00:00","day_of_week":"Monday","is_dst":false},"target":{"timezone":"Asia/Tokyo","datetime":"2024-01-15T18:05:00+09:00","day_of_week":"Monday","is_dst":false},"time_difference":"+9.0h"}"#
    );
    assert!(serde_json::from_str::<Value>(&text).is_ok());
}

#[test]
fn parses_hours_and_minutes() {
    for good in ["00:00", "23:59", "9:05", "9:5", "09:5"] {
        assert!(time_of_day(good).is_some(), "{good}");
    }
    for bad in [
        "", "24:00", "12:60", "12", "12:", ":30", "12:30:00", " 9:05", "9:05 ", "+9:05", "9.05", "012:30",
        "4pm", "٩:٠٥",
    ] {
        assert!(time_of_day(bad).is_none(), "{bad}");
    }
}
