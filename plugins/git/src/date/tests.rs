//! Dates.

use super::*;

/// Saturday, 2024-06-15 12:34:56.
const NOW: i64 = 1_718_454_896;

fn shown(text: &str) -> Option<String> {
    let seconds = seconds(text, NOW).ok()?;
    Some(Timestamp::from_second(seconds).unwrap().strftime("%Y-%m-%d %H:%M:%S").to_string())
}

#[test]
fn reads_the_documented_formats() {
    for (text, expected) in [
        ("2024-01-15T14:30:25", "2024-01-15 14:30:25"),
        ("2024-01-15T14:30:25Z", "2024-01-15 14:30:25"),
        ("2024-01-15T14:30:25+02:00", "2024-01-15 12:30:25"),
        ("2024-01-15 14:30", "2024-01-15 14:30:00"),
        ("2 weeks ago", "2024-06-01 12:34:56"),
        ("1 month 3 days ago", "2024-05-12 12:34:56"),
        ("yesterday", "2024-06-14 12:34:56"),
        ("last friday", "2024-06-14 12:34:56"),
        ("2024-01-15", "2024-01-15 12:34:56"),
        ("Jan 15 2024", "2024-01-15 12:34:56"),
        ("15 January 2024 9:05 pm", "2024-01-15 21:05:00"),
        ("@1000000000", "2001-09-09 01:46:40"),
    ] {
        assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn refuses_unknown_dates() {
    for text in ["soon", "", "2024-13-01", "Jan 32 2024", "25:00", "99999999999 years ago"] {
        assert_eq!(shown(text), None, "{text}");
    }
}
