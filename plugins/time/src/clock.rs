//! Times in time zones, computed from a given moment.

use std::fmt;

use jiff::civil::{Date, Time, Weekday};
use jiff::tz::{AmbiguousOffset, Offset};
use jiff::{Timestamp, ZonedDateTime};
use schemars::JsonSchema;
use serde::Serialize;

use crate::zone::Zone;

/// A moment in a time zone.
#[derive(Debug, Serialize, JsonSchema, PartialEq, Eq)]
pub(crate) struct Moment {
    /// The IANA name of the time zone.
    timezone: String,
    /// Date, time and UTC offset in ISO 8601.
    datetime: String,
    /// The English name of the day.
    day_of_week: String,
    /// `true` during daylight saving time.
    is_dst: bool,
}

/// A moment in two time zones.
#[derive(Debug, Serialize, JsonSchema, PartialEq, Eq)]
pub(crate) struct Conversion {
    /// The time in the source zone.
    source: Moment,
    /// The time in the target zone.
    target: Moment,
    /// The difference between the target and the source zone in hours, such as "+5.5h".
    time_difference: String,
}

/// The reason why a time can't be converted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TimeError {
    /// The string isn't a time of day.
    Format,
    /// The clocks skip this time on this day.
    Skipped { time: String, zone: String, date: Date },
}

impl fmt::Display for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format => f.write_str("Invalid time format. Expected HH:MM [24-hour format]"),
            Self::Skipped { time, zone, date } => {
                write!(
                    f,
                    "Invalid time: {time} does not exist in {zone} on {date} (skipped by a clock change)"
                )
            }
        }
    }
}

/// The moment `now` in a zone.
pub(crate) fn current(zone: &Zone, now: Timestamp) -> Moment {
    moment(zone, &now.to_zoned_datetime(zone.rules.clone()))
}

/// Converts the time of day `time`, on the current date in the source zone.
///
/// If the time occurs twice, because clocks are set back, it is the first occurrence.
pub(crate) fn convert(
    source: &Zone,
    time: &str,
    target: &Zone,
    now: Timestamp,
) -> Result<Conversion, TimeError> {
    let date = now.to_zoned_datetime(source.rules.clone()).date();
    let there = date.to_datetime(time_of_day(time).ok_or(TimeError::Format)?);
    let ambiguous = source.rules.to_ambiguous_zoned_datetime(there);
    let skipped = || TimeError::Skipped { time: time.to_owned(), zone: source.name().to_owned(), date };
    let from = match ambiguous.offset() {
        AmbiguousOffset::Gap { .. } => return Err(skipped()),
        AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => {
            ambiguous.earlier().map_err(|_| skipped())?
        }
    };
    let to = from.timestamp().to_zoned_datetime(target.rules.clone());
    Ok(Conversion {
        source: moment(source, &from),
        target: moment(target, &to),
        time_difference: difference(from.offset(), to.offset()),
    })
}

fn moment(zone: &Zone, at: &ZonedDateTime) -> Moment {
    Moment {
        timezone: zone.name().to_owned(),
        datetime: iso(at),
        day_of_week: day(at.weekday()).to_owned(),
        is_dst: zone.saves_daylight(at.timestamp()),
    }
}

/// ISO 8601 with seconds and UTC offset. (Written by hand, because jiff's formatter would be a tenth of the
/// component.)
fn iso(at: &ZonedDateTime) -> String {
    let (date, time, offset) = (at.date(), at.time(), at.offset().seconds());
    let (sign, minutes) = (if offset < 0 { '-' } else { '+' }, offset.unsigned_abs() / 60);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{sign}{:02}:{:02}",
        date.year(),
        date.month(),
        date.day(),
        time.hour(),
        time.minute(),
        time.second(),
        minutes / 60,
        minutes % 60
    )
}

fn day(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "Monday",
        Weekday::Tuesday => "Tuesday",
        Weekday::Wednesday => "Wednesday",
        Weekday::Thursday => "Thursday",
        Weekday::Friday => "Friday",
        Weekday::Saturday => "Saturday",
        Weekday::Sunday => "Sunday",
    }
}

/// Parses `H:M`, with one or two digits each.
fn time_of_day(text: &str) -> Option<Time> {
    let number = |digits: &str| {
        let fits = (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        fits.then(|| digits.parse::<i8>().ok()).flatten()
    };
    let (hour, minute) = text.split_once(':')?;
    Time::new(number(hour)?, number(minute)?, 0, 0).ok()
}

/// The difference in hours with a sign, and with as many digits after the point as needed, one or two.
fn difference(from: Offset, to: Offset) -> String {
    let seconds = to.seconds() - from.seconds();
    let hours = f64::from(seconds) / 3600.0;
    if seconds % 3600 == 0 {
        return format!("{hours:+.1}h");
    }
    let digits = format!("{hours:+.2}");
    format!("{}h", digits.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests;
