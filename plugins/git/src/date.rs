//! Dates that models write: ISO 8601, relative to now, or with the name of the month. All are in UTC.

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use crate::fault::{GitError, GitResult};

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Small numbers as words, from one.
const NUMBERS: [&str; 10] = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/// The date in seconds since 1970. As in Git, a date without a time has the current time of day.
pub(crate) fn seconds(text: &str, now: i64) -> GitResult<i64> {
    parse(text.trim(), now).ok_or_else(|| {
        GitError::new(format_args!(
            "unknown date `{text}`; use ISO 8601 (2024-01-15T14:30:25), a relative date (2 weeks ago, yesterday), or an \
             absolute date (2024-01-15, Jan 15 2024)"
        ))
    })
}

fn parse(text: &str, now: i64) -> Option<i64> {
    let now = Timestamp::from_second(now).ok()?;
    let digits = text.strip_prefix('@').unwrap_or(text);
    if !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits != text || digits.len() > 8)
    {
        return digits.parse().ok();
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.as_second());
    }
    let local = TimeZone::UTC.to_datetime(now);
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    relative(&words, local)
        .or_else(|| absolute(&words, local))
        .and_then(|time| Some(TimeZone::UTC.to_timestamp(time).ok()?.as_second()))
}

/// `2 weeks ago`, `last month`, `yesterday`, `last friday`.
fn relative(words: &[&str], now: DateTime) -> Option<DateTime> {
    match words {
        ["now" | "today"] => Some(now),
        ["yesterday"] => now.checked_sub(Span::new().days(1)).ok(),
        ["midnight"] => Some(now.date().to_datetime(Time::midnight())),
        ["noon"] => {
            let noon = now.date().at(12, 0, 0, 0);
            if noon > now { noon.checked_sub(Span::new().days(1)).ok() } else { Some(noon) }
        }
        ["last", unit] if weekday(unit).is_some() => weekday_before(unit, now),
        [unit] if weekday(unit).is_some() => weekday_before(unit, now),
        ["last", unit] => now.checked_sub(span(1, unit)?).ok(),
        [parts @ .., "ago"] if !parts.is_empty() && parts.len() % 2 == 0 => parts
            .chunks(2)
            .try_fold(now, |time, part| time.checked_sub(span(number(part[0])?, part[1])?).ok()),
        _ => None,
    }
}

fn number(word: &str) -> Option<i64> {
    if matches!(word, "a" | "an") {
        return Some(1);
    }
    let named = NUMBERS.iter().position(|name| *name == word).and_then(|at| i64::try_from(at + 1).ok());
    named.or_else(|| word.parse().ok().filter(|number| (0..1_000_000).contains(number)))
}

fn span(number: i64, unit: &str) -> Option<Span> {
    let span = Span::new();
    match unit.strip_suffix('s').unwrap_or(unit) {
        "second" | "sec" => span.try_seconds(number).ok(),
        "minute" | "min" => span.try_minutes(number).ok(),
        "hour" => span.try_hours(number).ok(),
        "day" => span.try_days(number).ok(),
        "week" => span.try_weeks(number).ok(),
        "fortnight" => span.try_weeks(number * 2).ok(),
        "month" => span.try_months(number).ok(),
        "year" => span.try_years(number).ok(),
        _ => None,
    }
}

fn weekday(word: &str) -> Option<Weekday> {
    let at = WEEKDAYS.iter().position(|name| word.len() >= 3 && name.starts_with(word))?;
    Weekday::from_monday_zero_offset(i8::try_from(at).ok()?).ok()
}

fn weekday_before(word: &str, now: DateTime) -> Option<DateTime> {
    Some(now.date().nth_weekday(-1, weekday(word)?).ok()?.to_datetime(now.time()))
}

/// A date in one of several orders, and maybe a time.
fn absolute(words: &[&str], now: DateTime) -> Option<DateTime> {
    let (date, rest) = match words {
        [first, rest @ ..] if first.contains('t') && first.len() > 10 && first.is_char_boundary(10) => {
            let mut time = vec![&first[11..]];
            time.extend(rest);
            return Some(numeric_date(&first[..10])?.to_datetime(clock(&time)?));
        }
        [first, rest @ ..] if numeric_date(first).is_some() => (numeric_date(first)?, rest),
        [month, day, rest @ ..] if month_number(month).is_some() => named_date(month, day, rest, now)?,
        [day, month, rest @ ..] if month_number(month).is_some() => named_date(month, day, rest, now)?,
        _ => return None,
    };
    let time = if rest.is_empty() { now.time() } else { clock(rest)? };
    Some(date.to_datetime(time))
}

fn month_number(word: &str) -> Option<i8> {
    let at = MONTHS.iter().position(|name| word.len() >= 3 && name.starts_with(word))?;
    i8::try_from(at + 1).ok()
}

/// `Jan 15 2024` or `Jan 15`, and the words after it.
fn named_date<'a>(
    month: &str,
    day: &str,
    rest: &'a [&'a str],
    now: DateTime,
) -> Option<(Date, &'a [&'a str])> {
    let day = day.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()?;
    let (year, rest) = match rest {
        [year, rest @ ..] if year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit()) => {
            (year.parse().ok()?, rest)
        }
        rest => (now.year(), rest),
    };
    Some((Date::new(year, month_number(month)?, day).ok()?, rest))
}

/// `2024-01-15`, `2024/01/15`, `2024.01.15`, `01/15/2024` or `15.01.2024`.
fn numeric_date(word: &str) -> Option<Date> {
    let separator = ['-', '/', '.'].into_iter().find(|separator| word.contains(*separator))?;
    let parts: Vec<&str> = word.split(separator).collect();
    let numbers: Option<Vec<i16>> = parts.iter().map(|part| part.parse().ok()).collect();
    let [a, b, c] = *numbers?.as_slice() else { return None };
    let [year, month, day] = match separator {
        _ if parts[0].len() == 4 => [a, b, c],
        '.' => [c, b, a],
        _ => [c, a, b],
    };
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

/// `14:30` or `14:30:25`, maybe with `am`, `pm` or `utc`.
fn clock(words: &[&str]) -> Option<Time> {
    let (time, suffix) = match words {
        [time] => (*time, ""),
        [time, suffix @ ("am" | "pm" | "utc" | "gmt" | "z" | "+0000" | "+00:00")] => (*time, *suffix),
        _ => return None,
    };
    let mut numbers = time.split(':').map(|part| part.split('.').next()?.parse::<i8>().ok());
    let (hour, minute) = (numbers.next()??, numbers.next()??);
    let second = numbers.next().unwrap_or(Some(0))?;
    let hour = match suffix {
        "pm" if hour < 12 => hour + 12,
        "am" if hour == 12 => 0,
        _ => hour,
    };
    Time::new(hour, minute, second, 0).ok()
}

#[cfg(test)]
mod tests;
