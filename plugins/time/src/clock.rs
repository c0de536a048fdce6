//! Times in zones, worked out from a given moment.

use std::fmt;

use jiff::civil::{Date, Time, Weekday};
use jiff::tz::{AmbiguousOffset, Offset};
use jiff::{Timestamp, ZonedDateTime};
use schemars::JsonSchema;
use serde::Serialize;

use crate::zone::Zone;

/// A moment as people in a zone see it.
#[derive(Debug, Serialize, JsonSchema, PartialEq, Eq)]
pub(crate) struct Moment {
    /// The zone's IANA name.
    timezone: String,
    /// Date, time and offset from UTC, as in ISO 8601.
    datetime: String,
    /// The English name of the day.
    day_of_week: String,
    /// Whether daylight saving time holds.
    is_dst: bool,
}

/// A moment in two zones.
#[derive(Debug, Serialize, JsonSchema, PartialEq, Eq)]
pub(crate) struct Conversion {
    /// In the zone that was converted from.
    source: Moment,
    /// In the zone that was converted to.
    target: Moment,
    /// How far the target's clocks are ahead of the source's, in hours, such as "+5.5h".
    time_difference: String,
}

/// Why a time can't be converted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoSuchTime {
    /// The text is no time of day.
    Format,
    /// The clocks skip this time on this day.
    Skipped { time: String, zone: String, date: Date },
}

impl fmt::Display for NoSuchTime {
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

/// The time of day `time` on the date that `now` has in the source zone, in both zones.
///
/// A time that comes twice, because the clocks were set back, is the first of the two.
pub(crate) fn convert(
    source: &Zone,
    time: &str,
    target: &Zone,
    now: Timestamp,
) -> Result<Conversion, NoSuchTime> {
    let date = now.to_zoned_datetime(source.rules.clone()).date();
    let there = date.to_datetime(time_of_day(time).ok_or(NoSuchTime::Format)?);
    let ambiguous = source.rules.to_ambiguous_zoned_datetime(there);
    let skipped = || NoSuchTime::Skipped { time: time.to_owned(), zone: source.name().to_owned(), date };
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

/// As ISO 8601 to the second, with the offset from UTC. (By hand: jiff's formatter would be a tenth of the component.)
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

/// Reads `H:M`, each of one or two digits.
fn time_of_day(text: &str) -> Option<Time> {
    let number = |digits: &str| {
        let fits = (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        fits.then(|| digits.parse::<i8>().ok()).flatten()
    };
    let (hour, minute) = text.split_once(':')?;
    Time::new(number(hour)?, number(minute)?, 0, 0).ok()
}

/// In hours with a sign, one digit after the point where that says it all and two where it doesn't.
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
